# Everything lives in .venv, made once; `make clean` forgets it.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: test format demo bench reproduce soak clean browser

test: $(STAMP) browser
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	# compiled ahead, else both processes of pytest would compile the same; and the types meanwhile
	$(BIN)/fewer warm points bins & $(BIN)/fewer warm terms dims & $(BIN)/mypy; code=$$?; wait; exit $$code
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

demo: .venv/.demo
	$(BIN)/fewer demo

bench: .venv/.bench
	$(BIN)/python benchmarks/run.py $(ARGS)

reproduce: $(STAMP)
	$(BIN)/fewer reproduce all --quick --out build/reproduction $(ARGS)

# The campaign: ten minutes on two cores; ARGS="--minutes 60 --seed 1 --parts answers,limits" for more.
soak: $(STAMP)
	$(BIN)/python -m soak $(ARGS)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

.venv/.demo: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	test -e $(STAMP) || $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[cli]"
	touch $@

# A peer that does not install here must not keep the others out: then each is tried by itself.
.venv/.bench: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[bench]" \
	|| $(BIN)/python benchmarks/install.py
	touch $@

# The page is tested in Chromium: fetched where we may; where there is none, those tests are skipped and say so.
browser:
	@for name in chromium chromium-browser google-chrome; do command -v $$name >/dev/null && exit 0; done; \
	test "$$(id -u)" = 0 && command -v apt-get >/dev/null || exit 0; \
	{ apt-get update && apt-get install --yes --no-install-recommends chromium; } >/dev/null 2>&1 || true

clean:
	rm -rf .venv build dist demo .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
