"""Benchmarks that read datasets: fetched once, verified, at their paths, with their digests in the record."""

import hashlib
import json
import os
import signal

import pytest

from support.file_server import Answer, Slow, serving

CONTENT = os.urandom(300_000)
SHA256 = hashlib.sha256(CONTENT).hexdigest()
MD5 = hashlib.md5(CONTENT).hexdigest()


@pytest.fixture
def server():
    with serving({"/train.bin": CONTENT}) as running:
        yield running


@pytest.fixture
def target(tmp_path):
    """Where the benchmark finds its data."""
    return tmp_path / "data" / "train"


def source(src, path, **more):
    values = {"src": src, "path": str(path), **more}
    return "[[data.sources]]\n" + "\n".join(f"{name} = {json.dumps(value)}" for name, value in values.items())


def run_of(anubis, ref="@last"):
    return anubis.json("show", ref)


def test_a_run_reads_a_file_that_is_fetched_once(anubis, server, target):
    more = source(f"{server.url}/train.bin", target, digest=f"sha256:{SHA256}")
    anubis.write("first.toml", f"sha256sum {target}", more=more)
    for _ in range(2):
        ended = anubis("run", "first.toml")
        assert ended.returncode == 0, ended.stderr
    assert SHA256 in anubis("logs", "@last").stdout
    assert len(server.of("/train.bin")) == 1
    fetched = [event for event in run_of(anubis)["events"] if event["kind"] == "fetched"]
    assert fetched[0]["data"]["sources"] == [
        {
            "src": f"{server.url}/train.bin",
            "path": str(target),
            "digest": f"sha256:{SHA256}",
            "size_bytes": len(CONTENT),
            "files": 1,
        }
    ]
    [recorded] = anubis.home.glob(f"records/{run_of(anubis)['id']}/a1/*/*/data.json")
    assert json.loads(recorded.read_text())["sources"] == fetched[0]["data"]["sources"]


def test_data_without_a_digest_are_asked_for_again_and_not_sent_again(anubis, server, target):
    anubis.write("first.toml", f"sha256sum {target}", more=source(f"{server.url}/train.bin", target))
    for _ in range(2):
        assert anubis("run", "first.toml").returncode == 0
    assert len(server.of("/train.bin")) == 1
    server.files["/train.bin"] = b"other data"
    assert anubis("run", "first.toml").returncode == 0
    assert hashlib.sha256(b"other data").hexdigest() in anubis("logs", "@last").stdout


def test_a_folder_of_this_machine(anubis, tmp_path, target):
    folder = tmp_path / "given"
    (folder / "a/b").mkdir(parents=True)
    (folder / "a/b/one").write_bytes(b"1")
    (folder / "two").write_bytes(b"22")
    anubis.write("first.toml", f"find -L {target} -type f", more=source(folder.as_uri(), target))
    assert anubis("run", "first.toml").returncode == 0
    assert set(anubis("logs", "@last").stdout.split()) == {f"{target}/a/b/one", f"{target}/two"}


def test_a_benchmark_cannot_damage_the_cache(anubis, server, target):
    more = source(f"{server.url}/train.bin", target, digest=f"md5:{MD5}")
    anubis.write("bad.toml", f"sh -c 'chmod u+w {target} && echo damaged > {target}'", more=more)
    anubis.write("good.toml", f"sha256sum {target}", more=more)
    assert anubis("run", "bad.toml").returncode == 0
    assert target.read_text() == "damaged\n"
    assert anubis("run", "good.toml").returncode == 0
    assert SHA256 in anubis("logs", "@last").stdout
    assert len(server.of("/train.bin")) == 1


def test_a_path_that_is_in_use_is_not_replaced(anubis, server, target):
    target.parent.mkdir()
    target.write_text("mine")
    anubis.write("first.toml", f"sha256sum {target}", more=source(f"{server.url}/train.bin", target))
    ended = anubis("run", "first.toml")
    assert ended.returncode == 1
    assert "which Anubis did not create" in ended.stderr + ended.stdout
    assert target.read_text() == "mine"


@pytest.mark.parametrize(
    ("status", "cause"), [(404, "data_not_found"), (403, "data_forbidden"), (503, "data_unavailable")]
)
def test_a_run_without_its_data_fails_with_the_cause(anubis, server, target, status, cause, monkeypatch):
    monkeypatch.setenv("ANUBIS_DATA_BACK_OFF_S", "0")
    server.fault = lambda request: Answer(status)
    anubis.write("first.toml", "true", more=source(f"{server.url}/train.bin?token=secret", target))
    ended = anubis("run", "first.toml")
    shown = run_of(anubis)
    assert (ended.returncode, shown["status"], shown["cause"]) == (1, "failed", cause)
    assert "secret" not in json.dumps(shown["events"]) + shown["reason"]


@pytest.mark.parametrize("second", ["data/train", "data/train/more", "data"])
def test_sources_at_one_path_are_refused(anubis, server, tmp_path, second):
    more = (
        source(f"{server.url}/a", tmp_path / "data/train")
        + "\n"
        + source(f"{server.url}/b", tmp_path / second)
    )
    anubis.write("first.toml", "true", more=more)
    ended = anubis("run", "first.toml")
    assert ended.returncode == 2
    assert f"{server.url}/a" in ended.stderr
    assert f"{server.url}/b" in ended.stderr
    assert server.requests == []


def test_a_killed_fetch_is_resumed_by_the_next_process(anubis, server, target):
    size = 48 << 20
    server.files["/large.bin"] = content = os.urandom(1 << 20) * (size >> 20)
    digest = hashlib.sha256(content).hexdigest()
    server.fault = lambda request: Slow(after=1000) if request.start >= size // 2 else None
    more = source(f"{server.url}/large.bin", target, digest=f"sha256:{digest}")
    anubis.write("first.toml", f"sha256sum {target}", more=more)
    driver = anubis.start("run", "first.toml")
    assert server.stopped.wait(30)
    while len({request.start for request in server.of("/large.bin")}) < 25:
        assert driver.poll() is None
    driver.send_signal(signal.SIGKILL)
    driver.wait()
    before = len(server.requests)
    server.fault = lambda request: None
    server.released.set()
    assert anubis("watch", "@last").returncode == 0
    assert digest in anubis("logs", "@last").stdout
    fetched_again = [request.start for request in server.requests[before:] if not request.is_first_byte]
    assert 0 not in fetched_again
    assert len(fetched_again) <= 40


def test_two_processes_share_one_download(anubis, server, target):
    anubis.write("first.toml", f"sha256sum {target}", more=source(f"{server.url}/train.bin", target, md5=MD5))
    server.fault = lambda request: None if request.is_first_byte else Slow(after=10)
    drivers = [anubis.start("run", "first.toml") for _ in range(2)]
    assert server.stopped.wait(30)
    server.released.set()
    assert [driver.wait(60) for driver in drivers] == [0, 0]
    assert len(server.of("/train.bin")) == 1


def test_runs_with_other_content_are_another_series_where_asked(anubis, server, target):
    for path, content in (("/a", b"one"), ("/mirror", b"one"), ("/a", b"two")):
        server.files[path] = content
        anubis.write("first.toml", "true", more=source(f"{server.url}{path}", target, compare="content"))
        assert anubis("run", "first.toml").returncode == 0
    rows = [row for row in anubis.json("series") if row["metric"] == "wall_time"]
    assert len({row["series_key"] for row in rows}) == 1
    assert sorted(row["n"] for row in rows) == [1, 2]


def test_a_replay_names_data_that_are_not_those_of_its_run(anubis, server, target):
    anubis.write("first.toml", "true", more=source(f"{server.url}/train.bin", target))
    assert anubis("run", "first.toml").returncode == 0
    same = anubis.json("replay", "@last")
    assert not [row for row in same["differences"] if row["path"] == "data[0]"]
    server.files["/train.bin"] = b"other data"
    ended = anubis("replay", "@last")
    assert ended.returncode == 0
    old, new = SHA256, hashlib.sha256(b"other data").hexdigest()
    assert f"were sha256:{old} and are sha256:{new}" in ended.stderr
    answer = anubis.json("replay", same["replay_of"])
    [difference] = [row for row in answer["differences"] if row["path"] == "data[0]"]
    assert f"sha256:{new}" in difference["message"]


def test_a_plan_shows_the_data_to_fetch(anubis, server, target, tmp_path):
    server.files["/other"] = b"x" * 4096
    more = source(f"{server.url}/train.bin", target) + "\n" + source(f"{server.url}/other", tmp_path / "b")
    anubis.write("first.toml", "true", more=source(f"{server.url}/train.bin", target))
    anubis.write("both.toml", "true", more=more)
    [before] = anubis.json("validate", "--plan", "both.toml")
    assert before["data"]["size_bytes"] == before["data"]["fetch_bytes"] == len(CONTENT) + 4096
    assert not (anubis.home / "data").exists(), "nothing was fetched"
    assert anubis("run", "first.toml").returncode == 0
    [after] = anubis.json("validate", "--plan", "both.toml")
    stored = {row["src"].rpartition("/")[2]: row["stored_bytes"] for row in after["data"]["sources"]}
    assert stored == {"train.bin": len(CONTENT), "other": 0}
    assert (after["data"]["fetch_bytes"], after["data"]["free_bytes"] > 0) == (4096, True)
    shown = anubis("validate", "--plan", "both.toml").stdout
    assert "total: 297 KiB, 4.00 KiB to fetch; free on the disk of the cache: " in shown
    del server.files["/other"]
    missing = anubis("validate", "--plan", "both.toml")
    assert missing.returncode == 0
    assert "other answered 404" in missing.stderr
    assert "total: not known" in missing.stdout
