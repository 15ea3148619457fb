# A thin front on CMake.
#   make          build/warpfold, build/libwarpfold.so, build/libwarpfold.a
#   make run      build, then a demonstration on real data
#   make check    build, then the tests that see what changed since the last one that passed, but for slow ones: a minute
#                 while working; ALL=1: whatever changed
#   make test     build, then every test; TESTS_CASES=every: each with every combination of its parameters
#   make install  build, then install below PREFIX (in the directory DESTDIR, for packages); make uninstall
#   make bench    build, then measure: prints tables, writes build/bench.json (a few minutes); README=1 also renews the
#                 tables in README.md and docs/
#   make site     build, then write the gallery, plain files for any host, to build/site
#   make clean    remove the build directory
# run, check and test install what is missing where they may, and otherwise print the one command to type.
# CMAKE_FLAGS passes options on: make CMAKE_FLAGS=-DWARPFOLD_WERROR=ON

BUILD ?= build
CMAKE_FLAGS ?=
PREFIX ?= /usr/local
DESTDIR ?=

all:
	@scripts/build $(BUILD) $(CMAKE_FLAGS)

run:
	@scripts/need build
	@scripts/build $(BUILD) $(CMAKE_FLAGS)
	@scripts/demo $(BUILD)

check:
	@scripts/need build test
	@scripts/affected $(BUILD) began $(CMAKE_FLAGS)
	@scripts/build $(BUILD) $(CMAKE_FLAGS)
	@ctest --test-dir $(BUILD) --label-exclude slow --parallel "$$(nproc)" --output-on-failure >$(BUILD)/ctest.log || \
	    { cat $(BUILD)/ctest.log; exit 1; }
	@scripts/test $(BUILD) -m "not slow" $(if $(ALL),tests,$$(scripts/affected $(BUILD)))
	@scripts/affected $(BUILD) passed

test:
	@scripts/need build test
	@scripts/build $(BUILD) $(CMAKE_FLAGS)
	@scripts/test $(BUILD)

install uninstall:
	@scripts/need build
	@scripts/build $(BUILD) $(CMAKE_FLAGS)
	@DESTDIR="$(DESTDIR)" scripts/$@ $(BUILD) "$(PREFIX)"

bench:
	@scripts/need build bench
	@scripts/build $(BUILD) $(CMAKE_FLAGS)
	@python3 bench/run.py $(BUILD) $(if $(README),--readme)

site:
	@scripts/need build
	@scripts/build $(BUILD) $(CMAKE_FLAGS)
	@WARPFOLD_CLI=$(BUILD)/warpfold scripts/site $(BUILD)/site

clean:
	rm -rf $(BUILD)

.PHONY: all run check test install uninstall bench site clean
