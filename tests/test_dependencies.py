"""Libraries follow the policy in deny.toml: licenses, bans, sources. `make audit` also checks security advisories."""

import json
import re
import tomllib

import pytest
from lab import REPO, call

POLICY = tomllib.loads((REPO / "deny.toml").read_text())
ALLOWED = set(POLICY["licenses"]["allow"])
# Arguments of cargo: all libraries that any of the platforms needs.
PLATFORMS = [word for target in POLICY["graph"]["targets"] for word in ("--filter-platform", target)]
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
WORKSPACES = {"eagre": "Cargo.toml", "fuzz": "fuzz/Cargo.toml"}
TOKEN = re.compile(r"\s*(?:(?P<mark>[()])|(?P<word>AND|OR|/)|(?P<license>[\w.+-]+(?: WITH [\w.-]+)?))")


def is_allowed(expression):
    """Whether deny.toml allows an SPDX expression; `/` is an old form of OR."""
    parts, at = [], 0
    while at < len(expression.rstrip()):
        found = TOKEN.match(expression, at)
        assert found, f"'{expression}' is no SPDX expression"
        at = found.end()
        word = (found["word"] or "").replace("/", "OR").lower()
        parts.append(str(found["license"] in ALLOWED) if found["license"] else found["mark"] or word)
    return eval(" ".join(parts))


@pytest.fixture(scope="module", params=WORKSPACES)
def libraries(request):
    """The packages of a workspace that come from elsewhere."""
    manifest = REPO / WORKSPACES[request.param]
    command = ["cargo", "metadata", "--format-version=1", "--locked", *PLATFORMS, "--manifest-path", manifest]
    found = [package for package in json.loads(call(*command, timeout=300))["packages"] if package["source"]]
    assert found
    return found


def test_licenses_are_allowed(libraries):
    """deny.toml allows a license of each library."""
    wrong = {package["name"]: package["license"] for package in libraries if not is_allowed(package["license"] or "none")}
    assert not wrong, f"not allowed by deny.toml: {wrong}"


def test_no_banned_library(libraries):
    """No library is one that deny.toml bans."""
    banned = {ban["crate"]: ban["reason"] for ban in POLICY["bans"]["deny"]}
    found = {package["name"] for package in libraries} & set(banned)
    assert not found, {name: banned[name] for name in found}


def test_sources_are_known(libraries):
    """All libraries come from crates.io."""
    assert POLICY["sources"] == {"unknown-registry": "deny", "unknown-git": "deny"}
    elsewhere = {package["name"]: package["source"] for package in libraries if package["source"] != CRATES_IO}
    assert not elsewhere


@pytest.mark.parametrize(
    "expression, expected",
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("MIT/GPL-3.0-only", True),
        ("(MIT OR GPL-3.0-only) AND GPL-2.0-only", False),
        ("Apache-2.0 WITH LLVM-exception AND ISC", True),
        ("none", False),
    ],
)
def test_expressions_of_licenses_are_understood(expression, expected):
    """The evaluator works."""
    assert is_allowed(expression) == expected
