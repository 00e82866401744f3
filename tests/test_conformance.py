"""docs/tcp-conformance.md has every MUST of RFC 9293, and the tests and probes it names are there."""

import re

import pytest
from lab import REPO

PAGE = (REPO / "docs/tcp-conformance.md").read_text()
ROW = re.compile(r"^\| (?P<rule>[^|]+) \| (?P<asks>[^|]+) \| (?P<how>[^|]+) \| ?(?P<tests>[^|]*)\|$", re.MULTILINE)
TEST = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn (\w+)\(")
ROWS = [row for row in ROW.finditer(PAGE) if row["rule"] not in ("Rule", "---")]
# A rule without a test is one for somebody else, or for nobody.
ELSEWHERE = re.compile(r"^(stack\b|\**not (applicable|supported)\b)")


@pytest.fixture(scope="module")
def rust_tests():
    """Names of the unit tests of core/tcp, and of the probes."""
    sources = (REPO / "core/tcp/src").rglob("*.rs")
    probes = re.findall(r"^@probe\(.*\)\nasync def (\w+)", (REPO / "tests/probes.py").read_text(), re.MULTILINE)
    return {name for source in sources for name in TEST.findall(source.read_text())} | set(probes)


def test_every_must_has_a_row():
    """RFC 9293 counts them from 1 to 69."""
    numbers = [int(row["rule"].removeprefix("MUST-")) for row in ROWS if row["rule"].startswith("MUST-")]
    assert numbers == [*range(1, 70)]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['rule']}: {row['asks'][:40]}")
def test_rows_name_tests_that_exist(rust_tests, row):
    """Or say why there is none."""
    names = re.findall(r"`(\w+)`", row["tests"])
    assert names or ELSEWHERE.match(row["how"]), "names no test, and does not say whose the rule is"
    assert set(names) <= rust_tests, sorted(set(names) - rust_tests)


def test_names_in_the_text_exist(rust_tests):
    """Those below the table."""
    [text] = re.findall(r"^Beside them: .*?(?=^## )", PAGE, re.MULTILINE | re.DOTALL)
    assert set(re.findall(r"`(\w+)`", text)) <= rust_tests


def test_tests_are_found(rust_tests):
    """What the tests above rest on."""
    assert {"one_request_takes_six_packets", "every_byte_arrives"} <= rust_tests
