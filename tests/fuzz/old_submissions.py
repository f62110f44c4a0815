"""Target ``old-submissions``: the multipart bodies of old clients."""

import asyncio
import base64
import hashlib
import io
import json
import random
import tarfile
from functools import cache
from pathlib import Path

from starlette.datastructures import Headers

from anubis.model.errors import BadInputError
from anubis.web.legacy import submit_event
from fuzz.mutators import mutated_bytes, mutated_plain, mutated_text
from fuzz.targets import Target

TEXT = 'spec_version = "0.1.0"\n[info]\ndescription = "x"\n'
BOUNDARY = "0123456789abcdef"
_KINDS = (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT, tarfile.USTAR_FORMAT)


@cache
def _archive(kind: int) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=kind) as tar:
        for name, content in {"src/run.sh": b"true\n", f"src/{'n' * 90}": b"x", "src/link": None}.items():
            info = tarfile.TarInfo(name)
            info.mtime = 1.5 if kind == tarfile.PAX_FORMAT else 1
            if content is None:
                info.type, info.linkname = tarfile.SYMTYPE, "run.sh"
            else:
                info.size = len(content)
            tar.addfile(info, io.BytesIO(content or b""))
    return out.getvalue()


def _event(chance: random.Random) -> bytes:
    text = TEXT if chance.random() < 0.8 else mutated_text(chance, TEXT)
    content = text.encode("utf-8", "replace")
    plain = {
        "message_id": "01234567-89ab-4000-8000-000000000000",
        "client_id": "c0ffee",
        "client_version": "0.6.2",
        "payload": {
            "toml": {
                "descriptor_filename": "x.toml",
                "sha1": hashlib.sha1(content).hexdigest(),
                "doc": base64.b64encode(content).decode(),
            }
        },
    }
    if chance.random() < 0.5:
        plain = mutated_plain(chance, plain)
    return json.dumps(plain).encode("utf-8", "replace")


def _made(chance: random.Random) -> tuple[str, list[bytes]]:
    archive = _archive(chance.choice(_KINDS))
    if chance.random() < 0.4:
        archive = mutated_bytes(chance, archive)
    name = f"{hashlib.sha1(archive).hexdigest()}.tar"
    head = 'Content-Disposition: form-data; name="{}"{}\r\n\r\n'
    parts = [
        head.format("submit-event", "").encode() + _event(chance),
        head.format("script", f'; filename="{name}"').encode() + archive,
    ]
    line = f"--{BOUNDARY}".encode()
    body = b"".join(line + b"\r\n" + part + b"\r\n" for part in parts) + line + b"--\r\n"
    if chance.random() < 0.4:
        body = mutated_bytes(chance, body)
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    if chance.random() < 0.1:
        kind = mutated_text(chance, kind).encode("latin-1", "replace").decode("latin-1")
    size = chance.choice((7, 100, len(body) or 1))
    return kind, [body[start : start + size] for start in range(0, len(body), size)]


async def _form(kind: str, pieces: list[bytes]) -> bool:
    async def stream():
        for piece in pieces:
            yield piece

    headers = Headers(raw=[(b"content-type", kind.encode("latin-1"))])
    content, upload = await submit_event.form_of(headers, stream())
    try:
        submit_event.read(content)
        if upload:
            submit_event.script_of(upload).file.close()
    finally:
        if upload:
            await upload.close()
    return True


def _read(value: tuple[str, list[bytes]], _folder: Path) -> bool:
    return asyncio.run(_form(*value))


TARGETS = {"old-submissions": Target(make=_made, read=_read, refusals=(BadInputError,))}
