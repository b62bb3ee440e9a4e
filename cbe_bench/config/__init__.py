"""Experiment configurations."""

from cbe_bench.config.loading import load_config
from cbe_bench.config.models import AnglesConfig, BaseConfig, Config, EncoderConfig, RetrievalConfig

__all__ = ["AnglesConfig", "BaseConfig", "Config", "EncoderConfig", "RetrievalConfig", "load_config"]
