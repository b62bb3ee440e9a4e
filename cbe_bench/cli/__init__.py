"""The command line: one module per verb, each imported only when it is used."""

import importlib
import logging
import pkgutil
import sys
from typing import Any

import click

from cbe_bench import __version__
from cbe_bench.cli._output import add_verbosity, show_warnings
from cbe_bench.core.errors import InputError, did_you_mean


class _Verbs(click.Group):
    """A group whose commands are the modules of this package."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(module.name for module in pkgutil.iter_modules(__path__) if module.name[0] != "_")

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(ctx):
            return None
        command: click.Command = importlib.import_module(f"{__name__}.{name}").command
        add_verbosity(command)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """Find the command of the first argument; an unknown one is answered with the nearest."""
        known = self.list_commands(ctx)
        if args[0] not in known:
            raise InputError(f"unknown command {args[0]!r}; {did_you_mean(args[0], known)}")
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, standalone_mode: bool = True, **extra: Any) -> Any:
        """Run the program; bad usage ends it with one line and exit code 2."""
        if not standalone_mode:
            return super().main(*args, standalone_mode=False, **extra)  # type: ignore[call-overload]
        try:
            code = super().main(*args, standalone_mode=False, **extra)  # type: ignore[call-overload]
        except click.Abort:
            sys.exit(130)
        except click.UsageError as error:
            command = error.ctx.command_path if error.ctx else "cbe-bench"
            click.echo(f"error: {error.format_message().rstrip('.')}; see {command} --help", err=True)
            sys.exit(error.exit_code)
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: click.Context) -> Any:
        """Run a verb; bad input ends it with one line and exit code 2."""
        logging.basicConfig(format="%(message)s", level=logging.WARNING)
        show_warnings(True)
        try:
            return super().invoke(ctx)
        except InputError as error:
            message = str(error)
        except MemoryError as error:
            message = f"not enough memory: {error}"
        except OSError as error:
            message = f"{error.filename or 'a file'}: {error.strerror or error}"
        click.echo(f"error: {message}", err=True)
        return ctx.exit(2)


@click.command("cbe-bench", cls=_Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="cbe-bench")
def main() -> None:
    """Binary codes from circulant matrices, measured.

    \b
    A first look, in seconds, on synthetic data:
      cbe-bench run flickr --scale smoke
    The paper's figures on real features of its size, in minutes:
      cbe-bench data make cifar10-vlad25600
      cbe-bench run cifar10
    Your own vectors (.h5 .npy .npz .fvecs .bvecs .fbin .parquet .zarr .csv):
      cbe-bench recommend mine.npy
      cbe-bench encode mine.npy -o codes.cbe.h5 --method cbe-opt --bits 1024
      cbe-bench search codes.cbe.h5 queries.npy -k 10 -o found.npy
    Everything, with a page of figures and a verdict on every claim of the paper:
      cbe-bench reproduce

    Results go to standard output, as a table or as --format says; progress and messages go to standard error, and -q
    silences them. NO_COLOR=1 prints without colours.

    \b
    Completion of commands and options in bash (zsh: zsh_source), and in fish:
      eval "$(_CBE_BENCH_COMPLETE=bash_source cbe-bench)"
      _CBE_BENCH_COMPLETE=fish_source cbe-bench | source
    """
