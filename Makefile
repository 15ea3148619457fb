# A thin front on CMake.
#   make          build/warpfold, build/libwarpfold.so, build/libwarpfold.a
#   make run      build, then a demonstration on real data
#   make test     build, then every test
#   make clean    remove the build directory
# run and test install what is missing where they may, and otherwise print the one command to type.
# CMAKE_FLAGS passes options on: make CMAKE_FLAGS=-DWARPFOLD_WERROR=ON

BUILD ?= build
CMAKE_FLAGS ?=

all:
	@scripts/build $(BUILD) $(CMAKE_FLAGS)

run:
	@scripts/need build
	@scripts/build $(BUILD) $(CMAKE_FLAGS)
	@scripts/demo $(BUILD)

test:
	@scripts/need build test
	@scripts/build $(BUILD) $(CMAKE_FLAGS)
	@scripts/test $(BUILD)

clean:
	rm -rf $(BUILD)

.PHONY: all run test clean
