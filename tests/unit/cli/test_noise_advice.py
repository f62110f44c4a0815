"""What to change for less noise: every warning with its remedy, and what pinning saves where it was measured."""

from anubis.cli.doctor.installation_checks import Check, State
from anubis.cli.doctor.left_governors import left_governors
from anubis.cli.doctor.machine_checks import machine_checks
from anubis.cli.doctor.noise_advice import Advice, advice, lines
from anubis.cli.doctor.noise_floor import Noise


def noise(kernel, floor):
    return Noise(
        kernel=kernel, executions=9, mean_s=0.02, variation=floor, noise_floor=floor, detectable=floor
    )


def test_pinning_is_proposed_only_if_it_was_measured_to_help():
    (found,) = advice([], [noise("cpu", 0.02), noise("cpu, pinned", 0.005)])
    assert found.noise_floor == (0.02, 0.005)
    assert 'pin = "auto"' in found.how
    assert list(lines([found]))[1].endswith("(measured: a noise floor of 0.5 % instead of 2.0 %)")
    assert list(advice([], [noise("cpu", 0.02), noise("cpu, pinned", 0.019)])) == []
    assert list(advice([], [noise("cpu", 0.02)])) == []


def test_warnings_become_advice_and_other_checks_do_not():
    checks = [Check("SMT", State.WARN, "on", "switch it off"), Check("swap", State.OK, "none")]
    assert list(advice(checks, [])) == [Advice(what="SMT", found="on", how="switch it off")]
    assert list(lines(list(advice(checks, []))))[1] == "  SMT: switch it off (what it saves was not measured)"
    assert list(lines([])) == ["Nothing that was checked on this machine adds noise."]


def test_threads_of_a_core_and_the_layout_of_memory_are_checked(tmp_path):
    for path, text in {
        "sys/devices/system/cpu/smt/control": "on",
        "proc/sys/kernel/randomize_va_space": "0",
        "sys/devices/system/cpu/isolated": "2-3\n",
    }.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    found = {check.name: check for check in machine_checks(tmp_path)}
    assert found["SMT"].state is found["ASLR"].state is State.WARN
    assert 'pin = "2-3"' in found["isolation"].found
    (tmp_path / "sys/devices/system/cpu/smt/control").write_text("notsupported")
    assert "SMT" not in {check.name for check in machine_checks(tmp_path)}


def test_governors_of_a_killed_agent_are_put_back(tmp_path):
    file = tmp_path / "sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    file.parent.mkdir(parents=True)
    file.write_text("performance")
    assert list(left_governors(tmp_path, str(tmp_path / "sys"))) == []
    (tmp_path / "governor.json").write_text(
        '{"/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave"}'
    )
    (check,) = left_governors(tmp_path, str(tmp_path / "sys"))
    assert (check.state, file.read_text()) == (State.OK, "powersave")
    assert list(left_governors(tmp_path, str(tmp_path / "sys"))) == []
