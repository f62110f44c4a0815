"""The rate of false verdicts that A/A controls show, beside the rate that is published."""

from scipy.special import bdtrc, betaincinv

from anubis.model.verdict import FalseRate

#: The rate of false changes that a comparison has at most: the level of its intervals and of its adjusted p values.
PUBLISHED_RATE = 0.05
#: The rate is too high if so many false controls have at most this probability at the published rate.
LEVEL = 0.05


def false_rate(false: int, count: int) -> FalseRate:
    """The rate with the exact 95 % interval (Clopper & Pearson 1934, Biometrika 26:404-413) of at least one control."""
    return FalseRate(
        count=count,
        false=false,
        interval=(
            float(betaincinv(false, count - false + 1, 0.025)) if false else 0.0,
            float(betaincinv(false + 1, count - false, 0.975)) if false < count else 1.0,
        ),
        published=PUBLISHED_RATE,
        is_above=false > 0 and float(bdtrc(false - 1, count, PUBLISHED_RATE)) <= LEVEL,
    )
