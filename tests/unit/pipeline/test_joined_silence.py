"""How long a worker was silent, as one process has seen it."""

from hypothesis import given
from hypothesis import strategies as st

from anubis.pipeline.joined.silence import LOOK_S, Silence

LEASE_S = 30.0


class Clock:
    now_s = 1000.0

    def __call__(self):
        return self.now_s


@given(
    st.lists(
        st.tuples(
            st.sampled_from([0.1, 1.0, LOOK_S, LEASE_S / 3, LEASE_S / 3 + 0.1, LEASE_S, 10 * LEASE_S]),
            st.booleans(),
        ),
        max_size=60,
    )
)
def test_only_an_observed_silence_of_a_lease_counts(looks):
    clock = Clock()
    silence = Silence(LEASE_S, clock)
    beats, heard_s, looked_s = 0, clock.now_s, clock.now_s
    silence.is_over("one", beats)
    for step_s, is_heard in looks:
        clock.now_s += step_s
        beats += is_heard
        if is_heard or clock.now_s - looked_s > LEASE_S / 3:
            heard_s = clock.now_s
        looked_s = clock.now_s
        assert silence.is_over("one", beats) == (clock.now_s - heard_s > LEASE_S)


def test_workers_are_observed_apart():
    clock = Clock()
    silence = Silence(LEASE_S, clock)
    for step in range(8):
        assert not silence.is_over("alive", step)
        last = silence.is_over("silent", 7)
        clock.now_s += LEASE_S / 6
    assert last
