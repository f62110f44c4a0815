"""Reports and static sites in Chromium without a network: nothing is requested, charts zoom, and nothing hostile runs."""

import shutil
from contextlib import contextmanager

import pytest

from anubis.judging.series_overview import SeriesOverview, SeriesState
from anubis.model.points import Point
from anubis.model.series import SeriesVerdict
from anubis.publishing.series_charts import chart_of
from anubis.publishing.site.folder import write_site
from anubis.publishing.site.pages import INDEX, Site
from anubis.reporting.documents import html
from anubis.reporting.documents.document import Block, Document, Section

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="Chromium is not installed")
HOSTILE = '</script><script>document.title="run"</script><img src=x onerror=document.title="run">'


def a_series(name="train", count=50):
    points = tuple(
        Point(run_id=f"run-{at}", series_key="k", fingerprint="machine", metric=f"rate {HOSTILE}", units="img/s",
              value=100.0 + at % 7, spread=None, count=1, better="higher", order_s=float(at), subject=HOSTILE)
        for at in range(count)
    )  # fmt: skip
    verdict = SeriesVerdict(
        n=count, changes=(), suspected=None, level=103.0, expected=None, noise_floor=0.02, detectable=0.03
    )
    return SeriesOverview(benchmark=name, labels={}, points=points, verdict=verdict, state=SeriesState.STABLE)


@contextmanager
def opened(**options):
    """A page without a network, with everything that it requested and every message and error of it."""
    playwright = pytest.importorskip("playwright.sync_api").sync_playwright().start()
    browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
    try:
        page = browser.new_context(offline=True, **options).new_page()
        page.requested, page.errors = [], []
        page.on("request", lambda request: page.requested.append(request.url))
        page.on("console", lambda message: page.errors.append(message.text))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        yield page
        assert page.errors == []
        assert all(url.startswith("file://") for url in page.requested)
    finally:
        browser.close()
        playwright.stop()


@pytest.fixture
def report(tmp_path):
    chart = chart_of(a_series())
    document = Document(
        title=HOSTILE, verdict=HOSTILE, made_s=0.0,
        sections=(Section(title=HOSTILE, blocks=(Block(text=HOSTILE), Block(series=chart))),),
    )  # fmt: skip
    path = tmp_path / "report.html"
    path.write_text(html.page(document))
    return path.as_uri()


def test_a_report_zooms_offline_and_runs_nothing_hostile(report):
    with opened() as page:
        page.goto(report)
        page.wait_for_selector(".uplot")
        assert page.title() == HOSTILE
        assert page.locator("figure svg").is_hidden()
        reset = page.locator(".chart-reset")
        assert reset.is_hidden()
        page.locator("figure").focus()
        page.keyboard.press("+")
        reset.wait_for(state="visible")
        page.keyboard.press("Escape")
        reset.wait_for(state="hidden")
        area = page.locator(".u-over").bounding_box()
        page.mouse.move(area["x"] + 50, area["y"] + 50)
        page.mouse.down()
        page.mouse.move(area["x"] + 200, area["y"] + 60, steps=4)
        page.mouse.up()
        reset.wait_for(state="visible")
        assert page.requested == [report]


def test_a_report_is_readable_without_scripts(report):
    with opened(java_script_enabled=False) as page:
        page.goto(report)
        assert page.locator("figure svg").is_visible()
        assert "rate" in page.locator("figure svg").get_attribute("aria-label")


@pytest.mark.parametrize("width", [360, 3840])
def test_a_report_fits_its_window(report, width):
    with opened(viewport={"width": width, "height": 800}, color_scheme="dark") as page:
        page.goto(report)
        page.wait_for_selector(".uplot")
        assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_site_opens_from_a_disk(tmp_path):
    site = Site([a_series(), a_series(HOSTILE)], [], made_s=0.0)
    write_site(tmp_path / "site", site.names, site.files())
    with opened() as page:
        page.goto((tmp_path / "site" / INDEX).as_uri())
        page.get_by_role("link", name="train", exact=True).click()
        page.wait_for_selector(".uplot")
        area = page.locator(".u-over").bounding_box()
        page.mouse.click(area["x"] + area["width"] / 2, area["y"] + 40)
        page.wait_for_url("**#run-run-*")
        page.get_by_role("link", name="All benchmarks").click()
        page.wait_for_url("**/index.html")
