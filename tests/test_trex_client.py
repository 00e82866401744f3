"""TRex's STLClient over `eagre serve`: scripts as TRex's users write them; figures agree with the interfaces' counters."""

import json

import pytest
import trex
from lab import EAGRE, need
from server import Server

HEAD = """
import json
from trex.stl.api import *
packet = STLPktBuilder(pkt=Ether()/IP(src="16.0.0.1", dst="48.0.0.1")/UDP(sport=1025, dport=12)/("x"*40))
c = STLClient()
"""


@pytest.fixture(scope="module")
def script(shared):
    """Runs a script against a server whose two ports are a veth pair; what it prints, and the interfaces' counters."""
    need("ip")
    namespace = shared.netns("trex")
    namespace.ip("link", "set", "lo", "up")
    shared.veth(namespace, "v0", namespace, "v1")
    for end in ("v0", "v1"):
        namespace.sysctl({f"net.ipv6.conf.{end}.disable_ipv6": 1})
    server = Server(shared, ns=namespace)
    python = trex.interpreter()

    def run(text):
        path = shared.folder() / "script.py"
        path.write_text(HEAD + text)
        env = {
            "PYTHONPATH": str(trex.SOURCE), "EAGRE_URL": server.url, "EAGRE_TREX_PORTS": "v0 v1", "EAGRE": str(EAGRE),
            "EAGRE_PYTHON": str(python),
        }  # fmt: skip
        before = counters(namespace)
        out = trex.done(*namespace.command(), python, "-B", path, env=env)
        after = counters(namespace)
        return json.loads(out), {name: after[name] - before[name] for name in after}

    return run


def counters(namespace):
    """Packets sent by each end, as the kernel counts them."""
    links = json.loads(namespace.run("ip", "-j", "-s", "link"))
    return {link["ifname"]: link["stats64"]["tx"]["packets"] for link in links if link["ifname"] != "lo"}


def test_a_burst_is_counted_by_port_and_group(script):
    """Packets and bytes at both ends; all bursts are waited for; a second run counts from clear_stats on."""
    stats, sent = script(
        """
s = STLStream(packet=packet, flow_stats=STLFlowStats(pg_id=7), mode=STLTXSingleBurst(total_pkts=300, pps=1000))
c.connect()
c.reset(ports=[0, 1])
c.add_streams(s, ports=[0])
out = []
for _ in range(2):
    c.clear_stats()
    c.start(ports=[0], mult="2")
    c.wait_on_traffic(ports=[0], timeout=60)
    stats, pg = c.get_stats(), c.get_pgid_stats()["flow_stats"][7]
    out.append([stats[0]["opackets"], stats[1]["ipackets"], stats["total"]["obytes"], pg["tx_pkts"][0],
        pg["rx_pkts"][1], pg["rx_bytes"]["total"] / s.get_pkt_len()])
c.disconnect()
print(json.dumps(out))
"""
    )
    assert stats == [[300, 300, 300 * 86, 300, 300, 300]] * 2
    assert sent == {"v0": 600, "v1": 0}


def test_latency_is_in_microseconds(script):
    """Of a stream that keeps its rate whatever the multiplier."""
    (latency, errors), sent = script(
        """
s = STLStream(packet=packet, flow_stats=STLFlowLatencyStats(pg_id=1), mode=STLTXSingleBurst(total_pkts=100, pps=1000))
with c:
    c.reset(ports=[0, 1])
    c.add_streams([s], ports=[1])
    c.start(ports=1)
    c.wait_on_traffic()
    found = c.get_pgid_stats(1)["latency"][1]
    print(json.dumps([found["latency"], found["err_cntrs"]]))
"""
    )
    assert 0 < latency["total_min"] <= latency["average"] <= latency["total_max"] < 1e6
    assert errors["dropped"] == errors["dup"] == 0
    assert sent["v1"] == 100


def test_traffic_is_paused_and_stopped(script):
    """Endless traffic; start refuses a second time; wait_on_traffic has a limit."""
    said, _ = script(
        """
s = STLStream(packet=packet, mode=STLTXCont(pps=500))
out = []
with c:
    c.reset(ports=[0, 1])
    c.add_streams([s], ports=[0, 1])
    c.start(ports=[0, 1])
    out.append(c.is_traffic_active())
    for call in (lambda: c.start(ports=[0]), lambda: c.wait_on_traffic(timeout=1), lambda: c.scan6()):
        try:
            call()
            out.append("no error")
        except TRexError as error:
            out.append(str(error))
    c.pause()
    time.sleep(1)
    before = c.get_stats()["total"]["opackets"]
    time.sleep(1)
    out.append(c.get_stats()["total"]["opackets"] - before)
    c.resume()
    c.stop()
    stats = c.get_stats()
    out += [c.is_traffic_active(), stats["total"]["opackets"] > 0, stats["total"]["opackets"] == stats["total"]["ipackets"]]
print(json.dumps(out))
"""
    )
    active, second, timeout, missing, while_paused, still, sent, received = said
    assert (active, while_paused, still, sent, received) == (True, 0, False, True, True)
    assert "are sending; stop them first" in second
    assert "not done after 1 seconds" in timeout
    assert "use 'ping ff02::1'" in missing


def test_a_script_without_a_server_is_told_what_to_start():
    """Instead of a traceback of sockets."""
    python = trex.interpreter()
    code = "from trex.stl.api import *\ntry:\n    STLClient(server='127.0.0.1:1').connect()\nexcept STLError as e:\n    print(e)"
    said = trex.done(python, "-c", code, env={"PYTHONPATH": str(trex.SOURCE)})
    assert "no server at http://127.0.0.1:1" in said
    assert "eagre serve" in said


def test_captures_in_service_mode(script, shared):
    """What a port receives and sends, of packets pushed and of streams; a filter; the first and the last; lists and files."""
    file = shared.folder() / "sent.pcap"
    (found, file_found, errors), sent = script(
        f"""
c.connect()
c.reset()
errors = []
def refused(*args, **kwargs):
    try:
        c.start_capture(*args, **kwargs)
    except TRexError as error:
        errors.append(str(error))
refused(rx_ports=1)
c.set_service_mode()
refused()
refused(rx_ports=1, mode="whole")
all_ids = [
    c.start_capture(rx_ports=1)["id"], c.start_capture(tx_ports=[0], limit=5)["id"],
    c.start_capture(rx_ports=[1], limit=3, mode="cyclic")["id"],
]
refused(rx_ports=1, bpf_filter="udp")
c.push_packets([Ether(dst="02:00:00:00:00:09")/IP(src="16.0.0.1", dst="48.0.0.1")/UDP(sport=7, dport=n) for n in range(1, 9)],
    ports=[0], force=True)
c.wait_on_traffic()
status = c.get_capture_status()
counts = [[status[one]["count"], status[one]["matched"]] for one in all_ids]
rx, tx = [], []
c.stop_capture(all_ids[0], output=rx)
c.stop_capture(all_ids[1], output={str(file)!r})
c.fetch_capture_packets(all_ids[2], tx)
c.remove_all_captures()
ports = [[Ether(one["binary"])[UDP].dport for one in each] for each in (rx, tx)]
origins = sorted({{(one["origin"], one["port"]) for one in rx + tx}})
one = c.start_capture(rx_ports=1, bpf_filter="udp port 12")["id"]
c.add_streams(STLStream(packet=packet, mode=STLTXSingleBurst(total_pkts=40, pps=1000)), ports=[0])
c.start(ports=[0])
c.wait_on_traffic()
streamed = []
c.stop_capture(one, output=streamed)
c.disconnect()
ordered = all(a["ts"] <= b["ts"] for a, b in zip(streamed, streamed[1:]))
print(json.dumps([[counts, ports, origins, len(streamed), ordered], len(rdpcap({str(file)!r})), errors]))
"""
    )
    counts, ports, origins, streamed, ordered = found
    assert counts == [[8, 8], [5, 8], [3, 8]]
    assert ports == [list(range(1, 9)), [6, 7, 8]] and origins == [["RX", 1]]
    assert (streamed, ordered, file_found) == (40, True, 5) and sent["v0"] == 48
    assert [text.split(";")[0].split(":")[0] for text in errors] == [
        "ports [1] are not in service mode",
        "start_capture needs tx_ports or rx_ports",
        "argument 'mode' has the value 'whole'",
        "capture 1 of the same port has another filter",
    ], errors


def test_pings(script):
    """An address of the other port answers, another does not; a port without an address is told so."""
    (records, errors), _ = script(
        """
import os
os.environ["EAGRE_TREX_PORTS"] = "v0,ip=10.0.0.1/24 v1,ip=10.0.0.2/24"
c.connect()
c.reset()
records = [[one["status"] for one in c.ping_ip(0, "10.0.0.2", count=2, interval_sec=0.2, verbose=False)]]
records.append([one["status"] for one in c.ping_ip(0, "10.0.0.77", count=1, interval_sec=0.2, verbose=False)])
c.set_service_mode()
one = c.start_capture(rx_ports=[0])["id"]
c.ping_ip(0, "10.0.0.2", count=1, verbose=False)
packets = []
c.stop_capture(one, packets)
records.append(sum(Ether(packet["binary"]).haslayer(ICMP) for packet in packets))
c.disconnect()
os.environ["EAGRE_TREX_PORTS"] = "v0 v1"
c.connect()
c.reset()
errors = []
try:
    errors = [one["formatted_string"] for one in c.ping_ip(0, "10.0.0.2", count=1, interval_sec=0.2, verbose=False)]
except TRexError as error:
    errors.append(str(error))
c.disconnect()
print(json.dumps([records, errors]))
"""
    )
    assert records == [["success", "success"], ["timeout"], 1]
    assert len(errors) == 1 and "address" in errors[0], errors


@pytest.mark.unsteady("it compares rates")
def test_single_streams_are_updated_and_paused(script):
    """Of two streams of a port one changes its rate, stops and goes on; the other does not."""
    (rates, error), _ = script(
        """
def stream(number, pps):
    return STLStream(packet=packet, flow_stats=STLFlowStats(pg_id=number), mode=STLTXCont(pps=pps))
with c:
    c.reset()
    one, two = c.add_streams([stream(1, 100), stream(2, 200)], ports=[0])
    c.start(ports=[0])
    def rates():
        time.sleep(0.5)
        groups, begin = c.get_pgid_stats()["flow_stats"], time.monotonic()
        time.sleep(2)
        later, end = c.get_pgid_stats()["flow_stats"], time.monotonic()
        return [(later[n]["tx_pkts"][0] - groups[n]["tx_pkts"][0]) / (end - begin) for n in (1, 2)]
    out = [rates()]
    c.update_streams(0, mult="3", stream_ids=[one])
    out.append(rates())
    c.pause_streams(0, [one])
    out.append(rates())
    c.resume_streams(0, [one])
    out.append(rates())
    try:
        c.pause_streams(0, [77])
    except TRexError as error:
        text = str(error)
print(json.dumps([out, text]))
"""
    )
    for found, wanted in zip(rates, [(100, 200), (300, 200), (0, 200), (300, 200)], strict=True):
        assert all(abs(one - other) <= 0.25 * other for one, other in zip(found, wanted, strict=True)), rates
    assert error == "port 0 sends no streams [77]; it sends: 1, 2"


@pytest.mark.unsteady("it compares rates")
def test_profiles_of_a_port_come_and_go(script):
    """Each is started, updated and stopped by itself, while others send at their rate; each ends at its own time."""
    (errors, rates, states, counts, events), sent = script(
        """
def stream(number, **mode):
    return STLStream(packet=packet, flow_stats=STLFlowStats(pg_id=number), mode=STLTXCont(**mode))
def rates():
    one, begin = c.get_pgid_stats()["flow_stats"], time.monotonic()
    time.sleep(1.5)
    two, end = c.get_pgid_stats()["flow_stats"], time.monotonic()
    return [(two[n]["tx_pkts"]["total"] - one.get(n, two[n])["tx_pkts"]["total"]) / (end - begin) for n in two if n != "global"]
errors = []
with c:
    c.reset(ports=[0, 1])
    c.add_streams(stream(1, pps=200), ports=[0])
    c.start(ports=[0])
    try:
        c.add_streams(stream(9, pps=1), ports=[0])
    except TRexError as error:
        errors.append(str(error))
    c.add_streams(stream(2, pps=100), ports=["0.web"])
    c.add_streams(stream(3, pps=50), ports=["1.back"])
    c.start(ports=["0.web", "1.back"], mult="2")
    time.sleep(0.3)
    out = [rates()]
    states = [sorted(c.get_profiles_with_state("active"))]
    c.update(ports=["0.web"], mult="4")
    c.stop(ports=["1.back"])
    time.sleep(0.3)
    out.append(rates())
    states.append(sorted(c.get_profiles_with_state("active")))
    s = STLStream(packet=packet, flow_stats=STLFlowStats(pg_id=4), mode=STLTXSingleBurst(total_pkts=30, pps=100))
    c.add_streams(s, ports=["1.burst"])
    c.start(ports=["1.burst"])
    c.wait_on_traffic(ports=["1.burst"], timeout=20)
    c.add_streams(stream(5, pps=100), ports=["1.short"])
    c.start(ports=["1.short"], duration=1)
    c.wait_on_traffic(ports=["1.short"], timeout=20)
    states.append(sorted(c.get_profiles_with_state("active")))
    c.stop()
    found = c.get_pgid_stats()["flow_stats"]
    stats = c.get_stats()
    counts = [found[4]["tx_pkts"][1], found[5]["tx_pkts"][1], [found[n]["tx_pkts"]["total"] - found[n]["rx_pkts"]["total"]
        for n in range(1, 6)], stats["total"]["opackets"]]
    events = sorted(event.msg for event in c.get_events())
print(json.dumps([errors, out, states, counts, events]))
"""
    )
    assert len(errors) == 1 and "port 0 is sending; stop it before" in errors[0], errors
    for found, wanted in zip(rates, [(200, 200, 100), (200, 400, 0)], strict=True):
        assert all(abs(one - other) <= 0.25 * other for one, other in zip(found, wanted, strict=True)), rates
    assert states == [["0._", "0.web", "1.back"], ["0._", "0.web"], ["0._", "0.web"]]
    burst, short, lost, packets = counts
    assert (burst, short, lost) == (30, 100, [0] * 5)
    assert sent["v0"] + sent["v1"] == packets
    names = ("0._", "0.web", "1.back", "1.burst", "1.short")
    assert events == [f"Profile {name} job done" for name in names]
