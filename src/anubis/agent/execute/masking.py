"""Replaces secrets in the output of the benchmark by ``***``, also where a secret is split across writes."""

from __future__ import annotations

import re

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Iterable, Mapping

MASK = b"***"
#: A shorter value would also be masked where the output contains the same characters by chance; bytes.
SHORTEST = 8


class Masker:
    """Finds secrets: as they are, each line of a secret of several lines, and encoded as JSON, URL and Base64."""

    def __init__(self, secrets: Iterable[bytes]) -> None:
        forms = {form for secret in secrets for form in _forms(secret) if len(form) >= SHORTEST}
        #: The longest first: a regular expression takes the first alternative that matches.
        self._forms = sorted(forms, key=lambda form: (-len(form), form))
        self._pattern = re.compile(b"|".join(map(re.escape, self._forms)))

    def mask(self, data: bytes) -> bytes:
        """The data with every secret replaced."""
        if not any(form in data for form in self._forms):  # much faster than the regular expression
            return data
        return self._pattern.sub(MASK, data)

    def mask_text(self, text: str) -> str:
        """The text with every secret replaced."""
        return self.mask(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def split(self, data: bytes) -> tuple[bytes, bytes]:
        """The masked part of the data, and its end that may be the beginning of a secret."""
        held = min(self._possible_start(form, data) for form in self._forms)
        if held == len(data):
            return self.mask(data), b""
        for match in self._pattern.finditer(data):
            if (
                match.start() < held < match.end()
            ):  # the end of a whole secret looks like the start of another
                held = match.end()
        return self.mask(data[:held]), data[held:]

    def _possible_start(self, form: bytes, data: bytes) -> int:
        """Where the longest end of the data starts with which this form may begin; its length if there is none."""
        at = data.find(form[:1], max(0, len(data) - len(form) + 1))
        while at >= 0:
            if form.startswith(data[at:]):
                return at
            at = data.find(form[:1], at + 1)
        return len(data)


def _forms(secret: bytes) -> list[bytes]:
    from base64 import b64encode, urlsafe_b64encode
    from json import dumps
    from urllib.parse import quote_from_bytes, quote_plus

    text = secret.decode("utf-8", "replace")
    return [
        secret,
        *(line.strip() for line in secret.splitlines()),
        dumps(text).encode()[1:-1],
        dumps(text, ensure_ascii=False).encode()[1:-1],
        quote_from_bytes(secret).encode(),
        quote_from_bytes(secret, safe="").encode(),
        quote_plus(secret).encode(),
        *(padded for encode in (b64encode, urlsafe_b64encode) for padded in _with_padding(encode(secret))),
    ]


def _with_padding(encoded: bytes) -> tuple[bytes, bytes]:
    """Base64 as it is, and without the padding, which some programs leave out."""
    return encoded, encoded.rstrip(b"=")


class MaskedStream:
    """Masks one stream, whatever its parts; a part that may begin a secret is returned with the next one."""

    def __init__(self, masker: Masker) -> None:
        self._masker = masker
        self._held = b""

    def feed(self, data: bytes) -> bytes:
        """The masked bytes that are certain after this part."""
        masked, self._held = self._masker.split(self._held + data)
        return masked

    def finish(self) -> bytes:
        """The rest, at the end of the stream."""
        rest, self._held = self._masker.mask(self._held), b""
        return rest


def masker_of(environment: Mapping[bytes, bytes], names: str) -> Masker | None:
    """The masker of the values of these variables (separated by spaces); None if no value is long enough to be masked."""
    values = [environment.get(name.encode("utf-8", "surrogateescape"), b"") for name in names.split()]
    secrets = [value for value in values if len(value) >= SHORTEST]
    return Masker(secrets) if secrets else None
