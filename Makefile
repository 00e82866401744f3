# Start with `make demo` and `make test` on a fresh Debian machine. Both name the packages they install.

SECONDS ?= 10
# Processors that `make dist` packs for: this machine's, and the one that programs can be compiled for elsewhere.
ARCHES ?= $(sort $(shell uname -m) aarch64)
# Runs a command beside the black-box tests, on otherwise idle cores only.
BESIDE = $(CURDIR)/tools/beside
# Runs the unit tests of the crates on some floors: core, edge, shell, dev.
TESTS_OF = env -u MAKEFLAGS CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="$(CURDIR)/tools/floors $(1)" \
	tools/linted test --workspace --locked --lib --bins --tests

.PHONY: demo build web generate screenshots test checked unit tested blackbox soak fuzz miri audit bench bench-versus lab deb docs dist dist-test clean

demo: build
	./target/release/eagre demo

build: web
	@tools/setup build
	@[ -x target/release/eagre ] || echo "Compiling eagre and its libraries takes about $$((12 / $$(nproc) + 1)) to" \
		"$$((24 / $$(nproc) + 1)) minutes on these $$(nproc) cores, the first time."
	env -u MAKEFLAGS cargo build --release --locked --package cli

# Builds the dashboard if its sources are newer than web/dist.
web: web/dist/index.html

web/dist/index.html: docs/openapi.json $(wildcard web/src/* web/src/*/* web/*.json web/*.mjs) web/node_modules/.package-lock.json
	cd web && npm run --silent build

web/node_modules/.package-lock.json: web/package.json web/package-lock.json web/.npmrc
	@tools/setup web
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Writes schemas, generated pages and the clients' documents anew.
generate: web
	tools/generate

# Takes the documentation's screenshots of the dashboard during real runs.
screenshots: build
	@tools/setup test
	tools/screenshots

# Compiles unit tests beside the build of the program and its black-box tests.
test:
	@tools/setup test
	@$(MAKE) --no-print-directory -j2 blackbox checked
	$(call TESTS_OF,edge:shell)
	tools/fuzz $(SECONDS)

# Checks formatting, lints, the dashboard and examples in comments; builds all tests; runs those of crates without a clock,
# which can wait for idle cores. What comes first needs neither the program nor cargo's folder, which its build has until then:
# fuzz targets and the playground have folders of their own, and black-box tests are compiled for all processes that will collect
# them.
checked: web
	$(BESIDE) npm --prefix web run --silent check
	$(BESIDE) npm --prefix web run --silent test
	cargo fmt --all --check
	-@$(BESIDE) env -u PYTHONDONTWRITEBYTECODE /usr/bin/python3 -m pytest -qq -p no:cacheprovider --collect-only tests >/dev/null 2>&1
	@$(BESIDE) tools/playground >/dev/null || [ $$? = 3 ]
	$(BESIDE) tools/fuzz 0
	$(BESIDE) tools/linted test --workspace --all-targets --locked --no-run
	$(BESIDE) tools/linted build --workspace --examples --locked
	$(BESIDE) tools/linted test --workspace --locked --doc
	$(BESIDE) $(call TESTS_OF,core:dev)

# Runs the tests that need neither root nor other programs.
unit:
	cargo test --workspace --locked

# Builds what the black-box tests run, too.
tested: build
	@tools/setup test
	env -u MAKEFLAGS cargo build --release --locked --package cli --package drive
	@tools/playground || [ $$? = 3 ]

blackbox: tested
	tools/blackbox tests

# Runs the files that have long tests: millions of sessions, minutes of traffic. Those of the lab are of `make lab`.
soak: tested
	EAGRE_LONG=1 tools/blackbox $(filter-out %/test_lab.py,$(shell grep -lw -e mark.long -e LONG tests/test_*.py))

fuzz:
	tools/fuzz $(SECONDS)

# Runs the tests of edge/port under Miri, which finds undefined behaviour. Needs a nightly toolchain with the component miri.
# A burst that outlives its queue leaks its memory on purpose.
miri:
	MIRIFLAGS="-Zmiri-disable-isolation -Zmiri-ignore-leaks" RUSTC_WORKSPACE_WRAPPER= cargo +nightly miri test --package port --lib --target-dir target/miri

# Runs every topology of 'eagre lab' with a short form of its test; installs the packages that `make test` does not need.
lab: build
	@tools/setup lab
	EAGRE_LAB=all EAGRE_LONG=1 tools/blackbox tests/test_lab.py

# Makes the Debian package in target/debian.
deb: build
	tools/package

# Makes the documentation a site in target/site, with search, and checks its links.
docs:
	tools/site

# Makes release archives, wheels and Debian packages in target/dist for the processors in ARCHES. To compile the program for another
# processor takes as long as `make build`.
dist: build docs
	$(foreach arch,$(filter-out $(shell uname -m),$(ARCHES)),tools/cross $(arch) &&) tools/dist $(ARCHES:%=--arch %)

# Installs those of this machine's processor on bare Debians in folders, without compiler and DPDK, and uses them there; others' programs
# run by emulation. Needs root and debootstrap.
dist-test:
	tools/dist-test

# Checks licenses, sources and security advisories of all libraries with cargo-deny. Needs the network.
audit:
	@command -v cargo-deny >/dev/null || cargo install --locked cargo-deny@0.20.2
	cargo deny check
	cargo deny --manifest-path fuzz/Cargo.toml check --config deny.toml

bench: build
	@tools/setup bench
	/usr/bin/python3 bench/run.py

# Compares this build with that of the commit BASE, in turn; ROWS are those of bench/versus.py, all by default.
bench-versus: build
	@tools/setup bench
	/usr/bin/python3 bench/versus.py $(BASE) $(ROWS)

clean:
	cargo clean
