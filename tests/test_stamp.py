"""STAMP as an application of sessions: its figures on a simulated path whose delay and losses are known, its packets as tshark reads them, and both
ends against the kernel's sockets and other implementations.

STAMP_SUITE: path of the program `stamp-suite` (crates.io, 1.0); TWAMPY: path of the folder `src` of nokia/twampy. Without them, long tests
with them are not run.
"""

import json
import os
import re
import signal
import socket
import struct
import sys

import pytest
from hosts import Host
from lab import EAGRE, REPO, call, need, wait_until
from server import inside
from sessions import check, of

STAMP_SUITE, TWAMPY = os.environ.get("STAMP_SUITE"), os.environ.get("TWAMPY")
PORT, MS = 862, 1_000_000
# Seconds from 1900 to 1970.
NTP = 2_208_988_800
PORTS = {
    "west": {"device": "ring:a", "ip": "10.0.0.1/24", "speed": "1Gbps"},
    "east": {"device": "ring:b", "ip": "10.0.0.2/24", "speed": "1Gbps"},
}
KEY = "00112233445566778899aabbccddeeff"


def simulated(lab, *arguments, link=None, clients=20, drain="1500ms", duration="3s", **stamp):
    """Sessions of one packet series for each client, in virtual time."""
    entry = {
        "name": "s",
        "client": {"port": "west", "addresses": f"10.0.0.10..10.0.0.{9 + clients}"},
        "server": {"port": "east", "addresses": "10.0.0.100"},
        "app": {"stamp": stamp},
        "open": "1000/s",
        "count": clients,
    }
    # A packet passes two links each way.
    sim = {"link": {"speed": "1Gbps", "delay": "1ms", **(link or {})}}
    profile = lab.profile(PORTS, None, sessions=[entry], load={"duration": duration, "drain": drain}, sim=sim, seed=5)
    return lab.eagre("sim", profile, "--json", "-", *arguments)


def test_a_path_without_losses(lab):
    """Every figure of both ends is that of the path."""
    one = of(simulated(lab, packets=50, interval="10ms", reflector="stateful"))
    client, server = one["client"]["stamp"], one["server"]["stamp"]
    assert (one["completed"], one["failed"]) == (20, {}), one
    assert (client["sent"], client["received"], client["lost"], client["loss_ratio"]) == (1000, 1000, 0, 0), client
    assert (client["lost_to_reflector"], client["lost_from_reflector"], client["reordered"], client["duplicates"], client["late"]) == (0,) * 5
    assert (server["sent"], server["received"]) == (1000, 1000) and "lost" not in server and "round_trip_ns" not in server, server
    assert (one["requests"], one["transactions"], one["server"]["requests"]) == (1000, 1000, 1000)
    trip = client["round_trip_ns"]
    assert trip["samples"] == 1000 and 4 * MS <= trip["min"] <= trip["max"] < 4.2 * MS, trip
    for direction in ("to", "from"):
        delay, jitter = client[f"{direction}_reflector_ns"], client[f"{direction}_reflector_jitter_ns"]
        assert delay["samples"] == 1000 and 2 * MS <= delay["min"] <= delay["max"] < 2.2 * MS, delay
        assert jitter["samples"] == 980 and jitter["max"] < 0.2 * MS, jitter
    assert client["reflector_ns"]["max"] < 0.1 * MS


def test_losses_have_a_direction_if_the_reflector_counts(lab):
    """The servers' own count shows what is right; a stateless reflector shows no direction."""
    for reflector in ("stateful", "stateless"):
        one = of(simulated(lab, packets=200, interval="5ms", reflector=reflector, link={"loss": "5%"}))
        client, server = one["client"]["stamp"], one["server"]["stamp"]
        assert one["failed"] == {} and client["sent"] == client["received"] + client["lost"] == 4000, client
        there, back = client["sent"] - server["received"], server["sent"] - client["received"]
        assert 100 < there < 300 and 100 < back < 300
        assert client["loss_ratio"] == client["lost"] / 4000 == pytest.approx(one["failed_requests_ratio"])
        if reflector == "stateless":
            assert "lost_to_reflector" not in client and "lost_from_reflector" not in client
            continue
        # Behind the last reply of a session nothing shows where packets were lost.
        assert 0 <= there - client["lost_to_reflector"] <= 10 and 0 <= back - client["lost_from_reflector"] <= 10, (there, back, client)


def test_delays_that_vary_show_as_jitter_and_order(lab):
    one = of(simulated(lab, packets=100, interval="1ms", link={"reorder": "10%", "reorder_by": "3ms"}))
    client = one["client"]["stamp"]
    assert client["received"] == 2000 and client["reordered"] > 50, client
    assert client["round_trip_ns"]["max"] > 6 * MS and client["to_reflector_jitter_ns"]["max"] > 2.5 * MS, client
    assert client["round_trip_jitter_ns"]["p50"] < 0.2 * MS


def test_late_replies_count_as_lost(lab):
    """A packet's time is over after `wait`; a session without any reply in time fails."""
    one = check(simulated(lab, packets=20, interval="10ms", wait="3ms").json["sessions"]["s"])
    assert one["failed"] == {"response_timeout": 20} and one["client"]["stamp"]["lost"] == 400, one["client"]
    assert one["client"]["stamp"]["late"] > 300 and "round_trip_ns" not in one["client"]["stamp"]


def test_an_endless_session_ends_with_the_run(lab):
    """Also where the drain is shorter than the wait for a reply that is lost."""
    one = of(simulated(lab, packets="endless", interval="20ms", link={"loss": "5%"}, drain="200ms"))
    assert (one["completed"], one["stopped"], one["failed"], one["active"]) == (20, 20, {}, 0), one
    client = one["client"]["stamp"]
    # Those whose time was not over are neither.
    assert 0 <= client["sent"] - client["received"] - client["lost"] < 0.2 * client["sent"] and client["sent"] >= 20 * 140


@pytest.mark.parametrize("key", [None, KEY], ids=["open", "key"])
def test_tshark_reads_both_packets(lab, key):
    """Numbers, identifiers, error estimates, copies and TTL are where the RFC has them."""
    need("tshark")
    pcap = lab.folder() / "packets.pcap"
    size = 60 if key is None else 128
    of(simulated(lab, "--pcap", pcap, clients=2, packets=5, size=f"{size}B", reflector="stateful", **({"key": key} if key else {})))
    fields = ("seq_number", "timestamp", "error_estimate.s", "error_estimate.z", "receive_timestamp", "sender_seq_number", "sender_timestamp", "sender_ttl")
    wanted = [part for field in fields for part in ("-e", f"twamp.test.{field}")]
    columns = ["-e", "udp.srcport", "-e", "udp.length", "-e", "frame.time_epoch", "-e", "udp.payload"]
    seen = call("tshark", "-r", pcap, "-Y", "udp", "-d", f"udp.port=={PORT},twamp.test", "-T", "fields", *columns, *(wanted if key is None else []))
    rows = [line.split("\t") for line in seen.splitlines()]
    requests, replies = ([row for row in rows if (row[0] == str(PORT)) == is_reply] for is_reply in (False, True))
    assert len(requests) == len(replies) == 10 and {row[1] for row in rows} == {str(size + 8)}
    at = (4, 14, 16, 24, 28, 40) if key is None else (16, 26, 32, 48, 64, 80)
    sent, ssid, came, number, copy, ttl = at
    for packet in (bytes.fromhex(row[3]) for row in requests):
        mine = [other for other in (bytes.fromhex(row[3]) for row in replies) if other[copy : copy + 8] == packet[sent : sent + 8] and other[ssid : ssid + 2] == packet[ssid : ssid + 2]]
        (reply,) = mine
        assert reply[number : number + 4] == packet[:4] == reply[:4] and reply[ttl] == 64
        assert struct.unpack_from(">H", packet, ssid)[0] in (1, 2) and reply[came : came + 8] == reply[sent : sent + 8] != packet[sent : sent + 8]
        base = 44 if key is None else 112
        assert packet[base : base + 2] == b"\x80\x01" and reply[base : base + 2] == b"\0\x01", "Extra Padding is understood"
    if key is None:
        assert sorted(int(row[4]) for row in requests) == sorted(int(row[4]) for row in replies) == sorted([*range(5)] * 2)
        for row in replies:
            assert row[11] == "64" and row[9] in {other[4] for other in requests}, row
    for row in requests:
        stamp = int.from_bytes(bytes.fromhex(row[3])[sent : sent + 8], "big") / 2**32 - NTP
        assert abs(stamp - float(row[2])) < 0.001, (stamp, row)


def client(host, v6=False, **stamp):
    """Ten hosts that send 50 packets each."""
    first = "2001:2::{}" if v6 else "10.0.0.{}"
    addresses = f"{first.format('a0' if v6 else 160)}..{first.format('a9' if v6 else 169)}"
    # A machine that others use may keep a packet for seconds.
    app = {"stamp": {"packets": 50, "interval": "20ms", "wait": "5s", **stamp}}
    return host.client(app, v6, client={"addresses": addresses}, open="100/s", count=10)


def whole(one, sessions=10, packets=500):
    """All packets have replies, by times that make sense."""
    assert (one["completed"], one["failed"]) == (sessions, {}), one
    stamp = one["client"]["stamp"]
    assert (stamp["sent"], stamp["received"], stamp["lost"], stamp.get("untimed")) == (packets, packets, 0, None), stamp
    assert "dropped" not in stamp and stamp["late"] == 0, stamp
    assert 0 < stamp["round_trip_ns"]["min"] and stamp["round_trip_ns"]["p50"] < 50 * MS, stamp
    # The kernel's clock is another one: no delays of one direction.
    assert "to_reflector_ns" not in stamp or "server" in one, stamp
    assert stamp["to_reflector_jitter_ns"]["samples"] == packets - sessions, stamp
    return stamp


@pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
@pytest.mark.parametrize("mode", ["stateless", "stateful", "key"])
def test_a_reflector_of_the_kernels_sockets(lab, mode, v6):
    host = Host(lab, offloads=True)
    stamp, options = {"size": "200B", "timestamps": "ptp"}, []
    if mode == "key":
        file = lab.folder() / "stamp.key"
        file.write_text(KEY + "\n")
        file.chmod(0o600)
        stamp, options = {"key_file": str(file)}, ["--key-file", file]
    if mode == "stateful":
        stamp, options = {"reflector": "stateful"}, ["--stateful"]
    process = lab.start(EAGRE, "path-delay", "--reflect", "-J", *options, ns=host.host)
    wait_until(lambda: f":{PORT} " in host.host.run("ss", "-Hlun"), "a reflector", 10)
    found = whole(of(host.run(client(host, v6, **stamp), duration="10s")))
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    counts = json.loads(out)
    assert counts["replies"] == 500 and counts["sessions"] == (10 if mode == "stateful" else 0), counts
    if mode == "stateful":
        assert (found["lost_to_reflector"], found["lost_from_reflector"]) == (0, 0)


@pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
@pytest.mark.parametrize("stateful", [False, True], ids=["stateless", "stateful"])
def test_senders_of_the_kernels_sockets(lab, stateful, v6):
    """Two of them at once; the reflector's mode is found out, and its delays are right by its own clock."""
    host = Host(lab, offloads=True)
    serving = host.serving(host.server({"stamp": {"reflector": "stateful" if stateful else "stateless"}}, v6))
    command = (EAGRE, "path-delay", host.tester_address(v6), "-t", "1s", "-i", "20ms", "-s", 100, "-J")
    senders = [lab.start(*command, ns=host.host) for _ in range(2)]
    for sender in senders:
        done = lab.finish(sender, 30).json
        assert (done["sent"], done["received"], done["lost"], done["unfit"]) == (50, 50, 0, 0), done
        assert done["mode"] == ("stateful" if stateful else "stateless"), done
        assert abs(done["clock"]["offset_ns"]) <= done["clock"]["uncertainty_ns"] and done["hops"]["at_reflector"] == [64, 64], done
    one = check(host.served(serving)["sessions"]["s"])
    # Each has a session of its own to find out the mode.
    assert one["failed"] == {} and one["server"]["stamp"] == {"sent": 104, "received": 104}, one


def request(number=0, padding=30):
    """A sender's packet, without a library."""
    return struct.pack(">III", number, 3_990_000_000, 0) + b"\x01\x01" + bytes(padding)


def test_a_reflector_gives_no_more_than_it_gets(lab):
    """No reply is longer than its packet, nothing but packets of the protocol gets one, and a reply never does."""
    host = Host(lab, offloads=True)
    serving = host.serving(host.server({"stamp": {}}))
    with inside(host.host):
        stranger = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    stranger.settimeout(0.5)
    stranger.connect((host.tester_address(), PORT))

    def reply(packet):
        stranger.send(packet)
        try:
            return stranger.recv(9_999)
        except TimeoutError:
            return None

    for length in (0, 1, 13, 14, 40):
        assert reply(request()[:length]) is None, length
    for length in (41, 44, 45, 1_000):
        assert len(reply(request(padding=length - 14))) == length
    answer = reply(request(5))
    assert struct.unpack_from(">I", answer)[0] == 5 and reply(answer) is None
    stranger.close()
    one = check(host.served(serving)["sessions"]["s"])
    stamp = one["server"]["stamp"]
    assert stamp["sent"] == stamp["received"] == 5 and one["failed"] == {}, one
    assert stamp["dropped"] == {"malformed": 3, "short": 2, "reflected": 1}, stamp


def test_a_port_without_a_reflector(lab):
    """It is refused; with another key no reply counts."""
    host = Host(lab, offloads=True)
    one = check(host.run(client(host), duration="10s").json["sessions"]["s"])
    assert one["failed"] == {"refused": 10}, one
    serving = lab.start(EAGRE, "path-delay", "--reflect", "-J", ns=host.host)
    wait_until(lambda: f":{PORT} " in host.host.run("ss", "-Hlun"), "a reflector", 10)
    one = check(host.run(client(host, key=KEY, wait="1s"), duration="10s").json["sessions"]["s"])
    assert one["failed"] == {"response_timeout": 10} and one["client"]["stamp"]["dropped"] == {"unauthentic": 500}, one
    serving.terminate()


def test_all_hosts_share_a_rate_that_can_change(lab):
    """By `request_rate`; each packet of a host is due when the entry's rate has a turn for it."""
    entry = {
        "name": "s",
        "client": {"port": "west", "addresses": "10.0.0.10..10.0.0.29"},
        "server": {"port": "east", "addresses": "10.0.0.100"},
        "app": {"stamp": {"packets": "endless"}},
        "concurrent": 20,
        "count": 20,
        "request_rate": "500/s",
    }
    profile = lab.profile(PORTS, None, sessions=[entry], load={"duration": "3s", "drain": "300ms"})
    done, _ = lab.controlled(profile, ["scale 300%"], 0.6, intervals=8)
    one = check(done.json["sessions"]["s"])
    (change,) = done.json["rate_changes"]
    due = 500 * change["at_s"] + 1500 * (3 - change["at_s"])
    assert one["client"]["stamp"]["sent"] + one["unsent_requests"] == pytest.approx(due, rel=0.02), (one, change)


@pytest.mark.long
@pytest.mark.skipif(not STAMP_SUITE, reason="STAMP_SUITE names no program")
@pytest.mark.parametrize("mode", ["stateless", "stateful", "ptp", "key"])
def test_stamp_suite_is_the_reflector(lab, mode):
    host = Host(lab, offloads=True)
    stamp, options = {"size": "100B"}, []
    if mode == "stateful":
        stamp, options = {"reflector": "stateful"}, ["--stateful-reflector"]
    if mode == "ptp":
        options = ["-K", "PTP"]
    if mode == "key":
        file = lab.folder() / "stamp.key"
        file.write_text(KEY)
        file.chmod(0o600)
        stamp, options = {"key_file": str(file), "size": "150B"}, ["-A", "A", "--hmac-key-file", file]
    lab.start(STAMP_SUITE, "-i", "-S", host.address(), "-o", PORT, *options, ns=host.host)
    wait_until(lambda: f":{PORT} " in host.host.run("ss", "-Hlun"), "a reflector", 10)
    whole(of(host.run(client(host, **stamp), duration="10s")))


@pytest.mark.long
@pytest.mark.skipif(not STAMP_SUITE, reason="STAMP_SUITE names no program")
@pytest.mark.parametrize("mode", ["open", "key"])
@pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
def test_stamp_suite_is_the_sender(lab, mode, v6):
    host = Host(lab, offloads=True)
    file = lab.folder() / "stamp.key"
    file.write_text(KEY)
    file.chmod(0o600)
    has_key = mode == "key"
    serving = host.serving(host.server({"stamp": {"reflector": "stateful", **({"key": KEY} if has_key else {})}}, v6))
    # An extension that our reflector does not understand.
    options = ["-A", "A", "--hmac-key-file", file] if has_key else ["--cos"]
    send = (STAMP_SUITE, "-r", host.tester_address(v6), "-S", host.address(v6), "-c", 20, "-d", 20, *options, "--ssid", 77, "--output-format", "json")
    out = host.host.run(*send)
    assert re.search(r'"packets_lost":\s*0\b|"lost":\s*0\b', out), out
    one = check(host.served(serving)["sessions"]["s"])
    assert one["server"]["stamp"] == {"sent": 20, "received": 20}, one


@pytest.mark.long
@pytest.mark.skipif(not TWAMPY, reason="TWAMPY names no folder")
def test_twampy_is_the_reflector(lab):
    """TWAMP Light: replies of other lengths than their packets, no identifier."""
    host = Host(lab, offloads=True)
    env = {**os.environ, "PYTHONPATH": TWAMPY}
    lab.start(sys.executable, "-m", "twampy", "responder", f"{host.address()}:{PORT}", "--padding", 0, ns=host.host, env=env)
    wait_until(lambda: f":{PORT} " in host.host.run("ss", "-Hlun"), "a reflector", 10)
    # It is slow: a packet in milliseconds.
    found = whole(of(host.run(client(host, packets=10, interval="200ms", reflector="stateful"), duration="10s")), packets=100)
    assert (found["lost_to_reflector"], found["lost_from_reflector"]) == (0, 0), found


@pytest.mark.long
@pytest.mark.skipif(not TWAMPY, reason="TWAMPY names no folder")
def test_twampy_is_the_sender(lab):
    host = Host(lab, offloads=True)
    serving = host.serving(host.server({"stamp": {"reflector": "stateful"}}))
    out = host.host.run(sys.executable, "-m", "twampy", "sender", f"{host.tester_address()}:{PORT}", f"{host.address()}:20000", "-c", 20, "-i", 20,
                        "--padding", 27, env={**os.environ, "PYTHONPATH": TWAMPY})  # fmt: skip
    assert re.search(r"Roundtrip:.*\b0\.0%", out) and re.search(r"Outbound:.*\b0\.0%", out), out
    one = check(host.served(serving)["sessions"]["s"])
    assert one["server"]["stamp"] == {"sent": 20, "received": 20}, one


def test_the_example_has_both_modes(lab):
    done = lab.eagre("sim", REPO / "examples/stamp.yaml", "--json", "-")
    probes, paced = of(done, "probes"), of(done, "paced")
    assert "lost_to_reflector" in probes["client"]["stamp"] and "lost_to_reflector" not in paced["client"]["stamp"]
    assert probes["client"]["stamp"]["to_reflector_ns"]["min"] >= 4 * MS
