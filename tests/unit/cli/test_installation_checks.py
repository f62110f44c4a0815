"""What ``anubis doctor`` says about the disk."""

from types import SimpleNamespace

import pytest

from anubis.cli.doctor import installation_checks
from anubis.cli.doctor.installation_checks import State
from anubis.settings import Settings

NEEDED = 1 << 20


@pytest.mark.parametrize(
    ("free", "state", "found"),
    [
        (NEEDED - 1, State.FAIL, "at least 1.00 MiB required"),
        (NEEDED, State.WARN, "1.00 MiB free"),
        (10 * NEEDED - 1, State.WARN, "10.0 MiB free"),
        (10 * NEEDED, State.OK, "10.0 MiB free"),
    ],
)
def test_the_disk_is_sufficient_short_or_too_full(tmp_path, monkeypatch, free, state, found):
    settings = Settings.from_env({"ANUBIS_HOME": str(tmp_path), "ANUBIS_MIN_FREE_BYTES": str(NEEDED)})
    monkeypatch.setattr(installation_checks.shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    checks = {check.name: check for check in installation_checks.installation(settings)}
    assert checks["disk"].state is state
    assert found in checks["disk"].found
    assert bool(checks["disk"].remedy) == (state is not State.OK)
