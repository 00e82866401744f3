"""STF: captures as templates of flows. Each flow has its own pair of addresses and port; times are the template's."""

import struct
import sys

import pytest
import trex
from lab import EAGRE, REPO, call, need

CAPTURE = REPO / "examples/conversation.pcap"
HEAD = """
- duration: 2.0
  generator: {distribution: seq, clients_start: 16.0.0.1, clients_end: 16.0.0.3, servers_start: 48.0.0.1, servers_end: 48.0.0.2}
"""


@pytest.fixture
def eagre(tmp_path):
    """Runs 'eagre trex' on templates."""

    def run(command, templates, *words, exit=0):
        path = tmp_path / "flows.yaml"
        path.write_text(f"{HEAD}  cap_info:\n" + "".join(f"  - {{{template}}}\n" for template in templates))
        env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": "", "EAGRE_PYTHON": sys.executable}
        return trex.done(EAGRE, "trex", command, path, *words, exit=exit, env=env, cwd=tmp_path)

    return run


@pytest.fixture
def query(tmp_path):
    """A capture of a question and its answer over UDP, 700 us apart."""
    def packet(source, target, sport, dport, payload):
        udp = struct.pack("!HHHH", sport, dport, 8 + len(payload), 7) + payload
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 1, 20 + len(udp), 9, 0, 200, 17, 0, source, target)
        return bytes(12) + b"\x08\x00" + ip + udp

    ends = (bytes([9, 9, 9, 1]), bytes([9, 9, 9, 2]))
    frames = [(0, packet(*ends, 5000, 53, b"who?")), (700, packet(*ends[::-1], 53, 5000, b"nobody"))]
    path = tmp_path / "query.pcap"
    records = [struct.pack("<IIII", 1, at, len(data), len(data)) + data for at, data in frames]
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records))
    return path


def seen(path, *fields):
    """Rows of fields of a capture, by tshark, which also says whether checksums are right."""
    need("tshark")
    options = ("-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-T", "fields")
    rows = call("tshark", "-r", path, *options, *(word for field in fields for word in ("-e", field)))
    return [row.split("\t") for row in rows.splitlines()]


def test_flows_have_their_own_addresses_ports_and_times(eagre, query, tmp_path):
    """Two flows with each pair, then the next client and server; packets at the gaps of the template."""
    capture = tmp_path / "sent.pcapng"
    eagre("sim", [f"name: {query}, cps: 4.0, ipg: 1000, rtt: 5000, w: 2"], "--pcap", capture)
    rows = seen(capture, "frame.time_relative", "frame.interface_id", "ip.src", "ip.dst", "udp.srcport", "udp.dstport", "ip.ttl",
                "udp.checksum", "ip.checksum.status", "ip.dsfield")  # fmt: skip
    wanted = []
    for flow in range(8):
        pair = flow // 2
        client, server, port = f"16.0.0.{1 + pair % 3}", f"48.0.0.{1 + pair % 2}", str(1024 + flow)
        rest = ["128", "0x0000", "1", "0x00"]
        wanted.append([flow * 0.25, "0", client, server, port, "53", *rest])
        wanted.append([flow * 0.25 + 0.005, "1", server, client, "53", port, *rest])
    assert [row[1:] for row in rows] == [row[1:] for row in wanted]
    assert [float(row[0]) for row in rows] == [pytest.approx(row[0], abs=2e-6) for row in wanted]


def test_a_conversation_over_tcp_keeps_its_packets(eagre, tmp_path):
    """As many as captured for each flow, with right checksums; a limit, a factor, a server for all."""
    capture = tmp_path / "sent.pcapng"
    template = f"name: {CAPTURE}, cps: 1.0, ipg: 100, rtt: 200, w: 1, limit: 3, one_app_server: true, server_addr: 7.7.7.7"
    eagre("sim", [template], "-m", "10", "--pcap", capture)
    packets = len(seen(CAPTURE, "frame.number"))
    rows = seen(capture, "ip.addr", "tcp.port", "tcp.checksum.status", "ip.checksum.status")
    assert len(rows) == 3 * packets
    assert {tuple(row[2:]) for row in rows} == {("1", "1")}
    flows = {(frozenset(row[0].split(",")), frozenset(row[1].split(","))) for row in rows}
    assert {flow[0] for flow in flows} == {frozenset({f"16.0.0.{n}", "7.7.7.7"}) for n in (1, 2, 3)} and len(flows) == 3


@pytest.mark.parametrize(
    ("template", "reason"),
    [
        ("name: /none.pcap, cps: 1, ipg: 1, rtt: 1", "template 0: capture '/none.pcap' does not exist"),
        ("name: {query}, cps: 1, ipg: 1, rtt: 1, plugin_id: 1", "'plugin_id' is not supported"),
        ("name: {query}, ipg: 1, rtt: 1", "the key 'cps' is missing"),
        ("name: {query}, cps: 0, ipg: 1, rtt: 1", "'cps' must be above 0"),
        ("name: {query}, cps: 1, ipg: 1, rtt: 1, client_pool: c9", "there is no pool 'c9'"),
    ],
)
def test_what_cannot_be_is_said(lab, query, tmp_path, template, reason):
    """With the template's number."""
    path = tmp_path / "flows.yaml"
    path.write_text(f"{HEAD}  cap_info:\n  - {{{template.replace('{query}', str(query))}}}\n")
    env = {"HOME": str(tmp_path), "EAGRE_PYTHON": sys.executable}
    lab.eagre("trex", "check", path, env=env).refused(2, reason)
