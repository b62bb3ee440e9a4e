# Two commands do everything on a fresh machine: `make reproduce` and `make test`.
SCALE  ?= quick
PYTHON ?= python3
BIN    := .venv/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable

.PHONY: help setup reproduce test test-full test-portable lint bench clean

help:
	@echo "make reproduce [SCALE=smoke|quick|paper]  every experiment, the page, a verdict on every claim"
	@echo "make test                                 lint, types and the tests (minutes)"
	@echo "make test-full                            also the slow tests"
	@echo "make test-portable                        the tests under the kernels of other processors (half an hour)"
	@echo "make bench                                speed against other libraries and the limit (a quarter of an hour)"

# what running needs; what developing needs as well
.venv/.runs: pyproject.toml
	$(PYTHON) -m venv .venv
	$(PIP) .
	@touch $@

.venv/.tests: .venv/.runs
	$(PIP) '.[dev]'
	@touch $@

setup: .venv/.tests

reproduce: .venv/.runs
	$(BIN)/cbe-bench reproduce --scale $(SCALE)

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

PYTEST := $(BIN)/pytest --numprocesses auto --maxprocesses 4

test: lint
	$(PYTEST) -m "not slow"

test-full: lint
	$(PYTEST)

test-portable: lint
	$(BIN)/python scripts/portability.py tests --numprocesses auto --maxprocesses 4

bench: setup
	$(PIP) '.[dev,peers]'
	@for script in scripts/bench_*.py scripts/roofline.py; do echo "$$script"; $(BIN)/python $$script || exit 1; done

clean:
	rm -rf .venv build dist *.egg-info
