# Two commands for a fresh Debian machine: `make demo` and `make test`. Both say what they install.

SECONDS ?= 10
# For what is compiled while something is measured: it has what nobody else wants of the machine.
BESIDE = env -u MAKEFLAGS chrt --idle 0
# The unit tests of some floors.
TESTS_OF = env -u MAKEFLAGS CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER="$(CURDIR)/tools/floors $(1)" \
	tools/linted test --workspace --locked --lib --bins --tests

.PHONY: demo build web screenshots test checked unit blackbox soak fuzz audit bench lab deb clean

demo: build
	./target/release/eagre demo

build: web
	@tools/setup build
	env -u MAKEFLAGS cargo build --release --locked

# The dashboard: nothing to do if web/dist is newer than its sources.
web: web/dist/index.html

web/dist/index.html: $(wildcard web/src/* web/src/*/* web/*.json web/*.mjs) web/node_modules/.package-lock.json
	cd web && npm run --silent build

web/node_modules/.package-lock.json: web/package.json web/package-lock.json web/.npmrc
	@tools/setup web
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Pictures of the dashboard for the documentation, of real runs.
screenshots: build
	@tools/setup test
	tools/screenshots

# What takes long compiles beside the program and its black-box tests.
test:
	@tools/setup test
	@$(MAKE) --no-print-directory -j2 blackbox checked
	$(call TESTS_OF,edge:shell)
	tools/fuzz $(SECONDS)

# Formatting, lints, the dashboard's types and tests, examples in comments, a build of all that tests run, and the tests
# of crates that have no clock and so may wait.
checked: web
	cd web && $(BESIDE) npm run --silent check && $(BESIDE) npm run --silent test
	cargo fmt --all --check
	$(BESIDE) tools/linted test --workspace --all-targets --locked --no-run
	$(BESIDE) tools/linted test --workspace --locked --doc
	$(BESIDE) $(call TESTS_OF,core:dev)
	$(BESIDE) tools/fuzz 0

# Only the parts that need neither root nor other programs.
unit:
	cargo test --workspace --locked

blackbox: build
	@tools/setup test
	tools/blackbox tests

# The tests of sessions with more of everything: millions of sessions, minutes of traffic.
soak: build
	@tools/setup test
	EAGRE_LONG=1 tools/blackbox tests/test_tcp_kernel.py tests/test_servers.py tests/test_clients.py tests/test_session_limits.py tests/test_bench_sessions.py tests/test_bench_switch.py tests/test_path.py tests/test_otg.py

fuzz:
	tools/fuzz $(SECONDS)

# Every topology of 'eagre lab', also those whose packages CI does not install, each with its whole test in small.
lab: build
	@tools/setup lab
	EAGRE_LAB=all EAGRE_LONG=1 tools/blackbox tests/test_lab.py

# The Debian package, into target/debian.
deb: build
	tools/package

# Licenses, sources and security advisories of all libraries, by cargo-deny. Needs the network.
audit:
	@command -v cargo-deny >/dev/null || cargo install --locked cargo-deny@0.20.2
	cargo deny check
	cargo deny --manifest-path fuzz/Cargo.toml check --config deny.toml

bench: build
	@tools/setup bench
	/usr/bin/python3 bench/run.py

clean:
	cargo clean
