"""Experiment configurations."""

from cbe_bench.config.loading import load_config
from cbe_bench.config.models import (
    SCALES,
    BaseConfig,
    Config,
    EncoderConfig,
    RetrievalConfig,
)

__all__ = [
    "SCALES",
    "BaseConfig",
    "Config",
    "EncoderConfig",
    "RetrievalConfig",
    "load_config",
]
