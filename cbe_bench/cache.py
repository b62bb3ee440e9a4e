"""Files kept between runs in the user's cache directory, and files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def cache_directory() -> Path:
    """Return where FFT plans, true neighbours and file hashes are kept (CBE_BENCH_CACHE overrides)."""
    chosen = os.environ.get("CBE_BENCH_CACHE")
    if chosen:
        return Path(chosen)
    from platformdirs import user_cache_path

    return user_cache_path("cbe-bench")


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Give a temporary path to write to; it becomes `path` in one step at the end, and vanishes on an error."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.stem}-", suffix=path.suffix)
    os.close(handle)
    temporary = Path(name)
    try:
        yield temporary
        mask = os.umask(0)
        os.umask(mask)
        temporary.chmod(0o666 & ~mask)
        temporary.replace(path)
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()
