"""The lemma on small products: the simulation against its definition, the claim on rows that are made up."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cbe_bench.core.claims import NOT_REPRODUCED, REPRODUCED
from cbe_bench.core.results import Description, Results
from cbe_bench.evaluators.angles import theory
from cbe_bench.evaluators.angles.claims_products import SMALL_PRODUCTS, products_table
from cbe_bench.evaluators.angles.pairs import PAIRS, make_plane
from cbe_bench.evaluators.angles.products import THRESHOLDS, evaluate_products, shifted_products, shifts_of
from cbe_bench.evaluators.angles.rows import ProductsRow, ProductsSpec
from cbe_bench.evaluators.seeds import derive_seed
from cbe_bench.kernels import parallel

SPEC = ProductsSpec(pair="dense", n_features=32, shifts=(1, 16, 31), thresholds=THRESHOLDS, draws=3000, seed=0)
METADATA = {"environment": "", "threads": 1, "peak_memory_bytes": 0, "ended": "", "code": "", "status": "ok"}


def row_of(spec, **metrics):
    return ProductsRow(key=spec.pair, label=spec.pair, **METADATA, **vars(spec), **metrics)


def judged(*rows):
    described = Description(
        name="a", title="", kind="angles", scale="quick", command="", section="", order=0, config={}, labels={}
    )
    return SMALL_PRODUCTS.verdicts([Results(Path(), described, list(rows))])


def test_products_are_those_of_the_definition(rng):
    d, p, q = 9, rng.standard_normal(9), rng.standard_normal(9)
    signs = rng.choice([-1, 1], (20, d)).astype(np.int8)
    for shift in (1, 4, 8):
        for sigma, found in zip(signs, shifted_products(signs, p, q, shift), strict=True):
            shifted = np.array([(sigma * q)[(j - shift) % d] for j in range(d)])
            assert found == pytest.approx(np.dot(sigma * p, shifted))


def test_every_sign_pattern_of_a_short_vector():
    """The tail of all 2^d patterns, exactly, is what draws estimate, and within the bound."""
    d, draws = 8, 40_000
    plane = make_plane("dense", d, derive_seed("plane", "dense", d, 0))
    spec = replace(SPEC, n_features=d, shifts=shifts_of(d), draws=draws)
    found = evaluate_products(spec)
    patterns = 2 * ((np.arange(2**d)[:, None] >> np.arange(d)) & 1).astype(np.int8) - 1
    line = 0
    for q, rho in zip((plane.a, plane.b), found["flatness"], strict=True):
        assert rho == pytest.approx(np.abs(q).max())
        for shift in spec.shifts:
            values = shifted_products(patterns, plane.a, q, shift)
            for i, threshold in enumerate(THRESHOLDS):
                exact = np.mean(values > threshold * rho)
                assert found["n_above"][line][i] / draws == pytest.approx(exact, abs=5 * math.sqrt(0.25 / draws))
                assert exact <= theory.small_product_bound(threshold)
                assert found["n_beyond"][line][i] >= found["n_above"][line][i]
            line += 1


def test_counts_do_not_depend_on_threads():
    found = []
    for threads in (1, 3):
        with parallel.threads(threads):
            found.append(evaluate_products(replace(SPEC, n_features=4096, shifts=(1,), draws=200)))
    assert found[0] == found[1]


@pytest.mark.parametrize("pair", list(PAIRS))
def test_the_lemma_holds_for_every_kind_of_pair(pair):
    spec = replace(SPEC, pair=pair)
    (verdict,) = judged(row_of(spec, **evaluate_products(spec)))
    assert verdict.outcome == REPRODUCED
    assert verdict.value <= verdict.high <= 1


def test_too_many_large_products_refute_it():
    metrics = evaluate_products(SPEC)
    wrong = tuple((0, 0, 0, *counts[3:]) if i else (0, 2900, 0, 0, 0) for i, counts in enumerate(metrics["n_above"]))
    (verdict,) = judged(row_of(SPEC, **{**metrics, "n_above": wrong}))
    assert verdict.outcome == NOT_REPRODUCED
    assert verdict.low > 1
    assert "gamma = 2 rho" in verdict.found
    table = products_table([row_of(SPEC, **metrics)])
    assert len(table) == 2 * 3 * len(THRESHOLDS)
    assert table["bound"].to_list()[:2] == pytest.approx([math.exp(-1 / 8), math.exp(-1 / 2)])
