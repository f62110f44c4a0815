"""Remedies for names that are not known."""

from collections.abc import Iterable

from anubis.describe.findings import nearest
from anubis.reporting.markup import one_line

#: With more known names than this, the remedy does not list them.
MOST_LISTED = 10


def remedy(word: str, known: Iterable[str], *, otherwise: str) -> str:
    """The most similar known name as a question, else all names, else (many or none) the sentence ``otherwise``."""
    names = list(known)
    if close := nearest(word, names):
        return f"did you mean {one_line(close)}?"
    return f"use one of: {', '.join(map(one_line, names))}" if 0 < len(names) <= MOST_LISTED else otherwise
