"""HDF5 files read by URL.

They are not looked at in a child process first, as local ones are: the child could not reach all of them. Strings of
variable length, which need that, are not read from them.
"""

import io
from pathlib import Path
from typing import Any


class RemoteFile(io.RawIOBase):
    """A file as h5py takes it, called by its URL.

    Parameters
    ----------
    path : RemotePath
        Opened for reading.
    """

    def __init__(self, path: Path) -> None:
        self._url, self._file = str(path), path.open("rb")

    def __repr__(self) -> str:
        return self._url

    def seek(self, offset: int, whence: int = 0) -> int:
        """Move to a place."""
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        """Return the place."""
        return int(self._file.tell())

    def readinto(self, buffer: Any) -> int:
        """Read bytes into a buffer."""
        return int(self._file.readinto(buffer))

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        super().close()
