import subprocess
import sys

from support.tree import ROOT


def test_generated_pages_are_up_to_date():
    """Settings, commands, causes and public names: the pages say what the code says."""
    checked = subprocess.run(
        [sys.executable, ROOT / "docs" / "generate.py", "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr
