"""Every command speaks to scripts, and one option has one name and one meaning on every command."""

from collections import defaultdict

import click
import pytest

from anubis.cli.app import app
from anubis.cli.params import PAIR
from anubis.cli.shared_options import shared_options

#: Commands without --json, and why.
WITHOUT_JSON = {
    "schema": "its output is JSON",
    "completion": "its output is a program for the shell",
}
#: Options of one name with different kinds of values, and why.
TWO_MEANINGS = {
    "--family": "a filter of listings has a run as its value; commands about given runs extend them by a flag",
    "--repository": "an import stores an address, a bisection reads a folder",
}
#: Names for what another option means already.
OTHER_NAMES = {
    "--descriptor-name": "--benchmark",
    "--max-runs": "--runs",
    "--name": "--benchmark",
    "--out": "--output",
    "--override": "--set",
    "--reason": "--why",
    "--subject": "--commit",
    "--tell": "--notify",
    "--times": "--rounds",
    "--to": "--output",
    "--verbose": "--quiet",
    "--force": "--yes",
}
#: Kinds of values that are all texts to people.
TEXTS = {"text", "path", "choice", "run"}


def leaves(command=app, words=()):
    """(words, command) of everything that can be run."""
    if not isinstance(command, click.Group):
        yield " ".join(words), command
        return
    context = click.Context(command)
    for name in command.list_commands(context):
        yield from leaves(command.get_command(context, name), (*words, name))


COMMANDS = dict(leaves())
SHARED = {name for option in shared_options() for name in option.opts}


def options(command):
    return [param for param in command.params if isinstance(param, click.Option)]


def kind(option):
    if option.is_flag:
        return "flag"
    return "text" if option.type.name in TEXTS else option.type.name


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_speaks_json(words):
    has_json = any("--json" in option.opts for option in options(COMMANDS[words]))
    assert has_json != (words in WITHOUT_JSON)


@pytest.mark.parametrize("words", COMMANDS)
def test_every_command_has_the_shared_options(words):
    names = {name for option in options(COMMANDS[words]) for name in option.opts}
    assert names >= SHARED


def test_an_option_has_one_meaning():
    kinds = defaultdict(lambda: defaultdict(list))
    for words, command in COMMANDS.items():
        for option in options(command):
            kinds[option.opts[0]][kind(option)].append(words)
    assert {name for name, found in kinds.items() if len(found) > 1} == set(TWO_MEANINGS), kinds


def test_a_letter_abbreviates_one_option():
    letters = defaultdict(set)
    for command in COMMANDS.values():
        for option in options(command):
            long = [name for name in option.opts if name.startswith("--")]
            for short in set(option.opts) - set(long):
                letters[short].add(long[0])
    assert {short: names for short, names in letters.items() if len(names) > 1} == {}
    assert {"-q", "-o", "-n", "-f"} <= set(letters)


def test_a_meaning_has_one_name():
    """The first name of an option is the one that is shown; further long names are old ones."""
    shown = {option.opts[0] for command in COMMANDS.values() for option in options(command)}
    assert shown & set(OTHER_NAMES) == set()


def test_pairs_are_given_the_same_way():
    for words, command in COMMANDS.items():
        for option in options(command):
            if option.type is PAIR:
                assert option.multiple, (words, option.opts)
