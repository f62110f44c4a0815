import itertools
import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

pytest_plugins = ["pytester", "support.buckets", "support.skips", "support.slurm"]

# No property has a deadline: what a loaded machine takes says nothing about the program. "fixed" repeats the same
# inputs at every run; "random" draws new ones (make properties, which prints the seed).
settings.register_profile("fixed", deadline=None, derandomize=True, database=None)
settings.register_profile("random", deadline=None, derandomize=False, database=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fixed"))

# Commands started by nohup, or by a shell in the background, ignore these signals, and so would every program that they start.
for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
    if signal.getsignal(number) is signal.SIG_IGN:
        signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)

INTEGRATION = tuple(Path(__file__).parent / name for name in ("integration", "browser"))
_counter = itertools.count()


def pytest_collection_modifyitems(items):
    """Marks the tests that need real servers, or a browser."""
    for item in items:
        if any(map(item.path.is_relative_to, INTEGRATION)):
            item.add_marker(pytest.mark.integration)


@pytest.fixture(autouse=True)
def own_home(tmp_path_factory, monkeypatch):
    """No test reads or writes the home folder or the settings of the user who runs it."""
    for name in (
        "ANUBIS_DATABASE_URL",
        "ANUBIS_ENGINE",
        "ANUBIS_CLIENT_ID",
        "ANUBIS_PROCESS_SLOTS",
        "ANUBIS_LEASE_S",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANUBIS_HOME", str(tmp_path_factory.getbasetemp() / f"anubis-home-{next(_counter)}"))
