"""Files that garbage collection deletes or compresses."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from anubis.api.json_values import Json
from anubis.model.garbage import Garbage


def garbage_to_json(garbage: Garbage) -> Json:
    return {"kind": garbage.kind, "path": str(garbage.path), "size_bytes": garbage.size_bytes}


def garbage_from_json(plain: Mapping[str, Any]) -> Garbage:
    return Garbage(kind=plain["kind"], path=Path(plain["path"]), size_bytes=plain["size_bytes"])
