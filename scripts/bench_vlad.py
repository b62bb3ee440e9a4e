"""Dense SIFT and VLAD against the same grid of descriptors by OpenCV: milliseconds an image, one thread, interleaved.

    python scripts/bench_vlad.py [--images data/cifar10-images.h5]

Images are photos where the file is there, noise otherwise. OpenCV computes SIFT at given keypoints, of the sizes and
places of our grid; the aggregation is ours in both cases, so only the descriptors are compared.
"""

import argparse
import time
from pathlib import Path

import numpy as np
import pandas as pd
from tables import peer, write_table

from cbe_bench.data.images.dense_sift import dense_sift
from cbe_bench.data.images.readers import SIDE, StoredImages
from cbe_bench.data.images.vlad import learn_words, vlad
from cbe_bench.kernels.parallel import blas_threads, pinned

cv2 = peer("cv2")

COUNT, WORDS, REPEATS = 64, 200, 5


def grid() -> list:
    """Return the centres of our descriptors; a cell of OpenCV's is 1.5 times the size of its keypoint."""
    points = []
    for cell in (4, 6, 8):
        places = np.arange(0, SIDE - 4 * cell + 1, 4) + 2 * cell - 0.5
        points += [cv2.KeyPoint(float(x), float(y), 2 * cell / 3, 0) for y in places for x in places]
    return points


def opencv(images: np.ndarray) -> np.ndarray:
    sift, points = cv2.SIFT_create(), grid()
    return np.stack([sift.compute((255 * image).astype(np.uint8), points)[1] for image in images])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--images", type=Path, default=Path("data/cifar10-images.h5"))
    asked = parser.parse_args()
    if asked.images.is_file():
        images, what = StoredImages(asked.images).read(np.arange(COUNT)), asked.images.name
    else:
        images, what = np.random.default_rng(0).random((COUNT, SIDE, SIDE), dtype=np.float32), "noise"
    descriptors = dense_sift(images)
    words = learn_words(descriptors.reshape(-1, 128)[:20_000], WORDS, 0)
    calls = {
        "dense SIFT": lambda: dense_sift(images),
        "VLAD of its descriptors": lambda: vlad(descriptors, words),
    }
    if cv2 is not None:
        cv2.setNumThreads(1)
        calls["OpenCV SIFT, same grid"] = lambda: opencv(images)
    best = dict.fromkeys(calls, np.inf)
    with pinned(1), blas_threads(1):
        for _ in range(REPEATS):
            for name, call in calls.items():
                start = time.perf_counter()
                call()
                best[name] = min(best[name], 1e3 * (time.perf_counter() - start) / COUNT)
    sizes = {"images": what, "n_images": COUNT, "descriptors_per_image": descriptors.shape[1], "words": WORDS}
    rows = [{**sizes, "by": name, "ms_per_image": milliseconds} for name, milliseconds in best.items()]
    write_table(pd.DataFrame(rows), "vlad")


if __name__ == "__main__":
    main()
