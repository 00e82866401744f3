"""docs/tcp-conformance.md has every MUST of RFC 9293, and the tests and probes it names are there."""

import re

import pytest
from lab import REPO

PAGE = (REPO / "docs/tcp-conformance.md").read_text()
ROW = re.compile(r"^\| (?P<rule>[^|]+) \| (?P<asks>[^|]+) \| (?P<how>[^|]+) \| ?(?P<tests>[^|]*)\|$", re.MULTILINE)
TEST = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn (\w+)\(")
ROWS = [row for row in ROW.finditer(PAGE) if row["rule"] not in ("Rule", "---")]


@pytest.fixture(scope="module")
def tests():
    """Names of the unit tests of core/tcp, of the probes, and of the tests with a kernel."""
    sources = (REPO / "core/tcp/src").rglob("*.rs")
    probes = re.findall(r"^@probe\(.*\)\nasync def (\w+)", (REPO / "tests/probes.py").read_text(), re.MULTILINE)
    kernel = re.findall(r"^def (test_\w+)", (REPO / "tests/test_tcp_kernel.py").read_text(), re.MULTILINE)
    return {name for source in sources for name in TEST.findall(source.read_text())} | {*probes, *kernel}


def test_every_must_has_a_row():
    """RFC 9293 counts them from 1 to 69."""
    numbers = [int(row["rule"].removeprefix("MUST-")) for row in ROWS if row["rule"].startswith("MUST-")]
    assert numbers == [*range(1, 70)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['rule']}: {row['asks'][:40]}")
def test_rows_name_tests_that_exist(tests, row):
    names = re.findall(r"`(\w+)`", row["tests"])
    assert names, "names no test"
    assert set(names) <= tests, sorted(set(names) - tests)


def test_names_in_the_text_exist(tests):
    """Those below the table."""
    [text] = re.findall(r"^Beside them: .*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(\w+)`", text)) <= tests


def test_tests_are_found(tests):
    """What the tests above rest on."""
    assert {"one_request_takes_six_packets", "every_byte_arrives"} <= tests
