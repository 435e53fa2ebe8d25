# demo   compare speculation on and off on a small model (no GPU, about 5 minutes with installing)
# test   run the tests
# check  lint, types, direction of imports
# bench  hold the estimators against a known truth and published tables, and time analysis and metrics (a quarter of an hour)
PYTHON ?= python3
PIP_FLAGS := --disable-pip-version-check --progress-bar off --no-compile -q
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check bench clean

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=/path/to/python3.11 ...")'
	$(PYTHON) -m venv $(VENV)

$(VENV)/.demo: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install $(PIP_FLAGS) -e '.[demo]'
	@touch $@

$(VENV)/.dev: pyproject.toml | $(VENV)/bin/python
	$(BIN)/pip install $(PIP_FLAGS) -e '.[dev]'
	@touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/loadgen demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest

check: $(VENV)/.dev
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.dev
	$(BIN)/python -m benchmarks.published
	$(BIN)/python -m benchmarks.analysis
	$(BIN)/python -m benchmarks.exporter
	$(BIN)/python -m benchmarks.truth

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
