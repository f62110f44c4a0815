"""The event with which an old client submits a descriptor, and the multipart body that contains it."""

import base64
import binascii
import contextlib
import hashlib
import json
import logging
import re
import tempfile
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from starlette.datastructures import Headers, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from anubis.model.errors import AnubisError, BadInputError, disk_error
from anubis.model.problem import Problem
from anubis.submission import script_archive

#: Largest event. A descriptor is at most three quarters of it, because it is in base64.
MOST_BYTES = 4 << 20
#: Name of a script archive: the SHA-1 of its bytes, as the old client computes it.
SCRIPT = re.compile(r"([0-9a-f]{40})\.tar")
_CLIENT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_VERSION = re.compile(r"\d+\.\d+\.\d+")
_SHA1 = re.compile(r"[0-9a-fA-F]{40}")
_FILE = re.compile(r"[^\x00-\x1f/\\]{1,255}")
_PIECE = 1 << 20
# It warns about every body that is not valid; the client gets that answer.
logging.getLogger("python_multipart").setLevel(logging.ERROR)


@dataclass(frozen=True, slots=True, kw_only=True)
class SubmitEvent:
    """A submission of an old client."""

    client_id: str
    #: Chosen by the client; a repetition of the submission has the same one.
    message_id: str
    client_version: str
    #: The text of the descriptor, and the name of its file.
    text: str
    name: str


@dataclass(frozen=True, slots=True)
class ScriptFile:
    """A script archive that came with a submission."""

    #: Object key of the archive: its SHA-256.
    key: str
    sha1: str
    file: BinaryIO


def refused(message: str, *problems: Problem) -> BadInputError:
    """The error of a submission, with the text of the old system."""
    return BadInputError(
        f"Could Not Parse Submitted Descriptor: {message}",
        remedy="submit it with the client of this version: anubis submit FILE",
        problems=problems,
    )


async def form_of(
    headers: Headers, body: AsyncGenerator[bytes, None]
) -> tuple[str | bytes, UploadFile | None]:
    """The event and the script archive of a multipart body. The archive is on the disk, unless it is small.

    Raises BadInputError for any other body.
    """
    kind = headers.get("Content-Type", "").partition(";")[0].strip().lower()
    if kind != "multipart/form-data":
        raise refused(f"expected multipart/form-data, got {kind!r}")
    parser = MultiPartParser(headers, body, max_files=2, max_fields=1, max_part_size=MOST_BYTES)
    try:
        form = await parser.parse()
    except MultiPartException as error:
        raise refused(error.message) from error
    except OSError as error:
        raise disk_error("the script archive cannot be kept", error) from error
    parts = dict(form.multi_items())
    try:
        return await _parts(parts)
    except AnubisError:
        await form.close()
        raise


async def _parts(parts: Mapping[str, UploadFile | str]) -> tuple[str | bytes, UploadFile | None]:
    if unknown := sorted(parts.keys() - {"submit-event", "script"}):
        raise refused(f"{unknown[0]!r} is not a part of a submission")
    event, script = parts.get("submit-event"), parts.get("script")
    if event is None or isinstance(script, str):
        raise refused("the part submit-event is missing" if event is None else "script is not a file")
    if isinstance(event, str):
        return event, script
    content = await event.read(MOST_BYTES + 1)
    await event.close()
    if len(content) > MOST_BYTES:
        raise refused(f"submit-event has more than {MOST_BYTES} bytes")
    return content, script


def script_of(upload: UploadFile) -> ScriptFile:
    """The archive, written again without times and owners, so that the same files have the same key.

    Raises BadInputError if its name is not the SHA-1 of its content, or if it is not a valid archive.
    """
    named = SCRIPT.fullmatch(upload.filename or "")
    if named is None:
        raise refused(f"{(upload.filename or '')[:100]!r} is not the SHA-1 of an archive with .tar")
    sha1 = hashlib.sha1(usedforsecurity=False)
    while piece := upload.file.read(_PIECE):
        sha1.update(piece)
    upload.file.seek(0)
    if sha1.hexdigest() != named[1]:
        raise refused(f"the script archive has the SHA-1 {sha1.hexdigest()}, not {named[1]}")
    with contextlib.ExitStack() as opened:
        file = opened.enter_context(tempfile.SpooledTemporaryFile(_PIECE))
        try:
            key = script_archive.repacked(upload.file, cast("BinaryIO", file))
        except BadInputError as error:
            raise refused(error.message) from error
        except OSError as error:
            raise disk_error("the script archive cannot be kept", error) from error
        opened.pop_all()
        return ScriptFile(key, named[1], cast("BinaryIO", file))


def read(content: str | bytes) -> SubmitEvent:
    """The submission of an event. Raises BadInputError with all problems."""
    plain = object_of(content)
    toml = plain.get("payload", {}).get("toml") if isinstance(plain.get("payload"), dict) else None
    toml = toml if isinstance(toml, dict) else {}
    values = {
        name: _value(where, name)
        for where, names in (
            (plain, ("client_id", "message_id", "client_version")),
            (toml, ("doc", "sha1", "descriptor_filename")),
        )
        for name in names
    }
    problems = [
        Problem(path=f"{_PREFIXES.get(name, '')}{name}", message=f"expected {expected}", remedy="correct it")
        for name, (pattern, expected) in _FIELDS.items()
        if not pattern.fullmatch(values[name])
    ]
    if problems:
        shown = "; ".join(f"{problem.path}: {problem.message}" for problem in problems)
        raise refused(shown, *problems)
    return SubmitEvent(
        client_id=values["client_id"],
        message_id=values["message_id"].lower(),
        client_version=values["client_version"],
        text=_text(values["doc"], values["sha1"].lower()),
        name=values["descriptor_filename"],
    )


_FIELDS = {
    "client_id": (_CLIENT, "1 to 128 letters, digits, '.', '_' and '-'"),
    "message_id": (_UUID, "a UUID"),
    "client_version": (_VERSION, "three numbers with dots between them"),
    "doc": (re.compile(r"[A-Za-z0-9+/=\s]+"), "the descriptor in base64"),
    "sha1": (_SHA1, "the SHA-1 of the descriptor"),
    "descriptor_filename": (_FILE, "the name of a file without a folder"),
}
_PREFIXES = dict.fromkeys(("doc", "sha1", "descriptor_filename"), "payload.toml.")


def object_of(content: str | bytes) -> dict[str, Any]:
    """The JSON object of an event. Raises BadInputError."""
    try:
        plain = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise refused("the event is not JSON") from error
    if not isinstance(plain, dict):
        raise refused("the event is not a JSON object")
    return plain


def _value(plain: Mapping[str, Any], name: str) -> str:
    value = plain.get(name)
    if name == "descriptor_filename" and isinstance(value, str):
        return value.rpartition("/")[2]  # the client may name the whole path
    return value if isinstance(value, str) else ""


def _text(doc: str, sha1: str) -> str:
    """The text of a descriptor in base64, whose SHA-1 must match."""
    try:
        content = base64.b64decode("".join(doc.split()), validate=True)
        text = content.decode()
    except (binascii.Error, ValueError) as error:
        raise refused(f"payload.toml.doc is not text in base64: {error}") from error
    actual = hashlib.sha1(content, usedforsecurity=False).hexdigest()
    if actual != sha1:
        raise refused(f"the descriptor has the SHA-1 {actual}, not {sha1}")
    return text


def checked_client(client_id: str) -> None:
    """Raise BadInputError if the text is not the id of a client."""
    if not _CLIENT.fullmatch(client_id):
        pattern = _FIELDS["client_id"][1]
        raise BadInputError(f"{client_id[:200]!r} is not a client id", remedy=f"use {pattern}")


def cancel_of(content: bytes, action_id: str, commands: Collection[str]) -> bool:
    """Whether the command event of a request to cancel an action includes the runs that it caused.

    Only the listed commands are accepted, and only for the action that the address names. Raises BadInputError.
    """
    try:
        plain = json.loads(content)
        payload = plain["payload"]
        command, args = payload["command"], payload.get("args", {})
        if isinstance(args, list):
            args = dict(zip(("target_action_id", "cascade"), args, strict=False))
        target, cascade = args.get("target_action_id", action_id), args.get("cascade", False)
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise BadInputError("the body is not a command event", remedy="send payload.command") from error
    if not isinstance(command, str) or command not in commands:
        raise BadInputError(f"{str(command)[:100]!r} is not a command", remedy=f"use {min(commands)}")
    if str(target).lower() != action_id.lower() or not isinstance(cascade, bool):
        raise BadInputError(
            "the command is not for the action that the address names",
            remedy="use the same id in both, and true or false for cascade",
        )
    return cascade
