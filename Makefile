# `make demo`, `make test`, `make dev`, `make soak`, `make bench`: each first makes .venv from requirements.lock.

PYTHON ?= python3
# Given to pytest: make test ARGS="-k recurrences"
ARGS ?=

BIN := .venv/bin
UV := $(BIN)/uv
CODE := queries_orchestration queries_orchestration_tests
STAMP := .venv/.installed

# What prints reports as PDF, and the Debian packages that bring it.
LIBRARIES := pango-1.0 pangoft2-1.0 harfbuzz-subset
PACKAGES := libpango-1.0-0 libpangoft2-1.0-0 libharfbuzz-subset0 fonts-dejavu-core

# What a developer has set for a server of their own must not reach the tests.
CLEAN_ENV := env -u DAGSTER_HOME $(patsubst %,-u %,$(filter QUERIES_%,$(.VARIABLES)))

# Root is who CI is; copying works also where the package cache is on another file system.
export PIP_ROOT_USER_ACTION := ignore
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export UV_LINK_MODE := copy

.PHONY: demo dev test soak bench lock format openapi alerts clean machine .venv
.DELETE_ON_ERROR:

demo: export QUERIES_DEMO := 1
demo: $(STAMP)
	@$(BIN)/python -m examples.demo

dev: export QUERIES_DEMO := 1
dev: $(STAMP)
	@$(BIN)/python -m examples.dev

test: $(STAMP)
	@echo "== ruff check"
	@$(CLEAN_ENV) $(BIN)/ruff check .
	@echo "== ruff format --check"
	@$(CLEAN_ENV) $(BIN)/ruff format --check .
	@echo "== mypy"
	@$(CLEAN_ENV) $(BIN)/mypy
	@echo "== lint-imports"
	@$(CLEAN_ENV) $(BIN)/lint-imports --no-logo
	@echo "== pytest"
	@$(CLEAN_ENV) $(BIN)/python -m pytest -n 2 --dist loadgroup $(ARGS)

# Every zone, and more rounds of what is tried in `make test`. Most of an hour.
soak: $(STAMP)
	@$(CLEAN_ENV) $(BIN)/python -m pytest -n 2 --dist loadgroup --soak -o faulthandler_timeout=7200 $(ARGS)

# What exports, reports, link checks, admission and deliveries cost, beside what others take. An hour;
# nothing else should run meanwhile.
bench: $(STAMP)
	@$(CLEAN_ENV) $(BIN)/python -m benchmarks.exports
	@$(CLEAN_ENV) $(BIN)/python -m benchmarks.render_report
	@$(CLEAN_ENV) $(BIN)/python -m benchmarks.links
	@$(CLEAN_ENV) $(BIN)/python -m benchmarks.admission
	@$(CLEAN_ENV) $(BIN)/python -m benchmarks.workers

format: $(STAMP)
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

# Writes docs/openapi.json as the routes are now.
openapi: $(STAMP)
	@$(CLEAN_ENV) $(BIN)/python -m queries_orchestration_tests.web.openapi_document

# Writes deploy/prometheus/alerts.yaml as the table of alarms is now.
alerts: $(STAMP)
	@$(CLEAN_ENV) $(BIN)/python -m queries_orchestration_tests.monitoring.alert_rules

# Resolves anew within what is locked; `make lock ARGS=--upgrade` takes the newest. What production
# installs is a part of it, of the same versions.
COMPILE = $(UV) pip compile pyproject.toml --universal --python-version 3.11 \
    --generate-hashes --no-emit-index-url --custom-compile-command "make lock" --quiet
lock: $(STAMP)
	@$(COMPILE) --extra dev --extra demo --output-file requirements.lock $(ARGS)
	@$(COMPILE) --extra celery --extra otel --constraint requirements.lock --output-file deploy/requirements.lock

clean:
	@rm -rf .venv build *.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis \
	    .import_linter_cache .tmp_dagster_home_*
	@find . -name __pycache__ -prune -exec rm -rf {} +

.venv: $(STAMP)

# Before any work. A Python that is missing is told of where .venv is made.
machine:
	@$(or $(wildcard $(BIN)/python),$(PYTHON)) -c 'import sys, ctypes.util; \
	    sys.exit(3 * (not all(map(ctypes.util.find_library, sys.argv[1:]))))' $(LIBRARIES) \
	    2>/dev/null || [ $$? -ne 3 ] || { \
	    echo "Reports are printed as PDF with libraries that this machine lacks."; \
	    echo "Debian: apt-get install $(PACKAGES)"; \
	    exit 1; } >&2

$(STAMP): requirements.lock pyproject.toml setup.py | machine
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	    echo "Python 3.11 or later is needed, and '$(PYTHON)' is not."; \
	    echo "Debian: apt-get install python3 python3-venv. Another one: make PYTHON=python3.12 …"; \
	    exit 1; } >&2
	@$(PYTHON) -c 'import venv, ensurepip' 2>/dev/null || { \
	    echo "'$(PYTHON)' lacks its module venv. Debian: apt-get install python3-venv"; \
	    exit 1; } >&2
	@echo "== making .venv"
	@$(PYTHON) -m venv .venv
	@# uv, by pip and with the hashes of the lock; then all else, by uv.
	@awk '/^[^ #]/ {uv = /^uv==/} uv && !/#/' requirements.lock > .venv/uv.txt
	@$(BIN)/python -m pip install -qq --require-hashes --requirement .venv/uv.txt
	@$(UV) pip sync --python $(BIN)/python --quiet --compile-bytecode --require-hashes \
	    requirements.lock
	@$(UV) pip install --python $(BIN)/python --quiet --compile-bytecode --no-deps \
	    --no-build-isolation --editable .
	@touch $@
