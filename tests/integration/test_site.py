"""The documentation site in a real browser: every page, narrow and wide, light and dark; search; no other host."""

import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import TimeoutError as PlaywrightTimeoutError
from playwright.sync_api import sync_playwright

from support.processes import until
from support.tree import ROOT

DOCS = ROOT / "docs"
PAGES = sorted(page.relative_to(DOCS).with_suffix(".html").as_posix() for page in DOCS.rglob("*.md"))
PHONE, DESKTOP = {"width": 390, "height": 844}, {"width": 1440, "height": 900}
#: The first cells of tables whose code is on more than one line.
BROKEN_KEYS = """
[...document.querySelectorAll("article td:first-child code")]
  .filter(code => code.getClientRects().length > 1).map(code => code.textContent)
"""
#: Tables that leave more than a twentieth of the text's width unused.
NARROW_TABLES = """
[...document.querySelectorAll("article table")]
  .filter(table => table.offsetWidth < 0.95 * document.querySelector("article > h1").offsetWidth).length
"""
TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *words):
        pass


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The built site."""
    source = tmp_path_factory.mktemp("site")
    shutil.copy(ROOT / "zensical.toml", source)
    shutil.copytree(DOCS, source / "docs")
    built = subprocess.run(
        [Path(sys.executable).parent / "zensical", "build", "--strict"],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert built.returncode == 0, built.stdout + built.stderr
    return source / "site"


@pytest.fixture(scope="module")
def address(folder):
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=folder)) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program)
        yield chromium
        chromium.close()


class Reader:
    """A page in the browser, with the errors it reported and the requests it made."""

    def __init__(self, browser, **options):
        self.page = browser.new_page(**options)
        self.errors, self.requests = [], []
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", lambda line: line.type == "error" and self.errors.append(line.text))
        self.page.on("request", lambda request: self.requests.append(request.url))

    def elsewhere(self, address):
        """Requests to other hosts."""
        return [url for url in self.requests if not url.startswith((address, "data:", "blob:"))]


@pytest.fixture
def reader(browser):
    opened = []

    def make(**options):
        opened.append(Reader(browser, **options))
        return opened[-1]

    yield make
    for one in opened:
        one.page.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_fits_its_window_and_loads_nothing_from_elsewhere(reader, address, name):
    shown = reader(viewport=PHONE)
    shown.page.goto(f"{address}/{name}", wait_until="networkidle")
    assert shown.page.evaluate(TOO_WIDE) <= 0
    assert shown.page.evaluate(BROKEN_KEYS) == []
    shown.page.set_viewport_size(DESKTOP)
    assert shown.page.evaluate(TOO_WIDE) <= 0
    assert shown.page.evaluate(BROKEN_KEYS) == []
    assert shown.page.evaluate(NARROW_TABLES) == 0
    assert shown.errors == []
    assert shown.elsewhere(address) == []


def test_a_broken_key_and_a_wide_page_are_noticed(reader, address):
    shown = reader(viewport=PHONE)
    shown.page.goto(f"{address}/reference/settings.html")
    shown.page.add_style_tag(
        content="td code { white-space: normal !important; overflow-wrap: anywhere !important }"
    )
    shown.page.add_style_tag(content="td:first-child { max-width: 3rem } article h1 { width: 900px }")
    assert "ANUBIS_DATABASE_URL" in shown.page.evaluate(BROKEN_KEYS)
    assert shown.page.evaluate(TOO_WIDE) > 0


def test_every_picture_is_loaded(reader, address):
    shown = reader()
    for name in ("index.html", "tutorial/first-benchmark.html", "howto/alerts.html"):
        shown.page.goto(f"{address}/{name}", wait_until="networkidle")
        widths = shown.page.evaluate(
            "[...document.querySelectorAll('article img')].map(image => image.naturalWidth)"
        )
        assert widths
        assert 0 not in widths


def test_the_home_page_shows_a_verdict_before_any_list(reader, address):
    shown = reader(viewport=DESKTOP)
    shown.page.goto(f"{address}/index.html", wait_until="networkidle")
    top = "selector => document.querySelector(selector).getBoundingClientRect().top"
    picture = shown.page.evaluate(top, "article .terminal img")
    assert picture < DESKTOP["height"] / 2
    assert picture < shown.page.evaluate(top, "article ul")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_colours_follow_the_system(reader, address, scheme):
    shown = reader(color_scheme=scheme)
    shown.page.goto(f"{address}/index.html", wait_until="networkidle")
    colour = shown.page.evaluate("getComputedStyle(document.body).backgroundColor")
    red, green, blue = (float(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3])
    assert (red + green + blue < 150) == (scheme == "dark"), colour


def test_every_code_block_has_a_copy_button(reader, address):
    shown = reader()
    shown.page.goto(f"{address}/tutorial/first-benchmark.html", wait_until="networkidle")
    assert shown.page.locator("article pre").count() > 5
    assert shown.page.locator("article .md-code__button").count() >= shown.page.locator("article pre").count()


def opened_by_key(page, field):
    """Press the key of the search, which has no effect before the scripts of the page have run."""
    page.keyboard.press("Control+k")
    try:
        field.wait_for(state="visible", timeout=3000)
    except PlaywrightTimeoutError:
        return False
    return True


@pytest.mark.parametrize("opened", ["served", "as files"])
def test_search_finds_a_setting(reader, address, folder, opened):
    start = address if opened == "served" else f"file://{folder}"
    shown = reader(viewport=DESKTOP)
    shown.page.goto(f"{start}/index.html", wait_until="load")
    field = shown.page.get_by_placeholder("Search").last
    until(lambda: opened_by_key(shown.page, field), "the search opens")
    field.fill("ANUBIS_LEASE_S")
    shown.page.locator("a", has_text="Settings").filter(has_text="ANUBIS_LEASE_S").first.wait_for()
    assert shown.errors == []
    assert shown.elsewhere(start) == []
