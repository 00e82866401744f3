"""`eagre path-delay`: sender and reflector of STAMP and TWAMP Light, their figures on a path whose delay and losses are known, their packets as
tshark reads them, a reflector's limits, and other implementations at either end.

STAMP_SUITE: path of the program `stamp-suite` (crates.io, 1.0); TWAMPY: path of the folder `src` of nokia/twampy. Without them, long tests
with them are not run.
"""

import hashlib
import hmac
import json
import os
import re
import signal
import socket
import struct
import sys
import time

import pytest
from lab import BAD_INPUT, EAGRE, FAILED, INTERRUPTED, REFUSED, call, need, wait_until
from server import inside

PORT = 862
REFLECTOR = "10.0.0.1"
STAMP_SUITE, TWAMPY = os.environ.get("STAMP_SUITE"), os.environ.get("TWAMPY")
MS = 1_000_000
# Seconds from 1900 to 1970.
NTP = 2_208_988_800


@pytest.fixture
def hosts(lab):
    """Two hosts and a link."""
    sender, reflector = lab.netns("sender"), lab.netns("reflector")
    lab.veth(sender, "veth0", reflector, "veth0")
    for host, end in ((sender, 2), (reflector, 1)):
        host.ip("address", "add", f"10.0.0.{end}/24", "dev", "veth0")
        host.sysctl({"net.ipv6.conf.veth0.disable_ipv6": 0})
        host.ip("address", "add", f"fd00::{end}/64", "dev", "veth0", "nodad")
    return sender, reflector


def reflect(lab, ns, *options):
    process = lab.start(EAGRE, "path-delay", "--reflect", "-J", *options, ns=ns)
    wait_until(lambda: f":{PORT} " in ns.run("ss", "-Hlun"), "a reflector", 10)
    return process


def counts(process):
    """Stops a reflector; its counts, and its complaints."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    return json.loads(out), err


def measure(lab, ns, *options, to=REFLECTOR):
    return lab.eagre("path-delay", to, "-J", *options, ns=ns, timeout=60)


@pytest.mark.parametrize("stateful", [False, True], ids=["stateless", "stateful"])
@pytest.mark.parametrize("address", [REFLECTOR, "fd00::1"])
def test_every_packet_has_its_reply(lab, hosts, address, stateful):
    sender, reflector = hosts
    process = reflect(lab, reflector, *(["--stateful"] if stateful else []))
    done = measure(lab, sender, "-t", "1s", "-i", "10ms", to=address).ok().json
    assert done["mode"] == ("stateful" if stateful else "stateless")
    assert (done["sent"], done["received"], done["lost"], done["duplicates"], done["unfit"]) == (100, 100, 0, 0, 0)
    assert (done["to_reflector"]["lost"], done["from_reflector"]["lost"]) == (0, 0)
    assert done["hops"] == {"at_reflector": [64, 64], "here": [64, 64]}
    trip, bound = done["round_trip_ns"], done["clock"]["uncertainty_ns"]
    assert 0 < trip["min_ns"] <= trip["p50_ns"] <= trip["p99_ns"] <= trip["max_ns"] < 1_000 * MS
    # Both hosts have one clock.
    assert abs(done["clock"]["offset_ns"]) <= bound <= trip["max_ns"], done["clock"]
    for way in ("to_reflector", "from_reflector"):
        assert done[way]["delay_ns"]["min_ns"] + bound >= 0
    found, complaints = counts(process)
    # The two packets by which the mode is found are a session of their own.
    assert found["replies"] == 102 and found["sessions"] == (2 if stateful else 0), found
    assert complaints.count("\n") == 1, complaints


LOSE = """table ip lose {
  chain to { type filter hook input priority 0; udp dport 862 @th,64,32 { %s } drop; }
  chain from { type filter hook output priority 0; udp sport 862 @th,64,32 { %s } drop; }
}"""


@pytest.mark.parametrize("stateful", [False, True], ids=["stateless", "stateful"])
def test_losses_have_a_direction_if_the_reflector_counts(lab, hosts, stateful):
    """The reflector's host drops by the first four bytes of the payload, the number: the sender's 11, 12, 30; 20 and 21 of replies."""
    need("nft")
    sender, reflector = hosts
    rules = lab.folder() / "rules"
    rules.write_text(LOSE % ("11, 12, 30", "20, 21"))
    reflector.run("nft", "-f", rules)
    process = reflect(lab, reflector, *(["--stateful"] if stateful else []))
    done = measure(lab, sender, "-t", "500ms", "-i", "10ms", "--max-loss", "20%").ok().json
    assert (done["sent"], done["lost"], done["loss_ratio"]) == (50, 5, 0.1), done
    directions = [done["to_reflector"]["lost"], done["from_reflector"]["lost"], done["lost_unknown"]]
    assert directions == ([3, 2, 0] if stateful else [None, None, 5])
    done = measure(lab, sender, "-t", "500ms", "-i", "10ms", "--max-loss", "9.9%")
    assert done.exit == FAILED and done.json["failed_criteria"] == ["10% of the packets are lost, more than 9.9%"], done
    counts(process)


def test_a_path_with_a_known_delay(lab, hosts):
    """Packets to the reflector wait in a queue behind others: the delay to it grows by as much as the round trip, the delay back does not."""
    need("tc")
    sender, reflector = hosts
    process = reflect(lab, reflector)
    before = measure(lab, sender, "-t", "500ms", "-i", "10ms").ok().json
    # 1,000 bytes at 400 kbit/s take 20 ms; a bucket of the size of one packet lets the first pass at once.
    sender.run("tc", "qdisc", "add", "dev", "veth0", "root", "tbf", "rate", "400kbit", "burst", "1200", "limit", "100000")
    after = measure(lab, sender, "-t", "600ms", "-i", "10ms", "-s", 958, "--wait", "2s").ok().json
    rise = {way: after[way]["delay_ns"]["max_ns"] - before[way]["delay_ns"]["p50_ns"] for way in ("to_reflector", "from_reflector")}
    bound = after["clock"]["uncertainty_ns"] + before["clock"]["uncertainty_ns"]
    # 60 packets, one each 20 ms, sent one each 10 ms: the last one waits for about 590 ms.
    assert abs(rise["to_reflector"] - 590 * MS) < 40 * MS + bound, rise
    assert rise["from_reflector"] < 100 * MS + bound, rise
    assert abs(after["round_trip_ns"]["max_ns"] - rise["to_reflector"]) < 100 * MS + bound
    assert after["to_reflector"]["delay_ns"]["jitter_ns"] > 5 * MS > after["from_reflector"]["delay_ns"]["jitter_ns"]
    options = ("-t", "600ms", "-i", "10ms", "-s", 958, "--wait", "2s")
    done = measure(lab, sender, *options, "--max-one-way-p99", "300ms")
    assert done.exit == FAILED and len(done.json["failed_criteria"]) == 1 and "to the reflector" in done.json["failed_criteria"][0]
    counts(process)


FIELDS = (
    "seq_number",
    "timestamp",
    "error_estimate.z",
    "error_estimate.s",
    "receive_timestamp",
    "sender_seq_number",
    "sender_timestamp",
    "sender_ttl",
)


def test_tshark_reads_both_packets(lab, hosts):
    need("tshark", "tcpdump")
    sender, reflector = hosts
    process = reflect(lab, reflector, "--stateful")
    file = lab.folder() / "packets.pcap"
    capture = lab.start("tcpdump", "-i", "veth0", "-U", "-w", file, "udp", ns=sender)
    wait_until(lambda: file.exists() and file.stat().st_size >= 24, "a capture", 10)
    measure(lab, sender, "-t", "100ms", "-i", "20ms", "-s", 60, "--dscp", 46).ok()
    wait_until(lambda: len(call("tshark", "-r", file, "-T", "fields", "-e", "frame.number").splitlines()) == 14, "14 packets", 10)
    capture.send_signal(signal.SIGINT)
    capture.wait(10)
    counts(process)
    wanted = [part for field in FIELDS for part in ("-e", f"twamp.test.{field}")]
    seen = call("tshark", "-r", file, "-d", f"udp.port=={PORT},twamp.test", "-t", "e", "-T", "fields", "-e", "frame.time_epoch",
                "-e", "udp.srcport", "-e", "udp.length", "-e", "ip.dsfield.dscp", *wanted)  # fmt: skip
    rows = [line.split("\t") for line in seen.splitlines()]
    requests = [row for row in rows if row[1] != str(PORT)][2:]
    replies = [row for row in rows if row[1] == str(PORT)][2:]
    assert [int(row[4]) for row in requests] == [int(row[4]) for row in replies] == [0, 1, 2, 3, 4]
    assert {row[2] for row in rows[4:]} == {"68"} and {row[3] for row in requests} == {"46"}
    for request, reply in zip(requests, replies):
        assert (reply[9], reply[10], reply[11]) == (request[4], request[5], "64")
        # Of both error estimates in a reply.
        assert {*request[6].split(","), *reply[6].split(",")} == {"0"}, "NTP's format"
    # The raw bytes: T1 is the time of the capture, the extension comes back with its flag taken away.
    raw = [bytes.fromhex(line) for line in call("tshark", "-r", file, "-T", "fields", "-e", "udp.payload").split()][4:]
    assert [len(packet) for packet in raw] == [60] * 10
    for packet, row in zip(raw, rows[4:]):
        stamp = struct.unpack_from(">Q", packet, 4)[0] / 2**32 - NTP
        assert abs(stamp - float(row[0])) < 1, (stamp, row)
        assert packet[44:48] == (b"\0\x01\0\x0c" if row[1] == str(PORT) else b"\x80\x01\0\x0c") and not any(packet[48:])


def test_ptp(lab, hosts):
    """Each side has its own format; the other one reads it."""
    sender, reflector = hosts
    process = reflect(lab, reflector, "--ptp")
    for ours, options in (("ntp", ()), ("ptp", ("--ptp",))):
        done = measure(lab, sender, "-t", "100ms", "-i", "10ms", *options).ok().json
        assert (done["clock_here"]["format"], done["clock_there"]["format"]) == (ours, "ptp")
        assert abs(done["clock"]["offset_ns"]) <= done["clock"]["uncertainty_ns"] and done["round_trip_ns"]["samples"] == 10
    counts(process)


def test_a_reflector_that_is_not_there(lab, hosts):
    sender, reflector = hosts
    measure(lab, sender).refused(REFUSED, f"{REFLECTOR}:{PORT}: no reflector listens there; start 'eagre path-delay --reflect'")
    sender.ip("route", "add", "10.9.0.0/24", "via", REFLECTOR)
    measure(lab, sender, to="10.9.0.1").refused(REFUSED, "does not reply; does a STAMP")
    process = reflect(lab, reflector)
    run = lab.start(EAGRE, "path-delay", REFLECTOR, "-t", "2s", "-i", "20ms", "-J", ns=sender)
    time.sleep(0.7)
    process.kill()
    done = lab.finish(run, 20)
    # A reflector that went is a loss, no end: it may come back.
    assert done.exit == FAILED and done.json["sent"] == 100 and 0 < done.json["received"] < 50, done


def test_ctrl_c_leaves_the_result(lab, hosts):
    sender, reflector = hosts
    process = reflect(lab, reflector)
    run = lab.start(EAGRE, "path-delay", REFLECTOR, "-t", "60s", "-i", "10ms", "-J", ns=sender)
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    done = lab.finish(run, 10)
    assert done.exit == INTERRUPTED and 0 < done.json["sent"] < 1_000 and done.json["lost"] <= 1, done
    counts(process)


def request(number=0, padding=30, stamp=None):
    """A sender's packet, without a library."""
    stamp = struct.pack(">II", int(time.time()) + NTP, 0) if stamp is None else stamp
    return struct.pack(">I", number) + stamp + b"\x01\x01" + bytes(padding)


class Stranger:
    """A socket that sends anything to a reflector of this host."""

    def __init__(self, lab, *options):
        self.process = lab.start(EAGRE, "path-delay", "--reflect", "-J", "-B", "127.0.0.1", "-p", "0", *options)
        self.peer = ("127.0.0.1", int(self.process.stderr.readline().rsplit(":", 1)[1]))
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.settimeout(0.5)

    def reply(self, packet):
        self.socket.sendto(packet, self.peer)
        try:
            return self.socket.recv(9_999)
        except TimeoutError:
            return None


def test_a_reflector_gives_no_more_than_it_gets(lab):
    """No reply is longer than its packet, nothing but packets of the protocol gets one, and a reply never does."""
    stranger = Stranger(lab)
    for length in (0, 1, 13, 14, 40):
        assert stranger.reply(request()[:length]) is None, length
    for length in (41, 44, 45, 1_000, 9_000):
        assert len(stranger.reply(request(padding=length - 14))) == length
    assert stranger.reply(request(padding=9_300)) is None
    # A reply is none to reply to, whoever sends it.
    answer = stranger.reply(request(5))
    assert struct.unpack_from(">I", answer)[0] == 5 and stranger.reply(answer) is None
    assert stranger.reply(request(6)) is not None
    found, _ = counts(stranger.process)
    assert (found["replies"], found["malformed"], found["short"], found["reflected"]) == (7, 3, 2, 1), found


def test_short_packets_of_twamp_light_are_an_option(lab):
    stranger = Stranger(lab, "--short")
    assert len(stranger.reply(request(3, padding=0))) == 44
    counts(stranger.process)


def test_a_reflector_has_a_rate(lab):
    stranger = Stranger(lab, "--max-rate", "100")
    began = time.monotonic()
    for number in range(500):
        stranger.socket.sendto(request(number), stranger.peer)
    time.sleep(0.3)
    took = time.monotonic() - began
    found, complaints = counts(stranger.process)
    assert 10 <= found["replies"] <= 10 + 100 * (took + 1) and found["replies"] + found["over_rate"] == 500, found
    assert "--max-rate" in complaints


def test_sessions_are_limited(lab):
    """Each sender counts apart; one more than there may be gets no reply, and those that there are go on."""
    stranger = Stranger(lab, "--stateful", "--max-sessions", "3")
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(4)]
    for number, one in enumerate(sockets):
        stranger.socket = one
        one.settimeout(0.5)
        numbers = [stranger.reply(request(sent)) for sent in (0, 5, 9)]
        if number < 3:
            assert [struct.unpack_from(">I", reply)[0] for reply in numbers] == [0, 1, 2]
        else:
            assert numbers == [None] * 3
    stranger.socket = sockets[0]
    assert struct.unpack_from(">I", stranger.reply(request(10)))[0] == 3
    found, _ = counts(stranger.process)
    assert (found["sessions"], found["over_sessions"], found["replies"]) == (3, 3, 10)


def test_a_reply_leaves_from_the_address_that_was_asked(lab):
    process = lab.start(EAGRE, "path-delay", "--reflect", "-J", "-p", "0")
    port = process.stderr.readline().rsplit(":", 1)[1].strip()
    for address in ("127.0.0.9", "127.0.0.1", "::1"):
        lab.eagre("path-delay", address, "-p", port, "-t", "50ms", "-i", "10ms").ok()
    counts(process)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--reflect", "-t", 4), "--time"),
        (("x", "--stateful"), "'[HOST]' cannot be used with '--stateful'"),
        (("x", "-i", "100us"), "between 1ms and 60s"),
        (("x", "-i", "1ms", "-t", "2000s"), "choose a longer --interval"),
        (("x", "-s", 46), "44, or 48 to 9000"),
        (("x", "--max-loss", "101%"), "not 0% to 100%"),
        (("x", "--wait", "61s"), "more than 60s"),
        (("x", "--key-file", "/nowhere"), "--key-file: /nowhere: "),
        ((), "required"),
    ],
)
def test_bad_options_are_named(lab, options, text):
    lab.eagre("path-delay", *options).refused(BAD_INPUT, text)


def key_file(lab, text):
    """A file that only its owner reads."""
    file = lab.folder() / "key"
    file.write_text(text)
    file.chmod(0o600)
    return file


@pytest.fixture
def key(lab):
    """A key, and its file."""
    octets = bytes(range(32))
    return octets, key_file(lab, octets.hex() + "\n")


def code(octets, packet):
    """HMAC-SHA-256 of the first 96 octets, its first 128 bits (RFC 8762 section 4.4)."""
    return hmac.new(octets, packet[:96], hashlib.sha256).digest()[:16]


@pytest.mark.parametrize("stateful", [False, True], ids=["stateless", "stateful"])
def test_with_a_key_both_ends_are_authenticated(lab, hosts, key, stateful):
    sender, reflector = hosts
    process = reflect(lab, reflector, "--key-file", key[1], *(["--stateful"] if stateful else []))
    done = measure(lab, sender, "-t", "500ms", "-i", "10ms", "--key-file", key[1]).ok().json
    assert (done["is_authenticated"], done["size_bytes"], done["mode"]) == (True, 112, "stateful" if stateful else "stateless")
    assert (done["received"], done["lost"], done["unfit"]) == (50, 0, 0)
    assert abs(done["clock"]["offset_ns"]) <= done["clock"]["uncertainty_ns"], done["clock"]
    measure(lab, sender, "-t", "100ms", "-i", "10ms", "-s", 300, "--key-file", key[1]).ok()
    # Without the key, or with another one, nothing comes back.
    other = key_file(lab, "ab" * 16)
    measure(lab, sender, "-t", "100ms", "--key-file", other).refused(REFUSED, f"{REFLECTOR}:{PORT} does not reply")
    measure(lab, sender, "-t", "100ms").refused(REFUSED, "does not reply")
    found, complaints = counts(process)
    assert found["replies"] == 50 + 2 + 10 + 2 and found["unauthentic"] >= 2 and found["malformed"] >= 2, found
    assert "does not have the code of the key" in complaints, complaints


def test_fields_of_authenticated_packets_are_where_the_rfc_has_them(lab, hosts, key):
    """A sender and a reflector made of the RFC's figures (sections 4.2.2 and 4.3.2) are the other end."""
    sender, reflector = hosts
    octets, file = key
    process = reflect(lab, reflector, "--key-file", file)
    with inside(sender):
        client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with client:
        client.settimeout(5)
        packet = struct.pack("!I12xQHH68x", 7, 0x1112131415161718, 0x8001, 99)
        client.sendto(packet + code(octets, packet), (REFLECTOR, PORT))
        reply = client.recv(2048)
    number, sent, _, ssid, came, copied, copied_sent, copied_error, ttl = struct.unpack("!I12xQHH4xQ8xI12xQH6xB15x", reply[:96])
    assert len(reply) == 112 and reply[96:] == code(octets, reply), reply.hex()
    assert (number, ssid, copied, copied_sent, copied_error, ttl) == (7, 99, 7, 0x1112131415161718, 0x8001, 64)
    assert 0 < came <= sent and abs(sent / 2**32 - NTP - time.time()) < 10
    counts(process)
    # A reflector with another key: its replies count for nothing.
    with inside(reflector):
        server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with server:
        server.bind((REFLECTOR, PORT))
        started = lab.start(EAGRE, "path-delay", REFLECTOR, "-t", "100ms", "--key-file", file, ns=sender)
        server.settimeout(5)
        for _ in range(2):
            request, peer = server.recvfrom(2048)
            assert len(request) == 112 and request[96:] == code(octets, request), request.hex()
            assert request[4:16] == bytes(12) and request[28:96] == bytes(68), request.hex()
            reply = request[:96]
            server.sendto(reply + code(b"another key of 16", reply), peer)
        _, complaint = started.communicate(timeout=20)
    assert started.returncode == REFUSED and "not with the code of this key" in complaint, complaint


@pytest.mark.parametrize("text", ["", "00" * 15, "00" * 65, "0" * 33, "zz" * 16, "+1" * 16])
def test_keys_are_hexadecimal(lab, text):
    lab.eagre("path-delay", "x", "--key-file", key_file(lab, text)).refused(BAD_INPUT, "expected 32 to 128 hexadecimal digits")


@pytest.mark.long
@pytest.mark.skipif(not STAMP_SUITE, reason="STAMP_SUITE names no program")
def test_stamp_suite_has_the_same_code(lab, hosts, key):
    """Authenticated mode, with stamp-suite at either end; with another key it does not reply, and gets no reply."""
    sender, reflector = hosts
    secret, other = key[1], key_file(lab, "ab" * 32)
    theirs = lab.start(STAMP_SUITE, "-i", "-A", "A", "--hmac-key-file", secret, "-S", REFLECTOR, "-o", PORT, ns=reflector)
    wait_until(lambda: f":{PORT} " in reflector.run("ss", "-Hlun"), "a reflector", 10)
    for more in ([], ["-s", 200]):
        done = measure(lab, sender, "-t", "500ms", "-i", "20ms", "--key-file", secret, *more).ok().json
        assert (done["received"], done["lost"], done["unfit"], done["is_authenticated"]) == (25, 0, 0, True), done
        assert abs(done["clock"]["offset_ns"]) <= done["clock"]["uncertainty_ns"] and done["hops"]["at_reflector"] == [64, 64], done
    measure(lab, sender, "-t", "100ms", "--key-file", other).refused(REFUSED)
    theirs.terminate()
    theirs.communicate(timeout=20)
    process = reflect(lab, reflector, "--key-file", secret)
    send = (STAMP_SUITE, "-r", REFLECTOR, "-S", "10.0.0.2", "-c", 20, "-d", 20, "-A", "A", "--output-format", "json", "--hmac-key-file")
    out = sender.run(*send, secret)
    assert re.search(r'"packets_lost":\s*0\b|"lost":\s*0\b', out), out
    sender.run(*send, other, check=False)
    found, _ = counts(process)
    assert (found["replies"], found["unauthentic"]) == (20, 20), found


@pytest.mark.long
@pytest.mark.skipif(not STAMP_SUITE, reason="STAMP_SUITE names no program")
@pytest.mark.parametrize("ptp", [False, True], ids=["ntp", "ptp"])
@pytest.mark.parametrize("stateful", [False, True], ids=["stateless", "stateful"])
def test_stamp_suite_is_the_reflector(lab, hosts, stateful, ptp):
    sender, reflector = hosts
    options = [*(["--stateful-reflector"] if stateful else []), *(["-K", "PTP"] if ptp else [])]
    lab.start(STAMP_SUITE, "-i", "-S", REFLECTOR, "-o", PORT, *options, ns=reflector)
    wait_until(lambda: f":{PORT} " in reflector.run("ss", "-Hlun"), "a reflector", 10)
    done = measure(lab, sender, "-t", "1s", "-i", "20ms", "-s", 100).ok().json
    assert done["mode"] == ("stateful" if stateful else "stateless"), done
    assert (done["received"], done["lost"], done["unfit"]) == (50, 0, 0)
    assert done["clock_there"]["format"] == ("ptp" if ptp else "ntp")
    assert abs(done["clock"]["offset_ns"]) <= done["clock"]["uncertainty_ns"], done["clock"]
    assert done["hops"]["at_reflector"] == [64, 64]


@pytest.mark.long
@pytest.mark.skipif(not STAMP_SUITE, reason="STAMP_SUITE names no program")
@pytest.mark.parametrize("address", [REFLECTOR, "fd00::1"])
def test_stamp_suite_is_the_sender(lab, hosts, address):
    sender, reflector = hosts
    process = reflect(lab, reflector, "--stateful")
    local = address[:-1] + "2"
    # An extension that our reflector does not understand.
    out = sender.run(STAMP_SUITE, "-r", address, "-S", local, "-c", 20, "-d", 20, "--cos", "--ssid", 77, "--output-format", "json")
    found, complaints = counts(process)
    assert found["replies"] == 20 and found["sessions"] == 1, (found, complaints)
    summary = json.loads(out[out.index("{") :].splitlines()[-1]) if out.count("\n") < 2 else out
    assert re.search(r'"packets_lost":\s*0\b|"lost":\s*0\b', out), summary


@pytest.mark.long
@pytest.mark.skipif(not TWAMPY, reason="TWAMPY names no folder")
def test_twampy_is_the_reflector(lab, hosts):
    """TWAMP Light: replies of other lengths than their packets, no identifier, no TTL."""
    sender, reflector = hosts
    python = (sys.executable, "-m", "twampy")
    env = {**os.environ, "PYTHONPATH": TWAMPY}
    lab.start(*python, "responder", f"{REFLECTOR}:{PORT}", "--padding", 0, ns=reflector, env=env)
    wait_until(lambda: f":{PORT} " in reflector.run("ss", "-Hlun"), "a reflector", 10)
    done = measure(lab, sender, "-t", "1s", "-i", "20ms").ok().json
    assert (done["mode"], done["received"], done["lost"]) == ("stateful", 50, 0), done
    assert any("TWAMP Light" in note for note in done["notes"])


@pytest.mark.long
@pytest.mark.skipif(not TWAMPY, reason="TWAMPY names no folder")
def test_twampy_is_the_sender(lab, hosts):
    sender, reflector = hosts
    process = reflect(lab, reflector, "--stateful")
    out = sender.run(sys.executable, "-m", "twampy", "sender", f"{REFLECTOR}:{PORT}", "10.0.0.2:20000", "-c", 20, "-i", 20,
                     "--padding", 27, env={**os.environ, "PYTHONPATH": TWAMPY})  # fmt: skip
    found, _ = counts(process)
    assert found["replies"] == 20, found
    assert re.search(r"Roundtrip:.*\b0\.0%", out) and re.search(r"Outbound:.*\b0\.0%", out), out
