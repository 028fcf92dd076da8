# Every command of the project. Each one first installs what it needs, once.
#
#   make demo    run the demo                    make check   format, lint, types, layers, generated pages
#   make test    every test                      make fix     format, and fix what the linter can fix
#   make bench   compare with its peers          make soak    the tests that have a size, at full size
#   make docs    rewrite the generated pages     make lock    pin the newest versions
#   make web     build the page of bridle watch  make pictures  make the README's pictures
#   make clean   remove what make made           make lowest  the tests, with the lowest versions that are allowed
#   make pythons the built wheel and a part of the tests, on every Python that is here
#
# A part of the tests: make test ARGS="tests/wire -k lines"; what they start in the sandbox: make test SANDBOX=bwrap

MAKEFLAGS += --no-print-directory
.DEFAULT_GOAL := test
.DELETE_ON_ERROR:
.PHONY: demo test check fix bench soak docs web pictures lock clean install real lint lowest pythons

ARGS ?=
# Many tests wait for a limit or for a disk: with two workers a machine of two cores is idle for a third of the time.
# The tests that start a hundred agents need room beside them, so there are no more than that.
WORKERS ?= 3
BRIDLE_SIZES ?= test
export BRIDLE_SIZES
# The sandbox of the agents and checks that the tests start: bwrap or off.
SANDBOX ?= off
export BRIDLE_TEST_SANDBOX := $(SANDBOX)
# pip: no notice about newer versions, no question, bytecode compiled at once.
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1

BIN := .venv/bin
INSTALLED := .venv/.installed
PEERS := sdk clauditor
# The official SDK is a peer of the benchmarks and drives our agent in the tests.
SDK := .cache/venv-bench-sdk/.installed
PEER_ENVIRONMENTS := $(PEERS:%=.cache/venv-bench-%/.installed)

demo: $(INSTALLED)
	@$(BIN)/bridle demo $(ARGS)

test: $(INSTALLED) $(SDK) real lint
	@$(BIN)/pytest -n $(WORKERS) --dist loadgroup $(ARGS)

soak: lowest pythons
	@$(MAKE) test BRIDLE_SIZES=soak ARGS="-o faulthandler_timeout=7200 $(ARGS)"

# The tests of what depends on other packages, with the oldest versions that pyproject.toml allows.
DEPENDENT := tests/wire tests/ground tests/journal tests/stage tests/views tests/agent tests/cli tests/loop/plan tests/loop/settings
# Real programs are the same for every version; the wheel is built and installed by `make pythons`.
LOWEST := .cache/venv-lowest/bin
lowest: .cache/venv-lowest/.installed
	@$(LOWEST)/pytest -n $(WORKERS) --dist loadgroup -m "not real" $(DEPENDENT) $(ARGS)

.cache/venv-lowest/.installed: requirements/lowest.lock pyproject.toml | .venv/bin/python
	@tools/quietly "making .cache/venv-lowest" $(BIN)/python -m venv --clear .cache/venv-lowest
	@tools/quietly "installing the lowest versions" $(LOWEST)/pip install --compile --require-hashes -r requirements/lowest.lock
	@tools/quietly "installing bridle" $(LOWEST)/pip install --no-deps --no-build-isolation -e .
	@touch $@

pythons: $(INSTALLED)
	@$(BIN)/python -m tools.pythons $(ARGS)

check: $(INSTALLED) lint
	@$(BIN)/pytest tests/test_layers.py tests/test_deny_list.py tests/cli/test_docs.py tests/loop/plan/test_docs.py

lint: $(INSTALLED)
	@$(BIN)/ruff format --quiet --check --diff
	@$(BIN)/ruff check --quiet
	@$(BIN)/mypy --no-error-summary

fix: $(INSTALLED)
	@$(BIN)/ruff format
	@$(BIN)/ruff check --fix

bench: $(INSTALLED) $(PEER_ENVIRONMENTS) real
	@$(BIN)/python bench/run.py $(ARGS)

docs: $(INSTALLED)
	@$(BIN)/python -m tools.command_reference
	@$(BIN)/python -m tools.settings_reference
	@$(BIN)/python -m tools.man_page
	@$(BIN)/python -m tools.attack_table

# web/src to src/bridle/views/web/static; the result is committed, so that users need no node.
web: $(INSTALLED)
	@$(BIN)/python -m tools.web_page

pictures: $(INSTALLED)
	@$(BIN)/python -m tools.pictures

# The real programs that the tests start; see tools/real_parts.py and tools/debian_programs.py.
real: $(INSTALLED)
	@$(BIN)/python tools/real_parts.py
	@$(BIN)/python -m tools.web_page --install
	@$(BIN)/python -m tools.debian_programs

install: $(INSTALLED)

.venv/bin/python:
	@python=$$(tools/find-python) && tools/quietly "making .venv with $$python" "$$python" -m venv .venv

$(INSTALLED): requirements/dev.lock pyproject.toml | .venv/bin/python
	@tools/quietly "installing the pinned dependencies" $(BIN)/pip install --compile --require-hashes -r requirements/dev.lock
	@tools/quietly "installing bridle" $(BIN)/pip install --no-deps --no-build-isolation -e .
	@tools/quietly "compiling bridle" $(BIN)/python -m compileall -q src
	@touch $@

# Peers of the benchmarks live in environments of their own, so that the product is never measured with them.
.cache/venv-bench-%/.installed: requirements/bench-%.lock | .venv/bin/python
	@tools/quietly "making $(@D)" $(BIN)/python -m venv --clear $(@D)
	@tools/quietly "installing the peer: $*" $(@D)/bin/pip install --compile --require-hashes -r $<
	@touch $@

UV := .cache/venv-lock/bin/uv
COMPILE = $(UV) pip compile --quiet --upgrade --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links

# Versions and hashes for every platform and Python from 3.11 on; no file names where they are fetched from.
lock: $(UV)
	@$(COMPILE) pyproject.toml -o requirements/base.lock
	@$(COMPILE) pyproject.toml --group dev -c requirements/base.lock -o requirements/dev.lock
	@$(COMPILE) --resolution lowest-direct pyproject.toml --all-extras requirements/lowest.in -o requirements/lowest.lock
	@for peer in $(PEERS); do $(COMPILE) requirements/bench-$$peer.in -o requirements/bench-$$peer.lock || exit 1; done
	@$(BIN)/python tools/real_parts.py --pin
	@$(BIN)/python -m tools.web_page --pin
	@$(MAKE) install
	@$(BIN)/python -m tools.price_list
	@! grep -l -E '"resolved"|--(extra-)?index-url|--find-links' requirements/*.lock tests/real/locks/*.json bench/locks/*.json web/package-lock.json || { echo "a lock file names a host"; exit 1; }

$(UV): requirements/lock.in | .venv/bin/python
	@tools/quietly "making .cache/venv-lock" $(BIN)/python -m venv --clear .cache/venv-lock
	@tools/quietly "installing uv" .cache/venv-lock/bin/pip install -r requirements/lock.in
	@touch $@

clean:
	@rm -rf .venv .cache .mypy_cache .ruff_cache .pytest_cache .hypothesis dist
	@find src tests bench tools -name __pycache__ -type d -prune -exec rm -rf {} +
