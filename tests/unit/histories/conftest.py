import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from anubis.transfer.histories import Findings, ImportDefaults
from anubis.transfer.histories import read as read_history

RECORDED = Path(__file__).parents[2] / "recorded" / "histories"


@pytest.fixture
def recorded():
    """The folder with what other tools wrote."""
    return RECORDED


@pytest.fixture
def mlflow_db(tmp_path):
    """The recorded MLflow store, as the database that MLflow had."""
    path = tmp_path / "mlflow.db"
    with closing(sqlite3.connect(path)) as database:
        database.executescript((RECORDED / "mlflow.sql").read_text())
    return path


@pytest.fixture
def asv_project(tmp_path):
    """A project with the recorded asv results in it."""
    shutil.copytree(RECORDED / "asv-results", tmp_path / "results")
    (tmp_path / "asv.conf.json").write_text(
        '{\n  // the project\n  "version": 1, "project_url": "https://example.org/lib", "results_dir": "results",\n}\n'
    )
    return tmp_path


@pytest.fixture
def read():
    """Read a file: its measurements and what was found wrong."""

    def read(path, **given):
        findings = Findings()
        format_name = given.pop("format_name", None)
        rows = list(
            read_history(
                path, findings, format_name=format_name, given=ImportDefaults(**given) if given else None
            )
        )
        return rows, findings

    return read
