"""Pages of a real service, without a browser: hostile texts, forged forms, forms sent twice, large logs."""

import re
import subprocess
from html.parser import HTMLParser
from urllib.parse import quote, urlencode

import pytest
import urllib3

from anubis.contracts.runs import RunQuery
from anubis.model.alert import AlertState
from anubis.record import layout
from anubis.web.pages import assets
from support.command import BIN
from support.service import Service

TEXT = """spec_version = "1.0"
[info]
name = "{name}"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "{code}"
[[output.metrics]]
name = "score"
units = "1"
pattern = 'score=(\\\\S+)'
"""
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
#: Pages that need no object.
PAGES = (
    "", "/runs", "/benchmarks", "/compare", "/alerts", "/families", "/schedules", "/machines", "/data", "/events",
    "/search", "/settings", "/submit",
)  # fmt: skip


class Elements(HTMLParser):
    """The elements of a page, with their attributes, and its text."""

    def __init__(self, text):
        super().__init__()
        self.found, self.text = [], ""
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data

    def of(self, tag):
        return [attrs for name, attrs in self.found if name == tag]


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    running = Service(tmp_path_factory.mktemp("ui") / "home").start()
    yield running
    running.stop()


pool = urllib3.PoolManager(retries=False)


def get(service, path, **headers):
    return pool.request("GET", f"{service.url}/ui{path}", headers=headers, redirect=False)


def post(service, path, fields=None, **headers):
    sent = {"Origin": service.url, "Content-Type": "application/x-www-form-urlencoded", **headers}
    body = urlencode(fields or {}, doseq=True)
    return pool.request("POST", f"{service.url}/ui{path}", body=body, headers=sent, redirect=False)


def measured(service, name, code):
    """A final run that a form submitted."""
    key = f"key-{name}"
    answer = post(
        service, "/submit", {"text": TEXT.format(name=name, code=code), "key": key, "action": "submit"}
    )
    assert answer.status == 303, answer.data.decode()
    with service.client() as client:
        run = client.runs.get(answer.headers["Location"].rpartition("/")[2])
        return client.runs.wait([run.id])[0]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_served_with_its_json(service, path):
    answer = get(service, path)
    page = Elements(answer.data.decode())
    assert answer.status == 200
    assert page.of("h1")
    assert page.of("title")
    joint = "&" if "?" in path else "?"
    assert get(service, f"{path}{joint}format=json").json() is not None


@pytest.mark.parametrize("path", PAGES)
def test_a_page_contains_no_script_and_no_style(service, path):
    answer = get(service, path)
    policy = answer.headers["Content-Security-Policy"]
    assert "unsafe" not in policy
    assert "default-src 'none'" in policy
    page = Elements(answer.data.decode())
    assert [attrs for attrs in page.of("script") if "src" not in attrs and attrs.get("type") is None] == []
    assert page.of("style") == []
    assert [
        name for _, attrs in page.found for name in attrs if name.startswith("on") or name == "style"
    ] == []
    loaded = [
        attrs.get("src") or attrs.get("href") for tag in ("script", "link", "img") for attrs in page.of(tag)
    ]
    assert all(each is None or each.startswith("/ui/static/") for each in loaded)


def test_assets_are_kept_for_ever_and_small():
    assert assets.script_bytes() <= 120_000


def test_an_asset_says_how_long_it_may_be_kept(service):
    found = Elements(get(service, "").data.decode()).of("script")[0]["src"]
    answer = pool.request("GET", service.url + found, headers={"Accept-Encoding": "gzip"})
    assert answer.status == 200
    assert "immutable" in answer.headers["Cache-Control"]
    assert get(service, "/static/x/../../pages.py").status == 404
    assert get(service, "/static/x/unknown.js").status == 404


def test_hostile_output_is_shown_as_text(service):
    run = measured(
        service,
        "hostile",
        f"printf '%b' '{HOSTILE}\\\\033[31mred\\\\033[0m\\\\033]0;title\\\\007\\\\nscore=1\\\\n'",
    )
    answer = get(service, f"/runs/{run.id}/output").data.decode()
    page = Elements(answer)
    assert HOSTILE in page.text
    assert "<script>alert" not in answer
    assert "red" in page.text
    assert "\x1b" not in answer
    assert "\\x1b]0;title\\x07" in page.text


def test_a_word_of_a_million_letters_is_cut(service):
    run = measured(service, "long", "sh -c 'head -c 1000000 /dev/zero | tr \\\\0 x; echo; echo score=1'")
    page = get(service, f"/runs/{run.id}/output").data.decode()
    earlier = next(each["href"] for each in Elements(page).of("a") if "before=" in each.get("href", ""))
    before = pool.request("GET", service.url + earlier).data
    assert len(before) < 100_000
    assert b"more bytes" in before


@pytest.mark.parametrize("text", [HOSTILE, "x" * 3000, "\x1b[31m", "\u202e", "'\"&"])
def test_hostile_parameters_are_text(service, text):
    for path in (
        "/runs?benchmark=",
        "/benchmarks?find=",
        "/search?pattern=",
        "/benchmarks/",
        "/alerts/",
        "/runs/",
    ):
        answer = get(service, f"{path}{quote(text, safe='')}")
        assert answer.status in {200, 400, 404}, (path, answer.status)
        assert b"<script>alert" not in answer.data
        assert b"<img src=x" not in answer.data


def test_an_unknown_page_and_an_unknown_run_are_pages_with_a_remedy(service):
    for path in ("/nothing", "/runs/00000000-0000-0000-0000-000000000000", "/alerts/ff", "/schedules/none"):
        answer = get(service, path, Accept="text/html")
        assert answer.status == 404
        assert "<h1>" in answer.data.decode()


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "", "Sec-Fetch-Site": "cross-site"},
        {"Origin": "", "Sec-Fetch-Site": "same-site"},
    ],
)
def test_a_forged_form_does_nothing(service, headers):
    fields = {"text": TEXT.format(name="forged", code="true"), "key": "forged", "action": "submit"}
    sent = {name: value for name, value in headers.items() if value}
    body = urlencode(fields)
    answer = pool.request(
        "POST",
        f"{service.url}/ui/submit",
        body=body,
        headers={"Content-Type": "application/x-www-form-urlencoded", **sent},
        redirect=False,
    )
    assert answer.status == 403
    with service.client() as client:
        assert not client.runs.find(RunQuery(name="forged"))


def test_a_form_that_is_sent_twice_acts_once(service):
    fields = {"text": TEXT.format(name="twice", code="echo score=1"), "key": "twice", "action": "submit"}
    first, second = (post(service, "/submit", fields).headers["Location"] for _ in range(2))
    assert first == second
    run = first.rpartition("/")[2]
    with service.client() as client:
        client.runs.wait([run])
        places = {post(service, f"/runs/{run}/replay", {"key": "one"}).headers["Location"] for _ in range(2)}
        assert len(places) == 1
        assert len(client.runs.find(RunQuery(name="twice"))) == 2


def test_a_refused_descriptor_keeps_what_was_typed(service):
    text = TEXT.format(name="typed", code="true").replace("units", "unit5")
    answer = post(service, "/submit", {"text": text, "key": "typed", "action": "submit"})
    page = answer.data.decode()
    assert answer.status == 400
    assert "unit5 = " in Elements(page).text
    assert 'data-line="10"' in page
    checked = post(service, "/submit", {"text": text, "key": "typed"}, **{"HX-Request": "true"}).data.decode()
    assert "<html" not in checked
    assert "line 10" in Elements(checked).text


def test_only_the_end_of_a_large_log_is_read(service):
    run = measured(service, "large", "sh -c 'seq 1 2000000; echo score=1'")
    answer = get(service, f"/runs/{run.id}/output")
    page = answer.data.decode()
    assert len(page) < 16 << 20
    assert "2000000" in page
    earlier = next(each["href"] for each in Elements(page).of("a") if "before=" in each.get("href", ""))
    before = pool.request("GET", service.url + earlier).data.decode()
    shown = [int(each) for each in re.findall(r"<span>(\d+)</span>", page)]
    older = [int(each) for each in re.findall(r"<span>(\d+)</span>", before)]
    assert older[-1] + 1 == shown[0]
    assert older == list(range(older[0], shown[0]))


def test_the_stream_of_the_output_continues_after_the_page(service):
    run = measured(service, "streamed", "echo score=1")
    answer = pool.request(
        "GET",
        f"{service.url}/ui/runs/{run.id}/output/stream?place=1:",
        headers={"Accept": "text/event-stream"},
    )
    assert b"event: lines" in answer.data
    assert b"event: end" in answer.data
    assert layout.STDOUT.encode() in answer.data


def test_an_alert_is_decided_once_with_a_reason(service, tmp_path):
    rows = ["benchmark,metric,value,unit,better,commit,time,run"]
    for at in range(60):
        value = (100 if at < 40 else 90) + (at * 7 % 5) / 10
        rows.append(f"shifted,rate,{value},1/s,higher,{at:040x},{1_790_000_000 + 3600 * at},r{at}")
    file = tmp_path / "history.csv"
    file.write_text("\n".join(rows))
    with service.client() as client:
        client.histories.store(client.histories.read([str(file)]))
        (alert, *_) = client.series.analyse(benchmark="shifted")
    assert "worse" in Elements(get(service, "/benchmarks/shifted").data.decode()).text
    decision = {"decision": "ack", "why": f"I look at it {HOSTILE}"}
    assert post(service, f"/alerts/{alert.id}/decisions", {"decision": "ack", "why": " "}).status == 400
    for _ in range(2):
        assert post(service, f"/alerts/{alert.id}/decisions", decision).status == 303
    with service.client() as client:
        found, trail = client.alerts.get(alert.id)
        assert found.state is AlertState.ACKNOWLEDGED
        assert sum(event.data.get("state") == "acknowledged" for event in trail) <= 1
    page = get(service, f"/alerts/{alert.id}").data.decode()
    assert HOSTILE in Elements(page).text
    assert "<script>alert" not in page


def test_one_command_shows_the_pages_of_a_new_home(tmp_path):
    environ = {"ANUBIS_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    process = subprocess.Popen(
        [BIN / "anubis", "ui", "--no-browser"], env=environ, stdout=subprocess.PIPE, text=True
    )
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:")
        assert address.endswith("/ui")
        answer = pool.request("GET", address)
        assert answer.status == 200
        assert "anubis init" in answer.data.decode()
    finally:
        process.terminate()
        assert process.wait(60) == 0
        process.stdout.close()
