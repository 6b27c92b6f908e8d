PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: install demo test lint clean

install: $(STAMP)

$(STAMP): setup.py pyproject.toml $(wildcard requirements/*.txt)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --upgrade-strategy only-if-needed -c requirements/constraints.txt -e '.[lite,tests]'
	touch $(STAMP)

demo: install  # waiting threads leave the cores to the data loader
	OMP_WAIT_POLICY=passive $(BIN)/python tools/demo.py

test: install lint
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n 2 --dist loadfile

lint: install
	$(BIN)/python -m ruff check .
	$(BIN)/python -m ruff format --check .

clean:
	rm -rf $(VENV) build dist *.egg-info
