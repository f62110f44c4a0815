"""``anubis report`` and ``anubis export site``, on a home folder and through a service."""

import csv
import io
import json
import zipfile

import pytest

from support.mail import Mailbox, Server
from support.processes import until
from support.service import Service


@pytest.fixture
def imported(anubis, tmp_path):
    """A history of one benchmark whose throughput falls at commit 30."""
    rows = ["benchmark,metric,value,units,better,time_s,commit_s,commit,label.team"]
    rows += [
        f"train,throughput,{(100 if at < 30 else 90) + at % 3 / 10},img/s,higher,{1_700_000_000 + at},"
        f"{1_700_000_000 + at},{at:040x},vision"
        for at in range(42)
    ]
    (tmp_path / "history.csv").write_text("\n".join(rows) + "\n")
    done = anubis("import", tmp_path / "history.csv")
    assert done.returncode == 0, done.stderr
    return tmp_path / "history.csv"


def test_a_report_in_every_format(anubis, imported, tmp_path):
    for form in ("html", "md", "csv", "json", "xlsx"):
        done = anubis("report", "train", "--output", tmp_path / f"r.{form}")
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "r.html").read_text().startswith("<!DOCTYPE html>")
    assert "**▼ worse: -10" in (tmp_path / "r.md").read_text()
    (series, *_) = csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text().split("\n", 1)[1]))
    assert (series["Metric"], series["Unit"], float(series["Now"])) == ("throughput", "img/s", 90.2)
    assert json.loads((tmp_path / "r.json").read_text()) | {"made_s": 0} == anubis.json("report", "train") | {
        "made_s": 0
    }
    assert zipfile.ZipFile(tmp_path / "r.xlsx").testzip() is None
    assert [path.name for path in tmp_path.glob(".*.unfinished")] == []


def test_a_report_of_a_period(anubis, imported):
    done = anubis("report", "--since", "2023-01-01", "--group-by", "team", "--format", "md")
    assert "## team vision: worse" in done.stdout, done.stderr
    assert "nothing was measured" in anubis("report").stdout
    assert "| train | 95" not in anubis("report", "--daily").stdout
    daily = anubis("report", "--daily", "--since", "2023-11-14", "--until", "2023-11-16").stdout
    assert "| train | " in daily


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["unknown"], "'unknown' is no benchmark, run, alert or family"),
        (["x", "--daily"], "a name and a period"),
        (["--family"], "--family needs a run"),
        (["@last", "--family"], "has no family"),
        (["-o", "no/such/folder/r.html"], "No such file"),
        (["--format", "pdf"], "'pdf' is not one of"),
    ],
)
def test_a_wrong_request_says_why(anubis, imported, words, message):
    done = anubis("report", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stdout == ""


def test_a_service_makes_the_same_report_and_site(anubis, imported, tmp_path):
    with_service = Service(tmp_path / "served", "--role", "api").start()
    try:
        assert anubis("register", with_service.url).returncode == 0
        assert anubis("import", imported).returncode == 0
        remote = anubis("report", "train", "--format", "md").stdout
        site = anubis.json("export", "site", tmp_path / "remote-site")
        assert anubis("unregister").returncode == 0
    finally:
        with_service.stop()
    assert remote == anubis("report", "train", "--format", "md").stdout
    assert site == {
        "folder": str(tmp_path / "remote-site"), "written": 4, "unchanged": 0, "removed": 0
    }  # fmt: skip
    assert anubis("export", "site", tmp_path / "site").returncode == 0
    pages = [
        {path.relative_to(root).as_posix(): path.read_text() for path in (root / "benchmarks").glob("*.html")}
        for root in (tmp_path / "remote-site", tmp_path / "site")
    ]
    assert pages[0] == pages[1] != {}


def test_two_services_send_a_scheduled_report_once(tmp_path):
    mailbox = Mailbox()
    mails = Server(mailbox)
    mails.start()
    home = tmp_path / "served"
    home.mkdir()
    (home / "reports.toml").write_text(
        '[[report]]\nto = ["mailto:team@example.org"]\nschedule = "0 0 * * *"\n'
    )
    environment = {
        "ANUBIS_SMTP_URL": f"smtp://127.0.0.1:{mails.port}",
        "ANUBIS_SMTP_FROM": "anubis@example.org",
    }
    services = [Service(home, name=name, **environment) for name in ("one", "two")]
    try:
        for each in services:
            each.start()
        until(lambda: mailbox.mails, "the report arrives")
    finally:
        for each in services:
            each.stop()
        mails.stop()
    ((recipients, mail),) = mailbox.mails
    assert recipients == ["team@example.org"]
    assert mail["Subject"] == "Anubis: nothing was measured"
