"""Escaping of untrusted text for messages, so that it is shown and not interpreted as markup."""

import re
import unicodedata


def one_line(text: str, max_chars: int = 200) -> str:
    """The text on one line of at most ``max_chars``, without control, bidirectional or unpaired characters."""
    kept = (char for char in text if char.isspace() or not unicodedata.category(char).startswith("C"))
    visible = " ".join("".join(kept).split())
    return visible if len(visible) <= max_chars else f"{visible[: max_chars - 1].rstrip()}…"


def person(name: str) -> str:
    """The stored name of a person on one line; of a hash, which earlier versions stored, the first eight digits."""
    return name[:8] if re.fullmatch("[0-9a-f]{40}", name) else one_line(name, 60)


def code(text: str, max_chars: int = 120) -> str:
    """The text as a Markdown code span, also inside a table: mentions, links, images and HTML stay inactive.

    The fence is one backtick longer than any run of backticks inside (CommonMark 0.31, section 6.1). A pipe would end
    the table cell and cannot be escaped inside a code span, so it is shown as a broken bar.
    """
    line = one_line(text, max_chars).replace("|", "¦")
    if not line:
        return "(nothing)"
    fence = "`" * (1 + max((len(run) for run in re.findall("`+", line)), default=0))
    pad = " " if line[0] == "`" or line[-1] == "`" else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def short_subject(subject: str) -> str:
    """The first 12 digits of a commit; any other subject on one line."""
    if match := re.fullmatch(r"([0-9a-f]{12})[0-9a-f]{28,52}(-dirty)?", subject):
        return match[1] + (match[2] or "")
    return one_line(subject, 60)
