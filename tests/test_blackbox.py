"""Which tests run a second time: those marked unsteady that something disturbed, and no others."""

import os
import subprocess
from pathlib import Path

import pytest

REPO = Path(__file__).parent.parent
# Thresholds no machine reaches, so that only what a test says itself is evidence.
TEXT = """
import contention, lab, pytest
from pathlib import Path
contention.OTHERS = contention.STOLEN = contention.WAITED = {threshold}
ran = Path(__file__).with_name("ran")

{marker}
def test_that_fails_once():
    lab.Run(["eagre"], 1, {told!r}, "", 0.0)
    first = not ran.exists()
    ran.touch()
    assert not first
"""
UNSTEADY = '@pytest.mark.unsteady("a busy machine keeps it waiting")'
TOLD = '{"reasons": ["worker 0 waited 7.99 of 12.06 s for its core"]}'


def blackbox(folder, marker=UNSTEADY, told="", threshold=9):
    """What tools/blackbox says of a test that fails the first time it runs; and its exit code."""
    (folder / "test_once.py").write_text(TEXT.format(marker=marker, told=told, threshold=threshold))
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


@pytest.mark.parametrize(
    ("keys", "why"),
    [
        ({}, "marked unsteady, but nothing disturbed it: other processes used"),
        ({"marker": "", "told": TOLD}, "not marked unsteady"),
    ],
    ids=["undisturbed", "unmarked"],
)
def test_others_have_failed(tmp_path, keys, why):
    status, said = blackbox(tmp_path, **keys)
    assert status == 1 and f"test_that_fails_once: {why}" in said, said
