"""Numbers printed in the paper: Table 2."""

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
