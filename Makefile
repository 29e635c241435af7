# make        set up a virtual environment and measure this machine
# make test   set up what the tests need and run them

VENV ?= .venv
PYTHON ?= python3
BIN = $(VENV)/bin

.PHONY: measure test check

measure: $(VENV)/.run-stamp
	$(BIN)/snakemake --cores 1

test: $(VENV)/.test-stamp
	tests/prepare.sh $(BIN)/python
	$(BIN)/python -m pytest

check: $(VENV)/.test-stamp
	$(BIN)/ruff check scripts tests benchmarks
	$(BIN)/ruff format --check scripts tests benchmarks
	PATH="$(BIN):$$PATH" $(BIN)/snakefmt --check Snakefile rules
	$(BIN)/snakemake --lint

# Without venv (Debian's python3-venv) or a compiler, one sentence is better than a traceback.
$(VENV)/bin/python:
	@command -v $(PYTHON) >/dev/null || { echo "$(PYTHON) was not found; install Python 3.11 or newer (Debian, Ubuntu: apt install python3-venv), or name yours: make PYTHON=python3.12"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tokentrail needs Python 3.11 or newer; this is " + sys.version.split()[0] + ": set PYTHON=python3.12, say")'
	@$(PYTHON) -m venv $(VENV) || { rm -f $@; echo "The module venv is missing; install it (Debian, Ubuntu: apt install python3-venv) and run make again"; exit 1; }

$(VENV)/.run-stamp: envs/requirements.txt | $(VENV)/bin/python
	@command -v c++ >/dev/null || command -v g++ >/dev/null || command -v clang++ >/dev/null || command -v llama-bench >/dev/null || { echo "No C++ compiler was found; install one (Debian, Ubuntu: apt install g++) and run make again"; exit 1; }
	$(BIN)/pip install --quiet --require-hashes --requirement envs/requirements.txt
	@touch $@

$(VENV)/.test-stamp: envs/requirements-test.txt | $(VENV)/bin/python
	$(BIN)/pip install --quiet --require-hashes --requirement envs/requirements-test.txt
	@touch $@ $(VENV)/.run-stamp
