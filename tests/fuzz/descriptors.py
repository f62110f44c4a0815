"""Targets ``descriptor`` and ``override``."""

import random
from functools import cache
from pathlib import Path

from anubis.describe.reading import Reading, read
from anubis.model.identity import digest, series_key
from anubis.submission.bundle import bundle_of
from fuzz.mutators import ODD, mutated_text, mutated_toml
from fuzz.targets import Target
from support.tree import ROOT

OVERRIDES = (
    "measure.repeats=10", 'info.name="x"', "info.labels.team=a", "hardware.cpus=2", "ml.args=--epochs 3", "env.vars.A=b",
    "matrix.axes.lr=[0.1, 0.2]", "data.sources[0].src=s3://b/k", "output.metrics[0].pattern=(a+)", "measure.timeout=1h",
    "hardware.strategy=horovod", "info.scheduling=*/5 * * * *", "spec_version=0.1.0", "output.metrics[0].units=ms",
)  # fmt: skip


@cache
def texts() -> tuple[str, ...]:
    files = [*ROOT.glob("tests/recorded/descriptors/*.toml"), *ROOT.glob("examples/*/*.toml")]
    return tuple(path.read_text() for path in sorted(files))


def _descriptor(chance: random.Random) -> bytes:
    text = mutated_toml(chance, chance.choice(texts()), texts())
    data = text.encode("utf-8", "surrogatepass")
    if chance.random() < 0.05:
        at = chance.randrange(len(data) + 1)
        data = data[:at] + chance.randbytes(3) + data[at:]
    return data


def _override(chance: random.Random) -> tuple[str, dict[str, str]]:
    overrides = {}
    for _ in range(chance.choice((1, 1, 2, 5))):
        path, _, value = chance.choice(OVERRIDES).partition("=")
        if chance.random() < 0.5:
            path = mutated_text(chance, path)
        if chance.random() < 0.7:
            value = chance.choice((mutated_text(chance, value), str(chance.choice(ODD))))
        overrides[path] = value
    return chance.choice(texts()), overrides


def _is_accepted(reading: Reading) -> bool:
    if reading.descriptor is None:
        assert reading.problems, "refused without a problem"
        return False
    digest(reading.descriptor)
    series_key(reading.descriptor)
    bundle_of(reading.descriptor, None)
    return True


def _read(data: bytes, _folder: Path) -> bool:
    return _is_accepted(read(data, filename="x.toml"))


def _read_overridden(given: tuple[str, dict[str, str]], _folder: Path) -> bool:
    return _is_accepted(read(given[0], filename="x.toml", overrides=given[1]))


TARGETS = {
    "descriptor": Target(make=_descriptor, read=_read),
    "override": Target(make=_override, read=_read_overridden),
}
