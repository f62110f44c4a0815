"""Run archives that no export has written: each breaks one rule, and must be refused with nothing stored.

``archives()`` maps a name to a function that builds the bytes, so that the large ones exist one at a time.
"""

import copy
import hashlib
import io
import json
import struct
import tarfile
from functools import partial

import zstandard

from anubis.contracts.records import RecordKey
from anubis.model.descriptor import Ml, Script
from anubis.model.identity import digest
from anubis.model.plain import from_plain, to_plain
from anubis.model.run import Run
from anubis.model.status import Status
from anubis.testing import FakeRecords
from anubis.testing.builders import a_descriptor, a_placement, a_point, a_run, an_event
from anubis.transfer import run_archive

SCRIPT = b"\0" * 10240
KEY = f"{hashlib.sha256(SCRIPT).hexdigest()}.tar"
STDOUT = "record/a1/benchmark/0/stdout"
_BLOCK = 512


def valid():
    """An archive that is accepted."""
    run = a_run(
        a_descriptor(ml=Ml(benchmark_code="true", script=Script(script=KEY))),
        status=Status.SUCCEEDED,
        placed_s=1.0,
        ended_s=2.0,
    )
    run = from_plain(Run, {**to_plain(run), "placement": to_plain(a_placement(run))})
    records = FakeRecords()
    records.append(RecordKey(run.id, 1), "stdout", 0, b"loss=0.5\n")
    records.append(RecordKey(run.id, 1), "work/model", 0, b"weights")
    archived = run_archive.ArchivedRun(
        run=run, text='spec_version = "1.0"', events=(an_event(run, "submitted"),), points=(a_point(run),)
    )
    out = io.BytesIO()
    run_archive.write(archived, records, SCRIPT, out)
    return out.getvalue()


def members(content):
    """The (name, content) pairs of an archive."""
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(content)
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        return [(member.name, tar.extractfile(member).read()) for member in tar]


def header(name, size=0, kind=tarfile.REGTYPE, **more):
    info = tarfile.TarInfo(name)
    info.size, info.type = size, kind
    for attribute, value in more.items():
        setattr(info, attribute, value)
    return info.tobuf(tarfile.GNU_FORMAT)


def member(name, content, kind=tarfile.REGTYPE, **more):
    """One member as bytes, with padding."""
    return header(name, len(content), kind, **more) + content + bytes(-len(content) % _BLOCK)


def closed(*parts):
    """A tar of these parts, compressed."""
    content = b"".join(parts) + bytes(2 * _BLOCK)
    return zstandard.compress(content + bytes(-len(content) % tarfile.RECORDSIZE))


def listed(pairs, **changes):
    """A manifest of these members."""
    facts = {
        name: {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body)}
        for name, body in pairs
        if name != "manifest.json"
    }
    run = next(json.loads(body)["run"]["id"] for name, body in pairs if name == "run.json")
    return {"version": 1, "run": run, "members": facts, **changes}


def consistent(pairs, *extra, manifest=None):
    """An archive of these members with a manifest that lists them; ``extra`` are members as bytes."""
    body = json.dumps(manifest or listed(pairs)).encode()
    rest = [member(name, content) for name, content in pairs if name != "manifest.json"]
    return closed(member("manifest.json", body), *rest, *extra)


def with_rows(change):
    """An archive whose rows are changed, with a manifest that fits."""
    pairs = dict(members(valid()))
    rows = json.loads(pairs["run.json"])
    run = rows["run"]["id"]
    changed = change(rows)
    pairs["run.json"] = changed if isinstance(changed, bytes) else json.dumps(rows).encode()
    facts = {
        name: {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body)}
        for name, body in pairs.items()
        if name != "manifest.json"
    }
    if not isinstance(changed, bytes) and rows["run"]:
        run = rows["run"]["id"]
    manifest = {"version": 1, "run": run, "members": facts}
    return consistent(list(pairs.items()), manifest=manifest)


def row(path, value):
    """An archive with another value at a dotted path of its rows."""

    def change(rows):
        at = rows
        *parents, last = path.split(".")
        for name in parents:
            at = at[int(name)] if name.isdecimal() else at.setdefault(name, {})
        at[int(last) if last.isdecimal() else last] = value

    return with_rows(change)


def with_descriptor(change):
    """An archive whose descriptor is changed, with a digest that fits."""

    def changed(rows):
        change(rows["run"]["descriptor"])
        rows["run"]["digest"] = digest(from_plain(Run, rows["run"]).descriptor)

    return with_rows(changed)


def another(kind):
    """An archive with one more row of another run."""

    def change(rows):
        more = copy.deepcopy(rows[kind][0])
        more["run_id"] = "018bcfe5-6800-7000-8000-000000000000"
        rows[kind].append(more)

    return with_rows(change)


def with_member(name, content=b"x"):
    """An archive with one more file, which its manifest lists."""
    return consistent([*members(valid()), (name, content)])


def with_files(files):
    return consistent([*members(valid()), *files])


def of_kind(kind, **more):
    """An archive whose log is a member of another kind."""
    pairs = members(valid())
    rest = [member(name, body) for name, body in pairs if name not in {"manifest.json", STDOUT}]
    return closed(member("manifest.json", pairs[0][1]), header(STDOUT, kind=kind, **more), *rest)


def bomb(kind, size):
    """An archive that starts with an extended header of this size, for example a name, of which most is zeros."""
    head = header("././@LongLink", kind=kind)
    info = tarfile.TarInfo.frombuf(head, "utf-8", "strict")
    info.size = size
    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    out = [compressor.compress(info.tobuf(tarfile.GNU_FORMAT))]
    chunk = bytes(1 << 20)
    out += [compressor.compress(chunk) for _ in range(min(size >> 20, 1024))]
    return b"".join([*out, compressor.flush()])


def pax(*records):
    """An extended header with these ``keyword=value`` pairs in front of the log."""
    body = b""
    for record in records:
        for length in range(len(record) + 3, len(record) + 8):
            if len(line := b"%d %s\n" % (length, record)) == length:
                body += line
    pairs = members(valid())
    rest = [member(name, content) for name, content in pairs if name != "manifest.json"]
    return closed(member("manifest.json", pairs[0][1]), member("x", body, tarfile.XHDTYPE), *rest)


def raw_pax(body):
    return closed(member("x", body, tarfile.XHDTYPE), member("manifest.json", b"{}"))


def zeros(size, *, claimed=None):
    """A valid manifest that lists a file of zeros of this size, which follows."""
    pairs = members(valid())
    facts = listed(pairs)
    facts["members"][STDOUT]["size"] = size if claimed is None else claimed
    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    start = member("manifest.json", json.dumps(facts).encode()) + header(STDOUT, size)
    out = [compressor.compress(start)]
    out += [compressor.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join([*out, compressor.flush()])


def many(count):
    """Many tiny members, all listed."""
    files = [(f"record/a1/benchmark/0/work/{number}", b"") for number in range(count)]
    return with_files(files)


def json_bomb(unit, size):
    """Rows of this size that consist of one small value many times."""
    pairs = members(valid())
    body = b'{"events": [' + unit * (size // len(unit)) + b"0]}"
    changed = [(name, body if name == "run.json" else content) for name, content in pairs]
    facts = listed(pairs)
    facts["members"]["run.json"] = {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body)}
    return consistent(changed, manifest=facts)


def with_manifest(content):
    """An archive with this manifest in place of the valid one."""
    rest = [member(name, body) for name, body in members(valid()) if name != "manifest.json"]
    return closed(member("manifest.json", content), *rest)


def manifest_with(**changes):
    return with_manifest(json.dumps(listed(members(valid()), **changes)).encode())


def window(log):
    """A zstd frame that needs a window of 2^log bytes."""
    parameters = zstandard.ZstdCompressionParameters(window_log=log, compression_level=1)
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(valid())
    compressor = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    return compressor.compress(plain) + compressor.flush()


def samples(content):
    return with_member("record/a1/benchmark/0/samples", content)


def _plain():
    return zstandard.ZstdDecompressor().decompressobj().decompress(valid())


def archives():
    """Name -> builder."""
    none = "00000000-0000-0000-0000-00000000000"
    return {**_streams(), **_tars(), **_kinds(), **_names(), **_manifests(), **_rows(none), **_contents()}


def _streams():
    return {
        "empty file": bytes,
        "not zstd": lambda: b"PK\3\4" * 100,
        "tar without compression": _plain,
        "truncated frame": lambda: valid()[:-1],
        "half a frame": lambda: valid()[: len(valid()) // 2],
        "data after the frame": lambda: valid() + b"x",
        "a second frame": lambda: valid() + zstandard.compress(b"x"),
        "a window of 1 GiB": partial(window, 30),
        "an empty tar": lambda: zstandard.compress(b""),
        "data after the end of the tar": lambda: zstandard.compress(_plain() + b"x" * _BLOCK),
        "a second tar": lambda: zstandard.compress(_plain() + _plain()),
        "1 GiB of zeros after the tar": partial(_tail, 1 << 30),
        "a tar without an end": lambda: zstandard.compress(_plain().rstrip(b"\0")),
    }


def _tail(size):
    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    out = [compressor.compress(_plain())]
    out += [compressor.compress(bytes(1 << 20)) for _ in range(size >> 20)]
    return b"".join([*out, compressor.flush()])


def _tars():
    return {
        "PAX header of 6 GiB": partial(bomb, tarfile.XHDTYPE, 6 << 30),
        "PAX header of 1 GiB": partial(bomb, tarfile.XHDTYPE, 1 << 30),
        "global PAX header of 1 GiB": partial(bomb, tarfile.XGLTYPE, 1 << 30),
        "long name of 6 GiB": partial(bomb, tarfile.GNUTYPE_LONGNAME, 6 << 30),
        "long link of 1 GiB": partial(bomb, tarfile.GNUTYPE_LONGLINK, 1 << 30),
        "PAX sparse map": partial(pax, b"GNU.sparse.major=1", b"GNU.sparse.realsize=1000000000000"),
        "PAX name twice": partial(pax, b"path=a", b"path=b"),
        "PAX size below zero": partial(pax, b"size=-1"),
        "PAX size of 10^30": partial(pax, b"size=" + b"9" * 30),
        "PAX record without an end": partial(raw_pax, b"30 path=a"),
        "PAX record of length 0": partial(raw_pax, b"0 path=a\n"),
        "PAX record without a length": partial(raw_pax, b"path=a\n"),
        "two PAX headers": lambda: closed(member("x", b"9 path=a\n", tarfile.XHDTYPE) * 2),
        "PAX header at the end": lambda: closed(member("x", b"9 path=a\n", tarfile.XHDTYPE)),
        "a checksum that is wrong": lambda: zstandard.compress(_plain().replace(b"manifest", b"manifesT", 1)),
        "a size below zero": lambda: closed(_negative()),
    }


def _negative():
    block = bytearray(header("manifest.json"))
    block[124:136] = b"\xff" * 4 + struct.pack(">q", -1000)
    block[148:156] = b" " * 8
    block[148:156] = b"%06o\0 " % sum(block)
    return bytes(block)


def _kinds():
    kinds = {
        "hard link": tarfile.LNKTYPE,
        "symbolic link": tarfile.SYMTYPE,
        "character device": tarfile.CHRTYPE,
        "block device": tarfile.BLKTYPE,
        "folder": tarfile.DIRTYPE,
        "pipe": tarfile.FIFOTYPE,
        "contiguous file": tarfile.CONTTYPE,
        "sparse file": tarfile.GNUTYPE_SPARSE,
        "unknown kind": b"Z",
    }
    return {name: partial(of_kind, kind, linkname="/etc/passwd") for name, kind in kinds.items()}


def _names():
    record = "record/a1/benchmark/0/"
    return {
        "a way up": partial(with_member, "../outside"),
        "a way up in the record": partial(with_member, f"{record}../../x"),
        "an absolute path": partial(with_member, "/tmp/outside"),
        "a file outside the record": partial(with_member, "other"),
        "attempt 0": partial(with_member, "record/a0/benchmark/0/x"),
        "attempt 10^12": partial(with_member, f"record/a{10**12}/benchmark/0/x"),
        "an attempt after the last": partial(with_member, "record/a2/benchmark/0/x"),
        "a role with a dot": partial(with_member, "record/a1/../0/x"),
        "a rank below zero": partial(with_member, "record/a1/benchmark/-1/x"),
        "a rank of ten digits": partial(with_member, "record/a1/benchmark/1000000000/x"),
        "a name of 4000 bytes": partial(with_member, record + "a/" * 2000 + "b"),
        "a part of 300 bytes": partial(with_member, record + "a" * 300),
        "an empty part": partial(with_member, f"{record}a//b"),
        "a file and a folder": partial(with_files, [(f"{record}a", b""), (f"{record}a/b", b"")]),
        "one file as two names": partial(
            with_files, [(f"{record}x", b""), ("record/a1/benchmark/00/x", b"")]
        ),
        "one member twice": lambda: consistent(members(valid()), member(STDOUT, b"loss=0.5\n")),
        "a member that is not listed": lambda: consistent(members(valid()), member("extra", b"")),
        "the manifest twice": lambda: consistent(members(valid()), member("manifest.json", b"{}")),
        "100,000 members": partial(many, 100_000),
    }


def _manifests():
    return {
        "no manifest": lambda: closed(*(member(*pair) for pair in members(valid())[1:])),
        "a manifest that is a list": partial(with_manifest, b"[]"),
        "a manifest of text": partial(with_manifest, b"\xff\xfe"),
        "a nested manifest": partial(with_manifest, b"[" * 100_000),
        "a manifest of 40 MiB": partial(with_manifest, b" " * (40 << 20)),
        "a version that is text": partial(manifest_with, version="1"),
        "a later version": partial(manifest_with, version=2),
        "members that are a list": partial(manifest_with, members=["run.json"]),
        "a size that is text": partial(manifest_with, members={"run.json": {"size": "1", "sha256": ""}}),
        "a listed size below zero": partial(manifest_with, members={"run.json": {"size": -1, "sha256": ""}}),
        "a listed size of 10^40": partial(
            manifest_with, members={"script.tar": {"size": 10**40, "sha256": ""}}
        ),
        "the id of another run": partial(manifest_with, run="018bcfe5-6800-7000-8000-000000000000"),
        "a missing member": lambda: consistent(members(valid())[:-1], manifest=listed(members(valid()))),
        "rows that are missing": lambda: consistent(
            [pair for pair in members(valid()) if pair[0] != "run.json"], manifest=listed(members(valid()))
        ),
        "content that is not listed so": lambda: consistent(
            [(name, body[::-1] if name == STDOUT else body) for name, body in members(valid())],
            manifest=listed(members(valid())),
        ),
    }


def _rows(none):
    return {
        "rows that are a list": partial(with_rows, lambda rows: b"[]"),
        "rows that are not JSON": partial(with_rows, lambda rows: b"{"),
        "rows with NaN": partial(with_rows, lambda rows: json.dumps({**rows, "x": float("nan")}).encode()),
        "40 million empty objects": partial(json_bomb, b"{},", 30 << 20),
        "10 million numbers": partial(json_bomb, b"0,", 20 << 20),
        "deep nesting": partial(with_rows, lambda rows: b'{"run":' * 100_000),
        "attempt 10^12 of the run": partial(row, "run.attempt", 10**12),
        "an attempt below zero": partial(row, "run.attempt", -1),
        "an attempt that is text": partial(row, "run.attempt", "1"),
        "an attempt that is true": partial(row, "run.attempt", True),
        "a family outside": partial(row, "run.family_id", "../x"),
        "a parent outside": partial(row, "run.parent_id", "../x"),
        "a run id outside": partial(row, "run.id", "../x"),
        "a run id without dashes": partial(row, "run.id", "0" * 32),
        "a run id in capitals": partial(row, "run.id", f"{none}A"),
        "a run that is not final": partial(row, "run.status", "watch"),
        "an unknown status": partial(row, "run.status", "won"),
        "an unknown cause": partial(row, "run.cause", "magic"),
        "a digest of another": partial(row, "run.digest", "0" * 64),
        "a series key outside": partial(row, "run.series_key", "../x"),
        "a time of 10^300": partial(row, "run.created_s", 1e300),
        "a time that is a list": partial(row, "run.created_s", []),
        "a run that is null": partial(row, "run", None),
        "an owner that is an object": partial(row, "run.owner", {}),
        "a bad surrogate": partial(row, "run.reason", "\ud800"),
        "a bad surrogate in an event": partial(row, "events.0.message", "\udfff"),
        "a reason of 1 MB": partial(row, "run.reason", "x" * 1_000_000),
        "a cell of 1 MB": partial(row, "run.cell", {"x": "x" * 1_000_000}),
        "an event of another run": partial(another, "events"),
        "a point of another run": partial(another, "points"),
        "a point twice": partial(with_rows, lambda rows: rows["points"].append(rows["points"][0])),
        "a point of another series": partial(row, "points.0.series_key", "0" * 64),
        "a point without a metric": partial(row, "points.0.metric", ""),
        "a point of 10^400": partial(row, "points.0.value", 10**400),
        "a point without a value": partial(row, "points.0.value", None),
        "a point with 0 repeats": partial(row, "points.0.count", 0),
        "a point with 10^12 repeats": partial(row, "points.0.count", 10**12),
        "a spread below zero": partial(row, "points.0.spread", -1.0),
        "an event that is text": partial(row, "events.0", "submitted"),
        "an event with a list of data": partial(row, "events.0.data", []),
        "a submission with a cell of text": partial(row, "events.0.data", {"cell": "x"}),
        "text that is a number": partial(row, "text", 1),
        "a script of another digest": partial(
            with_descriptor, lambda descriptor: descriptor["ml"].update(script={"script": "0" * 64 + ".tar"})
        ),
        "a script outside": partial(
            with_descriptor, lambda descriptor: descriptor["ml"].update(script={"script": "../../x.tar"})
        ),
    }


def _contents():
    return {
        "a file of 1 GiB of zeros": partial(zeros, 1 << 30),
        "a file larger than listed": partial(zeros, 1 << 30, claimed=10),
        "a file larger than the disk": partial(zeros, 0, claimed=1 << 59),
        "samples that are damaged": partial(samples, b"not samples at all"),
        "samples of an unknown series": partial(
            samples, b"anubis samples 1" + struct.pack("<BxxxIII", 2, 8, 7, 0)
        ),
        "facts of 70 MiB": partial(with_member, "record/a1/benchmark/0/facts.json", b" " * (70 << 20)),
    }
