"""TRex's clients over `eagre serve` with the kernel as a router between its ports: STL, HLTAPI, ASTF."""

import json

import pytest
import trex
from lab import need

STL = """
import json
from trex.stl.api import *
c = STLClient()
"""
HLT = """
import json, time
from trex.stl.trex_stl_hltapi import *
h = CTRexHltApi()
"""
ASTF = """
import json, time
from trex.astf.api import *

def profile(cps=50, limit=100):
    client, server = ASTFProgram(), ASTFProgram()
    client.send(b"GET / HTTP/1.1\\r\\n\\r\\n")
    client.recv(5000)
    server.recv(18)
    server.send(b"x" * 5000)
    asks, answers = ASTFProgram(stream=False), ASTFProgram(stream=False)
    asks.send_msg("who?")
    asks.recv_msg(1)
    answers.recv_msg(1)
    answers.send_msg("nobody")
    addresses = ASTFIPGen(
        dist_client=ASTFIPGenDist(ip_range=["16.0.0.1", "16.0.0.9"]), dist_server=ASTFIPGenDist(ip_range=["48.0.0.1", "48.0.0.9"])
    )
    pages = ASTFTemplate(
        client_template=ASTFTCPClientTemplate(program=client, ip_gen=addresses, cps=cps, limit=limit),
        server_template=ASTFTCPServerTemplate(program=server), tg_name="pages",
    )
    queries = ASTFTemplate(
        client_template=ASTFTCPClientTemplate(program=asks, ip_gen=addresses, cps=cps, limit=limit, port=53),
        server_template=ASTFTCPServerTemplate(program=answers, assoc=ASTFAssociationRule(port=53)), tg_name="queries",
    )
    return ASTFProfile(default_ip_gen=addresses, templates=[pages, queries])

c = ASTFClient()
"""


@pytest.fixture(scope="module")
def routed(shared):
    """Four ports: 0 and 3 are connected, 1 and 2."""
    need("ip", "nft")
    return trex.Routed(shared, [(0, 3), (1, 2)], trex.interpreter(), "10Mbps")


@pytest.fixture
def script(routed):
    """Runs a script; what it prints last as JSON, and packets that each port has sent and received meanwhile."""

    def run(head, text, **options):
        path = routed.lab.folder() / "script.py"
        path.write_text(head + text)
        before = routed.counters()
        out = routed.run(path, **options)
        after = routed.counters()
        sent = {port: tuple(map(int.__sub__, after[port], before[port])) for port in after}
        return json.loads(out.splitlines()[-1]), sent

    return run


def test_ports_are_mapped_by_what_arrives(script):
    """Not by their numbers; and what mapping sends is not counted."""
    (table, stats), _ = script(
        STL,
        """
with c:
    c.reset()
    print(json.dumps([stl_map_ports(c), c.get_stats()["total"]["opackets"]]))
""",
    )
    assert table == {"map": {"0": 3, "1": 2, "2": 1, "3": 0}, "bi": [[0, 3], [1, 2]], "unknown": []}
    assert stats == 0


def test_two_directions_with_varying_addresses(script):
    """Counters of both ends are those of the interfaces; shares of the link's speed, in all and for each port."""
    stats, sent = script(
        STL,
        """
def packet(source, destination):
    vm = [
        STLVmFlowVar(name="s", min_value=f"{source}.1", max_value=f"{source}.254", size=4, op="inc"),
        STLVmWrFlowVar(fv_name="s", pkt_offset="IP.src"),
        STLVmFlowVar(name="d", min_value=f"{destination}.1", max_value=f"{destination}.254", size=4, op="inc"),
        STLVmWrFlowVar(fv_name="d", pkt_offset="IP.dst"),
        STLVmFixIpv4(offset="IP"),
    ]
    return STLPktBuilder(pkt=Ether()/IP()/UDP()/("x" * 458), vm=vm)
with c:
    c.reset([0, 3])
    c.add_streams(STLStream(packet=packet("10.0.0", "8.0.0"), mode=STLTXCont(pps=100)), ports=[0])
    c.add_streams(STLStream(packet=packet("8.0.0", "10.0.0"), isg=1000, mode=STLTXCont(pps=100)), ports=[3])
    c.clear_stats()
    c.start(ports=[0, 3], mult="20%", duration=1, total=True, core_mask=STLClient.CORE_MASK_PIN)
    c.wait_on_traffic(ports=[0, 3])
    print(json.dumps(c.get_stats([0, 3])))
""",
    )
    # A tenth of 10 Mbit/s at layer 1 for each: 1 Mbit/s / (524 bytes and 8 bits each).
    assert stats["0"]["opackets"] == pytest.approx(1e6 / (524 * 8), abs=2)
    for port, peer in ((0, 3), (3, 0)):
        assert stats[str(port)]["opackets"] == sent[port][0] == stats[str(peer)]["ipackets"] == sent[peer][1]
    assert stats["total"]["obytes"] == stats["total"]["opackets"] * 504


@pytest.mark.unsteady("measures rates of a second; a busy machine makes them stray")
def test_rates_are_changed_while_traffic_runs(script):
    """Absolute and relative, for one port alone; a port is stopped alone."""
    rates, _ = script(
        STL,
        """
packet = STLPktBuilder(pkt=Ether()/IP()/UDP()/("x" * 30))
out = []
def rates():
    # Snapshots are a tenth of a second old.
    time.sleep(0.5)
    first, began = c.get_stats([0, 3]), time.monotonic()
    time.sleep(1)
    last, seconds = c.get_stats([0, 3]), time.monotonic() - began
    out.append([(last[port]["opackets"] - first[port]["opackets"]) / seconds for port in (0, 3)])
with c:
    c.reset([0, 3])
    c.add_streams([STLStream(packet=packet, mode=STLTXCont(pps=pps)) for pps in (10, 30)], ports=[0, 3])
    c.start(ports=[0, 3], mult="10")
    rates()
    c.update(ports=[0], mult="1kpps")
    rates()
    c.update(ports=[0], mult="-50%")
    rates()
    c.pause(ports=[0])
    rates()
    c.resume(ports=[0])
    c.stop(ports=[3])
    rates()
    out.append(c.get_active_ports())
print(json.dumps(out))
""",
    )
    *rates, active = rates
    for found, wanted in zip(rates, ([400, 400], [1000, 400], [500, 400], [0, 400], [500, 0])):
        assert found == [pytest.approx(rate, rel=0.4, abs=3) for rate in wanted], rates
    assert active == [0]


def test_captures_and_packets_are_sent(script, routed):
    """`push_pcap` with addresses that vary, and single packets."""
    stats, sent = script(
        STL,
        """
from scapy.all import wrpcap
wrpcap("/tmp/%s", [Ether()/IP(dst="48.0.0.9")/UDP()/bytes(50)] * 3)
with c:
    c.reset([0, 3])
    vm = STLIPRange(dst={"start": "10.0.0.1", "end": "10.0.0.254", "step": 1})
    c.push_pcap("/tmp/%s", ports=[0], ipg_usec=100, count=5, vm=vm)
    c.wait_on_traffic()
    out = [c.get_stats()[0]["opackets"]]
    c.clear_stats()
    c.push_packets([Ether()/IP()/UDP()/bytes(30), bytes(Ether()/IP()/UDP()/bytes(60))], ports=[3], force=True)
    c.wait_on_traffic()
    out.append(c.get_stats()[3]["opackets"])
os.unlink("/tmp/%s")
print(json.dumps(out))
"""
        % ((f"eagre-{routed.tester.name}.pcap",) * 3),
    )
    assert stats == [15, 2]
    assert (sent[0][0], sent[3][0]) == (15, 2)


def test_console_lines(script, routed):
    """As scripts pass them."""
    profile = routed.lab.folder() / "p.py"
    profile.write_text(
        """
from trex.stl.api import *
class P:
    def get_streams(self, direction, tunables, **kwargs):
        size = int(tunables[1]) if tunables else 60
        return STLStream(packet=STLPktBuilder(pkt=Ether()/IP()/UDP()/bytes(size - 42)), mode=STLTXCont(pps=1))
def register():
    return P()
"""
    )
    out, _ = script(
        STL,
        f"""
with c:
    c.reset([0, 3])
    c.start_line("-f {profile} -m 200pps -t size=100 --port 0 3")
    c.pause_line("--port 0 3")
    c.resume_line("--port 0 3")
    c.update_line("--port 0 3 -m 400pps")
    time.sleep(1)
    c.stop_line("--port 0 3")
    total = c.get_stats()["total"]
    try:
        c.start_line("-m")
    except TRexConsoleError as error:
        print(json.dumps([total["obytes"] / total["opackets"], total["opackets"] == total["ipackets"], str(error)]))
""",
    )
    assert out[:2] == [104, True]
    assert "start: " in out[2]


def test_hltapi(script):
    """Streams of keyword arguments, both directions; counters of ports and streams; errors are dictionaries."""
    out, sent = script(
        HLT,
        """
out = []
def check(res):
    out.append(check_res(res))
    return res
check(h.connect(device="localhost", port_list=[0, 3], reset=True, break_locks=True))
common = dict(l3_protocol="ipv4", l4_protocol="udp", frame_size=60, rate_pps=200, ip_src_addr="10.0.0.1", ip_dst_addr="8.0.0.1",
              ip_src_mode="increment", ip_src_count=254, ignore_macs=True)
check(h.traffic_config(mode="create", bidirectional=True, port_handle=0, port_handle2=3, transmit_mode="single_burst",
                       pkts_per_burst=100, **common))
check(h.traffic_config(mode="modify", port_handle=0, stream_id=1, pkts_per_burst=50))
check(h.traffic_control(action="run", port_handle=[0, 3]))
h.wait_on_traffic(timeout=30)
check(h.traffic_control(action="poll", port_handle=[0, 3]))
check(h.traffic_stats(mode="all", port_handle=[0, 3]))
check(h.traffic_config(mode="remove", port_handle=0, stream_id="1"))
out.append(h.traffic_config(mode="remove", port_handle=0, stream_id=1))
out.append(h.traffic_control(action="dance"))
check(h.cleanup_session(port_handle="all"))
out.append(h.traffic_stats())
print(json.dumps(out))
""",
    )
    connected, created, _, started, polled, stats, _, gone, wrong, _, closed = out
    assert connected == {"status": 1, "log": None, "port_handle": {"0": 0, "3": 3}}
    assert created["stream_id"] == {"0": 1, "3": 2}
    assert started["stopped"] is False and polled["stopped"] is True
    assert (sent[0], sent[3]) == ((50, 100), (100, 50))
    for port, (tx, rx) in (("0", sent[0]), ("3", sent[3])):
        rows = stats[port]["aggregate"]
        assert (rows["tx"]["total_pkts"], rows["rx"]["total_pkts"], rows["tx"]["pkt_byte_count"]) == (tx, rx, tx * 64)
    assert stats["0"]["stream"]["1"]["tx"]["total_pkts"] == 50
    assert "port 0 has no stream 1" in gone["log"] and gone["status"] == 0
    assert "'dance'; allowed: " in wrong["log"]
    assert "connect first" in closed["log"]


def test_sessions_and_their_counters(script):
    """Both ends agree, by template group, too; a second run counts from clear_stats on."""
    out, sent = script(
        ASTF,
        """
out = []
with c:
    c.reset()
    c.load_profile(profile())
    for _ in range(2):
        c.clear_stats()
        c.start(mult=2, duration=3)
        c.wait_on_traffic(timeout=60)
        stats = c.get_stats()
        out.append([stats["traffic"], c.get_traffic_tg_stats("pages"), c.is_traffic_stats_error(stats["traffic"]), stats["total"]])
    out.append([c.get_tg_names(), c.get_traffic_tg_stats(["queries"])])
print(json.dumps(out))
""",
        ports=(0, 3),
    )
    *runs, (names, queries) = out
    assert names == ["pages", "queries"]
    for traffic, pages, (wrong, which), total in runs:
        client, server = traffic["client"], traffic["server"]
        assert client["tcps_connattempt"] == client["tcps_connects"] == client["tcps_closed"] == server["tcps_accepts"] == 100
        assert client["tcps_sndbyte"] == server["tcps_rcvbyte"] == 100 * 18
        assert server["tcps_sndbyte"] == client["tcps_rcvbyte"] == 100 * 5000
        assert client["udps_connects"] == server["udps_accepts"] == client["udps_sndpkt"] == server["udps_rcvpkt"] == 100
        assert client["udps_rcvbyte"] == server["udps_sndbyte"] == 600
        assert pages["pages"]["client"]["tcps_sndbyte"] == 100 * 18 and "udps_sndbyte" not in pages["pages"]["client"]
        assert "m_active_flows" not in client
        # A busy machine may make TCP send again, which TRex calls an error.
        assert wrong == bool(which["client"] or which["server"])
        assert set(which["client"]) <= {"tcps_sndrexmitpack", "tcps_sndrexmitbyte", "tcps_rcvdupack", "tcps_rexmttimeo",
                                        "tcps_rcvduppack", "tcps_rexmttimeo_syn"}  # fmt: skip
    assert runs[0][3]["opackets"] + runs[1][3]["opackets"] == sent[0][0] + sent[3][0]


def test_sessions_are_changed_and_stopped(script):
    """Twice the rate; what is open at a stop is not waited for; a second start is refused."""
    out, _ = script(
        ASTF,
        """
out = []
with c:
    c.reset()
    c.load_profile(profile(limit=0))
    c.start(mult=1, nc=True)
    for call in (lambda: c.start(), lambda: c.load_profile(profile()), lambda: c.topo_load("x"), lambda: c.get_profiles_state(),
                 lambda: c.start(latency_pps=10)):
        try:
            call()
            out.append("no error")
        except TRexError as error:
            out.append(str(error))
    def rate():
        time.sleep(0.5)
        first, began = c.get_stats()["traffic"]["client"]["udps_connects"], time.monotonic()
        time.sleep(1)
        stats = c.get_stats()
        out.append((stats["traffic"]["client"]["udps_connects"] - first) / (time.monotonic() - began))
        return stats
    rate()
    c.update(mult=4)
    stats = rate()
    out += [stats["global"]["tx_cps"], stats["traffic"]["client"]["m_tx_pps_r"]]
    began = time.monotonic()
    c.stop()
    out += [time.monotonic() - began, c.is_traffic_active()]
print(json.dumps(out))
""",
        ports=(0, 3),
    )
    *errors, before, after, opened, packets, seconds, active = out
    for error, part in zip(errors, ("stop it to start", "stop it to load", "docs/ports.md", "is_traffic_active", "latency_pps")):
        assert part in error
    assert before == pytest.approx(50, rel=0.4) and after == pytest.approx(200, rel=0.4)
    assert opened > 0 and packets > 0
    assert seconds < 15 and not active
