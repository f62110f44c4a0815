"""Adjusted p values against an independent implementation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import false_discovery_control

from anubis.analysis.samples.multiplicity import adjusted


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50))
def test_p_values_are_adjusted_by_benjamini_and_hochberg(probabilities):
    assert adjusted(probabilities) == pytest.approx(false_discovery_control(probabilities))


def test_no_p_values_are_fine():
    assert adjusted([]) == []


def test_of_many_unchanged_metrics_few_look_changed():
    random = np.random.default_rng(1)
    wrong = sum(min(adjusted(random.uniform(size=100).tolist())) <= 0.05 for _ in range(400))
    assert wrong / 400 == pytest.approx(0.05, abs=0.03)
