"""Escaping of untrusted text for messages, so that it is shown and not interpreted as markup."""

import json
import re
import unicodedata

#: Control characters except tab and line feed; bidirectional controls, invisible characters, unpaired surrogates. Joiners
#: stay, because scripts and emoji need them.
_CONTROL = re.compile(
    "[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200b\\u200e\\u200f\\u2028-\\u202e\\u2060-\\u206f\\ufeff\\ufff9-\\ufffb"
    "\\ud800-\\udfff\\U000e0000-\\U000e007f]"
)


def visible(text: str) -> str:
    """The text with escapes for the characters that control a terminal, or are invisible."""
    return _CONTROL.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


def visible_json(text: str) -> str:
    """A JSON document with the escapes of JSON for the characters that ``visible`` escapes."""
    return _CONTROL.sub(lambda match: json.dumps(match[0])[1:-1], text)


def visible_line(text: str) -> str:
    """The text as ``visible``, on one line."""
    return visible(text).replace("\n", "\\n").replace("\t", "\\t")


def one_line(text: str, max_chars: int = 200) -> str:
    """The text on one line of at most ``max_chars``, without control, bidirectional or unpaired characters."""
    if not text.isprintable():
        kept = (char for char in text if char.isspace() or not unicodedata.category(char).startswith("C"))
        text = "".join(kept)
    visible = " ".join(text.split())
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
