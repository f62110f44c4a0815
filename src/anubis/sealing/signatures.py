"""Signatures of files with SSH keys, made and checked by ``ssh-keygen -Y`` of OpenSSH (8.2 or newer).

The signature of a file is in a second file with the suffix ``.sig``, so that it can be checked without Anubis. The
format is in PROTOCOL.sshsig of OpenSSH.
"""

import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from anubis.model.errors import AnubisError, BadInputError

SUFFIX = ".sig"
#: The purpose of a signature: one that was made for something else is not accepted.
NAMESPACE = "anubis-record"
_PROGRAM = "ssh-keygen"
_KEY = re.compile(rb'^Good "[^"]*" signature .*?with (\S+) key (SHA256:\S+)', re.MULTILINE)


class SignatureError(AnubisError):
    """A signature does not belong to the file, or its key is not accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """A valid signature."""

    #: Type and fingerprint of the key.
    key: str
    #: The name of the signer in the file of signers; empty: no such file was given.
    signer: str = ""


def signature_of(file: Path) -> Path:
    """Where the signature of a file is."""
    return file.with_name(file.name + SUFFIX)


def sign(file: Path, key: Path) -> Path:
    """Sign a file with a private key, or with the key of an agent whose public part is given; the signature's path.

    ssh-keygen asks for a passphrase on the terminal. Raises BadInputError.
    """
    target = signature_of(file)
    with file.open("rb") as content:
        ended = _call("-Y", "sign", "-f", str(key), "-n", NAMESPACE, content=content)
    if ended.returncode:
        raise BadInputError(
            f"{file} cannot be signed with {key}: {_problem(ended)}", remedy="give the path of an SSH key"
        )
    target.write_bytes(ended.stdout)
    return target


def check(file: Path, *, signature: Path | None = None, signers: Path | None = None) -> Signature:
    """Check the signature of a file. ``signers`` names the accepted keys, as described in ssh-keygen(1), ALLOWED SIGNERS.

    Without ``signers`` any key is accepted. Raises SignatureError, and BadInputError for files that cannot be read.
    """
    signature = signature or signature_of(file)
    for path in filter(None, (signature, signers)):
        if not path.is_file():
            raise BadInputError(
                f"{path} does not exist",
                remedy="give --signers the path of a file"
                if path == signers
                else "put the signature beside the file, or sign the file with anubis record sign",
            )
    with file.open("rb") as content:
        ended = _call("-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(signature), content=content)
    found = _KEY.search(ended.stdout)
    if ended.returncode or found is None:
        raise SignatureError(
            f"{signature} is not a valid signature of {file}: {_problem(ended)}",
            remedy="the file was changed after it was signed, or the signature is that of another file",
        )
    key = f"{found[1].decode()} {found[2].decode()}"
    if signers is None:
        return Signature(key=key)
    return Signature(key=key, signer=_signer(file, signature, signers, key))


def _signer(file: Path, signature: Path, signers: Path, key: str) -> str:
    """The name of the signer in ``signers``. Raises SignatureError."""
    named = _call("-Y", "find-principals", "-f", str(signers), "-s", str(signature))
    for name in named.stdout.decode(errors="replace").split("\n"):
        words = ("-Y", "verify", "-f", str(signers), "-I", name, "-n", NAMESPACE, "-s", str(signature))
        with file.open("rb") as content:
            if name and not _call(*words, content=content).returncode:
                return name
    raise SignatureError(
        f"{file} is signed with the key {key}, which {signers} does not accept",
        remedy="if you trust this key, add a line with a name and the key to the signers; first compare its fingerprint"
        " with one that the signer published elsewhere",
    )


def _call(*words: str, content: BinaryIO | None = None) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(
            [_PROGRAM, *words],
            stdin=subprocess.DEVNULL if content is None else content,
            capture_output=True,
            check=False,
        )
    except OSError as error:
        raise BadInputError(
            f"{_PROGRAM} cannot be started: {error.strerror}", remedy="install OpenSSH (openssh-client)"
        ) from error


def _problem(ended: subprocess.CompletedProcess[bytes]) -> str:
    lines = (ended.stderr + ended.stdout).decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"exit code {ended.returncode}"
