"""Targets ``importers`` and ``archives``."""

import hashlib
import io
import json
import random
import shutil
import sqlite3
import tarfile
from contextlib import closing
from functools import cache, lru_cache
from pathlib import Path
from types import SimpleNamespace

import zstandard

from anubis.contracts.records import RecordKey, RoleFiles, blocks_of
from anubis.contracts.runs import RunQuery
from anubis.model.descriptor import Ml, Script
from anubis.model.errors import BadInputError
from anubis.model.status import Status
from anubis.record import layout
from anubis.record.reading import Record
from anubis.store import FolderObjects, FolderRecords
from anubis.testing.builders import a_descriptor, a_point, a_run, an_event
from anubis.testing.memory_store import FakeStore
from anubis.transfer import run_archive
from anubis.transfer.histories import import_files, store
from anubis.transfer.run_transfer import import_archive
from fuzz.mutators import mutated_bytes, mutated_plain, mutated_text
from fuzz.record_files import EXIT, FACTS
from fuzz.targets import Target
from support.tree import ROOT

RECORDED = ROOT / "tests/recorded/histories"
SCRIPT = b"script"
CSV = "benchmark,metric,value,units,better,spread,count,time_s,commit\nfib,time,1.5,s,lower,0.1,3,1700000000,abc1234\nfib,time,2 ms,,,,,,\n"
_COMPRESSOR = zstandard.ZstdCompressor(level=1)
BENCHER = '{"bench": {"latency": {"value": 1.5, "lower_value": 1, "upper_value": 2}}}'
OPENMETRICS = (
    "# TYPE anubis_latency gauge\n# UNIT anubis_latency seconds\n"
    'anubis_latency{benchmark="b",commit="abc"} 1.5 1700000000\n# EOF\n'
)


@cache
def _sources() -> tuple[tuple[str, bytes], ...]:
    """File name and content of valid files of every format."""
    files = [path for path in sorted(RECORDED.iterdir()) if path.suffix in {".json", ".js"}]
    made = [("x.csv", CSV), ("x.json", BENCHER), ("x.prom", OPENMETRICS)]
    return (
        *((path.name, path.read_bytes()) for path in files),
        *((name, text.encode()) for name, text in made),
    )


@cache
def _mlflow() -> bytes:
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript((RECORDED / "mlflow.sql").read_text())
        return database.serialize()


@cache
def _asv() -> dict[str, bytes]:
    folder = RECORDED / "asv-results"
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def _changed(chance: random.Random, data: bytes) -> bytes:
    """Changes of values where the content is JSON, also behind the assignment of a script; else of text or bytes."""
    if chance.random() < 0.15:
        return mutated_bytes(chance, data)
    text = data.decode()
    start = text.find("{")
    try:
        plain = json.loads(text[start:])
    except ValueError:
        return mutated_text(chance, text).encode("utf-8", "surrogatepass")
    return (text[:start] + json.dumps(mutated_plain(chance, plain))).encode()


def _history(chance: random.Random) -> dict[str, bytes]:
    kind = chance.random()
    if kind < 0.1:
        return {"mlflow.db": mutated_bytes(chance, _mlflow())}
    if kind < 0.25:
        files = dict(_asv())
        name = chance.choice(list(files))
        files[name] = _changed(chance, files[name])
        return {f"asv/{each}": content for each, content in files.items()}
    name, data = chance.choice(_sources())
    return {name: _changed(chance, data)}


def _import(files: dict[str, bytes], folder: Path) -> bool:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True, parents=True)
        path.write_bytes(content)
    top = folder / next(iter(files)).partition("/")[0]
    result = import_files([str(top)], owner="fuzz")
    if result.refused:
        return False
    fake = FakeStore()
    store(fake.runs, fake.points, result.history)
    return True


@cache
def _archive() -> dict[str, bytes]:
    """The members of a valid archive, without the manifest."""
    script = Script(script=f"{hashlib.sha256(SCRIPT).hexdigest()}.tar")
    descriptor = a_descriptor(ml=Ml(script=script, benchmark_code="true"))
    run = a_run(descriptor, status=Status.SUCCEEDED, ended_s=1.7e9)
    archived = run_archive.ArchivedRun(run=run, text="x", events=(an_event(run),), points=(a_point(run),))
    folder = Path(f"/tmp/anubis-fuzz-seed-{random.getrandbits(64):x}")
    try:
        records = FolderRecords(folder)
        key = RecordKey(run.id, 1)
        records.replace(key, layout.EXIT, json.dumps(EXIT).encode())
        records.replace(key, layout.FACTS, json.dumps(FACTS).encode())
        records.append(key, "stdout", 0, b"hello\n")
        out = io.BytesIO()
        run_archive.write(archived, records, SCRIPT, out)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    data = zstandard.ZstdDecompressor().stream_reader(io.BytesIO(out.getvalue())).read()
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {member.name: tar.extractfile(member).read() for member in tar}


_KINDS = (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, b"7", b"S")


def _packed(members: list[tuple[str, bytes]], chance: random.Random) -> bytes:
    parts = []
    for name, content in members:
        kind, link = tarfile.REGTYPE, ""
        if chance.random() < 0.03:
            kind, link = chance.choice(_KINDS), chance.choice(("/etc/passwd", "run.json", ".."))
        parts += [_header(name, len(content), kind, link), content, bytes(-len(content) % tarfile.BLOCKSIZE)]
    end = bytes(2 * tarfile.BLOCKSIZE)
    return b"".join([*parts, end])


@lru_cache(1024)
def _header(name: str, size: int, kind: bytes, link: str) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.type, info.linkname = size, kind, link
    return info.tobuf(tarfile.PAX_FORMAT)


def _made_archive(chance: random.Random) -> bytes:
    members = dict(_archive())
    manifest = json.loads(members.pop("manifest.json"))
    if chance.random() < 0.6:
        name = "run.json" if chance.random() < 0.8 else chance.choice(list(members))
        if name.endswith(".json"):
            members[name] = json.dumps(mutated_plain(chance, json.loads(members[name]))).encode()
        else:
            members[name] = mutated_bytes(chance, members[name])
        manifest["members"][name] = {
            "size": len(members[name]),
            "sha256": hashlib.sha256(members[name]).hexdigest(),
        }
    if chance.random() < 0.2:
        name = chance.choice(list(members))
        new = mutated_text(chance, name).replace("\0", "").encode("utf-8", "replace").decode() or "x"
        members[new], manifest["members"][new] = members.pop(name), manifest["members"].pop(name)
    if chance.random() < 0.2:
        manifest = mutated_plain(chance, manifest)
    data = _packed([("manifest.json", json.dumps(manifest).encode()), *members.items()], chance)
    if chance.random() < 0.2:
        data = mutated_bytes(chance, data)
    packed = _COMPRESSOR.compress(data)
    return mutated_bytes(chance, packed) if chance.random() < 0.1 else packed


def _read_archive(data: bytes, folder: Path) -> bool:
    file = folder / "run.anubis.tar.zst"
    file.write_bytes(data)
    home = folder / "home"
    home.mkdir()
    fake = FakeStore()
    world = SimpleNamespace(
        runs=fake.runs,
        events=fake.events,
        points=fake.points,
        records=FolderRecords(home / "records"),
        objects=FolderObjects(home / "objects"),
    )
    try:
        import_archive(file, world, home, _samples_of)
    except BadInputError:
        assert not fake.runs.find(RunQuery()), "refused, but the run is stored"
        assert not list(home.glob("*/*")), "refused, but files are left"
        raise
    return True


def _samples_of(run, records):
    return blocks_of(Record(RoleFiles(records, RecordKey(run.id, run.attempt))).samples())


TARGETS = {
    "importers": Target(make=_history, read=_import, needs_folder=True, refusals=(BadInputError,)),
    "archives": Target(make=_made_archive, read=_read_archive, needs_folder=True, refusals=(BadInputError,)),
}
