from dataclasses import replace
from pathlib import Path

import pytest

from anubis.model.errors import BadInputError, NotifyError
from anubis.publishing.mail import chore
from anubis.publishing.mail.chore import EVERY_S, LEASE_S, ScheduledReports, latest_due
from anubis.publishing.mail.rules import ScheduledReport, of_installation, read
from anubis.publishing.reports import report
from anubis.settings import Settings

WEEKLY = ScheduledReport(
    to=("mailto:a@example.org", "mailto:b@example.org"), schedule="0 8 * * *", group_by="team"
)


class Mails:
    """A notifier that keeps the letters, and fails as often as told."""

    def __init__(self):
        self.sent, self.failures = [], []

    def notify(self, to, alert):
        raise AssertionError

    def send(self, to, letter):
        if self.failures:
            raise self.failures.pop(0)
        self.sent.append((to, letter))


@pytest.fixture
def mails():
    return Mails()


@pytest.fixture
def new_chore(house, mails):
    world = replace(house.world, notifiers={"mailto": mails})
    return lambda owner="one", *reports: ScheduledReports(world, owner, lambda: reports or [WEEKLY], report)


def later(house, seconds):
    house.clock.advance(seconds)


def test_each_due_time_is_sent_once_to_each_address(house, mails, new_chore):
    one, other = new_chore("one"), new_chore("two")
    for each in (one, other, new_chore("restarted")):
        each.turn()
    assert [to for to, _ in mails.sent] == list(WEEKLY.to)
    later(house, 86_400)
    one.turn()
    other.turn()
    assert len(mails.sent) == 4
    assert len({letter.key for _, letter in mails.sent}) == 4


def test_a_report_is_about_the_period_before_its_due_time(house, mails, new_chore, bench):
    due_s = latest_due(WEEKLY, house.clock.now_s())
    bench.at = int(due_s) - 60
    bench.add(*[100.0] * 30, *[90.0] * 12, run={})
    new_chore().turn()
    letter = mails.sent[0][1]
    assert letter.subject == "Anubis: 1 worse (of 42 runs)"
    assert "## team vision: worse" in letter.text
    assert letter.html.startswith("<!DOCTYPE html>")


def test_a_failure_is_tried_again_after_the_claim_ends(house, mails, new_chore):
    mails.failures = [NotifyError("busy"), NotifyError("busy")]
    one, other = new_chore("one"), new_chore("two")
    one.turn()
    other.turn()
    later(house, EVERY_S + 1)
    one.turn()
    assert mails.sent == []
    later(house, LEASE_S)
    other.turn()
    one.turn()
    assert [to for to, _ in mails.sent] == list(WEEKLY.to)


def test_a_permanent_failure_is_not_tried_again(house, mails, new_chore):
    mails.failures = [NotifyError("refused", permanent=True)]
    one = new_chore()
    one.turn()
    assert len(mails.sent) == 1
    later(house, LEASE_S + EVERY_S)
    one.turn()
    assert len(mails.sent) == 1


def test_a_process_that_died_with_a_claim_is_followed_by_another(house, mails, new_chore, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(chore, "letter", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            new_chore("dead").turn()
    living = new_chore("living")
    living.turn()
    assert [to for to, _ in mails.sent] == [WEEKLY.to[1]]
    later(house, LEASE_S + 1)
    living.turn()
    assert [to for to, _ in mails.sent] == [WEEKLY.to[1], WEEKLY.to[0]]


def test_a_due_time_that_was_missed_for_a_day_is_not_sent(house):
    yearly = replace(WEEKLY, schedule="@yearly")
    assert latest_due(yearly, house.clock.now_s()) is None


def test_an_address_that_receives_no_reports_delays_no_other(house, mails, new_chore):
    new_chore("one", replace(WEEKLY, to=("slack:general", "mailto:a@example.org"))).turn()
    assert [to for to, _ in mails.sent] == ["mailto:a@example.org"]


def test_rules_are_read():
    text = '[[report]]\nto = ["mailto:a@example.org"]\nschedule = "0 8 * * 1"\ntimezone = "Europe/Berlin"\nperiod_days = 14\n'
    assert read(text, Path("reports.toml")) == [
        ScheduledReport(
            to=("mailto:a@example.org",),
            schedule="0 8 * * 1",
            timezone="Europe/Berlin",
            period_s=14 * 86_400.0,
        )
    ]


def test_all_problems_of_rules_are_found():
    text = 'x = 1\n[[report]]\nto = "a"\nperiod_days = 0\nunknown = 1\ndaily = 1\n[[report]]\nto = ["mailto:a@b"]\nschedule = "61 * * * *"\n'
    with pytest.raises(BadInputError) as raised:
        read(text, Path("reports.toml"))
    assert [problem.path for problem in raised.value.problems] == [
        "x", "report[0].unknown", "report[0].to", "report[0].period_days", "report[0].daily",
        "report[0].schedule", "report[1].schedule",
    ]  # fmt: skip


def test_a_file_that_was_named_must_exist(tmp_path):
    assert of_installation(Settings.from_env({"ANUBIS_HOME": str(tmp_path)})) == ()
    named = {"ANUBIS_HOME": str(tmp_path), "ANUBIS_REPORTS": str(tmp_path / "none.toml")}
    with pytest.raises(BadInputError, match="there is no file"):
        of_installation(Settings.from_env(named))
