"""`measure: mark`: packets without a signature, counted by a number in their IP header. Payloads are not touched."""

import signal
import struct

import pytest
from capture import records
from lab import need, wait_until
from test_replay import frame, whole, write

FIRST = 64512
RING = {
    "west": {"device": "ring:a", "ip": ["10.0.0.1/24", "fd00::1/64"]},
    "east": {"device": "ring:b", "ip": ["10.0.0.2/24", "fd00::2/64"]},
}
RAW = frame("udp", "10.0.0.1", "10.0.0.2", 9, 7003, b"untouched")


def streams(lab, count=200):
    """Six ways to send what is only counted; the third and the fourth are too short for a signature."""
    common = {"from": "west", "to": "east", "rate": "1kpps", "count": count, "measure": "mark"}
    capture = write(lab.folder() / "in.pcap", [frame("udp", "9.9.9.1", "9.9.9.2", 9, 7004, b"as captured")], [0])
    flows = {"rate": "1000/s", "clients": "10.0.0.1..10.0.0.9", "servers": "10.0.0.2", "limit": count}
    return [
        {"name": "v4", "packet": ["ipv4", {"udp": {"dst": 7000}}, {"payload": "payload"}], **common},
        {"name": "v6", "packet": [{"ipv6": {"src": "fd00::1", "dst": "fd00::2"}}, {"udp": {"dst": 7001}}], **common},
        {"name": "tcp", "packet": ["ipv4", {"tcp": {"dst": 7002}}], "size": "64B", **common},
        {"name": "raw", "frame": {"hex": RAW.hex()}, **common},
        {"name": "captured", "replay": {"file": str(capture), "loops": count, "loop_gap": "1ms"}, **common, "rate": "1kpps"},
        {"name": "flows", "from": "west", "to": "east", "replay": {"file": str(capture), "flows": flows}, "measure": "mark"},
        {"name": "signed", "packet": ["ipv4", "udp"], **common, "measure": True},
        {"name": "nothing", "packet": ["ipv4", "udp"], **common, "measure": False},
    ]  # fmt: skip


def profile(lab, ports, streams, drain="20ms", **more):
    return lab.profile(ports, streams, load={"duration": "10s", "drain": drain}, **more)


COUNTED = ("v4", "v6", "tcp", "raw", "captured", "flows")


@pytest.mark.parametrize("cores", ["1", "3"])
def test_each_stream_is_counted_by_its_number(lab, cores):
    """Nothing is claimed of order and latency; the signed stream has both."""
    path = profile(lab, RING, streams(lab))
    out = path.parent / "sent.pcap"
    result = lab.eagre("sim", path, "--cores", cores, "--pcap", out, "--json", "-").ok().json
    rows = result["streams"]
    for name in COUNTED:
        assert (rows[name]["tx"], rows[name]["rx"], rows[name]["lost"]) == (200, 200, 0), name
        assert rows[name]["rx_bytes"] % 200 == 0 and rows[name]["rx_bytes"] >= 200 * 64
        unknown = ("latency_ns", "reordered", "duplicates", "jitter_ns", "interarrival_ns", "first_arrival_ns", "stale", "rejected")
        assert not [key for key in unknown if rows[name].get(key) is not None]
    assert rows["signed"]["lost"] == rows["signed"]["duplicates"] == 0 and rows["signed"]["latency_ns"]
    assert "rx" not in rows["nothing"]
    assert result["ports"]["east"]["rx_other"] == 200, "those of 'nothing' alone"
    seen = [data for _, data in records(out)]
    raw = [data for data in seen if data[36:38] == struct.pack(">H", 7003)]
    number = struct.pack(">H", FIRST + 3)
    assert len(raw) == 200 and all(data[:18] + data[20:24] + data[26:] == RAW[:18] + RAW[20:24] + RAW[26:] for data in raw)
    assert {data[18:20] for data in raw} == {number}
    assert any(b"payload" in data and data[18:20] == struct.pack(">H", FIRST) for data in seen)


def test_loss_is_told_per_stream(lab):
    """A lossy link: what is received and what is lost is what was sent."""
    path = profile(lab, RING, streams(lab, 2000), sim={"link": {"loss": "10%"}})
    rows = lab.eagre("sim", path, "--json", "-").ok().json["streams"]
    for name in COUNTED:
        row = rows[name]
        assert row["tx"] == 2000 and row["rx"] + row["lost"] == 2000 and 100 < row["lost"] < 300, name
        assert row["loss_ratio"] == pytest.approx(row["lost"] / 2000)


def test_criteria_and_groups_take_what_is_known(lab):
    some = [{**stream, "tag": "all"} for stream in streams(lab)[:4]]
    known = {"streams.v4.lost": "== 0", "streams.raw.rx": "== 200"}
    path = profile(lab, RING, some, criteria=known, groups={"kinds": "tag"})
    result = lab.eagre("sim", path, "--json", "-").ok().json
    row = result["groups"]["kinds"]["all"]
    assert (row["tx"], row["rx"], row["lost"]) == (800, 800, 0) and row.get("reordered") is None
    path = profile(lab, RING, some, criteria={"streams.v4.reordered": "== 0"})
    lab.eagre("check", path).refused(2, "streams.v4.reordered", "measure: mark, which only counts packets")


WRONG = {
    "no IP": ({"packet": [{"ethernet": {"type": 0x88B5}}]}, "a mark needs an ipv4 or ipv6 header"),
    "set": ({"packet": [{"ipv4": {"id": 5}}, "udp"]}, "ipv4.id is set, and holds the mark"),
    "varies": ({"packet": ["ipv4", "udp"], "vary": {"ipv4.id": "counter"}}, "'vary' writes where the mark is"),
    "raw": ({"frame": {"hex": RAW.hex()}, "vary": {"bytes[18..20]": "counter"}}, "'vary' writes where the mark is"),
    "too many": ({"packet": ["ipv4", "udp"], "copies": 1024}, "more than 1023 streams are marked"),
    "a word": ({"packet": ["ipv4", "udp"], "measure": "marks"}, "measure"),
}


@pytest.mark.parametrize("name", WRONG)
def test_errors_name_the_place(lab, name):
    stream, reason = WRONG[name]
    one = {"name": "s", "from": "west", "to": "east", "rate": "1kpps", "measure": "mark", **stream}
    lab.eagre("check", profile(lab, RING, [one])).refused(2, "line ", "measure", reason)


def test_a_router_that_drops_some(lab):
    """It drops every fourth packet of one stream and all of another; payloads arrive as they were sent."""
    need("tcpdump")
    network = lab.router()
    rules = "udp dport 7000 numgen inc mod 4 0 drop; udp dport 7001 drop"
    chain = f"chain f {{ type filter hook forward priority 0; {rules}; }}"
    network.router.run("nft", "-f", "-", input=f"table inet some {{ {chain}\n}}\n")
    dump = lab.folder() / "seen.pcap"
    words = ("-Z", "root", "-U", "-B", "8192", "-Q", "out", "-i", "r1", "-w", dump, "udp port 7000 or udp port 7002")
    process = lab.start("tcpdump", *words, ns=network.router)
    wait_until(lambda: dump.exists() and dump.stat().st_size >= 24, "tcpdump")
    common = {"from": "west", "to": "east", "rate": "2kpps", "count": 400, "measure": "mark"}
    payload = {"payload": "not a byte of this is Eagre's"}
    some = [
        {"name": "fourth", "packet": ["ipv4", {"udp": {"dst": 7000}}, payload], **common},
        {"name": "none", "packet": ["ipv6", {"udp": {"dst": 7001}}], **common},
        {"name": "all", "packet": ["ipv4", {"udp": {"dst": 7002}}, payload], **common},
        {"name": "all6", "packet": ["ipv6", {"tcp": {"dst": 7003}}], **common},
    ]
    path = profile(lab, network.ports("afpacket"), some, drain="300ms")
    rows = lab.eagre("run", path, "--json", "-", ns=network.tester).ok().json["streams"]
    counts = {name: (row["tx"], row["rx"], row["lost"]) for name, row in rows.items()}
    assert counts == {"fourth": (400, 300, 100), "none": (400, 0, 400), "all": (400, 400, 0), "all6": (400, 400, 0)}
    wait_until(lambda: len(whole(dump)) >= 700, "all packets", 5)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    seen = [data for _, data in records(dump)]
    assert len(seen) == 700 and all(data[42:71] == b"not a byte of this is Eagre's" for data in seen)
