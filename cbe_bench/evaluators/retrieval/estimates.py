"""Estimates of what a retrieval cell needs: memory and operations."""

from cbe_bench.core.runner import BASE_BYTES
from cbe_bench.encoders import Encoder
from cbe_bench.evaluators.feature_rows import cached_bytes
from cbe_bench.evaluators.retrieval.metrics import QUERIES_AT_ONCE
from cbe_bench.evaluators.task import Task
from cbe_bench.kernels.bits import code_bytes


def evaluation_bytes(n_database: int, n_queries: int, n_bits: int, n_threads: int) -> int:
    """Estimate the memory of an evaluation beside the data and the encoder."""
    codes = 2 * n_database * code_bytes(n_bits)
    projections = (4 + 8 + 3 * 4) * (n_queries + 32) * (n_bits + 32)
    counts = 3 * 8 * QUERIES_AT_ONCE * n_bits
    return codes + projections + counts + n_threads * (1 << 19)


def evaluation_operations(n_database: int, n_queries: int, n_bits: int) -> float:
    """Estimate the cost of an evaluation in operations of a matrix product."""
    return 3.0 * n_database * n_queries * n_bits


def ground_truth_operations(n_features: int, n_database: int, n_queries: int) -> float:
    """Estimate the cost of finding the exact neighbours in operations of a matrix product."""
    return 4.0 * n_features * n_database * (n_queries + 100)


def cell_bytes(task: Task, encoder: Encoder, n_database: int, n_threads: int, memory_limit: int) -> int:
    """Estimate the memory a cell needs: data, training, codes and their evaluation."""
    d = task.n_features
    training = 8 * d * task.n_train if encoder.data_dependent else 0
    evaluation = evaluation_bytes(n_database, task.n_queries, encoder.bits(d), n_threads)
    cached = cached_bytes(memory_limit, d, n_database, task.n_train)
    queries = 4 * d * task.n_queries
    return BASE_BYTES + cached + queries + training + evaluation + encoder.memory_bytes(d, task.n_train)
