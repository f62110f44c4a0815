"""Docs, docstrings, comments and messages are plain technical English: no idiom, metaphor or personification."""

import ast
import io
import re
import tokenize
from pathlib import Path

import pytest

from support.tree import ROOT, SRC, shown

#: Idioms that stop a reader, as regular expressions without regard to case.
IDIOMS = [
    r"whoever",
    r"whatever it is",
    r"somebody",
    r"anybody",
    r"nobody",
    r"goes? on with",
    r"goes? on where",
    r"carr(?:y|ies|ied) (?:it |them |runs? )?on",
    r"tells? of",
    r"(?:is|are|was|were|be) told",
    r"cannot be told",
    r"to be told",
    r"not be told",
    r"hears? of",
    r"is nothing",
    r"means nothing",
    r"(?:is|are) no news",
    r"nothing but",
    r"nothing says",
    r"stands? (?:for|beside|there|in|still|twice|at)",
    r"may go",
    r"weigh(?:s|ed|ing|ings)?",
    r"says? not",
    r"comes? home",
    r"of (?:its|their|your|our) own",
    r"has no place",
    r"no place here",
    r"is none of",
    r"(?<!there )(?:is|are) no (?:number|samples?|path|file|label|pair|list|descriptor|directive|option)s?",
    r"four times in five",
    r"found out",
    r"in words",
    r"the words of",
    r"own books",
    r"the gravest",
    r"last words?",
    r"at hand",
]
PATTERN = re.compile(rf"\b(?:{'|'.join(IDIOMS)})\b", re.IGNORECASE)

#: (file, the matched words) -> why the words are meant as they are.
ALLOWED = {
    ("src/anubis/reporting/report_file.py", "weighings"): "a key of the file format",
    ("src/anubis/api/gate.py", "weighings"): "a key of the API",
    ("CHANGELOG.md", "weighing"): "the old name",
    ("CHANGELOG.md", "weighings"): "the old name",
}

FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
MODULES = sorted(SRC.rglob("*.py"))


def idioms(name, text):
    """The idioms of a text that are not allowed in this file."""
    found = [match.group() for match in PATTERN.finditer(" ".join(text.split()))]
    return [words for words in found if (name, words.lower()) not in ALLOWED]


def prose(path):
    """The comments and string literals of a module, docstrings included, without regular expressions and SQL."""
    source = path.read_text()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value


@pytest.mark.parametrize("page", sorted(PAGES), ids=shown)
def test_a_page_is_plain_english(page):
    assert idioms(shown(page), FENCE.sub("", page.read_text())) == []


def explanations(path):
    """The comments and docstrings of a module."""
    source = path.read_text()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            yield token.string
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield ast.get_docstring(node) or ""


@pytest.mark.parametrize("path", MODULES, ids=shown)
def test_a_module_is_plain_english(path):
    assert [(text, found) for text in prose(path) if (found := idioms(shown(path), text))] == []


@pytest.mark.parametrize("folder", ["tests", "benchmarks", "examples", "docs", ".ci"])
def test_comments_of_tests_and_tools_are_plain_english(folder):
    found = [
        (shown(path), words)
        for path in sorted((ROOT / folder).rglob("*.py"))
        if path != Path(__file__)  # it names the idioms
        for text in explanations(path)
        for words in idioms(shown(path), text)
    ]
    assert found == []


def test_allowed_words_are_used():
    unused = [(name, words) for name, words in ALLOWED if words not in (ROOT / name).read_text().lower()]
    assert unused == []


@pytest.mark.parametrize(
    "text",
    [
        "Whoever drives them obeys",
        "x is nothing one can be told of",
        "the file says not when it was measured",
        "Anubis weighs ML systems",
        "a date has no place here",
        "the event that\n  tells of it",
    ],
)
def test_an_idiom_is_found(text):
    assert idioms("page.md", text)


@pytest.mark.parametrize(
    "text", ["the weight of a point", "use standing orders", "told apart", "a placement"]
)
def test_plain_text_passes(text):
    assert idioms("page.md", text) == []
