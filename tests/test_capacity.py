"""`eagre capacity`: both ends agree, a shaped link has its rate, and the reference implementation is either end.

UDPST: path of the reference implementation's program, `udpst`; without it, long tests with it are not run.
"""

import json
import os
import signal
import socket
import struct
import time

import pytest
from lab import BAD_INPUT, EAGRE, FAILED, REFUSED, need, wait_until

PORT = 24601
SERVER = "10.0.0.1"
UDPST = os.environ.get("UDPST")
# Octets of a request for a test: of which those behind the fixed fields prove who asks.
SETUP = 56


@pytest.fixture
def hosts(lab):
    """Two hosts and a link."""
    client, server = lab.netns("client"), lab.netns("server")
    lab.veth(client, "veth0", server, "veth0")
    for host, end in ((client, 2), (server, 1)):
        host.ip("address", "add", f"10.0.0.{end}/24", "dev", "veth0")
        host.sysctl({"net.ipv6.conf.veth0.disable_ipv6": 0})
        host.ip("address", "add", f"fd00::{end}/64", "dev", "veth0", "nodad")
    return client, server


def serve(lab, ns, *options):
    """Starts a server that prints a line of JSON for each test."""
    process = lab.start(EAGRE, "capacity", "--server", "-J", *options, ns=ns)
    wait_until(lambda: f":{PORT} " in ns.run("ss", "-Hlun"), "a server", 10)
    return process


def reports(process):
    """Stops a server; its lines, and what it complained of."""
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    return [json.loads(line) for line in out.splitlines()], err


def measure(lab, ns, *options, server=SERVER):
    return lab.eagre("capacity", server, "-J", *options, ns=ns, timeout=60)


def shape(ns, rate):
    """A token bucket for frames with their Ethernet headers, so that IP packets of 1,250 bytes have this rate."""
    kbit = round(rate * 1264 / 1250 / 1e3)
    ns.run(
        "tc",
        "qdisc",
        "add",
        "dev",
        "veth0",
        "root",
        "tbf",
        "rate",
        f"{kbit}kbit",
        "burst",
        "20kb",
        "latency",
        "200ms",
    )


def near(a, b, share):
    return abs(a - b) <= share * b


@pytest.mark.parametrize("address", [SERVER, "fd00::1"])
def test_both_ends_tell_the_same(lab, hosts, address):
    """A rate that is kept to comes as it is sent, from the server and to it, over IPv4 and IPv6."""
    client, server = hosts
    process = serve(lab, server)
    done = measure(lab, client, "--rate", "50Mbps", "-t", 5, server=address).ok().json
    told, complaints = reports(process)
    assert complaints.count("\n") <= 1, complaints
    assert [test["direction"] for test in done["tests"]] == ["from_server", "to_server"] == [test["direction"] for test in told]
    for here, there in zip(done["tests"], told):
        # The receiver ends intervals, the sender hears of them.
        assert 4 <= len(here["intervals"]) and abs(len(here["intervals"]) - len(there["intervals"])) <= 1
        for one, other in zip(here["intervals"], there["intervals"]):
            assert one == other
        assert sum(one["lost"] + one["duplicates"] for one in here["intervals"]) == 0
        # The first is that in which the rate begins. A sender that was kept from its core says so.
        sender = here if here["direction"] == "to_server" else there
        is_late = "too late" in (sender["limited_by"] or "")
        for one in here["intervals"][1:4]:
            assert near(one["bps_ip"], 50e6, 0.3 if is_late else 0.03), one


@pytest.mark.quiet
def test_a_shaped_link_has_its_rate(lab, hosts):
    """20 Mbit/s of IP packets, found by the search, in the direction that is shaped; the other one carries more."""
    need("tc")
    client, server = hosts
    shape(client, 20e6)
    process = serve(lab, server)
    down, up = measure(lab, client, "-t", 8).ok().json["tests"]
    assert near(up["capacity_bps_ip"], 20e6, 0.02), up
    assert down["capacity_bps_ip"] > 200e6, down
    assert any(interval["lost"] or interval["delay_rise_ms"][2] > 20 for interval in up["intervals"]), up
    reports(process)


def test_what_is_less_than_asked_for_fails(lab, hosts):
    need("tc")
    client, server = hosts
    shape(server, 5e6)
    process = serve(lab, server)
    done = lab.eagre(
        "capacity",
        SERVER,
        "--down",
        "-t",
        5,
        "--at-least",
        "30Mbps",
        ns=client,
        timeout=60,
    )
    assert done.exit == FAILED and "less than 30 Mbps from the server" in done.err, (
        done.exit,
        done.err,
    )
    assert "IP-layer capacity" in done.out and "to the server" not in done.out
    lab.eagre(
        "capacity",
        SERVER,
        "--down",
        "-t",
        5,
        "--at-least",
        "3Mbps",
        ns=client,
        timeout=60,
    ).ok()
    reports(process)


def test_keys(lab, hosts):
    """A server with keys takes clients with one of them, and says to others why not."""
    client, server = hosts
    keys = lab.folder() / "keys"
    keys.write_text("# of two lines\n0,legacy\n7, a key # of the lab\n")
    wrong = lab.folder() / "wrong"
    wrong.write_text("7,another key\n")
    process = serve(lab, server, "--keys", keys)
    options = ("--rate", "1Mbps", "-t", 5, "--down")
    measure(lab, client, *options, "--keys", keys, "--key-id", 7).ok()
    measure(lab, client, *options).refused(REFUSED, "it wants a key: give --key")
    measure(lab, client, *options, "--keys", wrong).refused(REFUSED, "it has another key, or none with this --key-id")
    measure(lab, client, *options, "--keys", keys).refused(BAD_INPUT, "several keys; choose one with --key-id")
    told, complaints = reports(process)
    assert len(told) == 1 and "refused: it has no key" in complaints and "refused: it has another key" in complaints
    process = serve(lab, server)
    measure(lab, client, *options, "--keys", wrong).refused(REFUSED, "it has no keys; leave --key out")
    reports(process)


def test_many_clients_at_once(lab, hosts):
    """Each has a port of its own; one more than there may be is refused."""
    client, server = hosts
    process = serve(lab, server, "--max-tests", 8)
    options = ("-J", "--rate", "2Mbps", "-t", 5)
    runs = [
        lab.start(
            EAGRE,
            "capacity",
            SERVER,
            *options,
            "--down" if n % 2 else "--up",
            ns=client,
        )
        for n in range(8)
    ]
    wait_until(
        lambda: len(server.run("ss", "-Hun", "state", "connected").splitlines()) == 8,
        "eight tests",
        10,
    )
    measure(lab, client, "--rate", "2Mbps", "-t", 5, "--up").refused(REFUSED, "no capacity left")
    for run in runs:
        (test,) = lab.finish(run, 30).ok().json["tests"]
        assert near(test["capacity_bps_ip"], 2e6, 0.05) and test["loss_ratio"] == 0, test
    assert len(reports(process)[0]) == 8


def test_a_server_that_is_not_there(lab, hosts):
    client, _ = hosts
    measure(lab, client, "-t", 5).refused(
        REFUSED,
        f"{SERVER}:{PORT}: no process listens there; start 'eagre capacity --server'",
    )
    client.ip("route", "add", "10.9.0.0/24", "via", SERVER)
    done = measure(lab, client, "-t", 5, server="10.9.0.1")
    done.refused(REFUSED, "does not respond; is it running")
    assert done.seconds < 8


@pytest.mark.parametrize("way", ["--down", "--up"])
def test_an_end_that_goes_is_noticed(lab, hosts, way):
    client, server = hosts
    process = serve(lab, server)
    run = lab.start(EAGRE, "capacity", SERVER, way, "-t", 60, "--rate", "10Mbps", ns=client)
    wait_until(
        lambda: server.run("ss", "-Hun", "state", "connected"),
        "a test",
        10,
    )
    time.sleep(1)
    process.kill()
    lab.finish(run, 10).refused(REFUSED, "the other end has")
    # A client that goes ends its test at the server.
    process = serve(lab, server, "-1")
    run = lab.start(EAGRE, "capacity", SERVER, way, "-t", 60, "--rate", "10Mbps", ns=client)
    wait_until(lambda: server.run("ss", "-Hun", "state", "connected"), "a test", 10)
    time.sleep(1)
    run.kill()
    done = lab.finish(process, 10)
    assert "the other end has" in done.err, done.err


def test_ctrl_c(lab, hosts):
    client, server = hosts
    process = serve(lab, server)
    run = lab.start(EAGRE, "capacity", SERVER, "-J", "-t", 60, ns=client)
    wait_until(lambda: server.run("ss", "-Hun", "state", "connected"), "a test", 10)
    time.sleep(1)
    run.send_signal(signal.SIGINT)
    done = lab.finish(run, 10)
    assert done.exit == 130 and done.json["error"] == "interrupted"
    reports(process)


def request(**more):
    """A request for a test, as a client without keys sends it."""
    fields = {
        "kind": 0xACE1,
        "version": 20,
        "index": 0,
        "count": 1,
        "test": 1,
        "asks": 1,
        "response": 0,
        "needs": 0,
        "port": 0,
        "modifiers": 1,
    } | more
    return struct.pack(">HHBBHBBHHB", *fields.values()).ljust(SETUP, b"\0")


HOSTILE = {
    "nothing": (b"", None),
    "short": (request()[:40], None),
    "version": (request(version=19), 2),
    "connections": (request(count=0), 12),
    "index": (request(index=3, count=2), 12),
    "answer": (request(asks=2), None),
    "load": (b"\xbe\xef" + bytes(30), None),
    "checksum": (request()[:-1] + b"\x01", None),
    "mode": (request()[:15] + b"\x09" + request()[16:], 6),
}


@pytest.mark.parametrize(("packet", "response"), HOSTILE.values(), ids=HOSTILE)
def test_what_a_stranger_says_ends_nothing(lab, packet, response):
    process = lab.start(EAGRE, "capacity", "--server", "-J", "-B", "127.0.0.1", "-p", "0")
    port = int(process.stderr.readline().rsplit(":", 1)[1])
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
        stranger.settimeout(0.5)
        stranger.connect(("127.0.0.1", port))
        stranger.send(packet)
        if response is None:
            with pytest.raises(TimeoutError):
                stranger.recv(2048)
        else:
            answer = stranger.recv(2048)
            assert (answer[8], answer[9], len(answer)) == (2, response, SETUP)
        # It still works: a request is answered with a port, the same one if it comes again.
        stranger.send(request(test=7))
        first = stranger.recv(2048)
        stranger.send(request(test=7))
        assert first[9] == 1 and first[12:14] == stranger.recv(2048)[12:14] != b"\0\0"
    process.send_signal(signal.SIGINT)
    assert lab.finish(process, 10).exit == 130


def test_datagrams_beyond_the_mtu(lab, hosts):
    """Above 1 Gbit/s they have up to 9,000 octets: what no interface cuts, the kernel fragments."""
    client, server = hosts
    process = serve(lab, server)
    done = measure(lab, client, "--begin-at", "1Gbps", "-t", 5).ok().json
    told, complaints = reports(process)
    assert len(done["tests"]) == len(told) == 2 and complaints.count("\n") == 1, complaints


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("--server", "-t", 5), "--time"),
        (("x", "-t", 4), "5 to 3600 whole seconds"),
        (("x", "--rate", "1.5Mbps"), "in whole Mbps"),
        (("x", "--rate", "2Gbps"), "1Mbps to 1Gbps"),
        (("x", "--delay", "90,30"), "the lower one first"),
        (("x", "-i", "20ms"), "between 100ms and 10s"),
        (("x", "--keys", "/dev/null"), "there is no key in it"),
    ],
)
def test_bad_options_are_named(lab, options, text):
    lab.eagre("capacity", *options).refused(BAD_INPUT, text)


@pytest.mark.long
@pytest.mark.skipif(not UDPST, reason="UDPST names no program")
@pytest.mark.parametrize("key", [(), ("secret",)], ids=["open", "key"])
@pytest.mark.parametrize("ours", ["client", "server"])
def test_the_reference_implementation_is_the_other_end(lab, hosts, ours, key):
    """Over a link of 20 Mbit/s in both directions it finds the same, and so do we."""
    need("tc")
    client, server = hosts
    for host in hosts:
        shape(host, 20e6)
    keys = lab.folder() / "keys"
    keys.write_text("0,secret\n")
    if ours == "client":
        lab.start(UDPST, *(("-a", *key) if key else ()), SERVER, ns=server)
        time.sleep(1)
        done = measure(lab, client, "-t", 8, *(("--keys", keys) if key else ())).ok().json
        found = [test["capacity_bps_ip"] for test in done["tests"]]
    else:
        process = serve(lab, server, *(("--keys", keys) if key else ()))
        found = []
        for way in ("-d", "-u"):
            run = lab.start(
                UDPST,
                way,
                "-t",
                8,
                "-f",
                "json",
                *(("-a", *key) if key else ()),
                SERVER,
                ns=client,
            )
            report = json.loads(run.communicate(timeout=30)[0])
            found.append(report["Output"]["AtMax"]["MaxIPLayerCapacity"] * 1e6)
        for told in reports(process)[0]:
            found.append(told["capacity_bps_ip"])
    print([f"{rate / 1e6:.2f} Mbit/s" for rate in found])
    assert len(found) == (2 if ours == "client" else 4) and all(near(rate, 20e6, 0.05) for rate in found), found
