.DEFAULT_GOAL := help
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
CODE := src tests benchmarks examples docs

.PHONY: help demo test properties check security integration chaos fuzz docs pictures screenshots bench publish clean

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 14

$(READY): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Anubis needs Python 3.11 or newer: try make PYTHON=python3.12, for example") if sys.version_info < (3, 11) else None'
	@echo "1 of 2: creating $(VENV) (once)"
	@$(BIN)/python -m pip --version >/dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV) || { echo "this Python cannot create virtual environments: on Debian and Ubuntu, install python3-venv" >&2; exit 1; }
	@echo "2 of 2: installing Anubis, its libraries and its tools into $(VENV) (once; a few minutes)"
	@$(BIN)/python -m pip install $$([ -t 1 ] || echo --quiet) --disable-pip-version-check --editable '.[dev,docs,examples]'
	@touch $@

demo: $(READY) ## compare two versions of a training
	@echo "measuring two versions of a training, eight times each, in alternating order (about a minute)"
	@PATH="$(CURDIR)/$(BIN):$$PATH" ANUBIS_HOME="$${ANUBIS_HOME:-$(CURDIR)/.demo}" anubis run examples/sklearn-digits/baseline.toml examples/sklearn-digits/contender.toml --rounds 8
	@echo "To list the stored runs: ANUBIS_HOME=$${ANUBIS_HOME:-.demo} $(BIN)/anubis history"

test: $(READY) ## run the tests that need only Python; make test ORDER=N runs them in the random order of that number
	@$(BIN)/python -m pytest -m 'not postgresql' --numprocesses auto --maxprocesses 4 --dist worksteal $(if $(ORDER),--random-order --random-order-seed=$(ORDER))

properties: $(READY) ## run the property tests with inputs and in an order that differ at every run; make properties SEED=N repeats them
	@seed=$${SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; echo "seed $$seed"; HYPOTHESIS_PROFILE=random $(BIN)/python -m pytest -m 'hypothesis and not postgresql' --hypothesis-seed=$$seed --random-order --random-order-seed=$$seed tests/unit tests/contract

check: $(READY) ## format, lint, types, the dependency rule
	@$(BIN)/ruff format --check $(CODE)
	@$(BIN)/ruff check $(CODE)
	@$(BIN)/mypy
	@$(BIN)/lint-imports

security: $(READY) ## weaknesses in the code (bandit) and in packages (pip-audit), and a list of all packages (CycloneDX)
	@$(BIN)/bandit --quiet --recursive --severity-level medium src
	@mkdir -p build && $(BIN)/cyclonedx-py environment --output-reproducible --pyproject pyproject.toml --output-file build/sbom.cdx.json $(BIN)/python
	@$(BIN)/python .ci/audit.py

integration: $(READY) ## run the tests against real servers, as root and in a browser
	@$(BIN)/python -m pytest -m 'integration or postgresql' tests/integration tests/contract tests/browser

chaos: $(READY) ## kill, stop and starve everything at random, then look at every run; make chaos SECONDS=1800 SEED=N DATABASE=postgresql, or TARGET=service
	@PYTHONPATH=tests $(BIN)/python -m chaos.marathon --seconds $(or $(SECONDS),60) --database $(or $(DATABASE),sqlite) --target $(or $(TARGET),commands) $(if $(SEED),--seed $(SEED))

fuzz: $(READY) ## damage valid inputs of every kind; make fuzz COUNT=1000000 SEED=N TARGET=emit LEDGER=FILE repeats or continues one target
	@PYTHONPATH=tests $(BIN)/python -m fuzz.run --count $(or $(COUNT),2000) $(if $(TARGET),--target $(TARGET)) $(if $(SEED),--seed $(SEED)) $(if $(LEDGER),--ledger $(LEDGER))

docs: $(READY) ## build the documentation into site/
	@$(BIN)/python docs/generate.py
	@$(BIN)/zensical build --strict --clean

pictures: $(READY) ## draw the terminal pictures of the pages again
	@$(BIN)/python docs/pictures.py

screenshots: $(READY) ## pictures of every page of the service, light and dark, narrow and wide, into build/screenshots
	@PYTHONPATH=tests $(BIN)/python -m browser.screenshots build/screenshots

bench: $(READY) ## measure Anubis itself, in three minutes (docs/performance.md: in full, with other tools)
	@for script in benchmarks/bench_*.py benchmarks/detection; do echo "== $$script"; $(BIN)/python "$$script" --quick || exit 1; done

publish: $(READY) ## measure again and rewrite the figures of the documentation (make publish PEERS=DIR, half an hour on an idle machine)
	@$(BIN)/python benchmarks/publish.py --peers-venv "$${PEERS:?set PEERS to a folder for the environments of other tools}"

clean: ## remove generated files
	@rm -rf $(VENV) .demo site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
