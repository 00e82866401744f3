"""TRex's API on old and new Pythons with old and new Scapy, without a network, beside other packages that use Scapy."""

import json
import os
import shutil
from pathlib import Path

import pytest
import trex
from lab import REPO, missing, need

EXAMPLES = REPO / "examples/trex"
PTF = "ptf==0.12.0"
# Frames of another package before and after the API is imported: it says all addresses, and gets what it says.
BESIDE = """
import sys
import ptf.packet, ptf.testutils as other
from scapy.all import Ether, IP, UDP
def frames():
    return [bytes(other.simple_udp_packet()), bytes(other.simple_tcp_packet(ip_src="1.2.3.4", vlan_vid=5, dl_vlan_enable=True)),
            bytes(other.simple_icmp_packet()), bytes(Ether(src="2:0:0:0:0:1", dst="2:0:0:0:0:2")/IP(src="1.1.1.1", dst="2.2.2.2")/UDP())]
before = frames()
from trex.stl.api import *
assert frames() == before
assert bytes(Ether()/IP()/UDP())[26:34] == bytes([16, 0, 0, 1, 48, 0, 0, 1])
assert "trex" in sys.modules["trex"].__path__[0]
print("as before")
"""


def documents(python, *prefix):
    """What the loader says of the examples; `prefix` is a command to run it by."""
    out = []
    for profile in sorted(EXAMPLES.glob("*.py")):
        command = (*prefix, python, "-B", "-m", "eagre_trex.load", "--ports", "0,1", profile)
        document = json.loads(trex.done(*command, env={"PYTHONPATH": str(trex.SOURCE)}))
        out.append({key: value for key, value in document.items() if key not in ("python", "scapy")})
    return out


def beside(python):
    """What the script says in an environment with another package that uses Scapy."""
    return trex.done(python, "-B", "-c", BESIDE, env={"PYTHONPATH": str(trex.SOURCE)}).strip().splitlines()[-1]


def test_nothing_is_asked_of_a_network():
    """In a namespace without one, not even the loopback interface up: the same documents."""
    need("unshare")
    python = trex.interpreter()
    assert documents(python, "unshare", "--net") == documents(python)


def test_another_package_gets_the_frames_it_got():
    """Both in one process."""
    assert beside(trex.interpreter("2.8.0", more=(PTF, "six==1.17.0"))) == "as before"


def installed(version):
    """An interpreter of this version: on the path, of pyenv, or of uv."""
    pyenv = Path(os.environ.get("PYENV_ROOT", "~/.pyenv")).expanduser() / "versions"
    for found in [*sorted(pyenv.glob(f"{version}.*/bin/python3")), *filter(None, [shutil.which(f"python{version}")])]:
        return str(found)
    if shutil.which("uv"):
        trex.done("uv", "python", "install", version)
        return trex.done("uv", "python", "find", version).strip()
    return missing(f"needs Python {version}, or uv to install it")


@pytest.mark.long
@pytest.mark.parametrize("scapy", ["2.5.0", "2.8.0"])
@pytest.mark.parametrize("version", ["3.9", "3.13"])
def test_pythons_and_scapys_say_the_same(version, scapy):
    """The documents are those of this Python and the newest Scapy; without a network; beside another package."""
    need("unshare")
    python = trex.interpreter(scapy, installed(version), (PTF, "six==1.17.0"))
    said = trex.done(python, "-c", "import sys, scapy; print(sys.version_info[:2], scapy.VERSION)")
    assert said.split() == [f"({version.split('.')[0]},", f"{version.split('.')[1]})", scapy]
    assert documents(python, "unshare", "--net") == documents(trex.interpreter())
    assert beside(python) == "as before"
