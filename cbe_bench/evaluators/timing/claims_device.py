"""What the paper says of graphics processors: times of the same codes on the processor and on a device."""

import math
from collections.abc import Sequence

from cbe_bench.core.claims import Claim, Estimate, Source, Verdict, outcome_of_interval
from cbe_bench.core.results import Results
from cbe_bench.evaluators.times.device import HOST
from cbe_bench.evaluators.times.rows import TimingRow, encode_rows

SPEED_UP = 20
"""How many times as fast the paper saw a graphics processor."""
_ENCODER = "cbe-rand"


def device_ratio(host: TimingRow, device: TimingRow) -> Estimate:
    """Return the time on the processor over that on a device, with its ends by the quartiles of both.

    Parameters
    ----------
    host, device : TimingRow
        The same cell on the processor and on the device.

    Returns
    -------
    Estimate
    """
    (low, high), (least, most) = host.encode_us_quartiles, device.encode_us_quartiles
    return Estimate(host.encode_us_per_vector / device.encode_us_per_vector, low / most, high / least)


def device_pairs(rows: Sequence[TimingRow]) -> list[tuple[TimingRow, TimingRow]]:
    """Return the rows of devices, each after the row of the processor for the same codes."""
    hosts = {_same_codes(row): row for row in rows if row.ok and row.device == HOST}
    others = [row for row in rows if row.ok and row.device != HOST]
    return [(hosts[_same_codes(row)], row) for row in others if _same_codes(row) in hosts]


def _same_codes(row: TimingRow) -> tuple[object, ...]:
    return row.encoder, row.n_features, row.n_bits, row.batch, row.threads, row.environment


def on_a_gpu(claim: Claim, results: Sequence[Results]) -> list[Verdict]:
    """Judge S7-gpu: the largest ratio of one thread of the processor to a graphics processor.

    Parameters
    ----------
    claim : Claim
        What is judged.
    results : sequence of Results
        The rows of each experiment.

    Returns
    -------
    list of Verdict
        Empty if no rows measure it.
    """
    verdicts = []
    for one in results:
        pairs = [pair for pair in device_pairs(encode_rows(one.rows)) if pair[1].device_is_gpu and pair[1].threads == 1]
        pairs = [pair for pair in pairs if pair[1].encoder == _ENCODER]
        if not pairs:
            continue
        host, device = max(pairs, key=lambda pair: device_ratio(*pair).value)
        ratio = device_ratio(host, device)
        where = f"d = {device.n_features:,}, {device.n_bits:,} bits, batches of {device.batch:,}"
        found = (
            f"{ratio.value:.3g} at {where}; copying adds {device.transfer_us_per_vector:.3g} us per vector to "
            f"{device.encode_us_per_vector:.3g}"
        )
        source = Source(
            f"times on this machine: one thread, and {device.device_model or device.device}", "machine", one.name
        )
        verdicts.append(claim.verdict(outcome_of_interval(ratio, claim.region), ratio, found, source))
    return verdicts


GPU_CLAIM = Claim(
    id="S7-gpu",
    order=60,
    statement=f"A graphics processor makes codes up to {SPEED_UP} times as fast.",
    where="Section 7.1",
    rule=f"the largest ratio, over the sizes that were timed, of the time of {_ENCODER} on one thread to that on a "
    f"graphics processor, copying apart, is at least {SPEED_UP}, with its interval by quartiles",
    measure="largest time on one thread / time on the device (spread: quartiles)",
    region=(SPEED_UP, math.nan),
    missing="no device found: none of the rows is of a graphics processor; where there is one, run "
    "cbe-bench time --device gpu --dims 2^15..2^20 --batch 64 --name gpu",
    judge=on_a_gpu,
)
