import math

import pytest

from anubis.web.answers import Answer, accepts_zstd


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("zstd", True),
        ("gzip, ZSTD;q=0.5", True),
        ("gzip, zstd ; q=1", True),
        ("", False),
        ("gzip", False),
        ("*", False),
        ("zstd;q=0", False),
        ("zstd;q=0.000, gzip", False),
        ("xzstd", False),
    ],
)
def test_zstd_must_be_named(header, accepted):
    assert accepts_zstd(header) is accepted


def test_numbers_that_json_lacks_are_null():
    assert (
        Answer({"a": math.nan, "b": [math.inf, 1.5], "c": "NaN"}).body
        == b'{"a":null,"b":[null,1.5],"c":"NaN"}'
    )
