import hashlib
import io
import json
import tarfile

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from anubis.contracts.records import RecordKey
from anubis.model.descriptor import Ml, Script
from anubis.model.errors import BadInputError
from anubis.model.status import Status
from anubis.store import FolderRecords
from anubis.testing import FakeRecords
from anubis.testing.builders import a_descriptor, a_point, a_run, an_event
from anubis.transfer import run_archive

SCRIPT = b"a tar"
DESCRIPTOR = a_descriptor(
    ml=Ml(benchmark_code="true", script=Script(script=f"{hashlib.sha256(SCRIPT).hexdigest()}.tar"))
)
RUN = a_run(DESCRIPTOR, status=Status.SUCCEEDED, placed_s=1.0, ended_s=2.5, attempt=2)
ARCHIVED = run_archive.ArchivedRun(
    run=RUN,
    text='spec_version = "1.0"\n# ünïcode',
    events=(an_event(RUN, "submitted"), an_event(RUN, "final")),
    points=(a_point(RUN), a_point(RUN, "rate", 2.0, spread=0.5, count=3)),
)


def records(folder):
    """Two attempts, in a folder."""
    found = FolderRecords(folder)
    for attempt in (1, 2):
        key = RecordKey(RUN.id, attempt)
        found.append(key, "stdout", 0, bytes(range(256)) * attempt)
        found.append(key, "work/model.bin", 0, b"weights")
    found.append(RecordKey(RUN.id, 2, "server", 1), "stdout", 0, b"ready")
    (folder / RUN.id / "a1/benchmark/0/work/link").symlink_to("/etc/passwd")
    return found


def written(folder, script=SCRIPT):
    out = io.BytesIO()
    run_archive.write(ARCHIVED, records(folder), script, out)
    return out.getvalue()


def content_of(unpacked, attempt, file, role="benchmark", rank=0):
    return unpacked.files[RecordKey(RUN.id, attempt, role, rank), file].read_bytes()


def read(content, folder):
    folder.mkdir(exist_ok=True)
    return run_archive.read(io.BytesIO(content), len(content), folder)


def packed(members):
    """An archive of these (name, content) or TarInfo members, as other programs may make it."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for member, content in members:
            info = member if isinstance(member, tarfile.TarInfo) else tarfile.TarInfo(member)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return zstandard.compress(buffer.getvalue())


def members(content):
    with tarfile.open(
        fileobj=io.BytesIO(zstandard.ZstdDecompressor().decompressobj().decompress(content))
    ) as tar:
        return [(member.name, tar.extractfile(member).read()) for member in tar]


def test_what_is_written_is_read(tmp_path):
    unpacked = read(written(tmp_path / "old"), tmp_path / "new")
    assert unpacked.archived == ARCHIVED
    assert content_of(unpacked, 2, "stdout") == bytes(range(256)) * 2
    assert content_of(unpacked, 2, "stdout", "server", 1) == b"ready"
    assert content_of(unpacked, 1, "work/model.bin") == b"weights"
    assert len(unpacked.files) == 5, "links stay behind"
    assert unpacked.script.read_bytes() == b"a tar"


def test_a_run_without_record_and_script_is_an_archive_too(tmp_path):
    out = io.BytesIO()
    run_archive.write(ARCHIVED, FakeRecords(), None, out)
    unpacked = read(out.getvalue(), tmp_path / "new")
    assert (unpacked.archived, unpacked.files, unpacked.script) == (ARCHIVED, {}, None)


def test_the_same_run_gives_the_same_bytes(tmp_path):
    first = written(tmp_path / "a")
    assert written(tmp_path / "b") == first


@given(data=st.binary(max_size=200))
def test_any_bytes_are_refused_with_a_sentence(data, tmp_path_factory):
    with pytest.raises(BadInputError) as refused:
        read(data, tmp_path_factory.mktemp("any"))
    assert refused.value.remedy


@given(at=st.floats(0, 1, exclude_max=True), bit=st.integers(0, 7))
def test_damage_never_passes_unseen(at, bit, tmp_path_factory):
    folder = tmp_path_factory.mktemp("damaged")
    content = bytearray(written(folder / "old"))
    content[int(at * len(content))] ^= 1 << bit
    try:
        unpacked = read(bytes(content), folder / "new")
    except BadInputError:
        return
    assert unpacked.archived == ARCHIVED
    assert content_of(unpacked, 2, "stdout") == bytes(range(256)) * 2


def tampered(content, **changes):
    """The members with some replaced, and a manifest that lists what it did before."""
    return packed([(name, changes.get(name.partition(".")[0], body)) for name, body in members(content)])


def link(name, kind):
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, "/etc/passwd"
    return info


def test_rows_that_do_not_match_the_manifest_are_refused(tmp_path):
    with pytest.raises(BadInputError, match="damaged"):
        read(tampered(written(tmp_path / "old"), run=b"{}"), tmp_path / "new")


def test_a_missing_member_is_told(tmp_path):
    kept = [member for member in members(written(tmp_path / "old")) if not member[0].endswith("model.bin")]
    with pytest.raises(BadInputError, match=r"not complete: .*model\.bin"):
        read(packed(kept), tmp_path / "new")


@pytest.mark.parametrize(
    "name",
    [
        "../outside",
        "/tmp/outside",
        "record/../../outside",
        "record/a1/b/0/../x",
        "record/a0/b/0/x",
        "other",
        "unlisted",
    ],
)
def test_a_member_outside_the_folder_is_refused(tmp_path, name):
    manifest, *rest = members(written(tmp_path / "old"))
    listed = json.loads(manifest[1])
    if name != "unlisted":
        listed["members"][name] = listed["members"]["script.tar"]
    with pytest.raises(BadInputError):
        read(
            packed([("manifest.json", json.dumps(listed).encode()), (name, b"a tar"), *rest]),
            tmp_path / "new",
        )
    assert not (tmp_path / "outside").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.DIRTYPE])
def test_only_regular_files_are_unpacked(tmp_path, kind):
    manifest, *rest = members(written(tmp_path / "old"))
    with pytest.raises(BadInputError, match=r"not a file of a record|neither a file"):
        read(packed([manifest, (link("record/a1/benchmark/0/stdout", kind), b""), *rest]), tmp_path / "new")


def test_a_member_larger_than_the_manifest_says_is_cut_short(tmp_path):
    content = written(tmp_path / "old")
    with pytest.raises(BadInputError, match="damaged"):
        read(tampered(content, script=b"x" * 10_000_000), tmp_path / "new")
    assert sum(path.stat().st_size for path in (tmp_path / "new").iterdir()) <= 2 * (1 << 20)


@pytest.mark.parametrize(
    ("change", "said"),
    [({"version": 2}, "upgrade"), ({"run": "another"}, "inconsistent"), ({"members": []}, "archive")],
)
def test_a_manifest_that_cannot_be_right_is_refused(tmp_path, change, said):
    manifest, *rest = members(written(tmp_path / "old"))
    changed = json.dumps({**json.loads(manifest[1]), **change}).encode()
    with pytest.raises(BadInputError) as refused:
        read(packed([("manifest.json", changed), *rest]), tmp_path / "new")
    assert said in str(refused.value)


def test_a_record_larger_than_the_disk_is_refused_before_it_is_unpacked(tmp_path):
    manifest, *rest = members(written(tmp_path / "old"))
    listed = json.loads(manifest[1])
    listed["members"]["script.tar"]["size"] = 1 << 60
    with pytest.raises(BadInputError, match="not enough disk space"):
        read(packed([("manifest.json", json.dumps(listed).encode()), *rest]), tmp_path / "new")
    assert not (tmp_path / "new" / "script.tar").exists()
