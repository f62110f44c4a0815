import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from anubis.model.alert import Alert, AlertKind, AlertRow, AlertState
from anubis.reporting import alert_text
from support.alerts import ALERT, NEW, OLD, a_row, an_alert

MANY = an_alert(rows=tuple(a_row(metric=f"m{n}", effect=-n / 100) for n in range(1, 25)))
WRITINGS = pytest.mark.parametrize("write", [alert_text.text, alert_text.markdown], ids=["text", "markdown"])


@WRITINGS
def test_it_says_effect_interval_counts_noise_range_and_what_to_do(write):
    said = write(ALERT)
    for part in (
        "throughput",
        "912.4 -> 871.9 img/s",
        "-4.4 % [-5.8, -3.1]",
        "10+8",
        "1.1 %",
        OLD[:12],
        NEW[:12],
    ):
        assert part in said
    for verb in ("alerts show", "bisect --alert", "alerts accept"):
        assert f"anubis {verb} {ALERT.id}" in said


@WRITINGS
def test_ten_rows_are_shown_and_the_others_counted(write):
    said = write(MANY)
    assert "and 14 more" in said
    assert "m24" in said
    assert "m15" in said
    assert "m14" not in said


def test_the_gravest_kind_comes_before_the_largest_effect():
    small, large = (
        a_row(metric="slow", effect=-0.03),
        a_row(metric="fast", kind=AlertKind.IMPROVEMENT, effect=0.9),
    )
    shown, _ = alert_text.lines(an_alert(rows=(large, small)))
    assert [line.metric for line in shown] == ["slow", "fast"]


def test_a_missing_noise_floor_is_not_zero():
    shown, _ = alert_text.lines(an_alert(rows=(a_row(noise_floor=None),)))
    assert shown[0].noise == "not known yet"


def test_a_threshold_is_the_value_and_the_bound_without_a_level_before():
    row = a_row(kind=AlertKind.THRESHOLD, interval=None, note="below its minimum of 900 img/s", n_before=0)
    alert = an_alert(kind=AlertKind.THRESHOLD, rows=(row,))
    said = alert_text.text(alert)
    assert "throughput  871.9 img/s  THRESHOLD (below its minimum of 900 img/s)" in said
    assert "912.4" not in said
    assert "In brackets" not in said
    assert "change the bound in the descriptor" in said
    assert alert_text.title(alert).endswith("throughput below its minimum of 900 img/s")


def test_a_threshold_beside_a_regression_keeps_the_words_of_a_level_shift():
    bound = a_row(metric="loss", kind=AlertKind.THRESHOLD, interval=None, note="above its maximum of 1")
    said = alert_text.text(an_alert(rows=(a_row(), bound)))
    assert "In brackets" in said
    assert "make the new level the baseline" in said


def test_a_reader_of_an_open_alert_sees_every_decision():
    commands = [step.command for step in alert_text.decisions(ALERT)]
    assert [command.split()[2] for command in commands] == ["--alert", "accept", "ack", "mute", "resolve"]
    assert f"anubis alerts mute {ALERT.id} --for 7d --why '...'" in commands
    assert "alerts show" not in alert_text.text(ALERT, alert_text.decisions(ALERT))
    resolved = an_alert(state=AlertState.RESOLVED)
    assert "What to do next" not in alert_text.text(resolved, alert_text.decisions(resolved))


def test_a_failure_without_rows_says_why_and_where_to_look():
    alert = an_alert(kind=AlertKind.FAILURE, rows=(), why="out of memory: ask for more")
    said = alert_text.text(alert)
    assert "Out of memory" not in alert_text.title(alert)
    assert "ut of memory: ask for more." in said
    assert f"anubis logs {alert.run_id}" in said
    assert "interval" not in said


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (AlertState.ACKNOWLEDGED, "Acknowledged by alice: known."),
        (AlertState.ACCEPTED, "Accepted as the new baseline by alice: known."),
        (AlertState.MUTED, "Muted until 2023-11-15 22:13 UTC by alice: known."),
        (AlertState.RESOLVED, "Resolved by alice: known."),
    ],
)
def test_every_change_of_state_says_who_and_why(state, words):
    alert = an_alert(state=state, actor="alice", why="known", muted_until_s=ALERT.opened_s + 86_400)
    assert words in alert_text.text(alert)
    assert words.split(" by ", maxsplit=1)[0].split(" until")[0].lower() in alert_text.title(alert)


@pytest.mark.parametrize("state", [AlertState.ACCEPTED, AlertState.MUTED, AlertState.RESOLVED])
def test_what_is_settled_asks_for_nothing(state):
    settled = an_alert(state=state)
    assert [step.command for step in alert_text.next_steps(settled)] == [f"anubis alerts show {ALERT.id}"]
    assert "No action is needed." in alert_text.text(settled)
    assert not alert_text.is_open(settled)


def test_an_unknown_range_is_said():
    assert "has no subject" in alert_text.text(an_alert(last_old="", first_new=""))
    first = alert_text.text(an_alert(last_old=""))
    assert "no older subject is known" in first
    assert "bisect" not in first


def test_good_news_is_open_but_not_bad():
    better = an_alert(kind=AlertKind.IMPROVEMENT)
    assert alert_text.is_open(better)
    assert not alert_text.is_bad(better)
    assert alert_text.is_bad(ALERT)
    assert not alert_text.is_open(an_alert(kind=AlertKind.RECOVERY))


def test_the_key_changes_with_the_state_and_with_nothing_else():
    assert alert_text.key(ALERT) == alert_text.key(an_alert(changed_s=2e9, why="more rows"))
    assert alert_text.key(ALERT) != alert_text.key(an_alert(state=AlertState.RESOLVED))


NASTY = st.sampled_from(
    [
        "| a | b",
        "```\n# owned",
        "<img src=x onerror=alert(1)>",
        "![x](https://evil.example/p.png)",
        "@everyone",
        "a\r\n/close",
        "--> visible",
        "`@org/team`",
        "\u202etxt",
        "[click](https://evil.example)",
        "https://evil.example",
        "",
    ]
)
FINITE = st.floats(allow_nan=False, allow_infinity=False, width=64)
ROWS = st.builds(
    AlertRow,
    series_key=st.just("5"),
    fingerprint=st.just("f"),
    metric=NASTY,
    units=NASTY,
    better=st.just("none"),
    kind=st.sampled_from(AlertKind),
    effect=st.floats(),
    interval=st.none() | st.tuples(st.floats(), st.floats()),
    before=FINITE,
    after=FINITE,
    n_before=st.integers(0, 99),
    n_after=st.integers(0, 99),
    noise_floor=st.none() | FINITE,
    note=NASTY,
)
ALERTS = st.builds(
    Alert,
    id=st.just("0123456789abcdef"),
    benchmark=NASTY,
    kind=st.sampled_from(AlertKind),
    state=st.sampled_from(AlertState),
    rows=st.lists(ROWS, max_size=12).map(tuple),
    run_id=st.just("run"),
    last_old=NASTY,
    first_new=NASTY,
    opened_s=st.just(1.7e9),
    changed_s=st.just(1.7e9),
    actor=NASTY,
    why=NASTY,
    muted_until_s=st.none() | st.just(1.8e9),
)


@given(ALERTS)
def test_words_from_outside_never_become_markup(alert):
    tokens = MarkdownIt("commonmark", {"linkify": False}).enable("table").parse(alert_text.markdown(alert))
    inline = [child for token in tokens for child in token.children or ()]
    assert {token.type for token in (*tokens, *inline)} <= {
        *("paragraph_open", "paragraph_close", "inline", "text", "code_inline", "softbreak"),
        *(
            "strong_open",
            "strong_close",
            "bullet_list_open",
            "bullet_list_close",
            "list_item_open",
            "list_item_close",
        ),
        *("table_open", "table_close", "thead_open", "thead_close", "tbody_open", "tbody_close"),
        *("tr_open", "tr_close", "th_open", "th_close", "td_open", "td_close"),
    }
    outside_code = " ".join(child.content for child in inline if child.type == "text")
    assert "@" not in outside_code
    assert "evil" not in outside_code


@given(ALERTS)
def test_no_line_of_the_text_can_be_forged(alert):
    assert len(alert_text.title(alert)) <= 150
    assert not any(line.startswith(("/", "#")) for line in alert_text.text(alert).splitlines())
    assert len(alert_text.text(alert).splitlines()) <= 30


@given(ALERTS)
def test_commands_hold_nothing_from_outside(alert):
    calm = dataclasses.replace(alert, benchmark="b", why="", actor="", last_old=alert.last_old and "a")
    assert alert_text.next_steps(alert) == alert_text.next_steps(calm)
