import pytest

from support.skips import allowed_patterns

SUITE = """
import pytest

def test_passes():
    pass

@pytest.mark.skip(reason="needs an accelerator")
def test_skips():
    pass
"""


@pytest.fixture
def suite(pytester):
    pytester.makeconftest("pytest_plugins = ['support.skips']")
    pytester.makepyfile(SUITE)
    return pytester


def run(suite, allowed):
    suite.path.joinpath("allowed.txt").write_text(allowed)
    return suite.runpytest_inprocess("--allowed-skips=allowed.txt", "-p", "no:cacheprovider")


def test_a_skip_nobody_explained_fails_the_suite(suite):
    result = run(suite, "")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["skip (NOT ALLOWED): *test_skips*needs an accelerator*"])


def test_an_explained_skip_passes_and_is_shown(suite):
    result = run(suite, "*: *needs an accelerator  # the machines of CI have none")
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["skip (allowed): *test_skips*needs an accelerator*"])


def test_no_tests_at_all_is_a_failure(suite):
    for file in suite.path.glob("test_*.py"):
        file.unlink()
    assert run(suite, "").ret == pytest.ExitCode.NO_TESTS_COLLECTED


def test_an_allowance_needs_a_reason():
    with pytest.raises(ValueError, match="reason"):
        allowed_patterns("*postgresql*")
