import re

import pytest

from anubis.model.alert import AlertState
from anubis.model.cause import Cause
from anubis.model.metric import Better
from anubis.model.status import Status
from anubis.store import opening
from anubis.store.migrations import upgrade
from anubis.store.sql import codes
from anubis.store.sql.compile import FOLDER, compiled
from anubis.store.sql.database import statements_of

DATABASES = ["sqlite", "postgresql"]


@pytest.mark.parametrize("database", DATABASES)
def test_the_file_is_what_the_statements_compile_to(database):
    file = (FOLDER / f"{database}.sql").read_text()
    assert file.split() == compiled(database).split(), "run python -m anubis.store.sql.compile"


def test_both_databases_have_the_same_statements():
    first, second = (statements_of(database) for database in DATABASES)
    assert list(first) == list(second)


@pytest.mark.parametrize("database", DATABASES)
def test_every_statement_is_used(database):
    files = [path for path in FOLDER.parent.rglob("*.py") if FOLDER not in path.parents]
    source = "\n".join(path.read_text() for path in files if path.stem not in {"statements", "queries"})
    names = [re.sub(r"^where_alert_|^where_", "", name) for name in statements_of(database)]
    unused = [
        name
        for name in names
        if f'"{name}"' not in source and f'"{name.replace("label", "where_label")}"' not in source
    ]
    assert unused == []


def test_the_version_is_the_newest_migration():
    files = sorted(path.stem for path in (upgrade.FOLDER / "versions").glob("m*.py"))
    assert files[-1].split("_")[0] == f"m{opening.VERSION}"


@pytest.mark.parametrize(
    ("kind", "numbers"),
    [
        (Status, codes.STATUS_CODES),
        (Cause, codes.CAUSE_CODES),
        (Better, codes.BETTER_CODES),
        (AlertState, codes.ALERT_STATE_CODES),
    ],
)
def test_every_member_has_a_number_of_its_own(kind, numbers):
    assert set(numbers) == set(kind)
    assert len(set(numbers.values())) == len(numbers)


def test_only_final_statuses_are_beyond_the_line():
    for status, code in codes.STATUS_CODES.items():
        assert (code >= codes.FIRST_FINAL) == status.final
