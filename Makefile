# What people type. CMake, pip and pytest do the work; every target installs what it lacks.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Python keeps what it has compiled, whatever the shell says: without that, each start compiles 800 files for 4 s.
export PYTHONDONTWRITEBYTECODE :=
JOBS ?= $(shell nproc)
PYTHON ?= python3
SOAK_MINUTES ?= 10
SOAKED_PROGRAMS :=
SOAKED_TESTS := trees_test reclaim_test bt_map_threads_test elb_tree_test
SOAKED_WITHOUT_THREADS := bt_map_test bt_map_failures_test bt_map_all_capacities_test elb_failures_test
SOAKED_AS_MEASURED := subjects_test
soaked_in = $(SOAKED_TESTS) $(if $(filter tsan,$(1)),,$(SOAKED_WITHOUT_THREADS)) \
  $(if $(filter release,$(1)),$(SOAKED_AS_MEASURED))
VENV := .venv/bin
SATELLITES := $(patsubst %/pyproject.toml,%,$(wildcard satellites/*/pyproject.toml))
UV := VIRTUAL_ENV=.venv $(VENV)/uv --quiet pip
QUICKSTART_PACKAGES := tools/packages-quickstart.txt
BUILD_PACKAGES := $(QUICKSTART_PACKAGES) tools/packages-build.txt
ALL_PACKAGES := $(BUILD_PACKAGES) tools/packages-develop.txt
QUICKSTART_PROGRAMS := assay-trial assay-calibrate assay-meter
-include satellites/*/*.mk

.PHONY: help
help: ## Say what there is.
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

.PHONY: quickstart
quickstart: quickstart-packages ## Compare real concurrent maps: one to two minutes once built.
	$(MAKE) --no-print-directory --jobs=2 .venv/.quickstart quickstart-programs
	$(VENV)/assay run experiments/quickstart.toml
	@test -e build/release/.configured || echo "make build builds all other maps, and what checks them."

.PHONY: build
build: packages .venv/.ready build/release/.configured ## Build the programs that trials run, and the assay command.
	cmake --build --preset release --parallel $(JOBS) --target programs
	cmake --install build/release --prefix build/install > build/install.log || { cat build/install.log; exit 1; }

.PHONY: test
test: develop ## Run every test: C++ as measured and under sanitizers, then Python and the whole path.
	for preset in release asan tsan; do \
	  cmake --build --preset $$preset --parallel $(JOBS); \
	  ctest --preset $$preset --parallel $(JOBS); \
	done
	$(VENV)/pytest --numprocesses $(JOBS)

.PHONY: soak
soak: develop ## Check every map for SOAK_MINUTES=10, as measured and under sanitizers, everything at once.
	$(foreach preset,release asan tsan,cmake --build --preset $(preset) --parallel $(JOBS) \
	  --target $(SOAKED_PROGRAMS) $(call soaked_in,$(preset)) &&) true
	TSAN_OPTIONS=halt_on_error=1 tools/soak --minutes $(SOAK_MINUTES) \
	  $(foreach preset,release asan tsan,$(addprefix build/$(preset)/bin/,$(SOAKED_PROGRAMS))) \
	  --tests $(foreach preset,release asan tsan,$(addprefix build/$(preset)/bin/,$(call soaked_in,$(preset))))

.PHONY: lint
lint: develop build/lint/.configured ## Check format, types and known mistakes in all code.
	git ls-files '*.cpp' '*.h' | xargs clang-format-19 --dry-run --Werror
	cmake --build --preset lint --parallel $(JOBS)
	$(VENV)/ruff check
	$(VENV)/ruff format --check
	$(VENV)/mypy $(if $(wildcard satellites/*/pyproject.toml),,python tests benchmarks examples experiments tools/soak tools/docs)
	$(VENV)/lint-imports --no-logo
	tools/check-modules

.PHONY: lint-all
lint-all: lint build/lint-all/.configured ## The same, and clang-tidy's static analyser over tests, subjects and benchmarks.
	cmake --build --preset lint-all --parallel $(JOBS)

.PHONY: bench
bench: build ## Measure Assay itself; prints ratios with intervals.
	$(VENV)/python benchmarks/run.py
	for script in satellites/*/*benchmarks.py; do PYTHONPATH=benchmarks $(VENV)/python $$script; done

.PHONY: calibration
calibration: build ## Prove verdicts by simulation, then try them in real trials: about twenty minutes.
	$(VENV)/python benchmarks/calibration.py
	for script in $(wildcard satellites/*/*_tables.py); do PYTHONPATH=benchmarks $(VENV)/python $$script || exit 1; done
	$(VENV)/python benchmarks/planted.py
	$(VENV)/python benchmarks/revisions.py

.PHONY: docs
docs: build/docs/index.html ## Build the documentation's site, with notebooks run: build/docs/index.html.

NOTEBOOKS := $(wildcard satellites/*/docs/notebooks/*.ipynb)
vpath %.ipynb $(sort $(dir $(NOTEBOOKS)))

.PHONY: build/docs/index.html
build/docs/index.html: $(patsubst %.ipynb,build/notebooks/%/page.md,$(notdir $(NOTEBOOKS)))
	NO_MKDOCS_2_WARNING=1 $(VENV)/mkdocs --quiet build --strict
	@echo "site: build/docs/index.html"

build/notebooks/%/page.md: %.ipynb | packages .venv/.ready quickstart-programs
	$(VENV)/python tools/docs/notebooks.py $<

.PHONY: pictures
pictures: build ## Draw the documentation's pictures anew from runs on this host, which should be quiet.
	$(VENV)/python tools/docs/tutorial.py
	for script in satellites/*/pictures.py; do $(VENV)/python $$script; done

.PHONY: wheel
wheel: packages .venv/.ready ## Build wheels, of the core with its programs and libraries inside, and of each satellite: build/dist/*.whl.
	rm -rf build/wheel/dist build/dist
	for package in . $(SATELLITES); do \
	  $(VENV)/uv --quiet build $$package --wheel --no-build-isolation --python $(VENV)/python --out-dir build/wheel/dist; \
	done
	PATH="$$PWD/$(VENV):$$PATH" $(VENV)/auditwheel repair --wheel-dir build/dist build/wheel/dist/*linux*.whl
	mv build/wheel/dist/*-any.whl build/dist

.PHONY: wheel-test
wheel-test: wheel ## Install the wheels into a bare Debian 12, and run the quickstart and a race there: some minutes.
	@tools/install-packages tools/packages-wheel-test.txt
	tools/wheel-test build/dist/*.whl

.PHONY: lock
lock: .venv/.ready ## Renew requirements.lock from pyproject.toml and those of the satellites.
	$(PYTHON) -c 'import sys, tomllib; print(*{name for file in sys.argv[1:] \
	  for name in tomllib.load(open(file, "rb"))["project"]["dependencies"] \
	  if name.partition("[")[0] != "assay"}, sep="\n")' \
	  $(SATELLITES:%=%/pyproject.toml) > .venv/satellites.in
	$(UV) compile --upgrade --all-extras --generate-hashes --no-annotate --no-header --no-emit-index-url \
	  -o requirements.lock pyproject.toml .venv/satellites.in

.PHONY: clean
clean: ## Remove what was built; results stay.
	rm -rf build .venv .mypy_cache .ruff_cache .pytest_cache .hypothesis python/*.egg-info

# What the targets above stand on.

.PHONY: packages
packages:
	@tools/install-packages $(BUILD_PACKAGES)

.PHONY: develop
develop: all-packages .venv/.ready $(foreach preset,release asan tsan,build/$(preset)/.configured)

.PHONY: all-packages
all-packages:
	@tools/install-packages $(ALL_PACKAGES)

build/%/.configured: | packages .venv/.ready
	cmake --preset $*
	touch $@

# The quickstart needs fewer packages and builds the subjects of its experiment alone; `make build` configures all.
.PHONY: quickstart-packages
quickstart-packages:
	@tools/install-packages $(QUICKSTART_PACKAGES)

.PHONY: quickstart-programs
quickstart-programs: build/release/build.ninja
	cmake --build --preset release --parallel $(JOBS) --target $(QUICKSTART_PROGRAMS)

build/release/build.ninja: | quickstart-packages
	cmake --preset release -D ASSAY_TESTS=OFF -D ASSAY_ONLY_SUBJECTS="$$($(PYTHON) -c 'import tomllib; \
	  print(*tomllib.load(open("experiments/quickstart.toml", "rb"))["factors"]["subject"], sep=";")')"

.venv/.quickstart: requirements.lock pyproject.toml $(SATELLITES:%=%/pyproject.toml) | quickstart-packages
	$(new-venv)
	$(UV) install --constraint requirements.lock scikit-build-core
	$(UV) install --constraint requirements.lock --no-build-isolation -e '.[charts]' $(SATELLITES:%=-e %)
	$(VENV)/python -c 'from assay.report import page, render; render.vega()'  # nobody waits: programs are built
	touch $@

.venv/.ready: requirements.lock pyproject.toml $(SATELLITES:%=%/pyproject.toml) | packages
	$(new-venv)
	$(UV) install --require-hashes -r requirements.lock
	$(UV) install --no-deps --no-build-isolation -e . $(SATELLITES:%=-e %)
	touch .venv/.quickstart $@

define new-venv
	$(PYTHON) -c 'import sys; v = sys.version_info; sys.exit(None if v >= (3, 11) else f"error: Python 3.11 or later is needed, this is {v[0]}.{v[1]}; name another: make PYTHON=...")'
	$(PYTHON) -m venv --clear .venv
	sed -n '/^uv==/,/[^\\]$$/p' requirements.lock > .venv/uv.lock
	$(VENV)/pip install --quiet --disable-pip-version-check --require-hashes -r .venv/uv.lock
endef
