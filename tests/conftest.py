"""Fixtures and markers. A test that cannot run on this machine is skipped with the reason; in CI (CI=true) it fails."""

import shutil
import tempfile
from collections import Counter
from pathlib import Path

import lab as labs
import pytest


MARKERS = (
    "long: takes minutes; runs if EAGRE_LONG=1 (make soak)",
    "alone: measures what the machine can do, or needs both of its cores; runs with no other test beside it",
    "unsteady(reason): can fail on a busy machine, for the reason given; tools/blackbox runs it once more",
)

# Files that take longest. They begin first, so that none of them is still running when all others are done.
LONGEST = [
    f"test_{name}.py"
    for name in "lab docs tcp_kernel python serve_security bench otg packaging path bench_faults servers clients".split()
]


def pytest_addoption(parser):
    parser.addoption("--again", action="store_true", help="a second run of tests that failed: all must be marked unsteady")
    parser.addoption("--slowest", type=int, default=0, help="print the N slowest tests of this run and those before it")


def pytest_configure(config):
    for marker in MARKERS:
        config.addinivalue_line("markers", marker)
    if not hasattr(config, "workerinput"):
        config.pluginmanager.register(Durations(config), "durations of all runs")


def pytest_sessionstart(session):
    labs.remove_leftovers()


def pytest_collection_modifyitems(config, items):
    """Deselects long tests, which belong to `make soak`, and puts the longest files first."""
    long = [] if labs.LONG else [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    items.sort(key=lambda item: LONGEST.index(item.path.name) if item.path.name in LONGEST else len(LONGEST))
    for item in items:
        for marker in item.iter_markers("unsteady"):
            assert [*map(type, marker.args)] == [str], f"{item.nodeid}: unsteady needs a reason"


def pytest_collection_finish(session):
    """With --again: prints the reason for each second run; fails if a test has none."""
    if not session.config.getoption("again"):
        return
    reasons = {item.nodeid: item.get_closest_marker("unsteady") for item in session.items}
    steady = [name for name, marker in reasons.items() if not marker]
    if steady:
        pytest.exit(f"failed, and not marked unsteady: {', '.join(steady)}", 1)
    for name, marker in reasons.items():
        print(f"once more: {name}: {marker.args[0]}")


class Durations:
    """Durations of tests in this run and in earlier runs with the same cache."""

    KEY = "eagre/durations"

    def __init__(self, config):
        self.cache = getattr(config, "cache", None)
        self.seconds = Counter(self.cache.get(self.KEY, {}) if self.cache else {})

    def pytest_runtest_logreport(self, report):
        self.seconds[report.nodeid] += report.duration

    def pytest_terminal_summary(self, terminalreporter, config):
        if self.cache:
            self.cache.set(self.KEY, self.seconds)
        if count := config.getoption("slowest"):
            terminalreporter.section(f"slowest {count}")
            for name, seconds in self.seconds.most_common(count):
                terminalreporter.line(f"{seconds:7.1f} s  {name}")


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
