"""Dense linear algebra whose results depend neither on the number of threads nor, where signs decide, on BLAS."""
