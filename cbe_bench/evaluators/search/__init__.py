"""Search in compressed vectors: recall against bytes and time, re-ranking, beside indexes of other libraries.

`cbe-bench run embeddings` compares all of them, and faiss where it is installed, by recall, bytes, search time and
what re-ranking with the original vectors needs; `--set data.file=mine.npy` does so on your vectors, `--set
metric=cosine` (or `l2`, `ip`) says what nearest means. On 10,000 text embeddings of 1,536 dimensions (`cbe-bench data
make jeopardy-embeddings`; `--scale paper`, first seed), of the ten nearest among the first ten, in %:

| method | bytes beside the code | 256 bits | 512 | 1,024 | 1,536 | 3,072 | 6,144 |
|---|---|---|---|---|---|---|---|
| cbe-opt, not centred | | 0.2 | 1.6 | 12.0 | 23.0 | 34.5 | 40.8 |
| cbe-orth, not centred | | 20.1 | 33.8 | 50.5 | 59.2 | 69.1 | 77.6 |
| sign, not centred / centred | | 28.7 / 40.2 | 44.2 / 54.4 | 59.5 / 65.0 | 66.0 / 71.5 | | |
| cbe-rand, centred | | 38.7 | 52.4 | 63.6 | 68.6 | 75.1 | 79.0 |
| cbe-opt, centred | | 40.5 | 54.8 | 66.2 | 72.9 | 77.4 | 80.2 |
| itq | | 54.0 | 63.4 | 71.0 | | | |
| cbe-orth after PCA, real queries (asymmetric) | | 63.6 | 70.5 | 75.6 | 78.5 | 81.0 | 82.4 |
| faiss RaBitQ | 8 | 64.1 | 72.8 | 80.5 | 83.4 | 91.8 | 97.2 |
| RaBitQ, circulant rotation | 8 | 66.3 | 75.1 | 80.9 | 83.9 | 91.8 | 97.3 |

Who wins: without centring nobody should use any of these; centred, plain signs are level with every circulant code up
to d bits; PCA first, or itq, is worth 11 to 15 points at 256 bits and little at d; RaBitQ is ahead of all at every
length, and needs three times ten candidates to reach 99 % after re-ranking at 1,536 bits where centred signs need
eight times ten.
"""
