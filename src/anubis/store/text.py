"""Conversion of texts for the database."""

import hashlib
import json
from typing import Any

import zstandard

_LEVEL = 9  # small, written once and kept for ever


def packed(text: str) -> bytes:
    """Compress a text for storage."""
    return zstandard.ZstdCompressor(level=_LEVEL).compress(text.encode("utf-8", "surrogatepass"))


def unpacked(body: bytes) -> str:
    """Decompress a stored text."""
    return zstandard.ZstdDecompressor().decompress(body).decode("utf-8", "surrogatepass")


def text_digest(text: str) -> bytes:
    """SHA-256 of a text."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def clean(text: str) -> str:
    """The text without NUL, which PostgreSQL does not support, and without lone surrogates."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def json_text(value: Any) -> str:
    """Compact JSON; ASCII only, so that every string fits into every database."""
    return json.dumps(value, separators=(",", ":"))
