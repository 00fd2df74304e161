# The few things people ask for. CMake (CMakePresets.json) does the building; tools/ holds one script per job.
#   make            build zeroskid            make demo     record a program here and now, show its hot lines
#   make test       build, test, check        make install  PREFIX=/usr/local, DESTDIR=
#   make bench      speed against native      make fuzz     FUZZ_RUNS=10000 inputs to each fuzz target
#   make format     lay out every file        make docs     the pages that show real runs, anew
#   make clean
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_RUNS ?= 10000
PAGES := docs/tutorial-counters.md
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
BUILD := build/release

.PHONY: all demo test install bench fuzz docs format check clean packages

all: $(BUILD)/build.ninja
	@cmake --build $(BUILD) --parallel $(JOBS)

packages:
	@tools/setup

# Configured once: ninja itself configures again when a build file or a layer's list of files changes.
$(BUILD)/build.ninja: | packages
	@cmake --preset release

demo: packages
	@$(MAKE) --no-print-directory all
	@tools/demo $(BUILD)

test: packages
	@$(MAKE) --no-print-directory all
	@tools/test $(BUILD)

check: all
	@tools/check $(BUILD)

install: all
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

bench: packages
	@tools/setup bench
	@$(MAKE) --no-print-directory all
	@tools/bench $(BUILD)

fuzz: packages
	@tools/setup fuzz
	@tools/fuzz $(FUZZ_RUNS) $(JOBS)

docs: packages
	@tools/setup bench
	@$(MAKE) --no-print-directory all
	@tools/pages --write --build $(BUILD) $(PAGES)
	@bench/strings/compare --zeroskid $(BUILD)/zeroskid --strings $(BUILD)/tests/strings --write docs/string-programs.md

format:
	@tools/format

clean:
	@rm -rf build
