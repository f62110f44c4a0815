import contextlib
import os
import re
from html.parser import HTMLParser
from pathlib import PurePosixPath

import pytest

from anubis.judging.series_overview import series_overviews
from anubis.model.errors import BadInputError
from anubis.publishing.site.folder import MANIFEST, write_site
from anubis.publishing.site.pages import INDEX, Site, page_of

HOSTILE = '<script>alert(1)</script>"&../../etc'


def site_of(house):
    return Site(series_overviews(house.world), house.world.alerts.find(), made_s=1e9)


def write(house, path):
    site = site_of(house)
    return write_site(path, site.names, site.files())


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.links, self.ids, self.scripts = [], set(), 0
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.links += [found[name] for name in ("href", "src") if found.get(name)]
        self.ids.add(found.get("id"))
        self.scripts += tag == "script"


def broken_links(path):
    """The links of all pages of a site to files that do not exist, or to another place."""
    return [
        (page.name, link)
        for page in path.rglob("*.html")
        for link in Page(page.read_text()).links
        if not (page.parent / link.partition("#")[0]).is_file() or ":" in link
    ]


def test_every_link_of_a_site_resolves_inside_of_it(house, bench, tmp_path):
    bench.add(*[100.0] * 30, *[90.0] * 12, metrics=("a", "b"))
    bench.add(1.0, name=HOSTILE, metrics=(HOSTILE,), subject=HOSTILE)
    done = write(house, tmp_path / "site")
    assert (done.written, done.removed) == (5, 0)
    assert broken_links(tmp_path / "site") == []
    assert {path.parent.name for path in (tmp_path / "site").rglob("*.html")} == {"site", "benchmarks"}
    hostile = (tmp_path / "site" / page_of(HOSTILE)).read_text()
    assert "<script>alert" not in hostile
    assert Page(hostile).scripts == 2


def test_the_points_of_a_chart_lead_to_rows_of_its_page(house, bench, tmp_path):
    bench.add(1.0, 2.0)
    write(house, tmp_path / "site")
    page = (tmp_path / "site" / page_of("bench")).read_text()
    runs = re.search('"runs":\\[(.*?)\\]', page)[1].replace('"', "").split(",")
    assert {f"run-{run}" for run in runs} <= Page(page).ids


def test_names_that_are_one_file_name_have_two_pages():
    assert page_of("a/b") != page_of("a-b")
    assert page_of("A").lower() != page_of("a").lower()
    for name in ("..", "", "x" * 10_000, "\ud800"):
        assert len(PurePosixPath(page_of(name)).parts) == 2
        assert len(PurePosixPath(page_of(name)).name) < 120


def test_a_second_call_writes_only_what_changed(house, bench, tmp_path):
    bench.add(*[1.0] * 3)
    bench.add(1.0, name="other")
    assert write(house, tmp_path).written == 5
    assert write(house, tmp_path).written == 0
    before = (tmp_path / page_of("other")).stat().st_mtime_ns
    bench.add(2.0)
    done = write(house, tmp_path)
    assert done.written == 2, "the page of the benchmark and the index"
    assert (tmp_path / page_of("other")).stat().st_mtime_ns == before


def test_a_benchmark_that_is_gone_is_removed_and_other_files_stay(house, bench, tmp_path):
    run = bench.add(1.0)
    bench.add(1.0, name="other")
    write(house, tmp_path)
    (tmp_path / "CNAME").write_text("mine")
    house.runs.remove([run.id])
    done = write(house, tmp_path)
    assert done.removed == 1
    assert not (tmp_path / page_of("bench")).exists()
    assert (tmp_path / "CNAME").read_text() == "mine"


@pytest.mark.parametrize("at", range(6))
def test_an_interrupted_call_leaves_a_site_that_works(house, bench, tmp_path, monkeypatch, at):
    bench.add(*[1.0] * 3)
    write(house, tmp_path)
    bench.add(2.0)
    bench.add(1.0, name="new")
    replace, calls = os.replace, iter(range(100))

    def interrupted(old, new):
        if next(calls) == at:
            raise KeyboardInterrupt
        replace(old, new)

    monkeypatch.setattr(os, "replace", interrupted)
    with contextlib.suppress(KeyboardInterrupt):
        write(house, tmp_path)
    assert (tmp_path / INDEX).is_file()
    assert broken_links(tmp_path) == []
    monkeypatch.setattr(os, "replace", replace)
    write(house, tmp_path)
    assert broken_links(tmp_path) == []
    assert list(tmp_path.rglob("*.unfinished")) == []
    assert "new" in (tmp_path / INDEX).read_text()


def test_a_folder_with_other_content_is_not_changed(house, tmp_path):
    (tmp_path / "precious").write_text("x")
    with pytest.raises(BadInputError, match="is not empty and contains no site"):
        write(house, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["precious"]


def test_a_manifest_cannot_name_files_outside(house, tmp_path):
    outside = tmp_path / "precious"
    outside.write_text("x")
    (tmp_path / "site").mkdir()
    (tmp_path / "site" / MANIFEST).write_text('{"files": ["../precious", "' + str(outside) + '"]}')
    write(house, tmp_path / "site")
    assert outside.read_text() == "x"
    (tmp_path / "site" / MANIFEST).write_text("[")
    with pytest.raises(BadInputError, match="is damaged"):
        write(house, tmp_path / "site")


def test_a_site_without_series_has_an_index(house, tmp_path):
    write(house, tmp_path / "site")
    assert "no series has a point" in (tmp_path / "site" / INDEX).read_text()
