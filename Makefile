# The few things people ask for. CMake (CMakePresets.json) does the building; tools/ holds one script per job.
#   make            build zeroskid            make demo     record a program here and now, show its hot lines
#   make test       build, test, check        make install  PREFIX=/usr/local, DESTDIR=
#   make quick LAYER=engine                   that layer's tests and ten programs: the inner loop
#   make bench      speed against native      make fuzz     FUZZ_RUNS=10000 inputs to each fuzz target
#   make deb        a Debian package          make tarball  an archive that runs elsewhere
#   make format     lay out every file        make docs     the pages that show real runs, anew
#   make clean
# make, make demo, install, deb and tarball need and install the build dependencies of the two programs alone; the others everything.
PREFIX ?= /usr/local
DESTDIR ?=
FUZZ_RUNS ?= 10000
PAGES := README.md docs/guide.md docs/tutorial-counters.md
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
BUILD := build/release

.PHONY: all everything demo test quick install deb tarball bench fuzz docs format check clean packages

all: $(BUILD)/build.ninja
	@cmake --build $(BUILD) --parallel $(JOBS) --target zeroskid zeroskid-run

# Configured once: ninja itself configures again when a build file or a layer's list of files changes.
$(BUILD)/build.ninja:
	@tools/setup build
	@cmake --preset release

packages:
	@tools/setup

# With the tests; the configuration says what is missing for them.
everything: packages
	@cmake --preset release -DZEROSKID_TESTS=ON >/dev/null
	@cmake --build $(BUILD) --parallel $(JOBS)

demo: all
	@tools/demo $(BUILD)

test: everything
	@tools/kernel $(BUILD)/kernels
	@tools/test $(BUILD)

quick: packages
	@cmake --preset release -DZEROSKID_TESTS=ON >/dev/null
	@tools/quick $(BUILD) "$(LAYER)"

check: everything
	@tools/check $(BUILD)

install: all
	@DESTDIR="$(DESTDIR)" cmake --install $(BUILD) --prefix "$(PREFIX)"

deb tarball: all
	@tools/setup package
	@tools/package $@ $(BUILD)

bench: everything
	@tools/setup bench
	@tools/bench $(BUILD)

fuzz: packages
	@tools/setup fuzz
	@tools/fuzz $(FUZZ_RUNS) $(JOBS)

docs: everything
	@tools/setup bench
	@tools/pages --write --build $(BUILD) $(PAGES)
	@bench/strings/compare --zeroskid $(BUILD)/zeroskid --strings $(BUILD)/tests/strings --write docs/generated/string-programs.md

format:
	@tools/format

clean:
	@rm -rf build
