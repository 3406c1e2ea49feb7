# Everything lives in .venv, made once; `make clean` forgets it.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: test format demo bench clean

test: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/pytest -n 2

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

demo: $(STAMP)
	$(BIN)/python examples/demo.py

bench: $(STAMP)
	$(BIN)/python benchmarks/section41.py $(ARGS)
	$(BIN)/python benchmarks/greedy_projection.py $(ARGS)
	$(BIN)/python benchmarks/dims.py $(ARGS)
	$(BIN)/python benchmarks/points.py $(ARGS)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

clean:
	rm -rf .venv build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
