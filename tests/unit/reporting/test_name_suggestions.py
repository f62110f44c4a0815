import pytest

from anubis.reporting.name_suggestions import MOST_LISTED, remedy


@pytest.mark.parametrize(
    ("word", "known", "expected"),
    [
        ("acuracy", ["loss", "accuracy"], "did you mean accuracy?"),
        ("zzz", ["loss", "accuracy"], "use one of: loss, accuracy"),
        ("zzz", [], "see the list"),
        ("zzz", [str(number) for number in range(MOST_LISTED)], "use one of: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9"),
        ("zzz", [str(number) for number in range(MOST_LISTED + 1)], "see the list"),
        ("name", ["na\x1b[31mme"], "did you mean na"),
    ],
)
def test_the_remedy_is_the_nearest_name_or_a_short_list(word, known, expected):
    answer = remedy(word, known, otherwise="see the list")
    assert answer.startswith(expected)
    assert answer.isprintable()
