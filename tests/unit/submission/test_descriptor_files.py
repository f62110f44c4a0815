"""Texts that are read again and again."""

from pathlib import Path

import pytest

from anubis.describe.drafting import DescriptorText
from anubis.model.errors import BadInputError
from anubis.submission import descriptor_files
from anubis.submission.descriptor_files import submissions_of

TEXT = """spec_version = "1.0"
[info]
name = "hello"
[hardware]
instance_type = "local"
[ml]
benchmark_code = "true"
"""


def submitted(text=TEXT, name="a.toml", **overrides):
    file = DescriptorText(text=text, folder=Path("/"), name=name)
    (found,) = submissions_of([file], overrides=overrides)
    return found


def test_a_text_that_is_submitted_again_is_read_once():
    assert submitted().descriptor is submitted().descriptor
    assert submitted().text == TEXT


def test_overrides_and_names_are_part_of_what_was_read():
    assert submitted(**{"info.name": "other"}).descriptor.info.name == "other"
    assert submitted().descriptor.info.name == "hello"
    for name in ("b.toml", "c.toml"):
        with pytest.raises(BadInputError) as caught:
            submitted("[info", name)
        assert caught.value.file == name


def test_a_long_text_is_not_kept():
    kept = descriptor_files._short_reading.cache_info().currsize
    long = f"{TEXT}# {'x' * descriptor_files._SHORT}\n"
    assert submitted(long).descriptor == submitted(long).descriptor
    assert descriptor_files._short_reading.cache_info().currsize == kept
