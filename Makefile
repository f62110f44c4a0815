.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: help demo test check integration serve docs bench clean

help: ## list the verbs
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Anubis needs Python 3.11 or newer; set PYTHON=python3.12, for example") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "setting up $(VENV) (once)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev,docs,examples]'
	@touch $@

test: $(READY) ## run the tests that need nothing but Python
	@$(BIN)/python -m pytest

check: $(READY) ## format, lint, types, the dependency rule
	@$(BIN)/ruff format --check src tests benchmarks examples
	@$(BIN)/ruff check src tests benchmarks examples
	@$(BIN)/mypy
	@$(BIN)/lint-imports
