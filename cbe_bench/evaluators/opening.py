"""The features an experiment runs on, opened as its configuration says."""

from collections.abc import Callable
from pathlib import Path

from cbe_bench.core.config import BaseConfig
from cbe_bench.core.errors import InputError
from cbe_bench.core.remote import is_url
from cbe_bench.data.catalogue import hint
from cbe_bench.data.features import Features
from cbe_bench.data.formats import open_features
from cbe_bench.data.nonzero import without_zeros
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.evaluators.configs import DataConfig, FeaturesConfig


def open_data(config: BaseConfig, message: Callable[[str], None] = lambda text: None) -> Features | None:
    """Open the features of an experiment, less the rows of zeros of a user's own file.

    Parameters
    ----------
    config : BaseConfig
        The experiment.
    message : callable
        Takes a line before a URL is reached or all rows are read, and where a synthetic surrogate is used or rows are
        skipped.

    Returns
    -------
    Features or None
        To be closed; None for a kind of experiment that needs none.
    """
    if not isinstance(config, FeaturesConfig):
        return None
    data = config.data
    if data.file is not None and is_url(data.file):
        message(f"reading {data.file} over the network")
    if data.file is not None and data.file.exists():
        return _open_file(data.file, data, message)
    if data.file is not None and not data.synthetic:
        raise InputError(f"{data.file}: no such file{hint(data.file)}")
    if data.file is not None:
        message(f"{data.file} is absent: using a synthetic surrogate of the same shape")
    return SyntheticFeatures(data.name, config.rows_needed, config.n_features)


def _open_file(file: Path, data: DataConfig, message: Callable[[str], None]) -> Features:
    features = open_features(file, data.name, data.dataset)
    try:
        if features.n_features != data.dim:
            raise InputError(f"{file}: has {features.n_features:,} dimensions; data.dim says {data.dim:,}")
        kept = without_zeros(features, message) if data.own else features
    except BaseException:
        features.close()
        raise
    if count := features.n_rows - kept.n_rows:
        rows = "1 row of zeros is" if count == 1 else f"{count:,} rows of zeros are"
        message(f"{rows} skipped: zeros have no direction")
    return kept


def pinned_data(config: BaseConfig, features: Features | None) -> BaseConfig:
    """Return a configuration by which the same features are opened from any working directory, or none at all.

    Parameters
    ----------
    config : BaseConfig
        The experiment.
    features : Features or None
        What `open_data` returned for it.

    Returns
    -------
    BaseConfig
    """
    if features is None or not isinstance(config, FeaturesConfig):
        return config
    is_synthetic = isinstance(features, SyntheticFeatures)
    file = None if is_synthetic or config.data.file is None else config.data.file.absolute()
    data = config.data.model_copy(update={"file": file, "synthetic": is_synthetic})
    return config.model_copy(update={"data": data})
