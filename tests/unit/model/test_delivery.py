"""Addresses may hold secrets: what is shown of them, and what is taken out of messages."""

import pytest

from anubis.model.alert import AlertState
from anubis.model.delivery import Delivery, redacted, without_address


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("slack:#perf", "slack:#perf"),
        ("mailto:team@example.org", "mailto:t…@example.org"),
        ("mailto:team@example.org?subject=s3cret", "mailto:t…@example.org"),
        ("https://hooks.example.org/services/T0/B0/s3cret", "https://hooks.example.org/…"),
        ("https://user:s3cret@example.org:8443?token=s3cret#s3cret", "https://example.org:8443/…"),
        ("pagerduty:s3cret-routing-key", "pagerduty:s3cr…"),
        ("alertmanager:severity=page", "alertmanager:seve…"),
        ("no scheme at all", "no scheme at all"),
        ("", ""),
    ],
)
def test_only_what_is_no_secret_is_shown(address, shown):
    assert redacted(address) == shown
    assert redacted(shown) == shown


@pytest.mark.parametrize(
    ("address", "text"),
    [
        ("https://x.org/hook/s3cret-token", "no route to /hook/s3cret-token"),
        ("https://x.org/hook/s3cret-token", "https://x.org/hook/s3cret-token is gone"),
        ("https://u:s3cret-token@x.org/", "login as u with s3cret-token failed"),
        ("https://x.org/?key=s3cret-token", "key=s3cret-token"),
        ("pager:s3cret-token", "unknown key s3cret-token"),
    ],
)
def test_no_part_of_an_address_stays_in_a_message(address, text):
    cleaned = without_address(text, address)
    assert "s3cret" not in cleaned
    assert "…" in cleaned


def test_a_message_without_the_address_stays_as_it_is():
    text = "hooks.example.org does not answer"
    assert without_address(text, "https://hooks.example.org/s3cret") == text
    assert without_address("a b", "x:a") == "a b"


def test_a_delivery_that_is_logged_shows_no_address():
    delivery = Delivery(
        alert_id="a", state=AlertState.CONFIRMED, to="https://x/s3cret", run_id=None, created_s=0.0, due_s=0.0
    )
    assert "s3cret" not in repr(delivery)
