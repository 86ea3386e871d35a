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
	@tools/train.sh "$(BUILD)" "$(TEXT)"

build:
	@tools/setup.sh tests
	$(configure) -DTENON_TESTS=ON
	cmake --build $(BUILD)

test: build
	@tools/test.sh $(BUILD)

test-long: build
	@tools/test.sh $(BUILD) long

bench: build
	@for program in $(BUILD)/benchmarks/*_bench; do echo "== $$program"; $$program || exit 1; done

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
