"""Train a small network on the handwritten digits of scikit-learn; give out accuracy and throughput."""

import argparse
import os
import random
import time
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier

from anubis.agent.emit import emit


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--batch-size", type=int, required=True)
    parser.add_argument("--epochs", type=int, default=40)
    options = parser.parse_args()
    # A new seed for every repeat: the spread of the accuracy over seeds is part of what is measured.
    seed = int(os.environ.get("ANUBIS_SEED", random.randrange(2**32))) % 2**32

    images, digits = load_digits(return_X_y=True)
    images = (images / 16).astype(np.float32)
    train_x, test_x, train_y, test_y = train_test_split(images, digits, test_size=0.25, random_state=0)
    model = MLPClassifier((128, 64), batch_size=options.batch_size, random_state=seed)
    warnings.simplefilter("ignore", ConvergenceWarning)

    for epoch in range(1, options.epochs + 1):
        start = time.perf_counter()
        model.partial_fit(train_x, train_y, classes=np.arange(10))
        elapsed_s = time.perf_counter() - start
        print(f"epoch {epoch}: {len(train_x) / elapsed_s:.1f} images/s", flush=True)
        emit({"accuracy": 100 * model.score(test_x, test_y)}, step=epoch)


if __name__ == "__main__":
    main()
