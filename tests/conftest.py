"""Fixtures and markers. A test that cannot run on this machine is skipped with the reason; in CI (CI=true) it fails."""

import shutil
import tempfile
from pathlib import Path

import contention
import lab as labs
import pytest


MARKERS = (
    "long: takes minutes; runs if EAGRE_LONG=1 (make soak)",
    "quiet: measures at a low load, which many tests at a time would disturb; runs beside one such test for each core",
    "alone: measures what the machine can do, or needs both of its cores; runs with no other test beside it",
    "unsteady(reason): can fail on a busy machine, for the reason given; a second run that passes is enough (tools/blackbox)",
)

# Files that take longest. They begin first, so that none of them is still running when all others are done.
LONGEST = [
    f"test_{name}.py"
    for name in (
        "trex lab tcp_kernel session_tunnels failover docs trex_sim ospf ospf3 python isis wire trex_client bgp otg_protocols otg_clients router sessions "
        "xdp_examples servers script groups serve_security pppoe convergence bench routing bench_faults http_clients otg trex_router trex_pythons"
    ).split()
]

# Marks of which tools/blackbox runs all tests in one go, without the others.
BY_THEMSELVES = ("quiet", "alone")

# In pytest's cache: how often each test that failed must pass then.
TIMES = "eagre/times"

# Times in a row that a test must pass after it failed: one marked unsteady, one not marked, one that nothing disturbed.
UNSTEADY, UNMARKED, UNEXPLAINED = 1, 3, 5
# As many may have failed though nothing disturbed them.
MOST_UNEXPLAINED = 3


def pytest_addoption(parser):
    parser.addoption("--again", type=int, default=0, metavar="N", help="the Nth run of tests that failed, of those that must pass so often")
    parser.addoption("--slowest", type=int, default=0, help="print the N slowest tests of this run and those before it")


def pytest_configure(config):
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    config.pluginmanager.register(Contention(), "contention during tests")
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Record(config), "record of all runs")


def pytest_sessionstart(session):
    labs.remove_leftovers()


def pytest_ignore_collect(collection_path, config):
    """Leaves out files that do not name the one mark whose tests are wanted: to import all takes seconds."""
    mark = config.option.markexpr
    if mark in BY_THEMSELVES and collection_path.suffix == ".py" and f"mark.{mark}" not in collection_path.read_text():
        return True
    return None


def pytest_collection_modifyitems(config, items):
    """Deselects long tests, which belong to `make soak`, and puts the longest files first."""
    long = [] if labs.LONG else [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    if (again := config.getoption("again")) > 1:
        wanted = [name for name, times in config.cache.get(TIMES, {}).items() if times >= again]
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid not in wanted])
        items[:] = [item for item in items if item.nodeid in wanted]
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
    for item in items:
        for marker in item.iter_markers("unsteady"):
            assert [*map(type, marker.args)] == [str], f"{item.nodeid}: unsteady needs a reason"


def pytest_collection_finish(session):
    """With --again 1: prints why each test runs again, and leaves how often; fails if too many failed though nothing disturbed them."""
    if session.config.getoption("again") != 1:
        return
    record = session.config.pluginmanager.get_plugin("record of all runs")
    times, reasons = {}, {}
    for item in session.items:
        marker = item.get_closest_marker("unsteady")
        evidence = record.evidence(item.nodeid, marker is not None)
        times[item.nodeid] = UNEXPLAINED if not evidence else UNSTEADY if marker else UNMARKED
        why = marker.args[0] if marker else "not marked unsteady"
        reasons[item.nodeid] = f"{why}; {evidence or f'UNEXPLAINED, nothing disturbed it: {record.measured(item.nodeid)}'}"
    unexplained = [f"{name}: {reasons[name]}" for name in times if times[name] == UNEXPLAINED]
    if len(unexplained) > MOST_UNEXPLAINED:
        pytest.exit(f"more than {MOST_UNEXPLAINED} failed though nothing disturbed them; none runs again:\n  " + "\n  ".join(unexplained), 1)
    record.again = reasons
    record.cache.set(TIMES, times)


class Contention:
    """Measures what each test shares the machine with; its last report has it."""

    def __init__(self):
        self.pressure, self.meter = contention.Pressure(), None

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self, item):
        labs.disturbances.clear()
        self.meter = contention.Meter(self.pressure)
        yield

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self, item):
        yield
        item.user_properties.append(("contention", {**self.meter.read(), "told": labs.disturbances[:1]}))


class Record:
    """Tests of this run and of earlier runs with the same cache: their durations, and what they shared the machine with."""

    KEY = "eagre/tests"

    def __init__(self, config):
        self.cache = getattr(config, "cache", None)
        self.tests = (self.cache.get(self.KEY, {}) if self.cache else {}) or {}
        # Of those that run a second time, why; and the outcome.
        self.again, self.outcomes = {}, {}

    def pytest_runtest_logreport(self, report):
        test = self.tests.setdefault(report.nodeid, {"seconds": 0.0})
        test["seconds"] += report.duration
        test.update({"contention": value for name, value in report.user_properties if name == "contention"})
        if report.nodeid in self.again and (report.failed or report.when == "call"):
            self.outcomes[report.nodeid] = report.outcome

    def measured(self, name):
        measured = self.tests.get(name, {}).get("contention")
        return contention.says(measured) if measured else "nothing was measured"

    def evidence(self, name, unsteady):
        """What disturbed a test; `None` if nothing did."""
        measured = self.tests.get(name, {}).get("contention")
        if not measured:
            return None
        if measured["told"]:
            return f"a verdict during the test: {measured['told'][0]}"
        return contention.says(measured) if contention.is_disturbed(measured, unsteady) else None

    def pytest_terminal_summary(self, terminalreporter, config):
        if self.cache:
            self.cache.set(self.KEY, self.tests)
        if self.again:
            terminalreporter.section("run again")
            for name, why in self.again.items():
                terminalreporter.line(f"{name}: failed, then {self.outcomes.get(name, 'not run')}: {why}")
        if count := config.getoption("slowest"):
            terminalreporter.section(f"slowest {count}: seconds, and processor seconds of its own")
            for name, test in sorted(self.tests.items(), key=lambda item: -item[1]["seconds"])[:count]:
                own = test.get("contention", {}).get("own_s", 0.0)
                terminalreporter.line(f"{test['seconds']:7.1f} s {own:7.1f} s  {name}")


@pytest.fixture(scope="session")
def program():
    """The program under test."""
    if not labs.EAGRE.is_file():
        pytest.fail(f"there is no {labs.EAGRE}; run 'make build', or set EAGRE", pytrace=False)
    return labs.EAGRE


@pytest.fixture
def lab(program):
    """Makes namespaces, processes and folders; removes them after the test."""
    lab = labs.Lab()
    yield lab
    lab.close()


@pytest.fixture(scope="module")
def shared(program):
    """A lab that all tests of a file share."""
    lab = labs.Lab()
    yield lab
    lab.close()


@pytest.fixture
def eagre(lab):
    """Runs the program."""
    return lab.eagre


@pytest.fixture
def netns(lab):
    """Makes network namespaces."""
    return lab.netns


@pytest.fixture(scope="session")
def public_program(program):
    """A copy of the program that every user can run."""
    folder = Path(tempfile.mkdtemp(prefix=labs.PREFIX))
    folder.chmod(0o755)
    copy = folder / "eagre"
    shutil.copy2(program, copy)
    copy.chmod(0o755)
    yield copy
    shutil.rmtree(folder, ignore_errors=True)
