"""STF: captures as templates of flows, by TRex's rules: who they are between, what is in their packets, when these leave."""

import struct
import sys

import pytest
import trex
from capture import records, save
from lab import EAGRE, EAST4, REPO, WEST4, call, need, wait_until
from test_replay import whole

CAPTURE = REPO / "examples/conversation.pcap"
HEAD = """
- duration: 2.0
  generator: {distribution: seq, clients_start: 16.0.0.1, clients_end: 16.0.0.3, servers_start: 48.0.0.1, servers_end: 48.0.0.2}
"""


def written(folder, templates, more=""):
    """An STF file."""
    path = folder / "flows.yaml"
    path.write_text(f"{HEAD}{more}  cap_info:\n" + "".join(f"  - {{{template}}}\n" for template in templates))
    return path


@pytest.fixture
def eagre(tmp_path):
    """Runs 'eagre trex' on templates."""

    def run(command, templates, *words, exit=0, more=""):
        path = written(tmp_path, templates, more)
        env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": "", "EAGRE_PYTHON": sys.executable}
        return trex.done(EAGRE, "trex", command, path, *words, exit=exit, env=env, cwd=tmp_path)

    return run


@pytest.fixture
def query(tmp_path):
    """A capture of a question and its answer over UDP, 700 us apart, with TTL, TOS and a checksum that TRex changes."""

    def packet(source, target, sport, dport, payload):
        udp = struct.pack("!HHHH", sport, dport, 8 + len(payload), 7) + payload
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 1, 20 + len(udp), 9, 0, 200, 17, 0x0F5E, source, target)
        return bytes(12) + b"\x08\x00" + ip + udp

    ends = (bytes([9, 9, 9, 1]), bytes([9, 9, 9, 2]))
    frames = [(0, packet(*ends, 5000, 53, b"who?")), (700, packet(*ends[::-1], 53, 5000, b"nobody"))]
    return save(tmp_path / "query.pcap", frames)


def seen(path, *fields):
    """Rows of fields of a capture, by tshark, which also says whether checksums are right."""
    need("tshark")
    options = ("-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-T", "fields")
    rows = call("tshark", "-r", path, *options, *(word for field in fields for word in ("-e", field)))
    return [row.split("\t") for row in rows.splitlines()]


class Client:
    """TRex's clients: each has ports of its own."""

    def __init__(self, clients):
        self.next = [1024 + ((214013 * i + 2531011) & 0xFFFF) % 62976 + 1 for i in range(clients)]

    def port(self, client):
        port = self.next[client]
        self.next[client] = 1024 if port == 64000 else port + 1
        return port


def flows(count, weight=1):
    """Client, server and port of each flow, by the rules of TRex's generator."""
    clients = Client(3)
    for flow in range(count):
        pair = flow // weight
        yield f"16.0.0.{1 + pair % 3}", f"48.0.0.{1 + pair % 2}", str(clients.port(pair % 3))


def test_flows_are_those_of_trex(eagre, query, tmp_path):
    """Two flows with each pair, then the next client and server; packets at the gaps of the template; MAC addresses of its
    simulator; flows that have begun in time run out."""
    capture = tmp_path / "sent.pcapng"
    eagre("sim", [f"name: {query}, cps: 4.0, ipg: 1000, rtt: 5000, w: 2"], "--pcap", capture)
    rows = seen(capture, "frame.time_relative", "frame.interface_id", "eth.src", "eth.dst", "ip.src", "ip.dst", "udp.srcport",
                "udp.dstport", "ip.ttl", "udp.checksum", "ip.checksum.status", "ip.dsfield")  # fmt: skip
    rest, wanted = ["128", "0x0000", "1", "0x00"], []
    macs = [[":".join([byte] * 6) for byte in side] for side in (("18", "10"), ("28", "20"))]
    for number, (client, server, port) in enumerate(flows(8, 2)):
        wanted.append([number * 0.25, "0", *macs[0], client, server, port, "53", *rest])
        wanted.append([number * 0.25 + 0.005, "1", *macs[1], server, client, "53", port, *rest])
    assert [row[1:] for row in rows] == [row[1:] for row in wanted]
    assert [float(row[0]) for row in rows] == [pytest.approx(row[0], abs=2e-6) for row in wanted]


@pytest.mark.parametrize(("cps", "limit", "loops"), [(6, 15, 1), (4.0, 2, 4), (10, 3, 7)])
def test_a_limit_begins_again(eagre, query, tmp_path, cps, limit, loops):
    """The same flows with the same ends, a slot after the last packet of those before; a loop that has begun in time runs out."""
    capture = tmp_path / "sent.pcapng"
    eagre("sim", [f"name: {query}, cps: {cps}, ipg: 1000, rtt: 5000, w: 1, limit: {limit}"], "--pcap", capture)
    period = limit / cps + 0.005
    # Two seconds, as the file says.
    assert loops == (int(2 / period) + 1 if limit <= 2 * cps else 1)
    rows = seen(capture, "frame.time_relative", "ip.src", "ip.dst", "udp.port")
    wanted = []
    count = min(limit, 2 * cps)
    for loop in range(loops):
        for number, (client, server, port) in enumerate(flows(int(count))):
            begin = loop * period + number / cps
            wanted.append((begin, [client, server, f"{port},53"]))
            wanted.append((begin + 0.005, [server, client, f"53,{port}"]))
    wanted.sort(key=lambda row: row[0])
    assert [row[1:] for row in rows] == [row for _, row in wanted]
    assert [float(row[0]) for row in rows] == [pytest.approx(at, abs=2e-6) for at, _ in wanted]


def test_bytes_behind_the_packet_are_not_sent(eagre, query, tmp_path):
    """A frame check sequence in the capture, say; the shortest frame has 60 bytes."""
    packets = [packet for *_, packet in records(query)]
    long = packets[0][:16] + struct.pack("!H", 104) + packets[0][18:38] + struct.pack("!H", 84) + packets[0][40:] + bytes(200)
    path = save(tmp_path / "long.pcap", [(0, long[:118] + b"FCS!"), (700, packets[1][:60] + bytes(60 - len(packets[1])) + b"FCS!")])
    capture = tmp_path / "sent.pcapng"
    eagre("sim", [f"name: {path}, cps: 1.0, ipg: 1000, rtt: 5000, w: 1"], "--pcap", capture)
    assert {tuple(row) for row in seen(capture, "frame.len", "udp.length")} == {("118", "84"), ("60", "14")}


@pytest.mark.parametrize(("option", "ports", "swaps"), [("-p", "0011", False), ("--flip", "0110", False), ("-e", "0110", True)])
def test_clients_with_an_odd_address_are_on_the_other_side(eagre, query, tmp_path, option, ports, swaps):
    """Interfaces of question and answer for even clients, then for odd ones; both ends' addresses may be exchanged."""
    capture = tmp_path / "sent.pcapng"
    eagre("sim", [f"name: {query}, cps: 4.0, ipg: 1000, rtt: 5000, w: 2"], option, "--pcap", capture)
    rows = seen(capture, "frame.interface_id", "eth.src", "eth.dst", "ip.src", "ip.dst", "udp.port")
    wanted = []
    for client, server, port in flows(8, 2):
        odd = int(client[-1]) & 1
        one, other = (ports[2:] if odd else ports[:2]) if option == "-p" else ("10" if odd else "01")
        ends = (server, client) if swaps and odd else (client, server)
        for side, (source, target), numbers in ((one, ends, f"{port},53"), (other, ends[::-1], f"53,{port}")):
            macs = [":".join([byte] * 6) for byte in (("18", "10"), ("28", "20"))[int(side)]]
            wanted.append([side, *macs, source, target, numbers])
    assert rows == wanted


def test_captured_times_and_short_ones(eagre, query, tmp_path):
    capture = tmp_path / "sent.pcapng"
    for more, gap in (("", 0.0007), ("  cap_ipg_min: 800\n  cap_override_ipg: 90\n", 0.00009)):
        template = f"name: {query}, cps: 1.0, ipg: 1000, rtt: 5000, w: 1"
        eagre("sim", [template], "--pcap", capture, more=f"  cap_ipg: true\n{more}")
        times = [float(row[0]) for row in seen(capture, "frame.time_relative")]
        assert times == [pytest.approx(at, abs=2e-6) for at in (0, gap, 1, 1 + gap)]


def test_a_conversation_over_tcp_keeps_its_packets(eagre, tmp_path):
    """As many as captured for each flow, with right checksums; a limit, a factor, a server for all."""
    capture = tmp_path / "sent.pcapng"
    template = f"name: {CAPTURE}, cps: 1.0, ipg: 100, rtt: 200, w: 1, limit: 30, one_app_server: true, server_addr: 7.7.7.7"
    eagre("sim", [template], "-m", "10", "--pcap", capture)
    packets = len(seen(CAPTURE, "frame.number"))
    rows = seen(capture, "ip.addr", "tcp.port", "tcp.checksum.status", "ip.checksum.status")
    assert len(rows) == 20 * packets
    assert {tuple(row[2:]) for row in rows} == {("1", "1")}
    pairs = {(frozenset(row[0].split(",")), frozenset(row[1].split(","))) for row in rows}
    assert {pair[0] for pair in pairs} == {frozenset({f"16.0.0.{n}", "7.7.7.7"}) for n in (1, 2, 3)} and len(pairs) == 20


def test_pools_by_name_and_a_capture_of_ipv6(eagre, tmp_path):
    """The upper 96 bits are the file's."""
    segment = struct.pack("!HHIIBBHHH", 4000, 80, 7, 0, 5 << 4, 2, 8192, 0x1234, 0)
    ends = (bytes(15) + b"\x01", bytes(15) + b"\x02")
    syn = bytes(12) + b"\x86\xdd" + struct.pack("!IHBB", 6 << 28, len(segment), 6, 255) + b"".join(ends) + segment
    path = save(tmp_path / "syn6.pcap", [(0, syn)])
    more = "  src_ipv6: [0xFE80,0x0232,0x1002,0x0051,0x0000,0x0000]\n  dst_ipv6: [0x2001,0x0DB8,0x0003,0x0004,0x0000,0x0000]\n"
    capture = tmp_path / "sent.pcapng"
    eagre("sim", [f"name: {path}, cps: 2.0, ipg: 100, rtt: 200, w: 1"], "--pcap", capture, more=more)
    rows = seen(capture, "ipv6.src", "ipv6.dst", "tcp.srcport", "ipv6.hlim")
    wanted = []
    for client, server, port in flows(4):
        low = [f"{int(side.split('.')[0]):x}00:{side.split('.')[3]}" for side in (client, server)]
        wanted.append([f"fe80:232:1002:51::{low[0]}", f"2001:db8:3:4::{low[1]}", port, "128"])
    assert rows == wanted


def test_a_profile_to_keep_is_short(eagre, tmp_path):
    """A stream for each template, however many packets its capture has."""
    template = f"name: {CAPTURE}, cps: 2.5, ipg: 10000, rtt: 20000, w: 1"
    text = eagre("convert", [template])
    assert len(text.splitlines()) < 30 and text.count("- name:") == 1
    for line in ("rate: 2.5/s", "clients: 16.0.0.1..16.0.0.3", "ipg: 10ms", "rtt: 20ms", "limit: 5", "first_port: spread"):
        assert line in text, text


def test_flows_go_through_a_router(lab, query, tmp_path):
    """Both directions, with addresses and ports in TRex's order, on real ports."""
    need("tcpdump")
    network = lab.router()
    network.router.ip("route", "add", "16.0.0.0/8", "via", WEST4)
    network.router.ip("route", "add", "48.0.0.0/8", "via", EAST4)
    dumps = []
    for side in (0, 1):
        dump = tmp_path / f"seen{side}.pcap"
        words = ("-Z", "root", "-U", "-B", "8192", "-Q", "in", "-i", f"r{side}", "-w", dump, "udp port 53")
        dumps.append((lab.start("tcpdump", *words, ns=network.router), dump))
        wait_until(lambda: dump.exists() and dump.stat().st_size >= 24, "tcpdump")
    path = written(tmp_path, [f"name: {query}, cps: 50.0, ipg: 1000, rtt: 5000, w: 1"])
    ports = [
        f"{number}=afpacket:veth{number},ip={port['ip'][0]},gateway={port['gateway'][0]}"
        for number, port in enumerate(network.ports("afpacket", v6=False).values())
    ]
    words = [word for port in ports for word in ("--port", port)]
    env = {"HOME": str(tmp_path), "EAGRE_PYTHON": sys.executable}
    result = lab.eagre("trex", "run", path, *words, "--json", "-", ns=network.tester, env=env).ok().json
    assert {name: row["tx"] for name, row in result["streams"].items()} == {"t0[client]": 100, "t0[server]": 100}
    for side, (dump, file) in enumerate(dumps):
        wait_until(lambda: len(whole(file)) >= 100, "all packets", 5)
        dump.terminate()
        dump.wait(10)
        rows = seen(file, "ip.src", "ip.dst", "udp.srcport" if side == 0 else "udp.dstport", "ip.checksum.status")
        ends = [(client, server) if side == 0 else (server, client) for client, server, _ in flows(100)]
        ports_seen = [port for *_, port in flows(100)]
        assert rows == [[*pair, port, "1"] for pair, port in zip(ends, ports_seen, strict=True)]
        assert len(records(file)) == 100
    assert all(result["ports"][port]["rx_packets"] >= 100 for port in ("port0", "port1"))


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
    path = written(tmp_path, [template.replace("{query}", str(query))])
    env = {"HOME": str(tmp_path), "EAGRE_PYTHON": sys.executable}
    lab.eagre("trex", "check", path, env=env).refused(2, reason)
