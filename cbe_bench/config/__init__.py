"""Experiment configurations."""

from cbe_bench.config.loading import load_config
from cbe_bench.config.models import Config, EncoderConfig, RetrievalConfig

__all__ = ["Config", "EncoderConfig", "RetrievalConfig", "load_config"]
