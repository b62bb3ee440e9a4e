"""Experiment configurations."""

from cbe_bench.config.loading import load_config
from cbe_bench.config.models import (
    ORIGINAL,
    SCALES,
    BaseConfig,
    ClassificationConfig,
    Config,
    EncoderConfig,
    RetrievalConfig,
)

__all__ = [
    "ORIGINAL",
    "SCALES",
    "BaseConfig",
    "ClassificationConfig",
    "Config",
    "EncoderConfig",
    "RetrievalConfig",
    "load_config",
]
