"""Rows checked and scaled: against the definition, out of the reach of single precision too."""

import numpy as np
import pytest

from cbe_bench.kernels.linalg.norms import row_norms


@pytest.mark.parametrize("d", [1, 15, 16, 33, 100])
def test_norms_and_unit_rows_are_the_definition(rng, d):
    scales = 10.0 ** np.array([0, 0, 5, -5, 18, -18, 25, -25, 37, -37])
    X = (rng.uniform(0.5, 1, (10, d)) * scales[:, None]).astype(np.float32)
    X[1] = 0
    expected = np.linalg.norm(X.astype(float), axis=1)
    np.testing.assert_allclose(row_norms(X.copy(), scale=False), expected, rtol=1e-6)
    unit = X.copy()
    np.testing.assert_allclose(row_norms(unit, scale=True), expected, rtol=1e-6)
    kept = expected > 0
    np.testing.assert_allclose(unit[kept], X[kept] / expected[kept, None], rtol=1e-6)
    assert not unit[1].any()


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_rows_that_are_not_finite_are_found(rng, value):
    X = rng.standard_normal((5, 40)).astype(np.float32)
    X[3, 37] = value
    X[4, 2] = value
    assert np.isfinite(row_norms(X, scale=True)).tolist() == [True, True, True, False, False]
