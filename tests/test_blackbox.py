"""How often tests that failed must pass then: by their mark, and by what disturbed them."""

import os
import subprocess
from pathlib import Path

import contention
import pytest

REPO = Path(__file__).parent.parent
# Thresholds no machine reaches, so that only what a test says itself is evidence.
TEXT = """
import contention, lab, pytest
from pathlib import Path
contention.OTHERS = contention.STOLEN = contention.WAITED = {threshold}
ran = Path(__file__).with_name("ran_{name}")

{marker}
def test_that_fails():
    lab.Run(["eagre"], 1, {told!r}, "", 0.0)
    times = len(ran.read_text()) if ran.exists() else 0
    ran.write_text("." * (times + 1))
    assert times not in {fails}
"""
UNSTEADY = '@pytest.mark.unsteady("a busy machine keeps it waiting")'
TOLD = '{"reasons": ["worker 0 waited 7.99 of 12.06 s for its core"]}'


def failing(folder, name="once", marker=UNSTEADY, told="", threshold=9, fails=(0,)):
    """Writes a file with a test that fails some of the times it runs."""
    (folder / f"test_{name}.py").write_text(TEXT.format(marker=marker, told=told, threshold=threshold, fails=fails, name=name))


def blackbox(folder, **keys):
    """What tools/blackbox says of such a test, and its exit code."""
    failing(folder, **keys)
    return ran(folder)


def times(folder, name="once"):
    """How many times such a test ran."""
    return len((folder / f"ran_{name}").read_text())


def ran(folder):
    """What tools/blackbox says of the tests in a folder, and its exit code."""
    environment = {**os.environ, "PYTHONPATH": str(REPO / "tests"), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    # One process: with more, it is they that take the time.
    command = [REPO / "tools/blackbox", "-p", "xdist", "-p", "conftest", "--numprocesses=0", f"--rootdir={folder}", folder]
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_each_runs_in_its_turn(tmp_path):
    """Those without a mark, then quiet ones, then those that run alone; each once, also where several files have them."""
    for number, marks in enumerate([["alone"], ["quiet", None], [None], ["quiet", "alone"]]):
        tests = [
            f"{f'@pytest.mark.{mark}' if mark else ''}\ndef test_{place}():\n"
            f"    with Path(__file__).with_name('ran').open('a') as ran:\n        ran.write('{mark} ')\n"
            for place, mark in enumerate(marks)
        ]
        (tmp_path / f"test_{number}.py").write_text("import pytest\nfrom pathlib import Path\n" + "\n".join(tests))
    status, said = ran(tmp_path)
    assert status == 0, said
    assert (tmp_path / "ran").read_text().split() == ["None", "None", "quiet", "quiet", "alone", "alone"], said


def test_one_that_a_verdict_calls_disturbed_runs_again(tmp_path):
    """One that says why it may fail must pass once, any other three times."""
    failing(tmp_path, "marked", told=TOLD)
    failing(tmp_path, "unmarked", marker="", told=TOLD)
    status, said = ran(tmp_path)
    assert status == 0 and "slowest 40" in said, said
    for name, runs, reason in (("marked", 2, "a busy machine keeps it waiting"), ("unmarked", 4, "not marked unsteady")):
        evidence = f"test_{name}.py::test_that_fails: failed, then passed: {reason}; a verdict during the test: worker 0 waited 7.99"
        assert evidence in said and times(tmp_path, name) == runs, said


def test_one_that_ran_beside_others_runs_twice(tmp_path):
    status, said = blackbox(tmp_path, threshold=0)
    assert status == 0 and "failed, then passed: a busy machine keeps it waiting; other processes used" in said, said


@pytest.mark.parametrize("marker, again", [(UNSTEADY, True), ("", False)], ids=["marked", "unmarked"])
def test_half_as_much_is_evidence_for_one_that_says_why(marker, again):
    measured = {"others": 0.3, "stolen": 0.0, "waited": 0.3}
    assert contention.is_disturbed(measured, bool(marker)) is again


@pytest.mark.parametrize("run", [1, 2, 3], ids=["second", "third", "fourth"])
def test_one_that_fails_again_has_failed(tmp_path, run):
    failing(tmp_path, "unmarked", marker="", told=TOLD, fails=(0, run))
    if run == 1:
        failing(tmp_path, "marked", told=TOLD, fails=(0, run))
    status, said = ran(tmp_path)
    assert status == 1 and times(tmp_path, "unmarked") == run + 1, said
    assert run > 1 or times(tmp_path, "marked") == 2 and "2 failed" in said, said


def test_one_that_nothing_disturbed_must_pass_five_times(tmp_path):
    for name, marker in (("marked", UNSTEADY), ("unmarked", "")):
        failing(tmp_path, name, marker=marker)
    status, said = ran(tmp_path)
    assert status == 0, said
    for name, reason in (("marked", "a busy machine keeps it waiting"), ("unmarked", "not marked unsteady")):
        why = f"test_{name}.py::test_that_fails: failed, then passed: {reason}; UNEXPLAINED, nothing disturbed it: other processes used"
        assert why in said and times(tmp_path, name) == 6, said


@pytest.mark.parametrize("run", [1, 5], ids=["second", "last"])
def test_one_that_nothing_disturbed_and_fails_again_has_failed(tmp_path, run):
    failing(tmp_path, fails=(0, run))
    status, said = ran(tmp_path)
    assert status == 1 and times(tmp_path) == run + 1, said


def test_many_that_nothing_disturbed_have_failed(tmp_path):
    names = ["one", "two", "three", "four"]
    for name in names:
        failing(tmp_path, name)
    status, said = ran(tmp_path)
    assert status == 1 and "more than 3 failed though nothing disturbed them; none runs again" in said, said
    assert [times(tmp_path, name) for name in names] == [1, 1, 1, 1], said
