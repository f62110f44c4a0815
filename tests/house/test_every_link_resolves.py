import re
from pathlib import Path

import pytest

from support.tree import ROOT, shown

PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md")]
LINK = re.compile(r"(?<!`)!?\[[^\]]*\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def slug(heading):
    """The anchor MkDocs and GitHub make of a heading."""
    return re.sub(r"\s+", "-", re.sub(r"[^\w\s-]", "", heading.replace("`", "").strip().lower()))


def anchors(page):
    text = FENCE.sub("", page.read_text())
    return {slug(match) for match in re.findall(r"^#+ (.*)$", text, re.MULTILINE)}


def broken(page):
    for first, second in LINK.findall(FENCE.sub("", page.read_text())):
        target = first or second
        if re.match(r"[a-z]+:", target):
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file).resolve() if file else page
        if not path.exists() or (anchor and path.suffix == ".md" and anchor not in anchors(path)):
            yield target


@pytest.mark.parametrize("page", sorted(PAGES), ids=shown)
def test_the_links_of_a_page_lead_somewhere(page):
    assert list(broken(page)) == []


def test_a_broken_link_is_found(tmp_path):
    page = Path(tmp_path, "page.md")
    page.write_text("# One two\n[a](gone.md) [b](#one-two) [c](#three) [d](https://example.org)")
    assert list(broken(page)) == ["gone.md", "#three"]
