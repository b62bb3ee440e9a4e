"""The features an experiment runs on, opened as its configuration says."""

from cbe_bench.core.config import BaseConfig
from cbe_bench.core.errors import InputError
from cbe_bench.core.remote import is_url
from cbe_bench.data.catalogue import hint
from cbe_bench.data.features import Features
from cbe_bench.data.formats import open_features
from cbe_bench.data.nonzero import without_zeros
from cbe_bench.data.synthetic import SyntheticFeatures
from cbe_bench.evaluators.configs import FeaturesConfig


def open_data(config: BaseConfig) -> tuple[Features | None, str]:
    """Open the features of an experiment; say where a synthetic surrogate is used, or rows of zeros are skipped."""
    if not isinstance(config, FeaturesConfig):
        return None, ""
    data = config.data
    if data.file is not None and data.file.exists():
        by_url = f"reading {data.file} over the network" if is_url(data.file) else ""
        features = open_features(data.file, data.name, data.dataset)
        if features.n_features != data.dim:
            features.close()
            raise InputError(f"{data.file}: has {features.n_features:,} dimensions; data.dim says {data.dim:,}")
        features, skipped = _less_zeros(features) if data.own else (features, "")
        return features, "; ".join(filter(None, (by_url, skipped)))
    if data.file is not None and not data.synthetic:
        raise InputError(f"{data.file}: no such file{hint(data.file)}")
    message = f"{data.file} is absent: using a synthetic surrogate of the same shape" if data.file is not None else ""
    return SyntheticFeatures(data.name, config.rows_needed, config.n_features), message


def _less_zeros(features: Features) -> tuple[Features, str]:
    """Return the features of a user's file less rows of zeros, and how many of these there were."""
    try:
        kept = without_zeros(features)
    except BaseException:
        features.close()
        raise
    count = features.n_rows - kept.n_rows
    rows = "1 row of zeros is" if count == 1 else f"{count:,} rows of zeros are"
    return kept, f"{rows} skipped: zeros have no direction" if count else ""


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
