# Two commands do everything on a fresh machine: `make reproduce` and `make test`.
SCALE  ?= quick
PYTHON ?= python3
BIN    := .venv/bin

.PHONY: help setup reproduce test test-full lint bench clean

help:
	@echo "make reproduce [SCALE=smoke|quick|paper]  run every experiment and draw its figures"
	@echo "make test                                 lint, types and the tests (minutes)"
	@echo "make test-full                            also the slow tests"
	@echo "make bench                                speed against other libraries"

.venv/.ready: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

setup: .venv/.ready

# Dimensions that are timed, and the seconds each cell is sampled for.
DIMS_smoke := 2^10..2^14
DIMS_quick := paper
DIMS_paper := 2^15..2^27
BUDGET_smoke := 0.2
BUDGET_quick := 5
BUDGET_paper := 10

reproduce: setup
	$(BIN)/cbe-bench run configs/flickr.yaml --scale $(SCALE)
	$(BIN)/cbe-bench time --dims $(DIMS_$(SCALE)) --budget $(BUDGET_$(SCALE))
	$(BIN)/cbe-bench time --dims 2^10..2^14 --bits d/4,d/2,d,2d,4d --batch 16 --budget 0.2 --name growth

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test: lint
	$(BIN)/pytest -m "not slow"

test-full: lint
	$(BIN)/pytest

bench: setup
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,peers]'
	$(BIN)/python scripts/bench_hamming.py
	$(BIN)/python scripts/bench_hadamard.py
	$(BIN)/python scripts/bench_circulant.py

clean:
	rm -rf .venv build dist *.egg-info
