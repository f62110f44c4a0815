import re
from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anubis.model.alert import AlertKind, AlertState
from anubis.model.errors import NotifyError
from anubis.notifiers.alertmanager import Alertmanager, AlertmanagerSettings, labels, posted
from support.alerts import ALERT, an_alert


def seconds(text):
    return datetime.fromisoformat(text).timestamp()


def test_identity_never_changes_in_the_life_of_an_alert():
    lives = [an_alert(state=state, kind=kind, why="x", rows=()) for state in AlertState for kind in AlertKind]
    assert len({tuple(sorted(posted("alertmanager:", life)["labels"].items())) for life in lives}) == 1


@pytest.mark.parametrize("state", AlertState)
def test_an_open_alert_fires_until_it_is_ended(state):
    sent = posted("alertmanager:", an_alert(state=state))
    assert seconds(sent["startsAt"]) == ALERT.opened_s
    if state in (AlertState.ACCEPTED, AlertState.MUTED, AlertState.RESOLVED):
        assert seconds(sent["endsAt"]) == ALERT.changed_s
    else:
        assert seconds(sent["endsAt"]) > ALERT.opened_s + 9 * 365 * 86_400


def test_an_end_is_never_before_its_start():
    sent = posted("alertmanager:", an_alert(state=AlertState.RESOLVED, changed_s=ALERT.opened_s - 5))
    assert sent["endsAt"] == sent["startsAt"]


def test_the_address_adds_labels_to_route_by():
    sent = posted("alertmanager:severity=page, my-team=vision,9x=1,alert=forged", ALERT)
    assert sent["labels"] == {
        "severity": "page",
        "my_team": "vision",
        "_9x": "1",
        "alertname": "Anubis",
        "alert": ALERT.id,
        "benchmark": "resnet50-train",
    }


@given(st.text(alphabet='abc=,9 -é\n"{}', max_size=30))
def test_every_label_is_legal_or_refused(text):
    try:
        found = labels(text)
    except NotifyError:
        return
    for name, value in found.items():
        assert re.fullmatch("[a-zA-Z_][a-zA-Z0-9_]*", name)
        assert value


def test_a_benchmark_without_a_printable_name_still_has_a_label():
    assert posted("alertmanager:", an_alert(benchmark="\u202e"))["labels"]["benchmark"] == "unnamed"


def test_without_an_address_the_remedy_is_named():
    with pytest.raises(NotifyError, match="ANUBIS_ALERTMANAGER_URL") as refused:
        Alertmanager(AlertmanagerSettings()).notify("alertmanager:", ALERT)
    assert refused.value.permanent


def test_a_refused_label_is_refused_for_good():
    with pytest.raises(NotifyError) as refused:
        labels("severity")
    assert refused.value.permanent
