"""``anubis record sign``, ``verify`` and ``seal``: results that were changed after they were measured are noticed."""

import contextlib
import json
import os
import shutil
import signal
import sqlite3
import subprocess
from contextlib import closing

import pytest

from anubis.record.packing import SUFFIX
from support.processes import left_in, until

METRIC = "\n[[output.metrics]]\nname = 'speed'\nunits = 'm/s'\npattern = 'speed (\\d+)'\n"


@pytest.fixture
def file(anubis):
    return anubis.write("bench.toml", "echo speed 42", more=METRIC)


@pytest.fixture
def run_id(anubis, file):
    assert anubis("run", file).returncode == 0
    return anubis.json("history")[0]["id"]


@pytest.fixture
def key(tmp_path):
    return new_key(tmp_path / "key")


def new_key(path):
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "", "-f", path], check=True)
    return path


def signers(path, **keys):
    lines = [f"{name} {key.with_suffix('.pub').read_text()}" for name, key in keys.items()]
    path.write_text("".join(lines))
    return path


def chain_of(anubis):
    return [json.loads(line) for line in (anubis.home / "chain.jsonl").read_text().splitlines()]


def report(anubis, *words, code=0):
    return anubis.json("record", "verify", *words, code=code)


def stdout_of(anubis, run_id):
    return anubis.home / "records" / run_id / "a1" / "benchmark" / "0" / "stdout"


def test_every_run_is_in_the_chain(anubis, file, run_id):
    assert anubis("run", file).returncode == 0
    assert anubis("run", anubis.write("failing.toml", "false")).returncode == 1
    entries = chain_of(anubis)
    assert [entry["kind"] for entry in entries] == ["sealed"] * 3
    assert entries[0]["run_id"] == run_id
    assert {"run", "points", "a1/benchmark/0/stdout", "a1/benchmark/0/exit.json"} <= set(
        entries[0]["digests"]
    )
    found = report(anubis)
    assert (found["unchanged"], found["damaged"], found["unsealed"]) == (3, [], [])
    text = anubis("record", "verify").stdout
    assert found["head"] in text
    assert "3 runs" in text


def test_a_changed_byte(anubis, run_id):
    stdout_of(anubis, run_id).write_text("speed 43\n")
    (damaged,) = report(anubis, code=1)["damaged"]
    assert damaged == {"run": run_id, "missing": False, "changed": ["a1/benchmark/0/stdout"]}
    assert "a1/benchmark/0/stdout" in anubis("record", "verify").stdout


def test_a_changed_value_in_the_database(anubis, run_id):
    with closing(sqlite3.connect(anubis.home / "anubis.db")) as database:
        database.execute("UPDATE points SET value = 43 WHERE value = 42")
        database.commit()
    assert report(anubis, code=1)["damaged"][0]["changed"] == ["points"]


def test_a_removed_run_and_a_purged_one(anubis, file, run_id):
    assert anubis("run", file).returncode == 0
    purged = anubis.json("history")[0]["id"]
    assert anubis("purge", "--yes", purged).returncode == 0
    found = report(anubis)
    assert (found["unchanged"], found["purged"]) == (1, 1)
    with closing(sqlite3.connect(anubis.home / "anubis.db")) as database:
        for table in ("points", "runs"):
            database.execute(f"DELETE FROM {table}")
        database.commit()
    shutil.rmtree(anubis.home / "records" / run_id)
    assert report(anubis, code=1)["damaged"] == [{"run": run_id, "missing": True, "changed": []}]


def test_a_rewritten_chain(anubis, file, run_id):
    assert anubis("run", file).returncode == 0
    head = report(anubis)["head"]
    assert report(anubis, "--head", head)["head"] == head
    chain = anubis.home / "chain.jsonl"
    first, second = chain.read_text().splitlines(keepends=True)
    chain.write_text(second + first)
    reordered = anubis("record", "verify")
    assert reordered.returncode == 1
    assert "line 1 of the chain" in reordered.stderr
    chain.write_text(first)
    assert report(anubis)["unsealed"] == [anubis.json("history")[0]["id"]]
    shortened = anubis("record", "verify", "--head", head)
    assert shortened.returncode == 1
    assert "does not contain the head" in shortened.stderr
    assert anubis("record", "verify", "--head", "nonsense").returncode == 2


def test_runs_that_are_missing_are_added(anubis, run_id):
    (anubis.home / "chain.jsonl").unlink()
    assert report(anubis)["unsealed"] == [run_id]
    assert "anubis record seal" in anubis("record", "verify").stderr
    assert anubis.json("record", "seal") == {"added": [run_id]}
    assert anubis.json("record", "seal") == {"added": []}
    assert report(anubis)["unsealed"] == []


def test_a_driver_killed_before_it_added_its_run(anubis, file, run_id):
    """The next driver adds it."""
    (anubis.home / "chain.jsonl").unlink()
    assert anubis("run", file).returncode == 0
    assert {entry["run_id"] for entry in chain_of(anubis)} == {row["id"] for row in anubis.json("history")}


def test_packed_records_are_unchanged(anubis, run_id):
    assert anubis("gc", "--pack", "--older-than", "0s").returncode == 0
    assert list((anubis.home / "records" / run_id).glob(f"*{SUFFIX}"))
    assert report(anubis)["unchanged"] == 1


def test_an_imported_run_is_in_the_chain(anubis, run_id):
    archive = anubis.json("record", "export", run_id)["path"]
    assert anubis("purge", "--yes", run_id).returncode == 0
    assert anubis("record", "import", archive).returncode == 0
    assert [entry["kind"] for entry in chain_of(anubis)] == ["sealed", "purged", "imported"]
    assert report(anubis)["unchanged"] == 1


def test_a_signed_run(anubis, run_id, key, tmp_path):
    archive = anubis.folder / anubis.json("record", "export", run_id)["path"]
    assert anubis.json("record", "sign", archive, "--key", key)["signatures"] == [f"{archive}.sig"]
    known = signers(tmp_path / "signers", ada=key)
    (result,) = report(anubis, archive, "--signers", known)
    assert (result["ok"], result["run"], result["signer"]) == (True, run_id, "ada")
    assert result["key"].startswith("ED25519 SHA256:")
    plain = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        known,
        "-I",
        "ada",
        "-n",
        "anubis-record",
        "-s",
        f"{archive}.sig",
    ]
    with archive.open("rb") as content:
        subprocess.run(plain, stdin=content, check=True, capture_output=True)


def test_a_verifier_needs_no_home(anubis, run_id, key, tmp_path):
    archive = anubis.folder / anubis.json("record", "export", run_id)["path"]
    anubis("record", "sign", archive, "--key", key)
    assert anubis("record", "verify", archive, "--home", tmp_path / "none").returncode == 0
    assert not (tmp_path / "none").exists()


def test_what_is_wrong_with_an_exported_run_is_named(anubis, file, run_id, key, tmp_path):
    archive = anubis.folder / anubis.json("record", "export", run_id)["path"]
    (result,) = report(anubis, archive, code=1)
    assert "does not exist" in result["problem"]
    assert report(anubis, archive, "--unsigned")[0]["key"] is None
    anubis("record", "sign", archive, "--key", key)
    assert report(anubis, archive)[0]["signer"] is None

    other = signers(tmp_path / "signers", eve=new_key(tmp_path / "other"))
    (result,) = report(anubis, archive, "--signers", other, code=1)
    assert "does not accept" in result["problem"]

    assert anubis("run", file).returncode == 0
    second = anubis.folder / anubis.json("record", "export")["path"]
    shutil.copy(f"{archive}.sig", f"{second}.sig")
    (result,) = report(anubis, second, code=1)
    assert "not a valid signature" in result["problem"]

    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)
    (result,) = report(anubis, archive, code=1)
    assert not result["ok"]


def test_an_exported_run_and_the_chain_of_its_home(anubis, run_id, tmp_path):
    archive = anubis.folder / anubis.json("record", "export", run_id)["path"]
    chain = anubis.home / "chain.jsonl"
    head = report(anubis)["head"]
    words = (archive, "--unsigned", "--chain", chain)
    assert report(anubis, *words, "--head", head)[0]["ok"]
    assert "intact, as in the chain, not signed" in anubis("record", "verify", *words).stdout
    assert "chain" not in anubis("record", "verify", archive, "--unsigned").stdout
    copy = tmp_path / "chain.jsonl"
    entry = json.loads(chain.read_text())
    entry["digests"]["points"] = "0" * 64
    copy.write_text(json.dumps(entry) + "\n")
    (result,) = report(anubis, archive, "--unsigned", "--chain", copy, code=1)
    assert "points" in result["problem"]
    assert anubis("record", "verify", archive, "--unsigned", "--chain", copy, "--head", head).returncode == 1


def test_bad_input(anubis, run_id, key, tmp_path):
    assert anubis("record", "sign", tmp_path / "none", "--key", key).returncode == 2
    text = tmp_path / "text"
    text.write_text("nothing")
    refused = anubis("record", "sign", text, "--key", key)
    assert refused.returncode == 2
    assert "not a valid run archive" in refused.stderr
    archive = anubis.folder / anubis.json("record", "export", run_id)["path"]
    refused = anubis("record", "sign", archive, "--key", text)
    assert refused.returncode == 2
    assert not (anubis.folder / f"{archive}.sig").exists()
    assert anubis("record", "verify", "--unsigned").returncode == 2
    assert anubis("record", "verify", archive, "--head", "1:" + "0" * 64).returncode == 2


def test_a_killed_worker_loses_no_entry(anubis, file):
    """Runs of a worker that is killed are added by the next one, each once."""
    for _ in range(3):
        assert anubis("submit", file).returncode == 0
    until(lambda: any(row["status"] == "succeeded" for row in anubis.json("history")), "one has ended")
    for pid in left_in(anubis.home):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert anubis("watch").returncode in {0, 1}
    assert anubis("run", file).returncode == 0
    # An agent that was killed before it wrote anything leaves no record.
    runs = sorted(
        row["id"] for row in anubis.json("history") if (anubis.home / "records" / row["id"]).exists()
    )
    assert len(runs) >= 3
    # A worker that is still there adds a run after its end.
    until(lambda: len(chain_of(anubis)) >= len(runs), "every run is in the chain")
    assert sorted(entry["run_id"] for entry in chain_of(anubis)) == runs
