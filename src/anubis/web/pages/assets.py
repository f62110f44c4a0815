"""Style sheets, scripts and icons. Their addresses contain a digest of all of them, so browsers may keep them for ever."""

import gzip
import hashlib
from functools import cache
from pathlib import Path

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException

from anubis import reporting

router = APIRouter(prefix="/ui", include_in_schema=False)

_FOLDER = Path(__file__).parent / "static"
#: Those of charts, which reports contain too.
_CHARTS = Path(reporting.__file__).parent / "assets"
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}


@cache
def _files() -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for folder in (_FOLDER, _CHARTS)
        for path in sorted(folder.rglob("*"))
        if path.suffix in _TYPES
    }


@cache
def digest() -> str:
    """Identifies the content of all assets."""
    known = hashlib.sha256()
    for name, data in _files().items():
        known.update(name.encode() + b"\0" + data)
    return known.hexdigest()[:16]


@cache
def _compressed(name: str) -> bytes:
    return gzip.compress(_files()[name], 9, mtime=0)


def script_bytes() -> int:
    """The size of all scripts as they are sent, compressed."""
    return sum(len(_compressed(name)) for name in _files() if name.endswith(".js"))


def address(name: str) -> str:
    """The address of an asset. Raises KeyError."""
    assert name in _files(), name
    return f"/ui/static/{digest()}/{name}"


@router.get("/static/{version}/{name:path}")
def asset(version: str, name: str, request: Request) -> Response:
    """One file. The digest only makes the address new; an old address shows the file as it is now."""
    if name not in _files() or not version.isalnum():
        raise HTTPException(404, "there is no such file")
    headers = {
        "Cache-Control": "public, max-age=31536000, immutable",
        "Vary": "Accept-Encoding",
        "X-Content-Type-Options": "nosniff",
    }
    data, kind = _files()[name], _TYPES[Path(name).suffix]
    if "gzip" in request.headers.get("Accept-Encoding", ""):
        data, headers = _compressed(name), {**headers, "Content-Encoding": "gzip"}
    return Response(data, media_type=kind, headers=headers)
