"""Tiles of sixteen vectors, and their transposition: lane j of vector i becomes lane i of vector j."""

from cbe_bench.kernels.simd.vector import LANES, inline, load, shuffle, store

_zip_first = shuffle(lane for number in range(LANES // 2) for lane in (number, LANES + number))
_zip_last = shuffle(lane for number in range(LANES // 2, LANES) for lane in (number, LANES + number))


@inline
def _zip(v):  # type: ignore[no-untyped-def]
    """Interleave the first eight of sixteen vectors with the last eight; four times, this transposes them."""
    return (
        _zip_first(v[0], v[8]),
        _zip_last(v[0], v[8]),
        _zip_first(v[1], v[9]),
        _zip_last(v[1], v[9]),
        _zip_first(v[2], v[10]),
        _zip_last(v[2], v[10]),
        _zip_first(v[3], v[11]),
        _zip_last(v[3], v[11]),
        _zip_first(v[4], v[12]),
        _zip_last(v[4], v[12]),
        _zip_first(v[5], v[13]),
        _zip_last(v[5], v[13]),
        _zip_first(v[6], v[14]),
        _zip_last(v[6], v[14]),
        _zip_first(v[7], v[15]),
        _zip_last(v[7], v[15]),
    )


@inline
def transpose(v):  # type: ignore[no-untyped-def]
    """Return sixteen vectors transposed."""
    return _zip(_zip(_zip(_zip(v))))


@inline
def load16(x, i, step):  # type: ignore[no-untyped-def]
    """Return the vectors x[i:], x[i + step:], ..., sixteen of them.

    Parameters
    ----------
    x : array
    i : int
        Where the first one begins.
    step : int
        The distance of their beginnings.
    """
    return (
        load(x, i),
        load(x, i + step),
        load(x, i + 2 * step),
        load(x, i + 3 * step),
        load(x, i + 4 * step),
        load(x, i + 5 * step),
        load(x, i + 6 * step),
        load(x, i + 7 * step),
        load(x, i + 8 * step),
        load(x, i + 9 * step),
        load(x, i + 10 * step),
        load(x, i + 11 * step),
        load(x, i + 12 * step),
        load(x, i + 13 * step),
        load(x, i + 14 * step),
        load(x, i + 15 * step),
    )


@inline
def store16(x, i, step, v):  # type: ignore[no-untyped-def]
    """Write sixteen vectors to x[i:], x[i + step:], and so on.

    Parameters
    ----------
    x : array
        Written in place.
    i : int
        Where the first one begins.
    step : int
        The distance of their beginnings.
    v : tuple of 16 vectors
    """
    store(x, i, v[0])
    store(x, i + step, v[1])
    store(x, i + 2 * step, v[2])
    store(x, i + 3 * step, v[3])
    store(x, i + 4 * step, v[4])
    store(x, i + 5 * step, v[5])
    store(x, i + 6 * step, v[6])
    store(x, i + 7 * step, v[7])
    store(x, i + 8 * step, v[8])
    store(x, i + 9 * step, v[9])
    store(x, i + 10 * step, v[10])
    store(x, i + 11 * step, v[11])
    store(x, i + 12 * step, v[12])
    store(x, i + 13 * step, v[13])
    store(x, i + 14 * step, v[14])
    store(x, i + 15 * step, v[15])
