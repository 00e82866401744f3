"""Fixtures. A test that can't run here is skipped with the reason; in CI (CI=true) it fails."""

import shutil
import tempfile
from pathlib import Path

import lab as labs
import pytest


def pytest_configure(config):
    config.addinivalue_line("markers", "long: takes minutes, run where there is time (EAGRE_LONG=1)")


def pytest_sessionstart(session):
    labs.remove_leftovers()


def pytest_collection_modifyitems(config, items):
    """Takes out tests there is no time for: they are not skipped, they belong to `make soak`."""
    long = [] if labs.LONG else [item for item in items if item.get_closest_marker("long")]
    if long:
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]


@pytest.fixture(scope="session")
def program():
    """The program under test."""
    if not labs.EAGRE.is_file():
        pytest.fail(f"there is no {labs.EAGRE}; run 'make build', or set EAGRE", pytrace=False)
    return labs.EAGRE


@pytest.fixture
def lab(program):
    """Makes namespaces, processes and folders; all are gone after the test."""
    lab = labs.Lab()
    yield lab
    lab.close()


@pytest.fixture(scope="module")
def shared(program):
    """A lab for all tests of a file."""
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
    """A copy of the program that everybody may run."""
    folder = Path(tempfile.mkdtemp(prefix=labs.PREFIX))
    folder.chmod(0o755)
    copy = folder / "eagre"
    shutil.copy2(program, copy)
    copy.chmod(0o755)
    yield copy
    shutil.rmtree(folder, ignore_errors=True)
