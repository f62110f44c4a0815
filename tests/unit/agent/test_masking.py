"""Masking secrets in a stream, whatever the parts in which it arrives."""

import base64
import json
from urllib.parse import quote

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from anubis.agent.execute.masking import MASK, SHORTEST, MaskedStream, Masker, masker_of

SECRET = b"correct/horse battery"
#: Few letters, so that secrets overlap themselves, each other and their surroundings.
LETTERS = st.lists(st.sampled_from([b"a", b"b", b"\n"]), max_size=12).map(b"".join)
SECRETS = st.lists(LETTERS.map(lambda text: b"ab" * 4 + text), min_size=1, max_size=3)


def masked(secrets, parts):
    stream = MaskedStream(Masker(secrets))
    return [*map(stream.feed, parts), stream.finish()]


@given(SECRETS, st.lists(st.one_of(LETTERS, st.just(b"abababab")), max_size=8))
@example([b"secret-token", b"token-value"], [b"a secret-tok", b"en-value"])
@example([b"abcdefgh", b"abcdefghijk"], [b"abcdefgh", b"ij", b"x"])
def test_the_parts_do_not_matter(secrets, parts):
    assert b"".join(masked(secrets, parts)) == Masker(secrets).mask(b"".join(parts))


@given(SECRETS, LETTERS, LETTERS, st.data())
def test_no_secret_is_left(secrets, before, after, data):
    whole = before + data.draw(st.sampled_from(secrets)) + after
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=4)))
    parts = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]
    output = b"".join(masked(secrets, parts))
    assert not any(secret in output for secret in secrets)
    assert MASK in output


@given(st.lists(st.binary(max_size=20)))
def test_other_output_is_unchanged(parts):
    parts = [part.replace(SECRET[:1], b"").replace(b"Y", b"") for part in parts]
    assert masked([SECRET], parts) == [*parts, b""]


def test_only_the_possible_beginning_of_a_secret_is_held_back():
    stream = MaskedStream(Masker([SECRET]))
    assert stream.feed(b"value 1 cor") == b"value 1 "
    assert stream.feed(b"n") == b"corn"
    assert stream.feed(SECRET[:-1]) == b""
    assert stream.feed(SECRET[-1:]) == MASK
    assert stream.feed(b"corr") == b""
    assert (stream.finish(), stream.finish()) == (b"corr", b"")


@pytest.mark.parametrize(
    "encoded",
    [
        base64.b64encode(SECRET),
        base64.b64encode(SECRET + b"!").rstrip(b"="),
        base64.urlsafe_b64encode(b"\xfb\xff" + SECRET),
        quote(SECRET).encode(),
        quote(SECRET, safe="").encode(),
        SECRET.replace(b" ", b"+").replace(b"/", b"%2F"),
    ],
)
def test_common_encodings_are_masked(encoded):
    assert Masker([SECRET, SECRET + b"!", b"\xfb\xff" + SECRET]).mask(b"<" + encoded + b">") == b"<***>"


def test_the_lines_of_a_secret_and_its_json_are_masked():
    key = "-----BEGIN KEY-----\nbG9uZyBsaW5l\näöü-äöü-äöü\n-----END KEY-----\n"
    masker = Masker([key.encode()])
    assert masker.mask(b"bG9uZyBsaW5l") == MASK
    assert masker.mask(json.dumps(key).encode()) == b'"***"'
    assert masker.mask(json.dumps(key, ensure_ascii=False).encode()) == b'"***"'
    assert masker.mask_text(f"x {key} y") == "x *** y"


def test_short_values_and_unset_variables_are_not_secrets():
    environment = {b"A": b"x" * SHORTEST, b"B": b"x" * (SHORTEST - 1)}
    masker = masker_of(environment, "A B C")
    assert masker.mask_text("x" * SHORTEST) == "***"
    assert masker.mask_text("x" * (SHORTEST - 1)) == "x" * (SHORTEST - 1)
    assert masker_of(environment, "B C") is None
    assert Masker([b"12345678\n7\n"]).mask(b"7 of 12345678") == b"7 of ***"
