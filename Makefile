# discreet: `make run` and `make test` are all a newcomer needs.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
PEERS  := $(VENV)/peers

.DEFAULT_GOAL := help
.PHONY: help setup run test coverage check check-all docs screenshots bench lock parts wheel-check clean

help:  ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^[a-z-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: $(READY)  ## Prepare .venv: every dependency, by hash

$(READY): requirements.lock requirements-uv.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "discreet needs Python 3.11 or later; try: make PYTHON=python3.11 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements-uv.lock
	@$(BIN)/uv pip install --python $(BIN)/python --quiet --compile-bytecode --require-hashes -r requirements.lock
	@$(BIN)/uv pip install --python $(BIN)/python --quiet --no-deps --no-build-isolation --editable .
	@touch $@

run: $(READY)  ## Serve a made-up hospital, and open the console
	@$(BIN)/discreet serve --demo hospital

parts: $(READY)
	@sh tools/parts.sh

test: export PYTHONDONTWRITEBYTECODE =
test: parts  ## Every test, on DuckDB, PostgreSQL, Spark and Chromium
	@$(BIN)/python -m pytest -n 2 --dist loadgroup $(if $(SHUFFLE),--shuffle $(SHUFFLE))

coverage: export PYTHONDONTWRITEBYTECODE =
coverage: parts  ## The same tests, and which branches of src they take; the floor is in pyproject.toml
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest -n 2 --dist loadgroup
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

check: $(READY)  ## ruff, mypy, import-linter, docs without a warning, names documented
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	$(BIN)/python -m pytest -q tests/test_docs.py tests/test_public.py -k "not examples_of_a_page"  # which `make test` runs

check-all: check coverage bench $(PEERS)/.ready  ## check, test with coverage and bench in full, and the slow tests
	@$(BIN)/python -m pytest -m slow

wheel-check: $(READY)  ## The wheel alone, with each extra, on each Python claimed
	@$(BIN)/python -m pytest -m slow tests/cli/test_wheel.py

$(PEERS)/.ready: requirements-peers.lock $(READY)
	@test -x $(PEERS)/bin/python || $(PYTHON) -m venv --without-pip $(PEERS)
	@$(BIN)/uv pip install --python $(PEERS)/bin/python --quiet --require-hashes -r requirements-peers.lock
	@touch $@

docs: $(READY)  ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict

screenshots: parts  ## Take pictures of every page of the console, into docs/images
	@$(BIN)/python -m tools.screenshots

bench: $(READY)  ## Run everything under bench/ (QUICK=1: under a minute each)
	@$(BIN)/python -m bench $(if $(QUICK),--quick)

lock: $(READY)  ## Resolve dependencies again
	$(BIN)/uv pip compile pyproject.toml --all-extras --group dev --universal --generate-hashes \
		--no-header --no-annotate --upgrade --quiet --output-file requirements.lock
	for part in uv:uv peers:opendp; do \
		echo $${part#*:} | $(BIN)/uv pip compile - --universal --generate-hashes --no-header --no-annotate --upgrade --quiet \
			--output-file requirements-$${part%:*}.lock || exit 1; \
	done

clean:  ## Remove .venv and everything made here
	rm -rf $(VENV) site .coverage* .mypy_cache .ruff_cache .pytest_cache .import_linter_cache build dist
