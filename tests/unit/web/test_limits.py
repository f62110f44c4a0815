from hypothesis import given
from hypothesis import strategies as st

from anubis.model.access.tokens import new_token, parts_of
from anubis.web.access.limits import Rates


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


@given(steps=st.lists(st.tuples(st.floats(0, 5), st.sampled_from("ab")), max_size=60))
def test_no_bucket_gives_more_than_its_rate(steps):
    clock = Clock()
    rates, given_at = Rates(3, 0.5, clock), {"a": [], "b": []}
    for pause_s, name in steps:
        clock.now_s += pause_s
        looked_s = rates.wait_s(name)
        wait_s = rates.take(name)
        assert looked_s == wait_s
        if wait_s:
            clock.now_s += wait_s * 1.0001
            assert rates.take(name) == 0, "after the time that was given, there is one"
        given_at[name].append(clock.now_s)
    for times in given_at.values():
        for at, first_s in enumerate(times):
            for last, last_s in enumerate(times[at:], start=1):
                assert last <= 3 + 0.5 * (last_s - first_s) + 1e-6


def test_buckets_that_are_not_used_are_dropped():
    rates = Rates(1, 0.001, Clock())
    assert rates.take("first") == 0
    assert rates.take("first") > 0
    for number in range(10_000):
        rates.take(str(number))
    assert rates.take("first") == 0


def test_tokens_differ_and_only_their_form_is_read():
    made = {new_token()[0] for _ in range(100)}
    assert len(made) == 100
    text, prefix, digest = new_token()
    assert parts_of(text) == (prefix, text.rpartition(f"{prefix}_")[2])
    assert len(digest) == 32
    for wrong in ("", "anubis_", text[:-1], f"{text}=", f" {text}", text.upper(), text.replace("_", "-", 1)):
        assert parts_of(wrong) is None
