"""Numbers printed in the paper, to stand beside ours."""

ENCODE_MS: dict[int, dict[str, float]] = {
    2**15: {"lsh": 544, "bilinear-rand": 2.85, "cbe-rand": 1.11},
    2**17: {"bilinear-rand": 19.1, "cbe-rand": 4.23},
    2**20: {"bilinear-rand": 376, "cbe-rand": 37.7},
    2**24: {"bilinear-rand": 12_200, "cbe-rand": 810},
    2**27: {"bilinear-rand": 268_000, "cbe-rand": 8_150},
}
"""Table 2: milliseconds to encode one vector of d features to d bits, one 2.9 GHz core; missing: did not fit 24 GB."""

COLUMN_NAMES = {"lsh": "full", "bilinear-rand": "bilinear", "cbe-rand": "circulant"}
"""What Table 2 calls the methods."""

CLASSIFICATION_ACCURACY: dict[str, tuple[float, float]] = {
    "original": (25.59, 0.33),
    "lsh": (23.49, 0.24),
    "bilinear-opt": (24.02, 0.35),
    "cbe-opt": (24.55, 0.30),
}
"""Table 3: accuracy in percent and its standard deviation; 100 classes of ImageNet-25600, codes of 25,600 bits."""
