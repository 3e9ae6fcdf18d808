# Every command of the project; `make help` lists them. All but `gpu` set up first what they need.

PYTHON ?= $(shell for python in python3 python3.13 python3.12 python3.11 python; do \
	$$python -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] < (3, 14))' 2>/dev/null \
	&& command -v $$python && break; done)
BIN := .venv/bin
# Node of the machine, or the one that the set-up put into the venv.
NPM := PATH="$(CURDIR)/.venv/node/bin:$$PATH" npm --prefix frontend

# A run, and still more the tests, start dozens of Python processes: without it each compiles all of PyTorch and transformers anew.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
JSON ?= out/gpu.json

.PHONY: help setup demo up test test-unit test-costs test-slow test-rounding test-vllm test-images test-s3 test-slurm check bench bench-critic bench-gap bench-platform bench-dashboard lighthouse pictures pictures-check gpu format wheels openapi reference docs clean

help: ## list these commands
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo '  Options go into ARGS, as in: make demo ARGS="--port 8001 --seed 3"'

setup: ## install everything into .venv and build the dashboard (idempotent)
	@test -n "$(PYTHON)" || { echo "Proximal needs Python 3.11, 3.12 or 3.13, and none was found on the PATH." \
		"Install one, or name it: make $(MAKECMDGOALS) PYTHON=/path/to/python3.12" >&2; exit 1; }
	@"$(PYTHON)" .setup

demo: setup ## start the platform, run the demo job, watch it learn
	@$(BIN)/proximal demo $(ARGS)

up: setup ## start the platform without the demo
	@$(BIN)/proximal up $(ARGS)

test: setup ## run the whole default test suite, in a real browser too
	@$(BIN)/python .setup browser
	@$(NPM) test --silent
	@$(BIN)/python -m pytest -m "not slow and not images" -n auto $(ARGS)

test-unit: setup ## run the quick tests that need no server (under 90 seconds)
	@$(BIN)/python -m pytest -m unit -n auto -q $(ARGS)

test-costs: setup ## run the default suite and record what its tests cost, in tests/costs.json
	@$(BIN)/python -m pytest -m "not slow and not images" -n auto --costs $(ARGS)

test-slow: setup ## run the slow tests (50 minutes on 2 cores)
	@$(BIN)/python -m pytest -m "slow and not slurm" $(ARGS)

test-rounding: setup ## run the trainer's tests as other processors would round
	@for setting in OTHER_ROUNDING=1 MKL_CBWR=COMPATIBLE ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=default OMP_NUM_THREADS=2; do \
		echo "$$setting"; env $$setting $(BIN)/python -m pytest tests/trainer -m "not slow" -q $(ARGS) || exit 1; done

test-vllm: setup ## run the trainer with the real vLLM on a CPU, in an environment of its own (2 GB, 5 minutes)
	@$(BIN)/python .setup vllm
	@.venv-vllm/bin/python -m pytest tests/trainer/vllm -p no:logging $(ARGS)

test-images: setup ## build the container images and run the demo job in them, as root on Debian (20 minutes, 30 GB)
	@$(BIN)/python .setup browser
	@$(BIN)/python .setup containers
	@$(BIN)/python -m pytest tests/images -m images $(ARGS)

test-s3: setup ## run the platform on S3 servers: moto, and Debian's Swift where it is installed (10 minutes)
	@$(BIN)/python -m pytest tests/s3 -m "slow or not slow" $(ARGS)

test-slurm: setup ## run jobs on a real Slurm of two nodes on this machine, which must be installed (15 minutes)
	@PATH="$$PATH:/usr/sbin" $(BIN)/python -m pytest -m slurm tests/slurm $(ARGS)

check: setup ## lint, formats, types, import contracts, prose, the documentation's links
	@$(BIN)/ruff check
	@$(BIN)/ruff format --check
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/datamodel-codegen --check
	@$(BIN)/python -m proximal.sdk.generate --check
	@$(BIN)/python .ci/prose
	@NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict --quiet
	@$(NPM) run --silent lint
	@$(NPM) run --silent typecheck

bench: setup ## measure PPO on this machine's CPU, against TRL too (up to 15 minutes)
	@$(BIN)/python -m benchmarks.ppo.suite $(ARGS)

bench-critic: JSON = out/critic.json
bench-critic: setup ## train PPO with a critic against GRPO on three tasks, figures into JSON=FILE (up to 40 minutes)
	@$(BIN)/python -m benchmarks.critic --json "$(JSON)" $(ARGS)

bench-gap: JSON = out/gap.json
bench-gap: setup ## train with a planted gap between sampler and policy, with and without correction, figures into JSON=FILE (up to 30 minutes)
	@$(BIN)/python -m benchmarks.gap --json "$(JSON)" $(ARGS)

bench-platform: JSON = out/platform.json
bench-platform: setup ## measure reading, ingest, queue and streams of the platform, figures into JSON=FILE
	@$(BIN)/python -m benchmarks.platform_suite --json "$(JSON)" $(ARGS)

bench-dashboard: JSON = out/dashboard.json
bench-dashboard: setup ## measure the dashboard's charts in a browser, figures into JSON=FILE
	@$(BIN)/python .setup browser
	@$(BIN)/python -m benchmarks.dashboard --json "$(JSON)" $(ARGS)

lighthouse: JSON = out/lighthouse.json
lighthouse: setup ## rate the list, run and compare pages with Lighthouse, scores into JSON=FILE (5 minutes)
	@$(BIN)/python .setup lighthouse
	@$(BIN)/python -m benchmarks.lighthouse --json "$(JSON)" $(ARGS)

pictures: setup ## take the pictures of docs/images anew, from real runs (first 6 minutes, then one)
	@$(BIN)/python .setup browser
	@$(BIN)/python -m benchmarks.pictures $(ARGS)

pictures-check: AGAINST ?= main
pictures-check: setup ## compare 16 views with the dashboard of another commit: AGAINST=COMMIT
	@$(BIN)/python .setup browser
	@$(BIN)/python -m benchmarks.pictures --against "$(AGAINST)" $(ARGS)

gpu: ## prove the GPU path with the Python at hand, figures into JSON=FILE (9 minutes; without a GPU a rehearsal)
	@"$(PYTHON)" -m benchmarks.gpu_suite --json "$(JSON)" $(ARGS)

format: setup ## put the code into its form
	@$(BIN)/ruff check --fix
	@$(BIN)/ruff format
	@$(NPM) run --silent format

wheels: setup ## build the wheels of the client and of the platform, into dist/
	@$(BIN)/python .setup wheels

openapi: setup ## regenerate frontend/openapi.json, the dashboard's types and the SDK's from the API
	@$(BIN)/python -m api openapi > frontend/openapi.json.new
	@mv frontend/openapi.json.new frontend/openapi.json
	@$(BIN)/datamodel-codegen
	@$(BIN)/python -m proximal.sdk.generate
	@$(NPM) run --silent generate

reference: setup ## regenerate the parts of docs/ that come from the code
	@$(BIN)/python docs/generate

docs: setup ## serve the documentation as a site on http://127.0.0.1:8010
	@NO_MKDOCS_2_WARNING=true $(BIN)/mkdocs serve --dev-addr 127.0.0.1:8010 $(ARGS)

clean: ## remove what the set-up made (not the data folder .proximal)
	rm -rf dist .venv frontend/node_modules frontend/dist
