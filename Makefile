# make demo   sets up what it needs and shows what fenchel does
# make setup  the library and its command line, in VENV; WHEEL=file.whl takes kernels built before
# make wheel  dist/*.whl for the Python here, for any Linux of its age, checked as an index would
# make sdist  the sources as an index has them, and a wheel built from them without an index
# make packaging  Dockerfile, workflows and conda recipe, as their own linters see them
# make quick  lint and the tests that are not marked slow: about a minute, before every commit
# make portable  the kernels with clang, libc++ and without vector types, as other systems have them
# make test   sets up everything and runs the whole test suite
# make check  lint, types and the sanitizer build as well
# make docs   the documentation site, in build/site; warnings are errors
# make stub   generates the types of the kernels, after a change of their bindings
# make fuzz   the svmlight parser on random bytes, for SECONDS (needs clang)
# make fuzz-model  the same for the model files
# make fuzz-certificates  all solvers on random small problems, for SECONDS: no bound may be false
# make devices  rows of PyTorch, whose CPU is taken for a device; TORCH may name another version
# make tsan   the pool of threads under ThreadSanitizer
# make soak   fits for SECONDS: memory, open files and threads must not grow
# make reproduce  the figures of the papers, in full; FIGURE=yu10-16 for one, QUICK=1 for few rows
# make auto-table  measures the table by which `auto` chooses, on a machine that does nothing else
PYTHON ?= python3
# One worker of pytest more than there are cores: tests of clusters, services and terminals wait.
WORKERS ?= $(shell echo $$(( $$(nproc 2> /dev/null || echo 2) + 1 )))
VENV   ?= .venv
BIN    := $(VENV)/bin
SOURCES := pyproject.toml CMakeLists.txt $(shell find src -type f -not -name '*.pyc')
KERNEL_TESTS := tests/kernels/test_kernels.py tests/solvers/test_simplex_qp.py tests/losses/test_losses.py tests/whole/test_bad_input.py \
    tests/data/test_svmlight.py tests/losses/test_vector_losses.py tests/losses/test_envelope.py \
    tests/losses/test_multivariate.py tests/solvers/test_dual_ascent.py tests/solvers/test_ground_problems.py \
    tests/losses/test_chains.py tests/solvers/test_column_descent.py tests/solvers/test_polish.py \
    tests/solvers/test_newton.py tests/solvers/test_block_ascent.py tests/risks/test_best_offset.py \
    tests/solvers/test_block_newton.py tests/solvers/test_pegasos.py tests/driver/test_following.py \
    tests/fuzz/test_known.py tests/solvers/test_bcfw.py tests/solvers/test_soft_chains.py \
    tests/solvers/test_pdhg.py tests/solvers/test_kernel_solvers.py tests/features/test_kernel_matrices.py

# A compiler cache, where there is one (CMakeLists.txt), knows a file again in another clone.
export CCACHE_BASEDIR := $(CURDIR)
export CCACHE_NOHASHDIR := 1

.PHONY: setup wheel sdist packaging portable demo quick test check docs benchmark reproduce auto-table lint types stub sanitize devices tsan fuzz fuzz-model fuzz-certificates soak format clean

setup: $(VENV)/.fenchel
demo: setup
	$(BIN)/python examples/demo.py
quick: lint $(VENV)/.test
	HYPOTHESIS_PROFILE=few $(BIN)/python -m pytest -q -n auto --dist worksteal -m "not slow"
test: $(VENV)/.test
	$(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
check: lint types sanitize

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade "pip>=25.1"

# What builds the kernels stays in VENV: an environment of pip's own for each build would have to be
# filled each time, and no compiler cache would know its paths again.
ABSENT = $(shell command -v $(1) > /dev/null || echo $(1))
$(VENV)/.build: $(BIN)/python
	$(BIN)/python -m pip install --quiet --group build $(call ABSENT,cmake) $(call ABSENT,ninja)
	touch $@
BUILD := PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m pip --quiet

# The wheel of the kernels is built once, or taken from WHEEL.
ifdef WHEEL
BUILT := $(WHEEL)
else
BUILT := build/wheel/.built
build/wheel/.built: $(VENV)/.build $(SOURCES)
	rm -rf build/wheel
	$(BUILD) wheel --no-deps --no-build-isolation --wheel-dir build/wheel .
	touch $@
endif

$(VENV)/.fenchel: $(BIN)/python $(BUILT)
	file=$$(ls $(or $(WHEEL),build/wheel/*.whl)) && \
	    $(BIN)/python -m pip install --quiet --no-deps --force-reinstall "$$file" && \
	    $(BIN)/python -m pip install --quiet "$$file[cli]"
	touch $@

$(VENV)/.all: $(VENV)/.fenchel
	$(BIN)/python -m pip install --quiet "$$(ls $(or $(WHEEL),build/wheel/*.whl))[all]"
	touch $@

$(VENV)/.test: $(VENV)/.all
	$(BIN)/python -m pip install --quiet --group test
	touch $@

$(VENV)/.lint: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --group lint
	touch $@

$(VENV)/.docs: $(VENV)/.fenchel
	$(BIN)/python -m pip install --quiet --group docs
	touch $@

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet
	@echo build/site/index.html

$(VENV)/.benchmark: $(VENV)/.test
	$(BIN)/python -m pip install --quiet --group benchmark
	touch $@

benchmark: $(VENV)/.benchmark
	for script in $(filter-out benchmarks/data.py benchmarks/pages.py benchmarks/fetch.py benchmarks/benchopt_solver.py, $(wildcard benchmarks/*.py)); do \
	    $(BIN)/python $$script || exit 1; done

reproduce: $(VENV)/.test
	$(BIN)/python -m reproduction $(FIGURE) $(if $(QUICK),--quick)

auto-table: $(VENV)/.benchmark
	$(BIN)/python benchmarks/auto.py

lint: $(VENV)/.lint
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/clang-format --dry-run --Werror src/fenchel/kernels/* fuzz/*.cpp

STUBGEN := $(BIN)/python -m nanobind.stubgen -q -m fenchel._kernels

types: $(VENV)/.all $(VENV)/.lint
	$(BIN)/mypy
	mkdir -p build
	$(STUBGEN) -o build/_kernels.pyi
	diff -u src/fenchel/_kernels.pyi build/_kernels.pyi || { echo "run make stub"; exit 1; }

stub: $(VENV)/.fenchel $(VENV)/.lint
	$(STUBGEN) -o src/fenchel/_kernels.pyi

# The kernels built with ASan and UBSan, over few examples of their tests: that the results are right
# is seen elsewhere, and so is the memory that is taken, of which ASan gives none back. Leaks are
# Python's own business; libstdc++ must be there before ASan looks for the functions that throw.
# After the tests some problems of the certificate campaign: random data in all kernels. Those that
# were once wrong are among the tests.
ASAN = PYTHONPATH=build/sanitized ASAN_OPTIONS=detect_leaks=0 \
    LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)"
build/sanitized/.built: $(VENV)/.build $(SOURCES)
	rm -rf build/sanitized
	$(BUILD) install --no-deps --no-build-isolation --target build/sanitized \
	    -C cmake.define.FENCHEL_SANITIZE=ON -C build-dir=build/sanitize .
	touch $@

sanitize: $(VENV)/.test build/sanitized/.built
	$(ASAN) HYPOTHESIS_PROFILE=few FENCHEL_CASES=10 $(BIN)/python -m pytest -q -n auto --dist worksteal \
	    -p no:cacheprovider -m "not slow" -k "not certify and not costs_no_more_memory" $(KERNEL_TESTS)
	$(ASAN) $(BIN)/python fuzz/certificates.py --new --problems 40 --jobs 2 --slow 60

# PyTorch has a folder of its own: no other test should find it.
TORCH ?= torch==2.13.0
build/devices/.installed: $(BIN)/python
	$(BIN)/python -m pip install --quiet --target build/devices "$(TORCH)"
	touch $@
devices: $(VENV)/.test build/devices/.installed
	PYTHONPATH=build/devices $(BIN)/python -m pytest -q -p no:cacheprovider tests/data/test_torch_rows.py

# As other systems have the kernels: clang with libc++, then without vector types (MSVC has none) and without
# functions that know a double's text. One build each; the same tests. CLANG may name another compiler.
CLANG ?= clang++
PORTABLE = $(BUILD) install --no-deps --no-build-isolation --target build/portable-$(1)/installed \
    -C build-dir=build/portable-$(1) -C cmake.define.CMAKE_CXX_COMPILER=$(2) -C cmake.define.CMAKE_CXX_FLAGS="$(3)" . \
    && HYPOTHESIS_PROFILE=few PYTHONPATH=build/portable-$(1)/installed $(BIN)/python -m pytest -q -n auto \
    --dist worksteal -p no:cacheprovider $(KERNEL_TESTS)
portable: $(VENV)/.test $(VENV)/.build
	rm -rf build/portable-*
	$(call PORTABLE,libc++,$(CLANG),-stdlib=libc++)
	$(call PORTABLE,plain,$(CXX),-DFENCHEL_PLAIN_PACKS -DFENCHEL_NO_FLOAT_CHARS)

# The wheel for this machine's Python, with the C++ library inside so that any Linux of its C library's age runs it,
# and the sdist; checked as an index would. All other systems: .github/workflows/wheels.yml.
wheel: $(VENV)/.build $(VENV)/.release
	rm -rf dist build/raw
	$(BUILD) wheel --no-deps --no-build-isolation --wheel-dir build/raw -C build-dir=build/release \
	    -C cmake.define.CMAKE_MODULE_LINKER_FLAGS="-static-libstdc++ -static-libgcc" .
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/auditwheel repair --wheel-dir dist build/raw/*.whl
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m build --sdist --no-isolation --outdir dist
	$(BIN)/twine check --strict dist/*

# What pip does for those without a wheel, given the build requirements and nothing else.
sdist: $(VENV)/.build $(VENV)/.release
	rm -rf build/sdist
	PATH="$(abspath $(BIN)):$$PATH" $(BIN)/python -m build --sdist --no-isolation --outdir build/sdist
	$(BUILD) wheel --no-index --no-deps --no-build-isolation --wheel-dir build/sdist build/sdist/*.tar.gz

packaging: $(BIN)/python
	$(BIN)/python -m pip install --quiet --group packaging
	$(BIN)/hadolint packaging/Dockerfile
	$(BIN)/zizmor --offline --quiet --min-severity medium .github
	$(BIN)/check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.dependabot .github/dependabot.yml
	$(BIN)/check-jsonschema --builtin-schema vendor.citation-file-format CITATION.cff
	$(BIN)/python packaging/check_recipe.py

$(VENV)/.release: $(BIN)/python pyproject.toml
	$(BIN)/python -m pip install --quiet --group release
	touch $@

# The pool of threads, watched by TSan; first it must see a race that is made on purpose.
TSAN = PYTHONPATH=build/tsanned TSAN_OPTIONS=exitcode=66 \
    LD_PRELOAD="$$($(CXX) -print-file-name=libtsan.so)"
tsan: $(VENV)/.test $(VENV)/.build
	rm -rf build/tsanned
	$(BUILD) install --no-deps --no-build-isolation --target build/tsanned \
	    -C cmake.define.FENCHEL_TSAN=ON -C build-dir=build/tsan -C install.strip=false .
	$(TSAN) $(BIN)/python fuzz/pool.py --race 2> build/race.log; test $$? = 66
	$(TSAN) $(BIN)/python fuzz/pool.py

SECONDS ?= 60
fuzz: build/fuzz/svmlight
	mkdir -p build/fuzz/corpus
	$< -max_total_time=$(SECONDS) -max_len=2048 -timeout=10 -artifact_prefix=build/fuzz/ \
	    -dict=fuzz/svmlight.dict build/fuzz/corpus fuzz/corpus/svmlight

build/fuzz/svmlight: fuzz/svmlight.cpp src/fenchel/kernels/svmlight.hpp \
    src/fenchel/kernels/svmlight_lines.hpp src/fenchel/kernels/decimal.hpp
	mkdir -p build/fuzz
	clang++ -std=c++20 -O1 -g -fno-omit-frame-pointer -pthread \
	    -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=all $< -o $@

fuzz-model: $(VENV)/.fuzz
	$(BIN)/python fuzz/model.py build/fuzz/model -max_total_time=$(SECONDS) -max_len=16384 \
	    -timeout=20 -malloc_limit_mb=1024 -artifact_prefix=build/fuzz/

FIRST ?= 0
fuzz-certificates: $(VENV)/.test
	$(BIN)/python fuzz/certificates.py --seconds $(SECONDS) --first $(FIRST) --jobs 2 \
	    --report build/fuzz/certificates.md

soak: $(VENV)/.test
	$(BIN)/python fuzz/soak.py --seconds $(SECONDS)

$(VENV)/.fuzz: $(VENV)/.fenchel
	$(BIN)/python -m pip install --quiet --group fuzz
	touch $@

format: $(VENV)/.lint
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i src/fenchel/kernels/* fuzz/*.cpp

clean:
	rm -rf $(VENV) build .pytest_cache .mypy_cache .ruff_cache .hypothesis
