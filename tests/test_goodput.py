"""Goodput is what the other end acknowledged, and complete is what it acknowledged whole: Linux is the witness."""

import pytest
from hosts import Capture, Host, Routed
from kernel_server import ENOUGH_BYTES, RESETTER, SINK
from lab import wait_until
from sessions import check, of

KINDS = ["afpacket", "afxdp"]
FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
BULK = {"bulk": {"from": "client"}}
LARGE_BYTES = 5_000_000


def acknowledged(capture, address, port):
    """Bytes of each connection that a kernel acknowledged, its FIN's or SYN's number apart, as an analyser counts them."""
    source = "ipv6.src" if ":" in address else "ip.src"
    rows = capture.fields(f"{source} == {address} && tcp.port == {port} && tcp.flags.ack == 1", "tcp.stream", "tcp.ack")
    most = {}
    for stream, ack in rows:
        most[stream] = max(most.get(stream, 1), int(ack))
    return [ack - 1 for ack in most.values()]


@FAMILIES
@pytest.mark.parametrize("kind", KINDS)
def test_goodput_through_a_bucket_is_what_the_sink_got(lab, kind, v6):
    """A token bucket of 20 Mbit/s drops what is too fast: the sink's count and ours are the same, and so is the rate."""
    routed = Routed(lab, offloads=True)
    routed.router.run("tc", "qdisc", "add", "dev", "r1", "root", "tbf", "rate", "20mbit", "burst", "32kb", "latency", "50ms")
    sink = routed.kernel_server()
    load = {"duration": "2500ms", "drain": "10s"}
    entry = routed.client(BULK, v6, SINK, open="max", concurrent=2)
    profile = lab.profile(routed.ports(kind), None, sessions=[entry], load=load)
    done = lab.eagre("run", profile, "--json", "-", ns=routed.tester, timeout=60)
    one = of(done)
    got = sink.seen()[str(SINK)]["bytes"]
    assert one["failed"] == {} and one["client"]["tcp"]["bytes_retransmitted"] > 0, one
    assert one["tx_bytes_goodput"] == pytest.approx(got, rel=0.001)
    # Headers take 3.7 to 5 %; the bucket's burst and queue are filled at the beginning.
    assert 15e6 < one["tx_bps_goodput"] < 20e6, one["tx_bps_goodput"]


@FAMILIES
@pytest.mark.parametrize("kind", KINDS)
def test_goodput_under_loss_is_what_the_sink_got(lab, kind, v6):
    """A router loses 2 % of all segments both ways: the sink's count and ours are the same."""
    routed = Routed(lab)
    routed.lose(2)
    sink = routed.kernel_server()
    load = {"duration": "1500ms", "drain": "10s"}
    entry = routed.client(BULK, v6, SINK, open="max", concurrent=2, tcp={"rto_initial": "300ms"})
    profile = lab.profile(routed.ports(kind), None, sessions=[entry], load=load)
    one = of(lab.eagre("run", profile, "--json", "-", ns=routed.tester, timeout=60))
    got = sink.seen()[str(SINK)]["bytes"]
    assert one["failed"] == {} and one["client"]["tcp"]["bytes_retransmitted"] > 0 < routed.lost(), one
    assert one["tx_bytes_goodput"] == pytest.approx(got, rel=0.001)


@pytest.mark.unsteady("compares what two programs counted at the instant of a reset")
@FAMILIES
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("app", [BULK, {"bulk": {"from": "client", "bytes": "5MB"}}], ids=["stream", "size"])
def test_a_reset_by_the_sink_is_a_failure(lab, app, kind, v6):
    """The sink resets after 35 KB: nothing is complete, and goodput is what it acknowledged."""
    host = Host(lab, offloads=True)
    sink = host.kernel_server()
    capture = Capture(lab, host.host, "h0")
    done = host.run(host.client(app, v6, RESETTER, open="100/s", count=10), ports=host.ports(kind), duration="1s")
    one = check(done.json["sessions"]["s"])
    assert (one["completed"], one["failed"]) == (0, {"reset": 10}), one
    assert sink.seen()[str(RESETTER)]["bytes"] >= 10 * ENOUGH_BYTES
    said = sum(acknowledged(capture, host.address(v6), RESETTER))
    assert one["tx_bytes_goodput"] == one["client"]["tx_bytes_goodput"] == said < 10 * LARGE_BYTES


@FAMILIES
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("tls", [False, True], ids=["tcp", "tls"])
def test_a_client_that_takes_a_little_and_resets_is_a_failure(lab, kind, v6, tls):
    """1 KB of 5 MB is read, then a reset: no such session is complete, and nothing counts that was not acknowledged."""
    host = Host(lab, offloads=True)
    entry = host.server({"http": {}}, v6, server={"ports": 80})
    serving = host.serving(entry | ({"tls": True} if tls else {}), kind=kind)
    capture = Capture(lab, host.host, "h0")
    if tls:
        address = f"[{host.tester_address(v6)}]" if v6 else host.tester_address(v6)
        line = f"exec 3< <(curl -sk https://{address}:80/{LARGE_BYTES} --limit-rate 10k); head -c 1000 <&3 | wc -c; kill -9 $!"
        host.host.run("bash", "-c", line)
        wait_until(lambda: not host.sockets("state", "established"), "the end of the connection")
    else:
        host.kernel_client("taken", address=host.tester_address(v6), port=80, path=f"/{LARGE_BYTES}", count=5, length=1024)
    one = check(host.served(serving)["sessions"]["s"])
    count = 1 if tls else 5
    assert (one["attempted"], one["completed"], one["failed"]) == (count, 0, {"reset": count}), one
    said = sum(acknowledged(capture, host.address(v6), 80))
    if tls:
        # Without the handshake, the heads of records, and the record that was cut.
        assert said - 40_000 < one["tx_bytes_goodput"] <= said < LARGE_BYTES, said
    else:
        assert one["tx_bytes_goodput"] == said < 5 * LARGE_BYTES, said


def test_slow_readers_are_complete_only_if_they_read_everything(lab):
    """Readers of 1 KB at a time that give up: reset. Those that go on to the end: completed, and all counts agree."""
    host = Host(lab, offloads=True)
    serving = host.serving(host.server({"http": {}}, server={"ports": 80}))
    slow = {"address": host.tester_address(), "port": 80, "count": 30, "length": 10_240, "sleep": 0.03}
    host.kernel_client("taken", path="/1000000", **slow)
    read = host.kernel_client("taken", path="/100000", finish=True, **slow)["bytes"]
    one = check(host.served(serving)["sessions"]["s"])
    assert (one["attempted"], one["completed"], one["failed"]) == (60, 30, {"reset": 30}), one
    assert read > 30 * 100_000 and one["server"]["tx_bytes_goodput"] >= read + 30 * 10_240
    assert one["server"]["tx_bytes_goodput"] == one["server"]["tcp"]["bytes_acknowledged"]
