import zipfile

from anubis.agent import bundle


def test_equal_content_makes_an_equal_file(tmp_path):
    first, second = tmp_path / "a.zip", tmp_path / "b.zip"
    bundle.build(str(first))
    bundle.build(str(second))
    assert first.read_bytes() == second.read_bytes()
    names = zipfile.ZipFile(first).namelist()
    assert {"__main__.py", "anubis/__init__.py", "anubis/agent/launch.py", "benchmarkai/__init__.pyc"} <= set(
        names
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.zip", "b.zip"]
