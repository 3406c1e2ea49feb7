# Everything lives in .venv, made once; `make clean` forgets it. Another Python has an environment of its own:
# make test PYTHON=python3.13 uses .venv-python3.13.
PYTHON ?= python3
VENV := .venv$(if $(filter-out python3,$(notdir $(PYTHON))),-$(notdir $(PYTHON)))
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
CHROMIUM := $(firstword $(foreach name,chromium chromium-browser google-chrome,$(shell command -v $(name))))

.PHONY: test format demo docs reader bench publish reproduce reproduce-quick soak oldest newest dist release-check clean browser

test: $(STAMP)
	$(if $(CHROMIUM),,@echo "No Chromium: the tests of pages are skipped. \`make browser\` fetches one.")
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports
	# compiled ahead, else both processes of pytest would compile the same; and the types meanwhile
	$(BIN)/fewer warm points bins & $(BIN)/fewer warm terms dims & $(BIN)/mypy; code=$$?; wait; exit $$code
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist worksteal

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

# The manual in build/docs: examples and guide are run, warnings are errors; then doctests, and a look in Chromium.
docs: $(VENV)/.docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m sphinx -q -n -W --keep-going -b html -d build/doctrees docs build/docs
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest src reproduction tests/test_site.py
	@echo "build/docs/index.html"

# README and guide as a reader follows them: line by line, in a fresh environment with nothing but what they name.
reader:
	rm -rf build/reader && $(PYTHON) -m venv build/reader
	build/reader/bin/python -m pip install --quiet --constraint constraints.txt ".[all]"
	OPENBLAS_NUM_THREADS=1 build/reader/bin/python docs/_ext/follow.py README.md docs/theory.md docs/guide/*.md

# Wheel and sdist in dist/, each installed and tried in a fresh environment.
dist: $(STAMP)
	rm -rf dist build/dist-check
	$(BIN)/python -m build --quiet
	for file in dist/*.whl dist/*.tar.gz; do \
	  rm -rf build/dist-check && $(PYTHON) -m venv build/dist-check && \
	  build/dist-check/bin/python -m pip install --quiet --constraint constraints.txt "$$file[cli]" && \
	  (cd build/dist-check && bin/fewer --version && \
	   bin/python -c "import fewer; print(fewer.bins(counts=[4, 0, 1, 5], k=2))") || exit 1; \
	done

# What a release needs and no network can tell: metadata that an index takes, one version everywhere, files that install.
release-check: dist
	$(BIN)/twine check --strict dist/*
	$(BIN)/pytest tests/test_package.py

# The tests with what pip chooses today, without constraints.
newest:
	test -x .venv-newest/bin/python || $(PYTHON) -m venv .venv-newest
	.venv-newest/bin/python -m pip install --quiet --upgrade --upgrade-strategy eager --editable ".[dev]"
	.venv-newest/bin/fewer warm
	OPENBLAS_NUM_THREADS=1 .venv-newest/bin/pytest -n 2 --dist worksteal $(ARGS)

# The tests with the oldest versions that pyproject.toml allows. Outputs of the guide are those of today's versions; one check
# of scikit-learn 1.6 subtracts a mean from integers in place, which NumPy refuses.
oldest: .venv-oldest/.installed
	.venv-oldest/bin/fewer warm
	OPENBLAS_NUM_THREADS=1 .venv-oldest/bin/pytest -n 2 --dist worksteal --ignore tests/test_guide.py \
	  --ignore tests/test_notebooks.py --ignore tests/test_benchmarks.py -W ignore::DeprecationWarning -W ignore::FutureWarning \
	  -k 'not check_positive_only_tag_during_fit' $(ARGS)

demo: $(VENV)/.demo
	$(BIN)/fewer demo

# Everything in less than an hour on two cores; ARGS=--resume completes a run that was ended.
bench: $(VENV)/.bench
	$(BIN)/python benchmarks/run.py $(ARGS)

# What `make bench` measured, into docs/benchmarks.md and the README.
publish: $(VENV)/.bench
	$(BIN)/python benchmarks/publish.py build/bench

# Every row, picture and verdict of docs/reproduction, in about half an hour on two idle cores; DATA holds the two npz files.
# An interrupted run goes on by `make reproduce FRESH=`; `make reproduce-quick` needs no files and two minutes.
DATA ?= ../shared/data
FRESH ?= --fresh
reproduce: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m reproduction all $(FRESH) --data $(DATA) --out docs/reproduction $(ARGS)

reproduce-quick: $(STAMP)
	OPENBLAS_NUM_THREADS=1 $(BIN)/python -m reproduction all --quick $(ARGS)

# The campaign: ten minutes on two cores; ARGS="--minutes 60 --seed 1 --parts answers,limits" for more.
soak: $(STAMP)
	$(BIN)/python -m soak $(ARGS)

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $@

$(VENV)/.docs: $(STAMP)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[docs]"
	touch $@

.venv-oldest/.installed: pyproject.toml constraints-oldest.txt
	test -x .venv-oldest/bin/python || $(PYTHON) -m venv .venv-oldest
	.venv-oldest/bin/python -m pip install --quiet --constraint constraints-oldest.txt --editable ".[cli,dask,plot]" \
	  cvxpy distributed hypothesis imbalanced-learn import-linter pandas pyarrow pytest pytest-xdist xlsxwriter
	touch $@

$(VENV)/.demo: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	test -e $(STAMP) || $(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[cli]"
	touch $@

# A peer that does not install here must not keep the others out: then each is tried by itself.
$(VENV)/.bench: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --constraint constraints.txt --editable ".[bench]" \
	|| $(BIN)/python benchmarks/install.py
	touch $@

# Chromium, in which pages are tested; nothing else here installs anything outside of the checkout.
browser:
	@if test -n "$(CHROMIUM)"; then echo "$(CHROMIUM)"; \
	elif test "$$(id -u)" = 0 && command -v apt-get >/dev/null; then \
	  apt-get update && apt-get install --yes --no-install-recommends chromium; \
	else echo "Install Chromium by the package manager of this system (chromium, chromium-browser or google-chrome)."; exit 1; fi

clean:
	rm -rf .venv .venv-* build dist demo docs/api docs/gallery docs/guide/figures .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
