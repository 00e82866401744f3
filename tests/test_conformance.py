"""Pages of conformance name tests that exist, and docs/tcp-conformance.md has every MUST of RFC 9293."""

import re
from typing import NamedTuple

import pytest
from lab import REPO

ROW = re.compile(r"^\| (?P<rule>[^|]+) \| (?P<asks>[^|]+) \| (?P<how>[^|]+) \| ?(?P<tests>[^|]*)\|$", re.MULTILINE)
NAME = re.compile(r"`(\w+)`")
UNIT = re.compile(r"#\[test\]\s*(?:#\[[^\]]*\]\s*)*fn (\w+)\(")
PROBE = re.compile(r"^@probe\(.*\)\nasync def (\w+)", re.MULTILINE)
BLACK_BOX = re.compile(r"^def (test_\w+)", re.MULTILINE)


class Page(NamedTuple):
    """Where the tests of a page are: folders of unit tests, files of tests with real peers and of probes, and tests to find there."""

    folders: tuple
    files: tuple
    known: set


PAGES = {
    "tcp": Page(("core/tcp/src",), ("test_tcp_kernel.py", "probes.py"), {"one_request_takes_six_packets", "every_byte_arrives"}),
    "bgp": Page(
        ("core/bgp/src", "core/bgp/tests"),
        ("test_bgp.py", "test_routing.py", "test_otg_protocols.py"),
        {"of_two_connections_one_stays", "every_route_is_in_exactly_one_message", "test_a_prefix_has_several_paths"},
    ),
    "dhcp": Page(
        ("core/emulate/src",),
        ("test_dhcp.py", "test_dhcpv6.py", "test_pppoe.py", "test_otg_protocols.py"),
        {"a_lease_is_renewed_then_rebound_then_lost", "test_prefixes_are_delegated", "the_table_of_the_rfc"},
    ),
    "ospf": Page(
        ("core/ospf/src", "core/ospf/tests", "core/linkstate/src"),
        ("test_ospf.py", "test_ospf3.py", "test_adjacency.py", "test_otg_protocols.py"),
        {"the_newer_of_two_is_found", "both_sides_hold_the_same", "test_a_digest_lets_in", "test_what_does_not_fit_is_named"},
    ),
    "isis": Page(
        ("core/isis/src", "core/isis/tests", "core/linkstate/src"),
        ("test_isis.py", "test_adjacency.py", "test_otg_protocols.py"),
        {"digests_are_those_of_rfc_2202", "both_sides_hold_the_same", "test_passwords_let_in", "test_isis_as_frr_sees_it"},
    ),
    "vrrp": Page(
        ("core/emulate/src/vrrp", "core/profile/src/protocols/vrrp"),
        ("test_vrrp.py",),
        {"of_equal_priorities_the_higher_address_wins", "reports_misconfiguration", "test_version_2"},
    ),
}
TEXTS = {name: (REPO / f"docs/{name}-conformance.md").read_text() for name in PAGES}
ROWS = [(name, row) for name, text in TEXTS.items() for row in ROW.finditer(text) if row["rule"] not in ("Rule", "---")]


@pytest.fixture(scope="module")
def tests():
    """Names of the tests of each page."""

    def of(page):
        units = {name for folder in page.folders for path in (REPO / folder).rglob("*.rs") for name in UNIT.findall(path.read_text())}
        texts = [(REPO / "tests" / file).read_text() for file in page.files]
        return units | {name for text in texts for kind in (PROBE, BLACK_BOX) for name in kind.findall(text)}

    return {name: of(page) for name, page in PAGES.items()}


def test_every_page_is_checked():
    assert {path.name.removesuffix("-conformance.md") for path in (REPO / "docs").glob("*-conformance.md")} == set(PAGES)


def test_every_must_of_tcp_has_a_row():
    """RFC 9293 counts them from 1 to 69."""
    numbers = [int(row["rule"].removeprefix("MUST-")) for name, row in ROWS if name == "tcp" and row["rule"].startswith("MUST-")]
    assert numbers == [*range(1, 70)]


@pytest.mark.parametrize(("page", "row"), ROWS, ids=lambda value: value if isinstance(value, str) else f"{value['rule']}: {value['asks'][:40]}")
def test_rows_name_tests_that_exist(tests, page, row):
    names = NAME.findall(row["tests"])
    assert names, "names no test"
    assert set(names) <= tests[page], sorted(set(names) - tests[page])


@pytest.mark.parametrize("page", PAGES)
def test_names_in_the_text_exist(tests, page):
    """Those of the paragraphs that list tests beside the tables."""
    for text in re.findall(r"^Beside them: .*?(?=\n\n|\Z)", TEXTS[page], re.MULTILINE | re.DOTALL):
        assert set(NAME.findall(text)) <= tests[page], text


@pytest.mark.parametrize("page", PAGES)
def test_lines_of_tables_are_rows(page):
    """None is passed over because it has other columns than its table."""
    text = TEXTS[page]
    rows = sum(name == page for name, _ in ROWS)
    heads = re.findall(r"^\| Rule \| Requirement \| How it is met \| Test \|\n\|---\|---\|---\|---\|$", text, re.MULTILINE)
    others = re.findall(r"^\| Rule \| Not done \|\n\|---\|---\|\n((?:\| [^|]+ \| [^|]+ \|\n?)+)", text, re.MULTILINE)
    lines = text.count("\n| ") + text.count("\n|-")
    assert lines == rows + 2 * len(heads) + sum(len(block.strip().splitlines()) + 2 for block in others)


@pytest.mark.parametrize("page", PAGES)
def test_tests_are_found(tests, page):
    """What the tests above rest on."""
    assert PAGES[page].known <= tests[page]
