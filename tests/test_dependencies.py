"""Libraries are as deny.toml says. What it needs is in Cargo.lock and the manifests; advisories are for `make audit`."""

import json
import re
import tomllib

import pytest
from lab import REPO, call

POLICY = tomllib.loads((REPO / "deny.toml").read_text())
ALLOWED = set(POLICY["licenses"]["allow"])
[TARGET] = POLICY["graph"]["targets"]
CRATES_IO = "registry+https://github.com/rust-lang/crates.io-index"
WORKSPACES = {"eagre": "Cargo.toml", "fuzz": "fuzz/Cargo.toml"}
TOKEN = re.compile(r"\s*(?:(?P<mark>[()])|(?P<word>AND|OR|/)|(?P<license>[\w.+-]+(?: WITH [\w.-]+)?))")


def is_allowed(expression):
    """Whether an SPDX expression leaves a choice of licenses that are all allowed; `/` is an old way to write OR."""
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
    """What others wrote, as a manifest's lock file has it."""
    manifest = REPO / WORKSPACES[request.param]
    command = ["cargo", "metadata", "--format-version=1", "--locked", "--filter-platform", TARGET, "--manifest-path", manifest]
    found = [package for package in json.loads(call(*command, timeout=300))["packages"] if package["source"]]
    assert found
    return found


def test_licenses_are_allowed(libraries):
    """Each library leaves a license that deny.toml allows."""
    wrong = {package["name"]: package["license"] for package in libraries if not is_allowed(package["license"] or "none")}
    assert not wrong, f"not allowed by deny.toml: {wrong}"


def test_no_banned_library(libraries):
    """None of those that deny.toml gives a reason against."""
    banned = {ban["crate"]: ban["reason"] for ban in POLICY["bans"]["deny"]}
    found = {package["name"] for package in libraries} & set(banned)
    assert not found, {name: banned[name] for name in found}


def test_sources_are_known(libraries):
    """Everything comes from crates.io."""
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
    """What the tests above rest on."""
    assert is_allowed(expression) == expected
