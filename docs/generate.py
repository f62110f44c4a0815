"""Write the generated pages, and parts of pages, of the reference: python docs/generate.py [--check]

A page says where a part goes with <!-- generated: NAME --> and <!-- end -->. With --check nothing is written; the exit
code is 1 when a page is not up to date.
"""

import ast
import re
import sys
from dataclasses import is_dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import anubis.testing
from anubis import settings
from anubis.contracts import events
from anubis.model import errors
from anubis.model.cause import Cause

DOCS = Path(__file__).parent
BENCHES = DOCS.parent / "benchmarks"
PART = re.compile(r"(<!-- generated: ([\w.]+) -->\n).*?(<!-- end -->)", re.DOTALL)
#: Parts with this prefix are tables that a bench stored: bench.REPORT.TABLE.
BENCH = "bench."
#: Modules whose names are promised to others, in the order in which a reader wants them.
PUBLIC = [
    "anubis.client.client",
    "anubis.client.outcome",
    "anubis.client.protocol.runs",
    "anubis.client.protocol.judging",
    "anubis.client.protocol.tools",
    "anubis.client.protocol.schedules",
    "anubis.client.protocol.access",
    "anubis.client.protocol.triggers",
    "anubis.client.protocol.webhooks",
    "anubis.agent.emit",
    "anubis.contracts",
    "anubis.transfer.history_formats",
    "anubis.settings",
]


def public_modules():
    yield from PUBLIC
    yield from sorted(f"anubis.model.{path.stem}" for path in Path(errors.__file__).parent.glob("[a-z]*.py"))


def names():
    """Every public name of the public modules with the first line of its docstring."""
    tables = [table(module, defined(module)) for module in public_modules()]
    return "\n".join([*tables, testing()])


def testing():
    """The fakes and builders that anubis.testing offers, and the suites by the modules they are imported from."""
    modules = [
        f"anubis.testing.{path.stem}" for path in Path(anubis.testing.__file__).parent.glob("[a-z]*.py")
    ]
    found = {name: meaning for module in sorted(modules) for name, meaning in defined(module)}
    offered = [(name, found[name]) for name in anubis.testing.__all__]
    suites = [
        (f"{module.rpartition('.')[2]}.{name}", meaning)
        for module in sorted(modules)
        for name, meaning in defined(module)
        if name.endswith("Contract")
    ]
    return table("anubis.testing", [*offered, *suites])


def defined(module):
    """(name, first line of its docstring) of what a module itself defines for others."""
    tree = ast.parse(Path(find_spec(module).origin).read_text())
    return [(node.name, first_line(ast.get_docstring(node))) for node in tree.body if is_public(node)]


def table(heading, rows):
    if not rows:
        return ""
    shown = [f"| `{name}` | {meaning} |" for name, meaning in rows]
    return "\n".join([f"\n## {heading}\n", "| Name | Meaning |", "|---|---|", *shown])


def is_public(node):
    return isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")


def first_line(doc):
    return (doc or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|").replace("``", "`")


def causes():
    rows = ["| Cause | What to try first |", "|---|---|"]
    return "\n".join([*rows, *(f"| `{cause}` | {cause.remedy} |" for cause in Cause)])


def adapter_settings():
    """The settings of the cache of datasets, of each engine, source and notifier, and of the service."""
    parts = []
    for noun, package in (
        ("Datasets:", "anubis.datasets"),
        ("Engine", "anubis.engines"),
        ("Sources:", "anubis.sources"),
        ("Notifier", "anubis.notifiers"),
        ("Sign-in:", "anubis.web.sign_in"),
    ):
        for path in sorted(Path(find_spec(package).origin).parent.glob("[a-z]*.py")):
            module = import_module(f"{package}.{path.stem}")
            kinds = [kind for kind in vars(module).values() if is_settings(kind, module)]
            parts += [f"## {noun} {path.stem}\n\n{settings.table(kind)}" for kind in kinds]
    return "\n\n".join(parts)


def is_settings(kind, module):
    """Whether a name of the module is a dataclass of settings that the module defines."""
    ours = isinstance(kind, type) and is_dataclass(kind) and kind.__module__ == module.__name__
    return ours and bool(settings.variables(kind))


def event_kinds():
    rows = ["| Kind | When |", "|---|---|"]
    return "\n".join([*rows, *(f"| `{kind}` | {meaning} |" for kind, meaning in events.KINDS.items())])


#: Name of a part -> what makes it; ``module:function`` is imported only when a page has that part.
PARTS = {
    "adapter_settings": adapter_settings,
    "causes": causes,
    "errors": "anubis.api.errors:reference",
    "descriptor": "anubis.describe:reference_markdown",
    "access": "anubis.web.access.policy:reference",
    "http_routes": "anubis.web.app:routes_table",
    "event_kinds": event_kinds,
    "environment": "anubis.submission.environment.names:reference",
    "names": names,
    "settings": "anubis.settings:reference",
}

#: Pages and other files that are made as a whole.
PAGES = {"reference/cli.md": "anubis.cli.reference:markdown"}
FILES = {"reference/openapi.json": "anubis.web.app:openapi_text"}


def part(name):
    if name.startswith(BENCH):
        sys.path.insert(0, str(BENCHES))
        return import_module("report").published(name.removeprefix(BENCH))
    return made(PARTS[name])


def made(maker):
    if isinstance(maker, str):
        module, _, function = maker.partition(":")
        maker = getattr(import_module(module), function)
    return maker().strip()


def renewed(page, text):
    name = page.relative_to(DOCS).as_posix()
    if maker := PAGES.get(name) or FILES.get(name):
        return made(maker) + "\n"
    return PART.sub(lambda match: f"{match[1]}\n{part(match[2])}\n\n{match[3]}", text)


def main():
    stale = []
    for page in [*sorted(DOCS.rglob("*.md")), *(DOCS / name for name in FILES)]:
        text = page.read_text() if page.exists() else ""
        fresh = renewed(page, text)
        if fresh != text:
            stale.append(str(page.relative_to(DOCS.parent)))
            if "--check" not in sys.argv:
                page.write_text(fresh)
    if stale and "--check" in sys.argv:
        sys.exit(f"not up to date: {', '.join(stale)} (run: python docs/generate.py)")


if __name__ == "__main__":
    main()
