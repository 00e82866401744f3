"""The scripts of findings/ have the form that its README promises. They run other people's software, so no test runs them."""

import os
import re
import subprocess

import pytest
from lab import REPO

FOLDER = REPO / "findings"
SCRIPTS = sorted(FOLDER.glob("*.sh"))
# What an installing command names: a package, and the version it is pinned to.
INSTALLED = re.compile(
    r"(?:pip\" -q|pip -q|npm) install((?: [^\s|;&]+)+)|go (?:install|get) (\S+)|cargo add((?: [^\s|;&]+)+)|-o APT::Sandbox::User=root download((?: [^\s|;&]+)+)"
    r"|mvn -q -B (\S+) -Dartifact=(\S+)|^(?:for artifact in|   )((?: [\w.-]+:[\w-]+:[^\s;]+)+)",
    re.MULTILINE,
)
PINNED = re.compile(r'^(--?\w[\w-]*|"?\$\w+"?|"?[\w@/.$-]+(==|=|@[v=]?)"?\d[\w.:+~-]*"?|[\w.-]+:[\w-]+:\d[\w.-]*(:copy)?)$')


def installed(text):
    """Packages that a script installs, as it names them."""
    return [word for found in INSTALLED.findall(text) for word in " ".join(found).split()]


def test_every_script_has_a_row_in_the_readme():
    """In alphabetical order, each with a sentence."""
    rows = re.findall(r"^\| \[([\w-]+\.sh)\]\(\1\) \| \S.{20,} \|$", (FOLDER / "README.md").read_text(), re.MULTILINE)
    assert rows == [path.name for path in SCRIPTS]


def test_the_page_of_real_devices_names_each_once():
    """A table's row by its whole text, and only scripts that are there."""
    lines = (REPO / "docs/real-devices.md").read_text().splitlines()
    rows = [line for line in lines if line.startswith("| ") and "../findings/" in line]
    assert [row for row in set(rows) if rows.count(row) > 1] == []
    assert set(re.findall(r"\.\./findings/([\w-]+\.sh)", "\n".join(lines))) <= {path.name for path in SCRIPTS}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_says_what_it_shows_and_pins_what_it_runs(path):
    """And a shell understands it."""
    text = path.read_text()
    header = " ".join(re.match(r"#!/bin/sh\n((?:#.*\n)+)set -eu\n", text)[1].replace("#", "").split())
    assert re.search(r"^.*\. One would guess: .*\. So it is: .*\bUses .*\b[Nn]o Eagre\.$", header), header
    assert os.access(path, os.X_OK)
    assert installed(text), "it installs nothing"
    assert [word for word in installed(text) if not PINNED.match(word)] == []
    assert "exit 2" in text, "a package that cannot be had is no change of behavior"
    subprocess.run(["sh", "-n", path], check=True)


def test_packages_without_a_version_are_seen():
    """What the test above rests on."""
    assert installed('"$folder/venv/bin/pip" -q install scapy==2.8.0 dpkt || exit 2') == ["scapy==2.8.0", "dpkt"]
    assert installed("npm install --silent autocannon@8.0.0") == ["--silent", "autocannon@8.0.0"]
    assert installed("apt-get -qq -o APT::Sandbox::User=root download hey=0.1.4-2+b4 || exit 2") == ["hey=0.1.4-2+b4"]
    assert installed("cargo init -q . && cargo add -q pcap-file@=2.0.0 && cargo fetch") == ["-q", "pcap-file@=2.0.0"]
    maven = "for artifact in a.b:c:1.0 a:b-d:2; do\n    mvn -q -B p:q:1:copy -Dartifact=$artifact"
    assert installed(maven) == ["a.b:c:1.0", "a:b-d:2", "p:q:1:copy", "$artifact"]
    assert not PINNED.match("a.b:c:LATEST") and PINNED.match("a.b:c:1.0") and PINNED.match("p:q:1:copy")
    assert not PINNED.match("dpkt") and not PINNED.match("autocannon@latest")
    assert PINNED.match("scapy==2.8.0") and PINNED.match('"snmpd=5.9.3+dfsg-2+deb12u1"')
