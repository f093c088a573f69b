# `make demo` answers a question, `make test` runs the tests, `make check` is what continuous integration runs.
# Everything is installed into .venv, once; nothing is fetched while the lock and the project's declaration stay as they are.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
SOURCES := src tests examples benchmarks tools

# The tests start child processes of their own; threads on top of them would fight over the cores.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/python -m pytest
PARALLEL ?= 2

.DEFAULT_GOAL := help
.PHONY: help demo test check format docs site test-gpu nightly lock clean

help:
	@echo "make demo      install into .venv and answer for examples/char_rnn.py on a T4 in a Colab host"
	@echo "make test      install into .venv and run every test"
	@echo "make check     format, lint, types, import contract, tests, docs: what CI runs"
	@echo "make format    write the format that make check asks for"
	@echo "make docs      write the pages that follow from the code"
	@echo "make site      the documentation as a site, in build/site"
	@echo "make test-gpu  the tests that need a real accelerator"
	@echo "make nightly   every test, the property tests with many more examples"
	@echo "make lock      pin the newest versions into requirements.lock"

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("breakeven needs Python 3.10 or newer; name one: make PYTHON=python3.12" if sys.version_info < (3, 10) else 0)'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

demo: $(INSTALLED)
	$(BIN)/breakeven why examples/char_rnn.py --gpu t4 --host colab

test: $(INSTALLED)
	@$(PYTEST) -n $(PARALLEL)

check: $(INSTALLED)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	@$(PYTEST) -n $(PARALLEL)

format: $(INSTALLED)
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/ruff check --fix $(SOURCES)

docs: $(INSTALLED)
	$(BIN)/python tools/make_docs.py

site: $(INSTALLED)
	$(BIN)/mkdocs build --quiet --strict

test-gpu: $(INSTALLED)
	@$(PYTEST) -m gpu

nightly: $(INSTALLED)
	@HYPOTHESIS_PROFILE=nightly $(PYTEST) -n $(PARALLEL) -m "not gpu"

# What torch brings along differs between its builds (CPU, CUDA), so those packages and the build's suffix are left out.
lock:
	@test -x build/lock/bin/uv || { $(PYTHON) -m venv build/lock && build/lock/bin/pip install --quiet uv; }
	build/lock/bin/uv pip compile --quiet --universal --upgrade --python-version 3.10 --extra dev --extra torch \
		--constraint requirements.in --no-header --no-annotate pyproject.toml \
		| sed -e '/^nvidia-ml-py/b' -e '/^\(nvidia\|cuda\)-/d' -e '/^triton==/d' -e 's/+cpu//' > requirements.lock

clean:
	rm -rf build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
