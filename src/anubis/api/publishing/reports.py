"""Reports as JSON: the tree of their sections, with the exact numbers."""

from collections.abc import Mapping
from typing import Any

from anubis.api.json_values import Json, finite
from anubis.model.plain import from_plain, to_plain
from anubis.reporting.documents.document import Document

#: Version of the form.
SCHEMA = 1


def document_to_json(document: Document) -> Json:
    """A report. Fields with their default are left out."""
    plain: Json = finite({"schema": SCHEMA, **to_plain(document)})
    return plain


def document_from_json(plain: Mapping[str, Any]) -> Document:
    """The report of ``document_to_json``."""
    return from_plain(Document, plain)
