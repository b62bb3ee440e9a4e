"""Values of queries in a field of a row."""

import base64

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cbe_bench.core.query_values import pack_queries, unpack_queries


@given(st.lists(st.floats(0, 1) | st.just(np.nan), max_size=20))
def test_values_come_back_to_half_a_step(values):
    np.testing.assert_allclose(unpack_queries(pack_queries(values)), values, rtol=0, atol=0.5000001 / 65534)


def test_numpy_alone_reads_them():
    text = pack_queries([0, 0.5, 1])
    np.testing.assert_array_equal(np.frombuffer(base64.b64decode(text), "<u2"), [0, 32767, 65534])


@pytest.mark.parametrize("text", ["a", "!!!!", "AAA=AAA=", "\u00e9"])
def test_other_text_is_refused(text):
    with pytest.raises(ValueError):
        unpack_queries(text)
