import tomllib

from support.tree import ROOT

DOCS = ROOT / "docs"
SITE = tomllib.loads((ROOT / "zensical.toml").read_text())["project"]


def pages(nav):
    """The files of a navigation, in its order."""
    for entry in nav:
        for below in entry.values():
            yield from [below] if isinstance(below, str) else pages(below)


NAV = list(pages(SITE["nav"]))
PAGES = [page.relative_to(DOCS).as_posix() for page in sorted(DOCS.rglob("*.md"))]


def test_every_page_has_its_place_once():
    assert sorted(NAV) == sorted(PAGES)


def test_the_sections_have_the_standard_names():
    names = [name for entry in SITE["nav"] for name in entry]
    assert names == ["Home", "Tutorials", "How-to guides", "Reference", "Explanation"]


def test_the_home_page_leads_to_every_page():
    """Decisions are reached through their own index."""
    home = (DOCS / "index.md").read_text()
    missing = [page for page in PAGES if f"({page})" not in home and not page.startswith("decisions/")]
    assert set(missing) - {"index.md"} == set()


def test_every_decision_is_listed():
    index = (DOCS / "decisions" / "index.md").read_text()
    pages = [page.name for page in (DOCS / "decisions").glob("*.md") if page.name != "index.md"]
    assert [name for name in pages if f"({name})" not in index] == []
