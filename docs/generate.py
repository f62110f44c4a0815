"""Write the generated parts of the reference: python docs/generate.py [--check]

A page says where with <!-- generated: NAME --> and <!-- end -->. With --check nothing is written; the exit code is 1
when a page is not up to date.
"""

import ast
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from anubis.model import errors
from anubis.model.cause import Cause

DOCS = Path(__file__).parent
PART = re.compile(r"(<!-- generated: (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
#: Modules whose names are promised to others, in the order in which a reader wants them.
PUBLIC = ["anubis", "anubis.client", "anubis.pipeline.contracts", "anubis.settings"]


def public_modules():
    yield from PUBLIC
    yield from sorted(f"anubis.model.{path.stem}" for path in Path(errors.__file__).parent.glob("[a-z]*.py"))


def names():
    """Every public name of the public modules with the first line of its docstring."""
    rows = []
    for module in public_modules():
        tree = ast.parse(Path(find_spec(module).origin).read_text())
        found = [(node.name, first_line(ast.get_docstring(node))) for node in tree.body if is_public(node)]
        if found:
            rows += [f"\n## {module}\n", "| Name | Meaning |", "|---|---|"]
            rows += [f"| `{name}` | {meaning} |" for name, meaning in found]
    return "\n".join(rows)


def is_public(node):
    return isinstance(node, ast.ClassDef | ast.FunctionDef) and not node.name.startswith("_")


def first_line(doc):
    return (doc or "").split("\n\n")[0].replace("\n", " ").replace("|", "\\|").replace("``", "`")


def causes():
    rows = ["| Cause | What to try first |", "|---|---|"]
    return "\n".join([*rows, *(f"| `{cause}` | {cause.remedy} |" for cause in Cause)])


#: Name of a part -> what makes it; ``module:function`` is imported only when a page has that part.
PARTS = {
    "causes": causes,
    "commands": "anubis.cli.reference:markdown",
    "descriptor": "anubis.describe:reference_markdown",
    "names": names,
    "settings": "anubis.settings:reference",
}


def made(name):
    maker = PARTS[name]
    if isinstance(maker, str):
        module, _, function = maker.partition(":")
        maker = getattr(import_module(module), function)
    return maker().strip()


def renewed(text):
    return PART.sub(lambda match: f"{match[1]}\n{made(match[2])}\n\n{match[3]}", text)


def main():
    stale = []
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text()
        if renewed(text) != text:
            stale.append(str(page.relative_to(DOCS.parent)))
            if "--check" not in sys.argv:
                page.write_text(renewed(text))
    if stale and "--check" in sys.argv:
        sys.exit(f"not up to date: {', '.join(stale)} (run: python docs/generate.py)")


if __name__ == "__main__":
    main()
