"""``anubis data``: what was fetched is listed, verified, deleted and copied."""

import hashlib
import json

import pytest

CONTENT = {"a/one": b"1" * 1000, "two": b"22"}


@pytest.fixture
def fetched(anubis, tmp_path):
    """The digest of a folder that a run has fetched."""
    folder = tmp_path / "given"
    (folder / "a").mkdir(parents=True)
    for name, content in CONTENT.items():
        (folder / name).write_bytes(content)
    more = "\n".join(
        ["[[data.sources]]", f'src = "{folder.as_uri()}"', f"path = {json.dumps(str(tmp_path / 'data'))}"]
    )
    anubis.write("first.toml", "true", more=more)
    assert anubis("run", "first.toml").returncode == 0
    [stored] = anubis.json("data", "ls")
    return stored["digest"]


def test_what_was_fetched_is_listed_and_shown(anubis, fetched, tmp_path):
    assert fetched.partition(":")[2][:12] in anubis("data").stdout
    shown = anubis.json("data", "show", fetched[7:15])
    assert (shown["src"], shown["files"], shown["size_bytes"]) == ((tmp_path / "given").as_uri(), 2, 1002)
    assert {file["path"]: file["sha256"] for file in shown["content"]} == {
        name: hashlib.sha256(content).hexdigest() for name, content in CONTENT.items()
    }
    assert "a/one" in anubis("data", "show", fetched).stdout


def test_the_digest_of_a_folder_is_that_of_its_sha256sums(anubis, fetched):
    lines = [f"{hashlib.sha256(CONTENT[name]).hexdigest()}  {name}\n" for name in sorted(CONTENT)]
    assert fetched == f"sha256:{hashlib.sha256(''.join(lines).encode()).hexdigest()}"


def test_a_damaged_file_is_found_and_fetched_again(anubis, fetched):
    sha256 = hashlib.sha256(CONTENT["two"]).hexdigest()
    [stored] = anubis.home.glob(f"data/files/*/{sha256}")
    assert anubis("data", "verify").returncode == 0
    stored.chmod(0o600)
    stored.write_bytes(b"23")
    verified = anubis.json("data", "verify", fetched, code=1)
    assert verified == {"datasets": [{"digest": fetched, "damaged": ["two"]}]}
    assert anubis("run", "first.toml").returncode == 0
    assert anubis("data", "verify", fetched).returncode == 0


def test_what_is_not_used_is_deleted(anubis, fetched):
    assert anubis("data", "prune").returncode == 2
    assert anubis.json("data", "prune", "--older-than", "1d")["removed"] == []
    assert [
        row["digest"] for row in anubis.json("data", "prune", "--keep", "1kB", "--dry-run")["removed"]
    ] == [fetched]
    assert [row["digest"] for row in anubis.json("data", "prune", "--keep", "1kB")["removed"]] == [fetched]
    assert anubis("data").stdout == "no datasets\n"
    assert list(anubis.home.glob("data/trees/*")) == []
    assert anubis("run", "first.toml").returncode == 0


def test_a_dataset_is_copied(anubis, fetched, tmp_path):
    target = tmp_path / "copy"
    assert anubis("data", "export", fetched, target).returncode == 0
    assert {name: (target / name).read_bytes() for name in CONTENT} == CONTENT
    assert anubis("data", "export", fetched, target).returncode == 2
    assert anubis("data", "show", "nothing").returncode == 2
