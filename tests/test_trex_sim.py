"""`eagre trex sim` sends what TRex's simulator sends: byte for byte and in time, by a model of its rules.

The same for the profiles of a checkout of TRex, which the environment variable EAGRE_TREX_CHECKOUT names; also against the captures
of TRex's own simulator that lie there.
"""

import os
import re
import subprocess
from pathlib import Path

import pytest
import trex
import trex_reference
from lab import EAGRE, REPO

CHECKOUT = os.environ.get("EAGRE_TREX_CHECKOUT")
LIMIT = 100
HEAD = "from trex_stl_lib.api import *\nfrom trex.stl.trex_stl_hltapi import STLHltStream\n"
PACKET = "Ether()/IP(src='16.0.0.1', dst='48.0.0.1')/UDP(sport=1025, dport=12)/('x'*200)"
VM = f"STLStream(packet=STLPktBuilder(pkt={PACKET}, vm=STLScVmRaw([%s], cache_size=%s)), mode=STLTXCont(pps=1000), random_seed=7)"
PROFILES = {
    "wraps": VM % ("STLVmFlowVar('a', 20, 10, 29, size=1, step=7), STLVmWrFlowVar('a', 'IP.ttl'), STLVmFixIpv4('IP')", None),
    "down": VM % ("STLVmFlowVar('a', None, 10, 30, size=2, step=4, op='dec'), STLVmWrFlowVar('a', 40, is_big=False)", None),
    "odometer": VM
    % (
        "STLVmFlowVar('a', 3, 1, 5, size=2, step=2, next_var='b'), STLVmFlowVar('b', None, 1, 3, size=4, op='dec'),"
        "STLVmWrFlowVar('a', 'UDP.sport', add_val=-1), STLVmWrFlowVar('b', 'IP.src'), STLVmFixIpv4('IP')",
        None,
    ),
    "random": VM
    % (
        "STLVmFlowVar('a', min_value=5, max_value=90, size=4, op='random'), STLVmFlowVar('b', value_list=[3, 9, 27], size=1,"
        "op='random'), STLVmWrFlowVar('a', 'IP.src'), STLVmWrFlowVar('b', 'IP.tos'), STLVmFixIpv4('IP')",
        None,
    ),
    "repeats": VM % ("STLVmFlowVarRepeatableRandom('a', 2, 4, 9), STLVmWrFlowVar('a', 'UDP.dport')", None),
    "cached": VM % ("STLVmFlowVar('a', size=1), STLVmWrFlowVar('a', 50)", 5),
    "bits": VM % ("STLVmFlowVar('a', size=1), STLVmWrMaskFlowVar('a', 'IP.id', 2, 0x0ff0, 4, 1), STLVmFixIpv4('IP')", None),
    "pairs": VM
    % (
        "STLVmTupleGen('t', '16.0.0.1', '16.0.0.3', 1025, 1030, 7), STLVmWrFlowVar('t.ip', 'IP.src'), STLVmFixIpv4('IP'),"
        "STLVmWrFlowVar('t.port', 'UDP.sport')",
        None,
    ),
    "lengths": VM
    % (
        "STLVmFlowVar('l', min_value=64, max_value=200, size=2, step=9), STLVmTrimPktSize('l'),"
        "STLVmWrFlowVar('l', 'IP.len', add_val=-14), STLVmFixIpv4('IP')",
        None,
    ),
    "sums": VM % ("STLVmFlowVar('a', size=4), STLVmWrFlowVar('a', 'IP.src'), STLVmFixChecksumHw('IP', 'UDP')", None),
    "tags": "STLHltStream(l3_protocol='ipv4', l4_protocol='udp', vlan_id='5 6', vlan_id_mode='increment', vlan_id_count=3,"
    "rate_pps=500, ip_src_mode='decrement', ip_src_count=4)",
    "mix": "STLHltStream(length_mode='imix', rate_percent=0.01, l3_protocol='ipv4', l4_protocol='udp')",
    "counted": f"STLStream(packet=STLPktBuilder(pkt={PACKET}), mode=STLTXCont(pps=50), isg=2.5, flow_stats=STLFlowStats(9))",
    "bursts": f"STLStream(packet=STLPktBuilder(pkt={PACKET}), mode=STLTXMultiBurst(pps=1000, pkts_per_burst=3, ibg=400, count=5))",
    "chain": "[STLStream(name='A', isg=10, mode=STLTXSingleBurst(pps=100, total_pkts=2), next='B'), STLStream(name='B',"
    "self_start=False, isg=33, mode=STLTXSingleBurst(pps=1000, total_pkts=3), next='C'), STLStream(name='C',"
    "self_start=False, mode=STLTXSingleBurst(pps=50), next='B', action_count=3)]",
}


@pytest.fixture(scope="module")
def python():
    """Python with Scapy."""
    return trex.interpreter()


def sent(python, profile, folder, *options, limit=LIMIT):
    """Packets that the program sends in virtual time."""
    path = folder / "sent.pcap"
    env = {"EAGRE_PYTHON": str(python), "HOME": str(folder)}
    words = ["trex", "sim", profile, "-l", limit, "--pcap", path, *options]
    command = [str(word) for word in (EAGRE, *words)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd=folder, env={**os.environ, **env})
    assert ended.returncode in (0, 1, 4), ended.stderr
    return trex_reference.read_pcap(path)


def differs(got, wanted, micros=1):
    """What is wrong with packets: their number, or the first that is not due by then; packets of one time in any order."""
    if len(got) != len(wanted):
        return f"{len(got)} packets instead of {len(wanted)}"
    left = list(wanted)
    for number, (at, data) in enumerate(got):
        # Rates are whole millionths of a packet per second.
        near = micros + at * 2e-6
        found = next((i for i, (due, other) in enumerate(left[:200]) if other == data and abs(due - at) <= near), None)
        if found is None:
            return f"packet {number} at {at} us: {data.hex()}, next due: {left[0][0]} us {left[0][1].hex()}"
        del left[found]
    return None


def model(python, profile, *options, limit=LIMIT):
    """Packets by the model."""
    streams = trex.load(python, profile, *options)["ports"]["0"]
    return [(int(at * 1_000_000), data) for at, data in trex_reference.packets(streams, limit=limit)]


def written(folder, names):
    """A profile with the streams of several: to import Scapy for each takes longer than all packets of all."""
    streams = "".join(f"        out += flat({PROFILES[name]})\n" for name in names)
    flat = "def flat(one):\n    return one if isinstance(one, list) else [one]\n"
    profile = folder / f"{names[0]}.py"
    profile.write_text(
        f"{HEAD}\n{flat}\nclass P:\n    def get_streams(self, **kwargs):\n        out = []\n{streams}        return out\n\ndef register():\n    return P()\n"
    )
    return profile


# Those that send 1,000 packets a second together; rates of the others are not to be rounded together.
SAME = [name for name, text in PROFILES.items() if text.startswith("STLStream(packet=") and "STLTXCont(pps=1000)" in text]
TOGETHER = [SAME, *([name] for name in PROFILES if name not in SAME)]


@pytest.mark.parametrize("names", TOGETHER, ids="-".join)
def test_packets_are_those_of_the_rules(python, lab, names):
    """Bytes and times."""
    folder = lab.folder()
    profile, limit = written(folder, names), LIMIT * len(names)
    assert differs(sent(python, profile, folder, limit=limit), model(python, profile, limit=limit)) is None


def excepted():
    """Profiles that the page says are not right."""
    _, _, proof = (REPO / "docs/trex.md").read_text().partition("## Proof")
    return set(re.findall(r"^\| `([\w./]+)` \|", proof.partition("\n## ")[0], re.MULTILINE))


@pytest.mark.long
@pytest.mark.skipif(not CHECKOUT, reason="EAGRE_TREX_CHECKOUT names no checkout of TRex")
def test_profiles_of_a_checkout_are_right(python, lab):
    """All of scripts/stl but those that the page names with a reason."""
    folder, wrong = lab.folder(), {}
    stl = Path(CHECKOUT, "scripts/stl")
    for profile in sorted([*stl.rglob("*.py"), *stl.rglob("*.yaml")]):
        try:
            wrong[profile.name] = differs(sent(python, profile, folder), model(python, profile))
        except AssertionError as error:
            wrong[profile.name] = str(error)[:300]
    assert {name for name, reason in wrong.items() if reason} == excepted(), {k: v for k, v in wrong.items() if v}
