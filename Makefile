# Two commands for a fresh Debian machine: `make demo` and `make test`. Both say what they install.

SECONDS ?= 10
# For what is compiled while something is measured: it has what nobody else wants of the machine.
BESIDE = env -u MAKEFLAGS chrt --idle 0

.PHONY: demo build web screenshots test checked unit blackbox soak fuzz bench lab deb clean

demo: build
	./target/release/eagre demo

build: web
	@tools/setup build
	cargo build --release --locked

# The dashboard: nothing to do if web/dist is newer than its sources.
web: web/dist/index.html

web/dist/index.html: $(wildcard web/src/* web/src/*/* web/*.json web/*.mjs) web/node_modules/.package-lock.json
	cd web && npm run --silent check && npm run --silent build

web/node_modules/.package-lock.json: web/package.json web/package-lock.json web/.npmrc
	@tools/setup web
	cd web && npm ci --no-audit --no-fund --loglevel=error
	@touch $@

# Pictures of the dashboard for the documentation, of real runs.
screenshots: build
	@tools/setup test
	tools/screenshots

# What takes long is compiled beside the program and its black-box tests.
test:
	@tools/setup test
	@$(MAKE) --no-print-directory -j2 blackbox checked
	cargo test --workspace --locked --lib --bins --tests
	tools/fuzz $(SECONDS)

# All that is looked at without being run, examples in comments, and everything that tests run, compiled.
checked: web
	cd web && $(BESIDE) npm run --silent check && $(BESIDE) npm run --silent test
	cargo fmt --all --check
	$(BESIDE) cargo clippy --workspace --all-targets --locked -- -D warnings
	$(BESIDE) cargo test --workspace --locked --no-run
	$(BESIDE) cargo test --workspace --locked --doc
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

bench: build
	@tools/setup bench
	/usr/bin/python3 bench/run.py

clean:
	cargo clean
