# What one types. Each target is a few lines over CMake or a script in tools/.
#   make train [TEXT=my.txt]   set up, build the program, train the example (or the same model on your text), let it speak
#   make test                  set up, build everything, run the tests        make test-long   also what takes hours
#   make build format lint bench sanitize clean

BUILD ?= build
TEXT ?=
# More arguments for CMake, for example CMAKE_ARGS=-DTENON_WERROR=ON
CMAKE_ARGS ?=
configure = cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release $(CMAKE_ARGS)

.PHONY: train build test test-long format lint bench sanitize clean

train:
	@tools/setup.sh program
	@tools/train.sh "$(BUILD)" "$(TEXT)" $(CMAKE_ARGS)

build:
	@tools/setup.sh tests
	$(configure) -DTENON_TESTS=ON
	cmake --build $(BUILD)

test: build
	@tools/test.sh $(BUILD)

test-long: build
	@tools/test.sh $(BUILD) long

# BENCH: what to give the program, for example BENCH="gemm step --turns 9"
bench:
	@tools/setup.sh tests
	$(configure) -DTENON_TESTS=ON
	cmake --build $(BUILD) --target tenon_bench
	@$(BUILD)/benchmarks/tenon_bench $(BENCH)

format:
	@tools/setup.sh tests
	git ls-files '*.h' '*.cpp' | xargs clang-format -i

lint: build
	@tools/lint.sh $(BUILD)

sanitize:
	@tools/setup.sh tests
	@tools/sanitize.sh

clean:
	rm -rf $(BUILD) build-address build-thread
