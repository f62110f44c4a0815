"""Commands, settings, causes and exit statuses are in the pages, and the pages show no command that is not there."""

import ast
import re
import shlex
from dataclasses import fields
from importlib.metadata import entry_points

import click
import pytest

from anubis.cli.app import app
from anubis.cli.exit_codes import MEANINGS
from anubis.cli.listing import ListGroup
from anubis.model.cause import Cause
from anubis.settings import Settings, variables
from support.tree import ROOT, modules, shown

DOCS = ROOT / "docs"
PAGES = [*ROOT.glob("*.md"), *sorted(DOCS.rglob("*.md")), *sorted((ROOT / "examples").rglob("*.md"))]
TEXTS = {page: page.read_text() for page in PAGES}
COMMANDS = (DOCS / "reference" / "cli.md").read_text()
SETTING = re.compile(r"(?:ANUBIS|BENCHMARK_AI|BAI)_[A-Z_]*[A-Z]")
#: Read because the old client library reads it; users do not change it.
UNTOLD = {"BENCHMARK_AI_FIFO_WAIT_TIME_STEP"}
FENCE = re.compile(r"^```(?:sh|console|yaml)\n(.*?)^```", re.MULTILINE | re.DOTALL)
INLINE = re.compile(r"`(anubis [a-z][^`]*)`")
#: The first bytes of files of the record, which look like commands.
MAGIC = {"lines", "samples"}
#: What ends a command within a line of shell.
END = {"|", ">", ">>", "<", "&&", "||", ";", "#", "...", "]", "}"}


def every_command(command, words=()):
    """(words, command) of the command line and everything below it."""
    yield words, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            yield from every_command(command.get_command(context, name), (*words, name))


KNOWN = dict(every_command(app))


def shown_commands():
    """(page, words) of every call of anubis in the pages, the generated one left out."""
    for page, text in TEXTS.items():
        lines = [line for block in FENCE.findall(text) for line in block.replace("\\\n", " ").splitlines()]
        for line in [*lines, *INLINE.findall(FENCE.sub("", text))]:
            for call in re.findall(r"(?:^|[\s(\[:,/])(anubis [a-z].*)", re.sub(r"\s#\s.*", "", line)):
                words = words_of(call)
                if words[1] not in MAGIC:
                    yield page, words


def words_of(call):
    lexer = shlex.shlex(call, posix=True, punctuation_chars="|<>&;()")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words = []
    for word in lexer:
        if word in END:
            break
        words.append(word.rstrip(",]"))
    return words


def unknown(words):
    """What of a call the command line does not know: a command, or options. After ``--`` comes another program."""
    words = words[: words.index("--")] if "--" in words else words
    at = 1
    while at < len(words) and tuple(words[1 : at + 1]) in KNOWN:
        at += 1
    command = KNOWN[tuple(words[1:at])]
    if isinstance(command, click.Group) and at < len(words) and not words[at].startswith("-"):
        return words[at]
    if isinstance(command, ListGroup):
        command = KNOWN[*words[1:at], command.listing]
    options = {name for param in command.params for name in (*param.opts, *param.secondary_opts)}
    options |= {"-h", "--help"}
    given = {word.partition("=")[0] for word in words[at:] if re.match(r"--?[a-z]", word)}
    return " ".join(sorted(given - options)) or None


@pytest.mark.parametrize("words", [words for words in KNOWN if words], ids=" ".join)
def test_every_command_has_its_reference(words):
    assert f"\n### anubis {' '.join(words)}\n" in COMMANDS


def test_pages_show_only_commands_that_are_there():
    found = [
        (shown(page), " ".join(words), wrong) for page, words in shown_commands() if (wrong := unknown(words))
    ]
    assert found == []


def test_commands_are_found_and_a_wrong_one_is_noticed():
    assert len({tuple(words) for _, words in shown_commands()}) > 50
    assert unknown(words_of("anubis alerts show 01 --json > file.json")) is None
    assert unknown(words_of("anubis alerts --all")) is None
    assert unknown(words_of("anubis fly")) == "fly"
    assert unknown(words_of("anubis alerts fly")) == "fly"
    assert unknown(words_of("anubis run a.toml --round 3")) == "--round"
    assert unknown(words_of("anubis run -- train --round 3")) is None


@pytest.mark.parametrize("code", MEANINGS)
def test_every_exit_status_is_told(code):
    assert f"\n| {code} | {MEANINGS[code]} |\n" in COMMANDS


@pytest.mark.parametrize("variable", variables(Settings))
def test_every_setting_is_in_the_table(variable):
    assert f"| `{variable}` |" in TEXTS[DOCS / "reference" / "settings.md"]


def test_every_field_of_the_settings_has_a_variable():
    assert len(variables(Settings)) == len(fields(Settings))


def test_every_variable_that_is_read_is_told():
    names = {
        node.value
        for tree in modules().values()
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and SETTING.fullmatch(node.value)
    }
    assert len(names) > 15
    assert [
        name for name in sorted(names - UNTOLD) if not any(f"`{name}`" in text for text in TEXTS.values())
    ] == []


@pytest.mark.parametrize("cause", Cause)
def test_every_cause_says_what_to_look_at(cause):
    assert f"\n## {cause}\n" in TEXTS[DOCS / "howto" / "troubleshoot.md"]


@pytest.mark.parametrize(
    "group", ["anubis.engines", "anubis.notifiers", "anubis.sources", "anubis.histories", "anubis.posts"]
)
def test_every_kind_of_plug_in_is_told(group):
    assert entry_points(group=group)
    assert f"`{group}`" in TEXTS[ROOT / "CONTRIBUTING.md"]


def test_no_page_installs_from_an_index():
    """Before the first release no package index has the package."""
    found = [
        (shown(page), line)
        for page, text in TEXTS.items()
        for line in re.findall(r"pip install [^`\n,]*anubis-bench[^`\n,]*", text)
        if "git+https://" not in line
    ]
    assert found == []
