import sqlite3

import pytest

from anubis.store import open_store
from anubis.store.sql.database import statements_of

VALUES = dict.fromkeys(("owner", "now_s", "until_s", "most", "latest_s", "latest_lease_s"), 1)


@pytest.mark.parametrize("statement", ["claim", "claim_without"])
def test_a_claim_does_not_read_all_runs(tmp_path, statement):
    """With 50,000 queued runs, a claim that reads all of them takes seconds instead of a millisecond."""
    open_store(f"sqlite:///{tmp_path}/a.db").close()
    connection = sqlite3.connect(tmp_path / "a.db")
    sql = statements_of("sqlite")[statement].replace("{engines}", "1")
    steps = [row[3] for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", VALUES)]
    connection.close()
    assert any("runs_ready" in step for step in steps)
    of_runs = [step for step in steps if step.split()[1] in {"runs", "waiting", "leased"}]
    assert of_runs
    assert [step for step in of_runs if not step.startswith("SEARCH")] == []
    assert [step for step in of_runs if "runs_project" in step] == []
