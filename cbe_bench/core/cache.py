"""Files cached between runs in the user's cache directory, and files that appear whole or not at all."""

import logging
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

logger = logging.getLogger(__name__)


def cache_directory() -> Path:
    """Return where FFT plans, exact neighbours and file hashes are cached (CBE_BENCH_CACHE overrides)."""
    chosen = os.environ.get("CBE_BENCH_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("cbe-bench")


def write_cache(path: Path, content: bytes) -> None:
    """Keep what can be computed again; where it cannot be written, it is lost with a warning."""
    try:
        with whole_file(path) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        logger.warning("%s could not be cached for the next run: %s", path.name, error.strerror or error)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it becomes `path` in one step at the end, and vanishes on an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
