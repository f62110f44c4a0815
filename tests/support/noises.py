"""Kinds of noise with zero mean and a variance near 1, for simulations; each takes a generator and a shape."""

import numpy as np


def gauss(random, shape):
    return random.standard_normal(shape)


def heavy_tails(random, shape):
    return random.standard_t(3, shape) / 3**0.5


def skewed(random, shape):
    return (np.exp(0.6 * random.standard_normal(shape)) - 1.197) / 0.787


def two_modes(random, shape):
    return (2.0 * (random.random(shape) < 0.3) + 0.35 * random.standard_normal(shape) - 0.6) / 0.98


def spikes(random, shape):
    return random.standard_normal(shape) + 10 * (random.random(shape) < 0.01)


NOISES = [gauss, heavy_tails, skewed, two_modes, spikes]
