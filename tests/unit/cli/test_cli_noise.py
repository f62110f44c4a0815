import pytest

from anubis.cli.doctor import noise_floor


def test_equal_times_have_no_noise():
    found = noise_floor.judged("cpu", [0.02] * 10)
    assert (found.executions, found.mean_s) == (10, pytest.approx(0.02))
    assert found.variation == pytest.approx(0)
    assert found.noise_floor == pytest.approx(0)
    assert found.detectable == pytest.approx(0)


def test_noise_in_the_times_is_the_noise_that_is_told():
    found = noise_floor.judged("cpu", [0.02 * (1 + 0.01 * (-1) ** n) for n in range(40)])
    assert found.variation == pytest.approx(0.01, rel=0.05)
    assert 0.005 < found.noise_floor < 0.02
    assert found.detectable > 0


def test_both_kernels_are_measured_within_their_budget():
    now = iter(range(10_000_000))
    found = list(noise_floor.measured(budget_s=20, clock=lambda: float(next(now))))
    assert [each.kernel for each in found][:2] == ["cpu", "memory"]
    assert all(each.executions >= 2 for each in found)
