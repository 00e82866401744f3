"""Which tests run again: those that something disturbed, and no others; one not marked unsteady must then pass three times."""

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
ran = Path(__file__).with_name("ran")

{marker}
def test_that_fails():
    lab.Run(["eagre"], 1, {told!r}, "", 0.0)
    times = len(ran.read_text()) if ran.exists() else 0
    ran.write_text("." * (times + 1))
    assert times not in {fails}
"""
UNSTEADY = '@pytest.mark.unsteady("a busy machine keeps it waiting")'
TOLD = '{"reasons": ["worker 0 waited 7.99 of 12.06 s for its core"]}'


def blackbox(folder, marker=UNSTEADY, told="", threshold=9, fails=(0,)):
    """What tools/blackbox says of a test that fails some of the times it runs; and its exit code."""
    (folder / "test_once.py").write_text(TEXT.format(marker=marker, told=told, threshold=threshold, fails=fails))
    environment = {**os.environ, "PYTHONPATH": str(REPO / "tests"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [REPO / "tools/blackbox", "-p", "conftest", f"--rootdir={folder}", folder]
    done = subprocess.run([str(word) for word in command], env=environment, capture_output=True, text=True, timeout=120)
    return done.returncode, done.stdout + done.stderr


def test_one_that_a_verdict_calls_disturbed_runs_twice(tmp_path):
    status, said = blackbox(tmp_path, told=TOLD)
    assert status == 0 and "failed, then passed: a busy machine keeps it waiting; a verdict during the test: worker 0 waited 7.99" in said, said
    assert "slowest 40" in said, said


def test_one_that_ran_beside_others_runs_twice(tmp_path):
    status, said = blackbox(tmp_path, threshold=0)
    assert status == 0 and "failed, then passed: a busy machine keeps it waiting; other processes used" in said, said


@pytest.mark.parametrize("marker, again", [(UNSTEADY, True), ("", False)], ids=["marked", "unmarked"])
def test_half_as_much_is_evidence_for_one_that_says_why(marker, again):
    measured = {"others": 0.3, "stolen": 0.0, "waited": 0.3}
    assert contention.is_disturbed(measured, bool(marker)) is again


def test_one_that_nobody_marked_runs_four_times(tmp_path):
    status, said = blackbox(tmp_path, marker="", told=TOLD)
    assert status == 0 and "failed, then passed: not marked unsteady; a verdict during the test: worker 0 waited 7.99" in said, said
    assert len((tmp_path / "ran").read_text()) == 4


@pytest.mark.parametrize(
    "keys",
    [{"fails": (0, 1)}, {"marker": "", "fails": (0, 1)}, {"marker": "", "fails": (0, 2)}, {"marker": "", "fails": (0, 3)}],
    ids=["marked", "second", "third", "fourth"],
)
def test_one_that_fails_again_has_failed(tmp_path, keys):
    status, said = blackbox(tmp_path, told=TOLD, **keys)
    assert status == 1, said
    assert len((tmp_path / "ran").read_text()) == keys["fails"][1] + 1


@pytest.mark.parametrize("marker", [UNSTEADY, ""], ids=["marked", "unmarked"])
def test_one_that_nothing_disturbed_has_failed(tmp_path, marker):
    status, said = blackbox(tmp_path, marker=marker)
    assert status == 1 and "test_that_fails: nothing disturbed it: other processes used" in said, said
