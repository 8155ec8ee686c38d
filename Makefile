# Thin names for documented commands; README.md says what each is for.
PYTHON ?= python3
BIN := .venv/bin
RUN := PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/python

.PHONY: demo test check lab notebooks book audit bench attacks
# Three processes of tests for two cores, since tests of grading wait half of the time; what shares a group stays in one of them.
PYTEST := $(RUN) -m pytest -n 3 --dist loadgroup --no-loadscope-reorder

demo: .venv/installed
	$(RUN) -m autograder demo

test: .venv/installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) $(TESTS)

check: .venv/installed-for-tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(PYTEST) --touched

lab: .venv/installed
	PATH="$(CURDIR)/$(BIN):$$PATH" $(BIN)/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root)

notebooks: .venv/installed
	$(RUN) -m autograder build

book: .venv/installed-for-book
	$(RUN) -m autograder.authoring.book

audit: .venv/installed
	$(RUN) -m autograder audit

bench: .venv/installed
	$(RUN) -m autograder bench

attacks: .venv/installed
	$(RUN) -m autograder attacks --write docs/attacks.md

.venv/python:
	@$(PYTHON) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' || \
		{ echo "The course needs Python 3.11 to 3.13; say which: make PYTHON=python3.12 ..." >&2; exit 1; }
	$(PYTHON) -m venv .venv
	@touch $@

.venv/installed: requirements.txt | .venv/python $(BIN)/attention-course
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
	@touch $@

# The course is run from its folder and not installed, so that nothing but this command finds it from elsewhere.
$(BIN)/attention-course: | .venv/python
	@printf '#!/bin/sh\nPYTHONPATH="%s" exec "%s/python" -m autograder "$$@"\n' "$(CURDIR)" "$(CURDIR)/$(BIN)" > $@
	@chmod +x $@

.venv/installed-for-tests: requirements-test.txt requirements-book.txt .venv/installed
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-test.txt -r requirements-book.txt
	@touch $@

# PyTorch and all that runs a lesson is not needed: the book shows what the notebooks hold.
.venv/installed-for-book: requirements-book.txt | .venv/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-book.txt
	@touch $@
