"""Numbers printed in the paper: Table 3."""

PAPER_PARAMS = {"max_iter": 10, "tol": 0}
"""Parameters with which a method is the paper's own."""
ACCURACY_PERCENT: dict[str, tuple[float, float]] = {
    "original": (25.59, 0.33),
    "lsh": (23.49, 0.24),
    "bilinear-opt": (24.02, 0.35),
    "cbe-opt": (24.55, 0.30),
}
"""Table 3: accuracy in percent and its standard deviation, 100 classes of ImageNet-25600, codes of k = d bits."""
