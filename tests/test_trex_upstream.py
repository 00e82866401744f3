"""Examples of a checkout of TRex, unmodified, over `eagre serve` with the kernel as a router between its ports.

The environment variable EAGRE_TREX_CHECKOUT names the checkout; nothing of it is kept here.
"""

import os
import re
from pathlib import Path

import pytest
import trex
from lab import EAGRE, need
from server import Server

CHECKOUT = os.environ.get("EAGRE_TREX_CHECKOUT")
pytestmark = [
    pytest.mark.long,
    pytest.mark.alone,
    pytest.mark.skipif(not CHECKOUT, reason="EAGRE_TREX_CHECKOUT names no checkout of TRex"),
]
SCRIPTS = Path(CHECKOUT or "/nowhere", "scripts")
FOLDER = SCRIPTS / "automation/trex_control_plane/interactive/trex/examples"
# Example, its arguments, the text that says it went well, and the ports in TRex's order: 0 and 1 are connected, 2 and 3.
PASSES = [
    ("stl/stl_simple_burst", (), "Test has passed", (0, 1)),
    ("stl/stl_bi_dir_flows", (), "Test has passed", (0, 2, 3, 1)),
    ("stl/stl_imix", (), "Test has passed", (0, 1, 2, 3)),
    ("stl/stl_flow_stats", (), "Test passed", (0, 1)),
    ("stl/stl_flow_latency_stats", (), "Test passed", (0, 1)),
    ("stl/stl_profile", (), "Test has passed", (0, 1)),
    ("stl/stl_simple_pin_core", (), "Test has passed", (0, 2, 3, 1)),
    ("stl/stl_dynamic_profile", (), "True", (0, 1)),
    ("stl/stl_simple_console_like", (), "Test has passed", (0, 1)),
    ("stl/hlt_udp_simple", ("-d", "3"), "Done", (0, 1)),
    ("stl/stl_pcap", ("-f", "{scripts}/cap2/dns.pcap", "-p", "0", "-n", "10", "-x"), "20 packets were Tx", (0, 1)),
    ("stl/stl_pcap_remote", ("-f", "{scripts}/cap2/dns.pcap", "-p", "0", "-n", "10"), "for 20 packets", (0, 1)),
    (
        "stl/stl_ndr_bench_tool",
        ("--ports", "0", "1", "--profile", "{scripts}/stl/imix.py", "-t", "4", "-ft", "4", "-x", "2", "--bi-dir"),
        "Bench Run has finished",
        (0, 1),
    ),
    ("stl/null_stream", (), "", (0, 1)),
    ("stl/core_pinning_tutorial", (), "", (0, 1)),
    ("astf/astf_example", ("-m", "5", "-d", "5"), "Test has passed", (0, 1)),
    (
        "astf/astf_ndr_bench_tool",
        ("--high-mult", "20", "--low-mult", "1", "-t", "3", "-x", "1", "--profile", "{scripts}/astf/http_simple.py"),
        "Bench Run has finished",
        (0, 1),
    ),
]


@pytest.fixture(scope="module")
def routed(shared):
    """Two pairs of ports."""
    need("ip", "nft")
    # The examples only ask that the folder is there.
    (SCRIPTS / "external_libs").mkdir(exist_ok=True)
    # The addresses that hlt_udp_simple sends to.
    macs = {0: "00:50:56:b9:34:f3", 1: "00:50:56:b9:de:75"}
    return trex.Routed(shared, [(0, 1), (2, 3)], trex.interpreter(), "200Mbps", macs)


@pytest.mark.parametrize(("name", "arguments", "text", "ports"), PASSES, ids=[entry[0].rpartition("/")[2] for entry in PASSES])
def test_examples_pass(routed, name, arguments, text, ports):
    """Each says so itself; what was sent is what the interfaces counted."""
    path = FOLDER / f"{name}.py"
    values = {"scripts": SCRIPTS}
    words = [word.format(**values) for word in arguments]
    before = routed.counters()
    out = routed.run(path, *words, ports=ports, cwd=path.parent)
    after = routed.counters()
    assert text in out, out
    moved = {port: tuple(map(int.__sub__, after[port], before[port])) for port in after}
    sent, received = (sum(counts) for counts in zip(*moved.values()))
    # Profiles send nothing; whoever loses says so.
    assert sent == received, (moved, out)
    assert sent > 0 or not text
    counted = [int(found.replace(",", "")) for pattern in COUNTED for found in re.findall(pattern, out)]
    # Mapping sends ten packets from each port to each other, which are no traffic of the script's.
    probes = 10 * len(ports) * (len(ports) - 1) if name == "stl/stl_imix" else 0
    assert not counted or sum(counted) == sent - probes, (moved, out)


# How examples print what they sent; each port once.
COUNTED = (r'"opackets": (\d+)', r"Packets injected from [^:]*: ([\d,]+)", r"Packets Received: (\d+)", r"(\d+) packets were Tx")


def test_the_functional_example_passes(shared):
    """Service mode, captures and single packets, between two ends of a link; ports answer each other's pings."""
    (SCRIPTS / "external_libs").mkdir(exist_ok=True)
    namespace = shared.netns("functional")
    namespace.ip("link", "set", "lo", "up")
    shared.veth(namespace, "v0", namespace, "v1")
    for end in ("v0", "v1"):
        namespace.sysctl({f"net.ipv6.conf.{end}.disable_ipv6": 1})
    server = Server(shared, ns=namespace)
    path = FOLDER / "stl/stl_functional.py"
    ports = "v0,ip=10.0.0.1/24 v1,ip=10.0.0.2/24"
    env = {"PYTHONPATH": str(trex.SOURCE), "EAGRE_URL": server.url, "EAGRE_TREX_PORTS": ports, "EAGRE": str(EAGRE)}
    out = trex.done(*namespace.command(), trex.interpreter(), "-B", path, env=env, cwd=path.parent)
    assert out.count("Recived 1 packets on port") == 2 and "echo-reply" in out, out


def test_the_one_for_python_2_fails_as_it_does_on_trex(routed):
    """`string.letters` is gone since Python 3.0."""
    path = FOLDER / "stl/stl_run_udp_simple.py"
    assert "string.letters" in path.read_text()
    routed.run(path, ports=(0, 1), cwd=path.parent, exit=1)
