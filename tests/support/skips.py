"""A pytest plug-in: with ``--allowed-skips FILE`` the suite fails unless that file contains a reason for every skip.

A line of the file is ``PATTERN  # reason``; the pattern (as in fnmatch) is held against ``test id: message``.
"""

from fnmatch import fnmatchcase
from pathlib import Path

import pytest


def pytest_addoption(parser):
    parser.addoption("--allowed-skips", metavar="FILE", help="fail on a skip that no line of FILE explains")


def pytest_configure(config):
    file = config.getoption("--allowed-skips")
    if file:
        config.pluginmanager.register(SkipWatch(Path(config.rootpath, file).read_text()), "skip-watch")


def allowed_patterns(text):
    """The patterns of an allow-list; ValueError names a line without a reason."""
    patterns = []
    for line in text.splitlines():
        pattern, _, reason = (part.strip() for part in line.partition("  # "))
        if not pattern or pattern.startswith("#"):
            continue
        if not reason:
            raise ValueError(f"a skip may only be allowed with a reason: {line}")
        patterns.append(pattern)
    return patterns


class SkipWatch:
    def __init__(self, text):
        self.patterns = allowed_patterns(text)
        self.skips = []

    def pytest_runtest_logreport(self, report):
        if report.skipped and not hasattr(report, "wasxfail"):
            self.skips.append(f"{report.nodeid}: {report.longrepr[2]}")

    def pytest_collectreport(self, report):
        if report.skipped:
            self.skips.append(f"{report.nodeid}: {report.longrepr[2]}")

    def unexplained(self):
        return [skip for skip in self.skips if not any(fnmatchcase(skip, one) for one in self.patterns)]

    def pytest_sessionfinish(self, session):
        if self.unexplained() and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter):
        unexplained = self.unexplained()
        for skip in self.skips:
            mark = "NOT ALLOWED" if skip in unexplained else "allowed"
            terminalreporter.line(f"skip ({mark}): {skip}")
