"""One experiment from its configuration to rows, tables and figures."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from cbe_bench.core.config import BaseConfig
from cbe_bench.core.execution import Execute, run_here
from cbe_bench.core.progress import Reporter
from cbe_bench.core.report import Report, write_report
from cbe_bench.core.resources import Resources
from cbe_bench.core.results import Description, Results
from cbe_bench.core.runner import Job, run
from cbe_bench.evaluators.base import Experiment, experiment_class
from cbe_bench.evaluators.opening import open_data
from cbe_bench.kernels import parallel


@dataclass(frozen=True)
class Outcome:
    """What running an experiment gave."""

    results: Results
    report: Report
    files: list[str]


@contextmanager
def opened(config: BaseConfig, resources: Resources, reporter: Reporter) -> Iterator[Experiment]:
    """Open the features of an experiment and let kernels use the threads it may use.

    Parameters
    ----------
    config : BaseConfig
        The experiment.
    resources : Resources
        Threads and memory it may use.
    reporter : Reporter
        Takes messages about the data.

    Yields
    ------
    Experiment
        Its features are closed at the end of the block.
    """
    features = open_data(config, reporter.message)
    try:
        with parallel.threads(resources.threads):
            yield experiment_class(config.experiment)(config, features, resources)
    finally:
        if features is not None:
            features.close()


def job_of(experiment: Experiment, scale: str, out: Path, command: str, **options: object) -> Job:
    """Return the job of an experiment, with its results in ``out/scale/name``; options are fields of `Job`.

    Parameters
    ----------
    experiment : Experiment
        What runs.
    scale : str
        One of `SCALES`.
    out : Path
        The folder of all results.
    command : str
        The command that runs it, for the description.
    **options : object
        Further fields of `Job`.

    Returns
    -------
    Job
    """
    config = experiment.config
    description = Description(
        name=config.name,
        title=config.title,
        kind=config.experiment,
        scale=scale,
        command=command,
        section=config.section,
        order=config.order,
        config=config.model_dump(mode="json"),
        labels={},
    )
    return Job(
        folder=out / scale / config.name,
        description=description,
        data=experiment.data,
        resources=experiment.resources,
        **options,  # type: ignore[arg-type]
    )


def run_experiment(experiment: Experiment, job: Job, reporter: Reporter, execute: Execute = run_here) -> Outcome:
    """Run what is not done yet and write rows, tables and figures.

    Parameters
    ----------
    experiment : Experiment
        What runs.
    job : Job
        Where its results are written.
    reporter : Reporter
        Where progress is reported.
    execute : callable
        Where cells are evaluated.

    Returns
    -------
    Outcome
        The results, the report and the names of the files.
    """
    results = run(experiment, job, reporter, execute)
    report = experiment.report(results)
    return Outcome(results, report, write_report(report, job.folder))
