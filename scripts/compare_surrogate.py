"""How far the synthetic surrogate resembles real VLAD features: zeros, tails, spectrum, distances of neighbours.

    python scripts/compare_surrogate.py data/cifar10-vlad25600.h5

Prints a table and writes it, with a figure, to results/reference/surrogate.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from cbe_bench.core.cache import whole_file
from cbe_bench.core.report import save_figure
from cbe_bench.core.style import drawing_style
from cbe_bench.data.features import Features
from cbe_bench.data.formats import open_features
from cbe_bench.data.images.dense_sift import DESCRIPTOR
from cbe_bench.data.synthetic import SyntheticFeatures

ROWS, QUERIES, EIGENVALUES = 4_000, 200, 2_000
COLOURS = {"real": "#0072B2", "synthetic surrogate": "#D55E00"}


def sample(features: Features) -> np.ndarray:
    rows = np.sort(np.random.default_rng(0).choice(features.n_rows, ROWS + QUERIES, replace=False))
    return features.read(rows)


def measure(X: np.ndarray) -> dict[str, np.ndarray]:
    database, queries = X[QUERIES:], X[:QUERIES]
    shown = (database != 0).reshape(len(database), -1, DESCRIPTOR).any(axis=2)
    centred = database[:EIGENVALUES] - database.mean(axis=0)
    spectrum = np.linalg.eigvalsh((centred @ centred.T).astype(np.float64))[::-1]
    distances = np.sqrt(np.maximum(0, 2 - 2 * np.sort(queries @ database.T, axis=1)[:, ::-1]))
    return {
        "words shown by an image": shown.mean(axis=1),
        "images showing a word": shown.mean(axis=0),
        "values": np.sort(np.abs(database[:400][database[:400] != 0])) * np.sqrt(X.shape[1]),
        "spectrum": np.cumsum(spectrum) / spectrum.sum(),
        "distances": distances,
        "spread": np.abs(database).max(axis=1),
    }


def lines(found: dict[str, np.ndarray]) -> dict[str, float]:
    values, spectrum, distances = found["values"], found["spectrum"], found["distances"]
    out = {
        "share of values that are not zero": found["words shown by an image"].mean(),
        "... standard deviation over images": found["words shown by an image"].std(),
        "... over words": found["images showing a word"].std(),
        "largest value of a row (rho), median": np.median(found["spread"]),
    }
    out |= {f"|value| sqrt(d), quantile {q}": np.quantile(values, q) for q in (0.1, 0.5, 0.9, 0.99, 0.999)}
    out |= {f"variance in the first {n} directions": spectrum[n - 1] for n in (1, 5, 20, 100, 500)}
    out |= {f"distance of neighbour {n}, median": np.median(distances[:, n - 1]) for n in (1, 10, 100, ROWS // 2)}
    return out


def figure(found: dict[str, dict[str, np.ndarray]], label: str) -> Figure:
    with drawing_style():
        drawn = Figure(figsize=(9.8, 2.7), layout="constrained")
        axes = drawn.subplots(1, 4)
        for name, one in found.items():
            style = {"color": COLOURS[name], "label": name}
            axes[0].hist(one["words shown by an image"], bins=40, range=(0, 1), histtype="step", density=True, **style)
            rest = 1 - np.arange(len(one["values"])) / len(one["values"])
            axes[1].semilogy(one["values"][::50], rest[::50], **style)
            axes[2].semilogx(np.arange(1, EIGENVALUES + 1), one["spectrum"], **style)
            axes[3].plot(np.arange(1, ROWS + 1), np.median(one["distances"], axis=0), **style)
        axes[0].set(title="zeros", xlabel="share of values not zero", ylabel="density of images")
        axes[1].set(title="tails", xlabel="|value| x sqrt(d)", ylabel="share beyond", ylim=(1e-5, 1.2))
        axes[2].set(title="spectrum", xlabel="principal directions", ylabel="share of variance", ylim=(0, 1))
        axes[3].set(title="neighbours", xlabel="neighbour", ylabel="median distance", xscale="log")
        axes[0].legend()
        drawn.supxlabel(label, fontsize=7.5, color="0.35")
    return drawn


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path, help="a file of real VLAD features")
    parser.add_argument("--out", type=Path, default=Path("results/reference/surrogate"))
    asked = parser.parse_args()
    with open_features(asked.file) as real:
        stand_in = SyntheticFeatures("surrogate", ROWS + QUERIES, real.n_features)
        found = {"real": measure(sample(real)), "synthetic surrogate": measure(sample(stand_in))}
        label = f"{real.name} ({real.kind}) and its synthetic surrogate: {ROWS:,} rows, d = {real.n_features:,}"
    table = pd.DataFrame({name: lines(one) for name, one in found.items()}).round(4)
    print(table.to_string())
    with whole_file(asked.out / "comparison.csv") as temporary:
        table.to_csv(temporary, index_label="measure")
    for name in save_figure(figure(found, label), asked.out / "comparison"):
        print(f"wrote {name}")


if __name__ == "__main__":
    main()
