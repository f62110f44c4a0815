"""Every page in a real browser: it loads completely, everybody can use it, and the keyboard is enough."""

import os
import shutil

import pytest
from playwright.sync_api import sync_playwright

from anubis.judging.alert_triage import TriageAction
from anubis.model.errors import NotFoundError
from anubis.model.status import Status
from support import shown_home
from support.processes import until
from support.service import Service

DESKTOP, PHONE, LARGE = ({"width": w, "height": h} for w, h in ((1280, 900), (360, 740), (3840, 2160)))
NAMES = (
    "overview", "runs", "run", "failed-run", "output", "telemetry", "timeline", "descriptor", "machine", "datasets",
    "benchmarks", "benchmark", "compare", "side-by-side", "alerts", "alert", "families", "family", "schedules",
    "schedule", "machines", "data", "events", "search", "submit", "settings",
)  # fmt: skip
TOO_WIDE = "document.documentElement.scrollWidth - innerWidth"
SERIOUS = """
axe.run().then(found => found.violations
  .filter(each => ["serious", "critical"].includes(each.impact))
  .map(each => [each.id, each.nodes.map(node => node.html.slice(0, 200))]))
"""


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Service(tmp_path_factory.mktemp("pages") / "home").start()
    yield running
    running.stop()


@pytest.fixture(scope="module")
def addresses(service, tmp_path_factory):
    found = shown_home.fill(service, tmp_path_factory.mktemp("history"))
    assert set(found) == set(NAMES)
    return {name: f"{service.url}/ui{path}" for name, path in found.items()}


@pytest.fixture(scope="module")
def browser():
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        pytest.skip("needs Chromium: apt-get install chromium")
    with sync_playwright() as playwright:
        options = ["--no-sandbox"] * (os.geteuid() == 0)
        chromium = playwright.chromium.launch(executable_path=program, args=options)
        yield chromium
        chromium.close()


@pytest.fixture
def opened(browser):
    """Opens a page; at the end there was no error on its console, no failed request and none to another host."""
    contexts, wrong = [], []

    def make(url, **options):
        context = browser.new_context(**{"viewport": DESKTOP, **options})
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda line: line.type == "error" and wrong.append(line.text))
        page.on(
            "response", lambda answer: answer.status >= 400 and wrong.append(f"{answer.status} {answer.url}")
        )
        page.on("request", lambda request: request.url.startswith(host) or wrong.append(request.url))
        host = url.partition("/ui")[0]
        page.goto(url, wait_until="load")
        return page

    yield make
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture(scope="module")
def axe():
    try:
        return shown_home.axe()
    except NotFoundError as error:
        pytest.skip(f"needs axe-core: {error}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", NAMES)
def test_a_page_loads_and_everybody_can_use_it(opened, addresses, axe, name, scheme):
    page = opened(addresses[name], color_scheme=scheme)
    page.evaluate(axe)
    assert page.evaluate(SERIOUS) == []
    assert page.locator("h1").count() == 1
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    parts = [int(part) for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
    assert (sum(parts) < 150) == (scheme == "dark")


@pytest.mark.parametrize("name", NAMES)
def test_a_page_fits_every_window(opened, addresses, name):
    page = opened(addresses[name], viewport=PHONE)
    assert page.evaluate(TOO_WIDE) <= 0
    page.set_viewport_size(LARGE)
    assert page.evaluate(TOO_WIDE) <= 0


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_readable_without_scripts(opened, addresses, name):
    page = opened(addresses[name], java_script_enabled=False)
    assert page.locator("h1").inner_text()
    assert page.locator("nav[aria-label=Pages] a").count() == 13


def test_runs_are_compared_with_the_keyboard_alone(opened, addresses):
    page = opened(addresses["runs"])
    for key in ("j", "x", "j", "x"):
        page.keyboard.press(key)
    assert page.locator("td.mark input:checked").count() == 2
    with page.expect_navigation():
        page.keyboard.press("c")
    assert "/ui/compare?run=" in page.url


def test_a_run_is_opened_with_the_keyboard_alone(opened, addresses):
    page = opened(addresses["runs"])
    page.keyboard.press("k")
    page.keyboard.press("j")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "/ui/runs/" in page.url
    page.keyboard.press("/")
    page.keyboard.type("resnet")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert page.url.endswith("/ui/benchmarks/resnet50-train")


def test_help_lists_the_keys_and_closes(opened, addresses):
    page = opened(addresses["overview"])
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_an_alert_is_acknowledged_with_the_keyboard_alone(opened, addresses, service):
    page = opened(addresses["alerts"])
    page.keyboard.press("j")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    page.keyboard.press("a")  # there is no reason yet
    page.keyboard.type("I look at it")
    with page.expect_navigation():
        page.keyboard.press("Enter")
    assert "acknowledged" in page.locator(".lead").inner_text()
    with service.client() as client:
        alert, _ = client.alerts.get(addresses["alert"].rpartition("/")[2])
        assert (alert.state.value, alert.why) == ("acknowledged", "I look at it")
        client.alerts.decide(alert.id, TriageAction.REOPEN, why="for other tests")


def test_a_descriptor_is_checked_while_it_is_written(opened, addresses):
    page = opened(addresses["submit"])
    page.locator("#text").fill('spec_version = "1.0"\n[info]\nnam = "x"\n')
    page.locator("#check >> text=line 3").wait_for()
    page.locator("#check >> text=line 3").click()
    assert page.evaluate("document.activeElement.id") == "text"
    page.locator("#text").fill(shown_home.HELLO.format(name="typed", code="echo score=1"))
    page.locator("#check >> text=Valid: 1 run").wait_for()


def test_the_theme_is_kept(opened, addresses):
    page = opened(addresses["overview"], color_scheme="light")
    page.locator("[data-theme-button]").click()
    page.reload()
    assert page.evaluate("document.documentElement.dataset.theme") == "dark"


def running(service, gate, code):
    """A run that is being measured; its command waits for files in the folder ``gate``."""
    gate.mkdir()
    body = shown_home.HELLO.format(name="live", code=code).replace("repeats = 3", "repeats = 1")
    with service.client() as client:
        (run,) = client.runs.submit([shown_home.DescriptorText(text=body, folder=gate, name="live.toml")])
        until(lambda: client.runs.get(run.id).status is Status.WATCH, "the run is running")
    return f"{service.url}/ui/runs/{run.id}/output"


def numbers_on(page):
    texts = page.locator("[data-log] > div > span:last-child").all_inner_texts()
    return [int(text) for text in texts if text.isdigit()]


def test_output_appears_while_it_is_written(opened, addresses, service, tmp_path):
    gate = tmp_path / "gate"
    code = (
        "sh -c 'echo first; while [ ! -e one ]; do sleep 0.1; done; seq 1 3000; echo OSError: broken >&2;"
        " while [ ! -e two ]; do sleep 0.1; done; echo score=1; echo last'"
    )
    page = opened(running(service, gate, code))
    page.locator("[data-log] >> text=first").wait_for()
    (gate / "one").touch()
    page.locator("[data-log] >> text=3000").wait_for()
    page.keyboard.press("e")
    assert "broken" in page.locator(".log .here").inner_text()
    (gate / "two").touch()
    page.locator("[data-log] >> text=last").wait_for()
    page.locator("[data-log-state][data-state=ended]").wait_for()
    numbers = numbers_on(page)
    assert numbers == list(range(numbers[0], 3001)), "no line is missing or repeated"


def test_output_continues_when_the_service_was_killed_and_starts_again(browser, addresses, service, tmp_path):
    gate = tmp_path / "gate"
    code = "sh -c 'seq 1 500; while [ ! -e one ]; do sleep 0.1; done; seq 501 900; echo score=1; echo last'"
    address = running(service, gate, code)
    context = browser.new_context()
    try:
        page = context.new_page()
        page.goto(address, wait_until="load")
        page.locator("[data-log] >> text=500").wait_for()
        service.kill()
        (gate / "one").touch()
        service.start()
        page.locator("[data-log] >> text=last").wait_for(timeout=60_000)
        numbers = numbers_on(page)
        assert numbers == list(range(numbers[0], 901)), "no line is missing or repeated"
    finally:
        context.close()
