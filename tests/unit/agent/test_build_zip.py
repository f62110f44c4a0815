import zipfile

from anubis.agent import build_zip


def test_equal_content_makes_an_equal_file(tmp_path):
    first, second = tmp_path / "a.zip", tmp_path / "b.zip"
    build_zip.build(str(first))
    build_zip.build(str(second))
    assert first.read_bytes() == second.read_bytes()
    names = zipfile.ZipFile(first).namelist()
    assert {"__main__.py", "anubis/__init__.py", "anubis/agent/entry.py", "benchmarkai/__init__.pyc"} <= set(
        names
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "b.zip"]
