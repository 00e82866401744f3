"""`eagre iperf3` with iperf3 as the other end: the same bytes and packets at both, whoever is who."""

import contextlib
import json
import re
import signal
import socket
import struct
import subprocess
import time

import pytest
from lab import BAD_INPUT, EAGRE, FAILED, REFUSED, need, wait_until

PORT = 5201
SERVER = "10.0.0.1"


@pytest.fixture
def hosts(lab):
    """Two hosts and a link."""
    need("iperf3")
    client, server = lab.netns("client"), lab.netns("server")
    lab.veth(client, "veth0", server, "veth0")
    for host, end in ((client, 2), (server, 1)):
        host.ip("address", "add", f"10.0.0.{end}/24", "dev", "veth0")
        host.sysctl(
            {"net.ipv6.conf.veth0.disable_ipv6": 0, "net.ipv6.conf.lo.disable_ipv6": 0}
        )
        host.ip("address", "add", f"fd00::{end}/64", "dev", "veth0", "nodad")
    return client, server


def listening(ns):
    return f":{PORT} " in ns.run("ss", "-Hltn")


def serve(lab, ns, ours, *options):
    """Starts a server that prints a report for each test."""
    command = [EAGRE, "iperf3"] if ours else ["iperf3"]
    process = lab.start(*command, "-s", "-J", *options, ns=ns)
    wait_until(lambda: listening(ns), "a server", 10)
    return process


def reports(process):
    """Stops a server; its reports."""
    process.send_signal(signal.SIGINT)
    text = process.communicate(timeout=20)[0]
    decoder, found = json.JSONDecoder(), []
    while text.strip():
        document, end = decoder.raw_decode(text.strip())
        found.append(document)
        text = text.strip()[end:]
    return [report for report in found if report["end"]]


def measure(lab, ns, ours, *options, server=SERVER, timeout=60):
    """A client's report."""
    command = [EAGRE, "iperf3"] if ours else ["iperf3"]
    done = lab.finish(lab.start(*command, "-c", server, "-J", *options, ns=ns), timeout)
    assert done.exit == 0, str(done)
    return done.json


TESTS = {
    "up": ("-t", 1),
    "down": ("-t", 1, "-R"),
    "streams": ("-t", 1, "-P", 8),
    "both": ("-t", 1, "-P", 2, "--bidir", "-b", "50M"),
    "rate": ("-t", 1, "-b", "20M"),
    "omit": ("-t", 1, "-O", 1, "-b", "20M"),
    "bytes": ("-n", "4M"),
    "bytes-down": ("-n", "4M", "-R"),
    "blocks": ("-k", 40),
    "options": (
        "-t",
        1,
        "-b",
        "20M",
        "-w",
        "300K",
        "-M",
        1000,
        "-N",
        "-C",
        "reno",
        "-S",
        "0x20",
        "-l",
        "9K",
    ),
    "udp": ("-t", 1, "-u", "-b", "20M"),
    "udp-down": ("-t", 1, "-u", "-b", "20M", "-R", "-P", 3),
    "udp-both": ("-t", 1, "-u", "-b", "5M", "--bidir", "-P", 2),
    "udp-blocks": ("-k", 500, "-u", "-b", "20M", "-l", 600),
    "udp-wide": ("-t", 1, "-u", "-b", "20M", "--udp-counters-64bit", "-l", 200),
    "udp-omit": ("-t", 1, "-O", 1, "-u", "-b", "5M"),
}


def near(a, b, share=0.001):
    return abs(a - b) <= share * max(a, b)


def sums(end):
    return {
        name: end[name]
        for name in end
        if name.startswith("sum_") and "bidir" not in name
    }


@pytest.mark.parametrize("options", [("-n", "8M"), ("-k", 64), ("-k", 640, "-u", "-b", "20M", "-l", 600)], ids=["bytes", "blocks", "packets"])
def test_streams_share_what_is_sent(lab, hosts, options):
    """Each of four sends a quarter, as with iperf3; a stream that is slower than others may leave them some of it."""
    client, server = hosts
    serve(lab, server, False)
    told = measure(lab, client, True, *options, "-P", 4)
    end = "udp" if "-u" in options else "sender"
    sent = [stream[end]["bytes"] for stream in told["end"]["streams"]]
    block = told["start"]["test_start"]["blksize"]
    assert sum(sent) == (8 << 20 if "-n" in options else options[1] * block) and min(sent) >= sum(sent) / 16, sent


@pytest.mark.parametrize("ours", ["client", "server", "both"])
@pytest.mark.parametrize("options", TESTS.values(), ids=TESTS)
def test_both_ends_tell_the_same(lab, hosts, options, ours):
    client, server = hosts
    process = serve(lab, server, ours != "client")
    told = measure(lab, client, ours != "server", *options)
    (report,) = reports(process)
    start = told["start"]["test_start"]
    assert start["protocol"] == ("UDP" if "-u" in options else "TCP")
    here, there = told["end"], report["end"]
    for name in ("sum_sent", "sum_received"):
        if ours != "client":
            # iperf3's server prints its own half before it has the other one.
            assert near(here[name]["bytes"], there[name]["bytes"]), (
                name,
                here[name],
                there[name],
            )
        assert here[name]["bytes"] > 0
    if "-b" in options:
        rate = float(options[options.index("-b") + 1][:-1]) * 1e6 * start["num_streams"]
        # A sender that a busy machine keeps from its core sends less.
        assert 0.5 * rate < here["sum_received"]["bits_per_second"] < 1.15 * rate, (
            rate,
            here["sum_received"],
        )
    if "-n" in options:
        assert (
            here["sum_sent" if "-R" not in options else "sum_received"]["bytes"]
            >= 4 << 20
        )
        if ours != "client" and "-R" not in options:
            assert here["sum_received"]["bytes"] == here["sum_sent"]["bytes"]
    if "-u" in options:
        total = here["sum"]
        assert total["packets"] == 500 if "-k" in options else total["packets"] > 0
        length = start["blksize"]
        if "-O" not in options:
            assert total["bytes"] == total["packets"] * length
            received = (total["packets"] - total["lost_packets"]) * length
            # An iperf3 client that receives takes the server's count of packets, and ends before the last of them are there.
            assert near(here["sum_received"]["bytes"], received, 0.02 if ours == "server" and "-R" in options else 0)
        # The buffer that iperf3 has is not enough on a busy machine.
        if ours == "both" or ours == ("client" if "-R" in options else "server"):
            assert total["lost_packets"] == 0
    if "--bidir" in options:
        assert (
            here["sum_received_bidir_reverse"]["bytes"] > 0
            and here["sum_sent_bidir_reverse"]["bytes"] > 0
        )
    streams = start["num_streams"] * (2 if "--bidir" in options else 1)
    assert len(here["streams"]) == len(told["start"]["connected"]) == streams
    if ours != "server":
        assert here["limited_by"]


@pytest.mark.parametrize("udp", [(), ("-u",)], ids=["tcp", "udp"])
def test_fifty_clients_at_once(lab, hosts, udp):
    """iperf3's own server is busy with the first."""
    client, server = hosts
    process = serve(lab, server, True, "--max-tests", 50)
    command = client.command("iperf3", "-c", SERVER, "-J", "-t", 2, "-b", "1M", *udp)
    clients = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(50)
    ]
    told = [json.loads(one.communicate(timeout=90)[0]) for one in clients]
    assert [one.get("error") for one in told] == [None] * 50
    found = {report["start"]["cookie"]: report for report in reports(process)}
    assert len(found) == 50
    for one in told:
        report = found[one["start"]["cookie"]]
        assert near(
            one["end"]["sum_received"]["bytes"], report["end"]["sum_received"]["bytes"]
        )


def test_more_than_its_tests_are_refused(lab, hosts):
    client, server = hosts
    process = serve(lab, server, True, "--max-tests", 1)
    first = lab.start(EAGRE, "iperf3", "-c", SERVER, "-t", 20, ns=client)
    wait_until(
        lambda: f":{PORT}" in client.run("ss", "-Htn", "state", "established"), "a test"
    )
    time.sleep(0.3)
    second = lab.eagre("iperf3", "-c", SERVER, "-t", 1, ns=client)
    second.refused(REFUSED, "busy with a test")
    assert (
        "server is busy"
        in json.loads(client.run("iperf3", "-c", SERVER, "-J", check=False))["error"]
    )
    first.send_signal(signal.SIGINT)
    assert lab.finish(first).exit == 130
    assert len(reports(process)) == 1


def test_iperf3_that_is_busy_is_named(lab, hosts):
    client, server = hosts
    serve(lab, server, False)
    lab.start("iperf3", "-c", SERVER, "-t", 20, ns=client)
    wait_until(lambda: "ESTAB" in client.run("ss", "-tn"), "a test")
    time.sleep(0.3)
    lab.eagre("iperf3", "-c", SERVER, "-t", 1, ns=client).refused(
        REFUSED, "busy with a test", "eagre iperf3 -s"
    )


def drop_behind(server, octets):
    """Lets so many octets of UDP in, and counts and drops what comes after them."""
    rule = f"udp dport {PORT} quota over {octets} bytes counter drop"
    server.run(
        "nft",
        "-f",
        "-",
        input=f"table ip cut {{\n chain c {{\n type filter hook input priority 0\n {rule}\n }}\n}}\n",
    )


@pytest.mark.parametrize("ours", ["client", "server"])
def test_what_is_lost_at_the_end_is_lost(lab, hosts, ours):
    """Of some 1,250 packets, about 600 pass, and then none. iperf3's own client and server call that no loss."""
    need("nft", "ethtool")
    client, server = hosts
    # Packets that the link cuts count as one there.
    client.run("ethtool", "-K", "veth0", "tx-udp-segmentation", "off")
    drop_behind(server, 600_000)
    serve(lab, server, ours == "server")
    told = measure(
        lab, client, ours == "client", "-u", "-b", "10M", "-l", 1000, "-t", 1
    )
    counter = json.loads(server.run("nft", "-j", "list", "table", "ip", "cut"))[
        "nftables"
    ]
    (dropped,) = [
        e["counter"]["packets"]
        for rule in counter
        if "rule" in rule
        for e in rule["rule"]["expr"]
        if "counter" in e
    ]
    assert dropped > 100
    received = told["end"]["sum_received" if ours == "client" else "sum"]
    assert received["lost_packets"] == dropped
    if ours == "client":
        assert "were lost" in told["end"]["limited_by"]


def test_a_shaped_link_has_its_rate(lab, hosts):
    """20 Mbit/s of IP packets by a token bucket; TCP's payload is 1448 of 1514 bytes of them."""
    need("tc")
    client, server = hosts
    bucket = ("rate", "20mbit", "burst", "20kb", "latency", "50ms")
    client.run("tc", "qdisc", "add", "dev", "veth0", "root", "tbf", *bucket)
    rates = {}
    for ours in (True, False):
        process = serve(lab, server, ours)
        end = measure(lab, client, ours, "-t", 4, "-O", 1)["end"]
        rates[ours] = end["sum_received"]["bits_per_second"]
        reports(process)
    assert near(rates[True], 20e6 * 1448 / 1514, 0.02), rates
    assert near(rates[True], rates[False], 0.02), rates


@pytest.mark.parametrize("address", ["fd00::1", "[fd00::1]"])
def test_ipv6(lab, hosts, address):
    client, server = hosts
    process = serve(lab, server, True)
    told = measure(lab, client, True, "-t", 1, "-u", "-b", "5M", server=address)
    assert told["end"]["sum_received"]["lost_packets"] == 0
    assert told["start"]["connected"][0]["remote_host"] == "fd00::1"
    assert near(
        told["end"]["sum_sent"]["bytes"],
        reports(process)[0]["end"]["sum_sent"]["bytes"],
    )


def test_the_type_of_service_is_on_the_wire(lab, hosts):
    need("tcpdump")
    client, server = hosts
    serve(lab, server, True)
    dump = lab.start("tcpdump", "-ni", "veth0", "-c", 200, "-v", "udp", ns=server)
    wait_until(lambda: "listening on" in dump.stderr.readline(), "tcpdump")
    measure(lab, client, True, "-t", 2, "-u", "-b", "5M", "-l", 500, "--dscp", 46)
    text = dump.communicate(timeout=20)[0]
    assert text.count("tos 0xb8") > 100


def test_ctrl_c_ends_a_test_with_its_results(lab, hosts):
    client, server = hosts
    process = serve(lab, server, False)
    run = lab.start(EAGRE, "iperf3", "-c", SERVER, "-t", 60, "-J", ns=client)
    wait_until(lambda: "ESTAB" in client.run("ss", "-tn"), "a test")
    time.sleep(1.2)
    run.send_signal(signal.SIGINT)
    done = lab.finish(run, 10)
    assert done.exit == 130 and done.json["error"] == "interrupted"
    assert (
        done.json["end"]["sum_received"]["bytes"] > 0
        and len(done.json["intervals"]) == 2
    )
    assert len(reports(process)) == 1


def test_a_server_that_dies_is_told_at_once(lab, hosts):
    client, server = hosts
    process = serve(lab, server, True)
    run = lab.start(EAGRE, "iperf3", "-c", SERVER, "-t", 60, ns=client)
    wait_until(lambda: "ESTAB" in client.run("ss", "-tn"), "a test")
    process.kill()
    done = lab.finish(run, 10)
    done.refused(REFUSED, "the server closed the connection")


def test_a_host_that_does_not_answer(lab, hosts):
    client, _ = hosts
    run = lab.eagre("iperf3", "-c", SERVER, ns=client)
    run.refused(REFUSED, f"{SERVER}:{PORT} refuses connections", "eagre iperf3 -s")
    client.ip("link", "set", "veth0", "down")
    client.ip("route", "add", "blackhole", "10.9.0.0/24")
    run = lab.eagre("iperf3", "-c", "10.9.0.1", "--connect-timeout", "200", ns=client)
    assert run.exit == REFUSED and run.seconds < 5


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (("-s", "-P", 2), "cannot be used with"),
        ((), "required"),
        (("-c", "x", "-b", "fast"), "'fast' is not a rate: 100M"),
        (("-c", "x", "-t", "1.5"), "whole seconds only"),
        (("-c", "x", "-n", "1M", "-t", 1), "cannot be used with"),
        (("-c", "x", "-P", 129), "128"),
        (("-c", "x", "-l", "2M"), "len: 2097152 is not between"),
        (("-c", "x", "-u", "-l", 8), "len: 8 is not between"),
        (("-c", "x", "-C", "a b"), "congestion"),
        (("-c", "x", "-S", 256), "not a type of service"),
    ],
)
def test_bad_options_are_named(lab, options, text):
    lab.eagre("iperf3", *options).refused(BAD_INPUT, text)


def asked(**more):
    return {
        "tcp": True,
        "omit": 0,
        "time": 1,
        "num": 0,
        "blockcount": 0,
        "parallel": 1,
        "len": 131072,
    } | more


def said(connection):
    """What a server answers until it closes the connection."""
    got = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(4096):
            got += part
    return got


def document(value):
    text = value if isinstance(value, bytes) else json.dumps(value).encode()
    return struct.pack(">I", len(text)) + text


# What follows a cookie of 37 octets.
HOSTILE = {
    "nothing": b"",
    "a huge document": struct.pack(">I", 0xFFFFFFFF),
    "no JSON": document(b"\xff" * 40),
    "a list": document([1, 2]),
    "deep JSON": document(b"[" * 8000),
    "many streams": document(asked(parallel=1_000_000)),
    "long blocks": document(asked(len=1 << 40)),
    "a negative time": document(asked(time=-5)),
    "a test without streams": document(asked()),
    "another state": document(asked(udp=True, len=1000)) + b"\x10",
}


@pytest.mark.parametrize("octets", HOSTILE.values(), ids=HOSTILE)
def test_what_a_stranger_says_ends_nothing(lab, octets):
    """The stranger is let go within the time for a cookie or for streams; the next client is served meanwhile."""
    need("iperf3")
    server = lab.start_eagre("iperf3", "-s", "-p", 0, "-B", "127.0.0.1")
    port = int(re.search(r":(\d+)$", server.stderr.readline().strip())[1])
    stranger = socket.create_connection(("127.0.0.1", port))
    stranger.settimeout(40)
    stranger.sendall(b"a" * 36 + b"\0" + octets)
    if octets in (HOSTILE["nothing"], HOSTILE["a huge document"]):
        stranger.shutdown(socket.SHUT_WR)
    done = lab.eagre(
        "iperf3", "-c", "127.0.0.1", "-p", port, "-t", 1, "-b", "10M", timeout=30
    )
    assert done.exit == 0, str(done)
    if octets not in (HOSTILE["a test without streams"],):
        assert said(stranger)[:1] == b"\x09"
    stranger.close()
    assert server.poll() is None


def test_connections_without_a_cookie_are_closed(lab):
    server = lab.start_eagre("iperf3", "-s", "-p", 0, "-B", "127.0.0.1")
    port = int(re.search(r":(\d+)$", server.stderr.readline().strip())[1])
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(300)]
    begin = time.monotonic()
    for one in silent:
        one.settimeout(20)
        assert one.recv(1) == b"" and time.monotonic() - begin < 20
    # There is room for others again.
    done = lab.eagre("iperf3", "-c", "127.0.0.1", "-p", port, "-t", 1, "-b", "10M")
    assert done.exit == 0, str(done)
    for one in silent:
        one.close()


def test_many_tests_one_after_the_other(lab, hosts):
    """Whole blocks are sent: iperf3 reads nothing else before it has one."""
    client, server = hosts
    process = serve(lab, server, True)
    for _ in range(20):
        for direction in ((), ("-R",)):
            told = json.loads(
                client.run("iperf3", "-c", SERVER, "-J", "-n", "2M", *direction)
            )
            assert told["end"]["sum_received"]["bytes"] >= (2 << 20) - 128 * 1024
    assert len(reports(process)) == 40


def test_nothing_received_is_a_failure(lab, hosts):
    need("nft")
    client, server = hosts
    drop_behind(server, 60)
    serve(lab, server, True)
    done = lab.finish(
        lab.start(EAGRE, "iperf3", "-c", SERVER, "-u", "-t", 1, ns=client)
    )
    assert done.exit == FAILED and "lost" in done.out, str(done)
