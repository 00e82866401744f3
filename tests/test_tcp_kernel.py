"""TCP against the Linux kernel's, both ways, over IPv4 and IPv6: every byte arrives, an analyser finds no fault."""

import hashlib
import json
import random
import re
import time
from collections import Counter

import pytest
from hosts import Capture, Delayed, Host, Routed, counted, rules
from kernel_client import digest
from kernel_server import DIGEST, ECHO, KNOWN_BYTES, LEAVER, SINK, SLEEP_S, SLOW, SOURCE, known
from lab import LONG, WEST4, call, wait_until
from sessions import all_through, check, hinted, no_resets, of, raw

KINDS = ["afpacket", "afxdp"]
FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
MANY = 100_000 if LONG else 1_000
BULK = 50_000_000 if LONG else 2_000_000
LOSS_PERCENT = 3

# An analyser's word for what a sender does that fills what the other end offered: nothing wrong with that.
FULL = "TCP window specified by the receiver is now completely full"
# Effects of loss on a good sender and a good receiver, and on an analyser that sees only one side of it.
LOSS = re.compile(
    r"retransmission|Duplicate ACK|D-SACK|Previous segment|out-of-order|wasn't captured|keep-alive|window is now"
    r"|Zero Window|window specified",
    re.IGNORECASE,
)


def check_wire(capture, address, loss=False):
    """An analyser has no complaint about what we sent, but for what loss explains; a busy machine makes some, too."""
    complaints, again = capture.complaints(address)
    if loss or again:
        assert all(LOSS.search(complaint) for complaint in complaints), complaints
    else:
        assert set(complaints) <= {FULL}, complaints
    return complaints


@pytest.fixture
def host(lab):
    return Host(lab)


@pytest.fixture
def routed(lab):
    return Routed(lab)


def text(size, seed=1):
    """A number of meaningless letters, for profiles."""
    return random.Random(seed).randbytes(size // 2).hex()


# Many connections.


@pytest.mark.unsteady("a kernel without its core sends segments twice")
@pytest.mark.parametrize("kind", KINDS)
@FAMILIES
def test_many_connections_to_the_kernel(host, kind, v6):
    """All are established, served and closed, and the kernel saw as many; its segments and ours are counted alike."""
    kernel = host.kernel_server()
    capture = Capture(host.lab, host.host, "h0", snap=120)
    app = {"echo": {"request": "100B"}}
    done = host.run(host.client(app, v6, ECHO, open="4000/s", count=MANY, concurrent=min(MANY, 4000)), kind=kind)
    one = all_through(of(done), MANY, MANY)
    seen = kernel.seen()[str(ECHO)]
    assert (seen["accepted"], seen["closed"], seen["reset"], seen["bytes"]) == (MANY, MANY, 0, 100 * MANY), seen
    assert one["setup_ns"]["samples"] == one["ttlb_ns"]["samples"] == MANY
    tcp = one["client"]["tcp"]
    assert (tcp["bytes_in"], tcp["bytes_out"]) == (100 * MANY, 100 * MANY), tcp
    # A busy kernel with several cores sends some again, or an old acknowledgement after a FIN, with a timestamp before the FIN's,
    # which gets an acknowledgement; a kernel that has forgotten the connection resets it.
    bad = {name: count for name, count in tcp.items() if name.startswith("bad_") and count}
    again = one["retransmitted_segments"] or host.kernel_counter("TcpRetransSegs")
    assert again or set(bad) <= {"bad_sequence", "bad_timestamp"} and sum(bad.values()) <= MANY // 100, tcp
    check_wire(capture, host.tester_address(v6))
    assert capture.fields(f"tcp.flags.reset == 1 && tcp.dstport == {ECHO}", "frame.number") == []


@pytest.mark.parametrize("kind", KINDS)
@FAMILIES
def test_many_connections_from_the_kernel(host, kind, v6):
    """Our echo gives every client its own bytes back."""
    serving = host.serving(host.server("echo", v6), kind=kind)
    capture = Capture(host.lab, host.host, "h0", snap=120)
    outcome = host.kernel_client(
        "many", address=host.tester_address(v6), port=ECHO, count=MANY, concurrent=200, size=100
    )
    assert outcome == {"ok": MANY}
    one = check(host.served(serving)["sessions"]["s"])
    assert (one["attempted"], one["completed"], one["failed"], one["active"]) == (MANY, MANY, {}, 0)
    tcp = one["server"]["tcp"]
    assert (tcp["bytes_in"], tcp["bytes_out"], tcp["opened_passive"]) == (100 * MANY, 100 * MANY, MANY), tcp
    check_wire(capture, host.tester_address(v6))


# Bulk transfers.


def exact(piece, times):
    """A program that sends a text several times and must receive its digest; the other end reads to the end and sends it."""
    answer = hashlib.sha256(piece.encode() * times).hexdigest()
    again = {"repeat": {"times": times, "do": [{"send": piece}]}}
    return {"program": {"client": [again, "half_close", {"expect_until": answer}, "expect_end"]}}


@pytest.mark.unsteady("counts retransmissions; a busy neighbour delays segments until they are sent again")
@pytest.mark.parametrize("kind", KINDS)
@FAMILIES
def test_a_bulk_to_the_kernel_is_exact(host, kind, v6):
    """The kernel's digest of the stream is the one it must be; without loss nothing is sent twice."""
    host.kernel_server()
    capture = Capture(host.lab, host.host, "h0", snap=120)
    piece = text(100_000)
    done = host.run(host.client(exact(piece, BULK // len(piece)), v6, DIGEST, open="10/s", count=2), kind=kind)
    one = all_through(of(done), 2)
    assert one["client"]["tcp"]["bytes_out"] == 2 * BULK
    check_wire(capture, host.tester_address(v6))


@pytest.mark.unsteady("counts retransmissions; a busy neighbour delays segments until they are sent again")
@pytest.mark.parametrize("through", ["link", "cutting link", "router", "lossy router"])
@FAMILIES
def test_a_bulk_in_long_packets_is_exact(lab, through, v6):
    """With segmentation offload the kernel takes segments in a row as one packet, and cuts it where an interface takes none."""
    host = (Routed if "router" in through else Host)(lab, offloads=True)
    host.kernel_server()
    if through == "cutting link":
        call(*host.tester.command("ethtool", "-K", "veth0", "tso", "off", "gso", "off", "tx", "off"))
    if through == "lossy router":
        host.lose(LOSS_PERCENT)
    capture = Capture(lab, host.host, "h0", snap=120)
    ports, piece = host.ports(), text(100_000)
    ports["west"]["device"] += ",tso"
    result = of(host.run(host.client(exact(piece, BULK // len(piece)), v6, DIGEST, open="10/s", count=2), ports=ports))
    counts = all_through(result, 2)["client"]["tcp"]
    assert counts["bytes_out"] == 2 * BULK, counts
    told = host.host.run("nstat", "-asz", "TcpInErrs", "TcpInCsumErrors").split()
    assert [told[told.index(name) + 1] for name in ("TcpInErrs", "TcpInCsumErrors")] == ["0", "0"], told
    address = host.tester_address(v6)
    segments = 2 * BULK / 1460
    lengths = [int(length) for (length,) in capture.fields(f"tcp.len > 0 && {'ipv6' if v6 else 'ip'}.src == {address}", "tcp.len")]
    if through == "cutting link":
        assert max(lengths) <= 1460 and len(lengths) >= segments, (len(lengths), max(lengths))
        check_wire(capture, address)
    else:
        assert max(lengths) > 10_000 and len(lengths) < segments / 3, (len(lengths), max(lengths))
    if through == "lossy router":
        repairs = ("retransmitted_fast", "retransmitted_other", "timeouts", "tail_probes")
        assert host.lost() > 0 < sum(counts[name] for name in repairs), counts


@pytest.mark.unsteady("a busy machine's round trips are longer than the delay that is to be taken for loss")
@pytest.mark.parametrize("kind", KINDS)
@FAMILIES
def test_repairs_for_nothing_are_undone_by_the_kernels_word(lab, kind, v6):
    """Reordered segments are retransmitted needlessly; the kernel reports it by DSACK, and the window is restored."""
    delayed = Delayed(lab)
    delayed.kernel_server()
    piece = text(1_000_000)
    total = Counter()
    # On a busy machine round trips may be so long that nothing is thought lost.
    for _ in range(4):
        done = delayed.run(delayed.client(exact(piece, 10), v6, DIGEST, open="10/s", count=1), kind=kind)
        counts = all_through(of(done), 1)["client"]["tcp"]
        assert counts["bytes_out"] == 10_000_000, counts
        total += counts
        if total["spurious_repairs"]:
            break
    held = delayed.held()
    assert held >= 7, (total, held)
    told = delayed.host.run("nstat", "-asz", "TcpExtTCPDSACKOldSent", "TcpExtTCPDSACKOfoSent").split()
    sent = sum(int(told[told.index(name) + 1]) for name in ("TcpExtTCPDSACKOldSent", "TcpExtTCPDSACKOfoSent"))
    assert 0 < total["duplicates_reported"] <= sent, (total, sent)
    # Of some the repeats come together with others that were sent again because a busy machine is slow.
    assert 0 < total["spurious_repairs"] <= held + total["timeouts"], (total, held)


@pytest.mark.unsteady("counts retransmissions; a busy neighbour delays segments until they are sent again")
@FAMILIES
def test_a_bulk_to_the_kernel_is_exact_despite_loss(routed, v6):
    """3% of all segments are lost both ways; recovery needs time-outs for few of them."""
    routed.kernel_server()
    routed.lose(LOSS_PERCENT)
    capture = Capture(routed.lab, routed.router, "r0", snap=120)
    piece = text(100_000)
    app = exact(piece, BULK // len(piece))
    tcp = {"rto_initial": "300ms"}
    one = all_through(of(routed.run(routed.client(app, v6, DIGEST, open="10/s", count=2, tcp=tcp))), 2)
    counts = one["client"]["tcp"]
    assert routed.lost() > 2 * BULK / 1460 * LOSS_PERCENT / 100 / 2, "nothing was lost, nothing was tested"
    assert counts["bytes_out"] == 2 * BULK and counts["retransmitted_fast"] > 0
    assert counts["timeouts"] < counts["retransmitted_fast"] + counts["retransmitted_other"], counts
    assert one["retransmitted_segments"] >= counts["retransmitted_fast"]
    assert check_wire(capture, routed.tester_address(v6), loss=True), "nothing was lost, nothing was tested"


@pytest.mark.unsteady("counts retransmissions; a busy neighbour delays segments until they are sent again")
@pytest.mark.parametrize("kind", KINDS)
@FAMILIES
def test_a_bulk_both_ways_at_once_is_exact(host, kind, v6):
    """A kernel client gets back the megabytes it sends to our echo while it still sends."""
    serving = host.serving(host.server("echo", v6), kind=kind)
    said = host.kernel_client("echoed", address=host.tester_address(v6), port=ECHO, size=BULK, half_close=True)
    assert said["same"] and said["ended"], said
    one = check(host.served(serving)["sessions"]["s"])
    assert (one["completed"], one["failed"], one["server"]["tcp"]["bytes_in"]) == (1, {}, BULK), one


@pytest.mark.unsteady("counts retransmissions; a busy neighbour delays segments until they are sent again")
@FAMILIES
def test_a_bulk_both_ways_at_once_is_exact_despite_loss(routed, v6):
    """3% of all segments are lost: nothing in the stream of either side is missing, doubled or moved."""
    serving = routed.serving(routed.server("echo", v6))
    routed.lose(LOSS_PERCENT)
    capture = Capture(routed.lab, routed.router, "r0", snap=120)
    said = routed.kernel_client("echoed", address=routed.tester_address(v6), port=ECHO, size=BULK, half_close=True)
    assert said["same"] and said["ended"], said
    one = check(routed.served(serving)["sessions"]["s"])
    counts = one["server"]["tcp"]
    assert (counts["bytes_in"], counts["bytes_out"]) == (BULK, BULK)
    assert counts["out_of_order"] > 0 < counts["retransmitted_fast"] and routed.lost() > 0
    assert check_wire(capture, routed.tester_address(v6), loss=True), "nothing was lost, nothing was tested"


@pytest.mark.unsteady("counts retransmissions; a busy neighbour delays segments until they are sent again")
@pytest.mark.parametrize("lossy", [False, True], ids=["clean", "lossy"])
@FAMILIES
def test_a_bulk_from_the_kernel_is_whole(routed, lossy, v6):
    """Our client reads all that a kernel server sends until it closes; goodput counts each byte once."""
    kernel = routed.kernel_server()
    if lossy:
        routed.lose(LOSS_PERCENT)
    tail = known()[-12:].hex()
    program = {"program": {"client": [{"expect_until": {"hex": tail}}, "expect_end"]}}
    one = all_through(of(routed.run(routed.client(program, v6, SOURCE, open="10/s", count=2))), 2)
    assert one["client"]["tcp"]["bytes_in"] == 2 * KNOWN_BYTES
    # Without the router's losses there may be some of a busy machine.
    if lossy:
        assert one["client"]["tcp"]["out_of_order"] > 0 and routed.lost() > 0, "nothing was lost, nothing was tested"
    assert kernel.seen()[str(SOURCE)]["accepted"] == 2


# The negotiated options.


OPTIONS = {
    "all": ({}, ["ts", "sack", "wscale"], []),
    "no timestamps": ({"timestamps": False}, ["sack", "wscale"], ["ts"]),
    "no sack": ({"sack": False}, ["ts", "wscale"], ["sack"]),
    "no scaling": ({"window_scaling": False, "window": "64KB"}, ["ts", "sack"], ["wscale"]),
    "none": (
        {"window_scaling": False, "window": "64KB", "timestamps": False, "sack": False},
        [],
        ["ts", "sack", "wscale"],
    ),
}


def words(socket):
    """Options of a connection by `ss`: names and values."""
    return {word.split(":")[0]: word.split(":", 1)[1] if ":" in word else "" for word in socket.split()}


HOLD = {"program": {"client": [{"send": "x" * 3000}, {"expect": {"bytes": "3000B"}}, {"wait": "1500ms"}]}}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@FAMILIES
def test_the_kernel_agrees_on_options(host, options, v6):
    """`ss` on the kernel's side shows the requested options, and a largest segment that follows MTU and options."""
    tcp, there, absent = options
    host.kernel_server()
    process = host.start(host.client(HOLD, v6, ECHO, open="10/s", count=1, tcp=tcp))
    answered = ("state", "established", f"sport = :{ECHO}")
    [socket] = wait_until(
        lambda: [one for one in host.sockets(*answered) if "bytes_acked:3000 " in one],
        "an answer that was acknowledged",
    )
    said = words(socket)
    assert all(word in said for word in there) and not any(word in said for word in absent), socket
    stamps = 12 if "ts" in there else 0
    headers = 60 if v6 else 40
    assert (int(said["mss"]), int(said["pmtu"])) == (1500 - headers - stamps, 1500), socket
    assert int(said["bytes_received"]) == 3000, socket
    if "wscale" in there:
        ours, _ = said["wscale"].split(",")
        assert 65_535 << int(ours) >= 262_140 or int(ours) >= 2, socket
    all_through(of(host.lab.finish(process)), 1)


def test_a_small_segment_size_is_kept_to(host):
    """Neither end sends more than we offered."""
    host.kernel_server()
    capture = Capture(host.lab, host.host, "h0")
    app = {"echo": {"request": "20KB"}}
    tcp = {"mss": 536, "timestamps": False}
    all_through(of(host.run(host.client(app, False, ECHO, open="100/s", count=20, tcp=tcp))), 20)
    sizes = {int(size) for (size,) in capture.fields(f"tcp.port == {ECHO} && tcp.len > 0", "tcp.len")}
    assert max(sizes) == 536, sizes


@pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
def test_a_jumbo_link_carries_large_segments(lab, v6):
    """With an MTU of 9000 segments of nearly that are sent both ways."""
    host = Host(lab, mtu=9000)
    host.kernel_server()
    capture = Capture(lab, host.host, "h0")
    app = {"echo": {"request": "500KB"}}
    entry = host.client(app, v6, ECHO, open="100/s", count=4, mtu=9000)
    all_through(of(host.run(entry)), 4)
    largest = 9000 - (60 if v6 else 40) - 12
    for address in (host.tester_address(v6), host.address(v6)):
        field = "ipv6.src" if v6 else "ip.src"
        sizes = {int(size) for (size,) in capture.fields(f"{field} == {address} && tcp.len > 0", "tcp.len")}
        assert max(sizes) == largest, sizes


@FAMILIES
def test_congestion_notification_is_agreed_upon_and_obeyed(routed, v6):
    """The kernel sees ECN on the connection; what a router marks is echoed and slows us down, and nothing is lost."""
    routed.host.sysctl({"net.ipv4.tcp_ecn": 1})
    protocol = "ip6" if v6 else "ip"
    marking = f"tcp dport {DIGEST} {protocol} ecn ect0 numgen random mod 100 < 2 counter name hit {protocol} ecn set ce"
    rules(routed.router, "forward", marking)
    kernel = routed.kernel_server()
    piece = text(100_000)
    entry = routed.client(exact(piece, 20), v6, DIGEST, open="10/s", count=1, tcp={"ecn": True})
    one = all_through(of(routed.run(entry)), 1)
    marked, counts = counted(routed.router)["hit"], one["client"]["tcp"]
    assert marked > 0 < counts["ecn_echoes"] and 0 < counts["ecn_reductions"] <= marked, (marked, counts)
    assert kernel.seen()[str(DIGEST)]["bytes"] == 20 * len(piece)


def test_without_being_asked_for_there_is_no_congestion_notification(host):
    """Not offered, not taken: the kernel that offers it to our server gets none either."""
    host.host.sysctl({"net.ipv4.tcp_ecn": 1})
    serving = host.serving(
        host.server("echo", name="plain"), host.server("echo", name="ecn", server={"ports": 8}, tcp={"ecn": True})
    )
    seen = {}
    for port in (7, 8):
        client = host.start_kernel_client("held", address=WEST4, port=port, seconds=3)
        wait_until(lambda port=port: host.sockets("state", "established", f"dport = :{port}"), "a connection")
        time.sleep(0.2)
        [socket] = host.sockets("state", "established", f"dport = :{port}")
        seen[port] = "ecn" in words(socket)
        assert json.loads(client.communicate(timeout=20)[0]) == {"same": True}
    host.served(serving)
    assert seen == {7: False, 8: True}


# Windows.


def test_a_reader_that_sleeps_closes_the_window_and_opens_it_again(host):
    """Our client probes while the kernel's window is zero, then sends the rest: all of it arrives."""
    kernel = host.kernel_server()
    piece = text(100_000)
    program = {"program": {"client": [{"repeat": {"times": 10, "do": [{"send": piece}]}}]}}
    one = all_through(of(host.run(host.client(program, False, SLOW, open="10/s", count=3))), 3)
    tcp = one["client"]["tcp"]
    assert tcp["zero_windows_received"] >= 3 <= tcp["window_probes"], tcp
    seen = kernel.seen()[str(SLOW)]
    assert seen["received"] == [[10 * len(piece), digest(piece.encode() * 10)]] * 3


def test_our_server_waits_for_a_reader_that_sleeps(host):
    """A kernel client that does not read what our echo sends gets all of it in the end."""
    serving = host.serving(host.server("echo"))
    said = host.kernel_client("echoed", address=WEST4, port=ECHO, size=1_000_000, sleep=SLEEP_S, buffer=8192)
    assert said["same"], said
    one = check(host.served(serving)["sessions"]["s"])
    tcp = one["server"]["tcp"]
    # Data dropped by a full reader are sent again; that probes its window as well.
    assert tcp["zero_windows_received"] > 0 < tcp["window_probes"] + tcp["tail_probes"] + tcp["timeouts"], tcp
    assert (tcp["bytes_in"], one["failed"]) == (1_000_000, {})


def test_our_reader_that_pauses_closes_its_window(host):
    """The kernel's server waits, probes, and delivers all when we read on."""
    host.kernel_server()
    tail = known()[-12:].hex()
    steps = ["pause", {"wait": "700ms"}, "resume", {"expect_until": {"hex": tail}}, "expect_end"]
    entry = host.client({"program": {"client": steps}}, False, SOURCE, open="10/s", count=2)
    one = all_through(of(host.run(entry)), 2)
    tcp = one["client"]["tcp"]
    assert tcp["zero_windows_sent"] > 0 and tcp["bytes_in"] == 2 * KNOWN_BYTES, tcp


# How connections end, and how they stay.


def test_a_half_that_is_closed_leaves_the_other_open(host):
    """Our half is closed first, and the kernel's hash still arrives; and the other way round."""
    kernel = host.kernel_server()
    one = all_through(of(host.run(host.client(exact("half a tide", 3), False, DIGEST, open="100/s", count=50))), 50)
    no_resets(one["client"]["tcp"])
    seen = kernel.seen()[str(DIGEST)]
    assert (seen["ends"], seen["closed"], seen["reset"]) == (50, 50, 0)
    serving = host.serving(host.server("echo"))
    said = [
        host.kernel_client("echoed", address=WEST4, port=ECHO, size=size, half_close=True)
        for size in (1, 5000, 200_000)
    ]
    assert all(one["same"] and one["ended"] for one in said), said
    assert check(host.served(serving)["sessions"]["s"])["completed"] == 3


def test_idle_connections_are_kept_alive_and_dead_ones_noticed(host):
    """Keep-alive segments are sent and acknowledged; when the host falls silent the session fails."""
    host.kernel_server()
    wait = {"program": {"client": [{"send": "there?"}, {"expect": {"bytes": "6B"}}, {"wait": "2s"}]}}
    tcp = {"keep_alive": "200ms"}
    capture = Capture(host.lab, host.host, "h0")
    one = all_through(of(host.run(host.client(wait, False, ECHO, open="10/s", count=1, tcp=tcp))), 1)
    assert 5 <= one["client"]["tcp"]["keep_alives"] <= 10, one["client"]["tcp"]
    [*probes] = capture.fields(f"tcp.analysis.keep_alive && ip.src == {WEST4}", "frame.number")
    assert len(probes) == one["client"]["tcp"]["keep_alives"]


def test_a_keep_alive_that_nobody_answers_ends_the_session(host):
    """The host drops everything once the connection is up: the failure is a time-out."""
    host.kernel_server()
    wait = {"program": {"client": [{"send": "there?"}, {"expect": {"bytes": "6B"}}, {"wait": "30s"}]}}
    tcp = {"keep_alive": "200ms", "data_retries": 3, "rto_initial": "250ms", "rto_max": "300ms"}
    process = host.start(host.client(wait, False, ECHO, open="10/s", count=1, tcp=tcp))
    wait_until(lambda: host.sockets("state", "established", f"sport = :{ECHO}"), "a connection")
    time.sleep(0.3)
    rules(host.host, "input", "meta l4proto tcp counter name hit drop")
    done = host.lab.finish(process, 20)
    assert done.seconds < 15
    assert check(done.json["sessions"]["s"])["failed"] == {"timeout": 1}, str(done)


def test_the_kernels_keep_alives_are_answered(host):
    """A kernel's keep-alive probes get replies."""
    host.host.sysctl(
        {"net.ipv4.tcp_keepalive_time": 1, "net.ipv4.tcp_keepalive_intvl": 1, "net.ipv4.tcp_keepalive_probes": 1}
    )
    serving = host.serving(host.server("echo"))
    assert host.kernel_client("held", address=WEST4, port=ECHO, seconds=3.5, keep_alive=True) == {"same": True}
    assert check(host.served(serving)["sessions"]["s"])["failed"] == {}


def test_resets_end_sessions_on_either_side(host):
    """A kernel client that resets after its response has completed, for our server; and the other way round."""
    serving = host.serving(host.server("echo"))
    assert host.kernel_client("reset", address=WEST4, port=ECHO, count=100) == {"reset": 100}
    one = check(host.served(serving)["sessions"]["s"])
    assert (one["attempted"], one["server"]["tcp"]["resets_in"], one["active"]) == (100, 100, 0), one
    assert (one["completed"], one["failed"]) == (100, {}), one
    kernel = host.kernel_server()
    entry = host.client({"echo": {"request": "100B"}}, False, ECHO, open="1000/s", count=100, tcp={"close_by": "reset"})
    one = all_through(of(host.run(entry)), 100)
    assert one["client"]["tcp"]["resets_out"] == 100
    assert kernel.seen()[str(ECHO)]["reset"] == 100


def test_a_server_that_closes_first_is_followed(host):
    """The kernel's FIN comes first; ours follows, and neither end resets."""
    kernel = host.kernel_server()
    program = {"program": {"client": [{"send": "leave"}, {"expect": {"bytes": "5B"}}, "expect_end"]}}
    one = all_through(of(host.run(host.client(program, False, LEAVER, open="1000/s", count=200))), 200)
    no_resets(one["client"]["tcp"])
    assert kernel.seen()[str(LEAVER)]["closed"] == 200


def test_both_ends_close_at_the_same_time(host):
    """Our FIN is lost, the kernel's comes before it is sent again: CLOSING, and a clean end on both sides."""
    kernel = host.kernel_server()
    rules(host.host, "input", f"tcp dport {LEAVER} tcp flags & fin == fin numgen inc mod 2 0 counter name hit drop")
    program = {"program": {"client": [{"send": "leave"}, {"expect": {"bytes": "5B"}}, {"wait": "30ms"}, "close"]}}
    capture = Capture(host.lab, host.host, "h0")
    tcp = {"rto_min": "1500ms", "rto_initial": "1500ms"}
    one = all_through(of(host.run(host.client(program, False, LEAVER, open="1/s", count=1, tcp=tcp))), 1)
    counts = one["client"]["tcp"]
    assert counted(host.host)["hit"] == 1 <= counts["retransmitted_fin"], counts
    no_resets(counts)
    # Our FIN that is lost, the kernel's, and ours again.
    whose = [source for (source,) in capture.fields("tcp.flags.fin == 1", "ip.src")]
    assert whose[0] == whose[-1] == WEST4 and host.v4 in whose[1:-1], whose
    assert kernel.seen()[str(LEAVER)]["closed"] == 1


def test_the_same_addresses_and_ports_are_used_again_at_once(host):
    """One port of ours and one of the kernel's, again and again, while the kernel still remembers the last session."""
    kernel = host.kernel_server()
    program = {"program": {"client": [{"send": "leave"}, {"expect": {"bytes": "5B"}}, "expect_end"]}}
    client = {"ports": 5000}
    entry = host.client(program, False, LEAVER, open="max", concurrent=1, count=5, client=client)
    one = all_through(of(host.run(entry)), 5)
    assert kernel.seen()[str(LEAVER)]["accepted"] == 5
    assert one["client"]["tcp"]["opened_active"] == 5 and one["setup_ns"]["max"] < 3_000_000_000


def test_a_kernel_client_comes_back_from_the_same_port(host):
    """Our server closes first and remembers the connection; the next one from the same port is taken all the same."""
    serving = host.serving(host.server({"http": {"response": "1KB"}}))
    said = host.kernel_client("again", address=WEST4, port=80, count=20, source=40_000)
    assert said["answers"] == 20 and len(said["sizes"]) == 1 and said["sizes"][0] > 100, said
    one = check(host.served(serving)["sessions"]["s"])
    assert (one["completed"], one["failed"]) == (20, {})


@pytest.mark.unsteady("a cookie that comes twice on a busy machine is accepted twice")
def test_cookies_of_a_kernel_under_attack_are_answered(host):
    """With SYN cookies for all connections all sessions still complete."""
    host.host.sysctl({"net.ipv4.tcp_syncookies": 2})
    kernel = host.kernel_server()
    entry = host.client({"echo": {"request": "2KB"}}, False, ECHO, open="2000/s", count=2000)
    all_through(of(host.run(entry)), 2000)
    assert kernel.seen()[str(ECHO)]["accepted"] == 2000
    sent = host.host.run("nstat", "-asz", "TcpExtSyncookiesSent")
    assert int(re.search(r"SyncookiesSent\s+(\d+)", sent)[1]) >= 2000, sent


# A path that is narrower than the links at its ends.


@FAMILIES
def test_a_narrower_path_is_found_by_our_client(routed, v6):
    """The router reports its MTU; segments shrink to it and all bytes arrive."""
    routed.router.ip("route", "add", f"{routed.address(v6)}/{128 if v6 else 32}", "dev", "r1", "mtu", 1280)
    routed.kernel_server()
    capture = Capture(routed.lab, routed.host, "h0")
    piece = text(100_000)
    one = all_through(of(routed.run(routed.client(exact(piece, 10), v6, DIGEST, open="10/s", count=3))), 3)
    assert one["client"]["tcp"]["bytes_out"] == 30 * len(piece)
    sizes = [int(size) for (size,) in capture.fields(f"tcp.dstport == {DIGEST} && tcp.len > 0", "tcp.len")]
    assert max(sizes) == 1280 - (60 if v6 else 40) - 12, max(sizes)


@FAMILIES
def test_a_narrower_path_is_found_by_our_server(routed, v6):
    """The same for what our echo sends back."""
    routed.router.ip("route", "add", f"{routed.address(v6)}/{128 if v6 else 32}", "dev", "r1", "mtu", 1280)
    serving = routed.serving(routed.server("echo", v6))
    said = routed.kernel_client("echoed", address=routed.tester_address(v6), port=ECHO, size=500_000)
    assert said["same"], said
    assert check(routed.served(serving)["sessions"]["s"])["failed"] == {}


# Replies of a host that are not responses.


def test_a_port_nobody_listens_at_refuses(host):
    """Each session fails with that reason, none waits."""
    done = host.run(host.client(raw(), False, 99, open="2000/s", count=1000))
    one = of(done)
    assert one["failed"] == {"refused": 1000} and one["established"] == 0, one
    hinted(done, "s: 1,000 of 1,000 were refused: does a server listen at that address and port")
    assert done.seconds < 10


@pytest.mark.parametrize(
    "rule, reason, v6",
    [
        ("drop", "setup_timeout", False),
        ("reject with icmp host-unreachable", "unreachable", False),
        ("reject with icmpv6 addr-unreachable", "unreachable", True),
        ("reject with tcp reset", "refused", True),
    ],
)
def test_a_host_that_is_not_reached_is_told_by_its_reason(routed, rule, reason, v6):
    """The router's treatment of SYNs decides the reason; every session has one."""
    routed.router.sysctl({"net.ipv4.icmp_ratelimit": 0, "net.ipv4.icmp_ratemask": 0, "net.ipv6.icmp.ratelimit": 0})
    rules(routed.router, "forward", f"tcp dport {SINK} counter name hit {rule}")
    tcp = {"syn_retries": 2, "rto_initial": "100ms", "rto_min": "100ms"}
    done = routed.run(routed.client(raw(), v6, SINK, open="500/s", count=200, tcp=tcp))
    one = of(done)
    assert one["failed"] == {reason: 200} and one["established"] == 0, one
    if reason == "setup_timeout":
        assert routed.lost() == 600, "one SYN and two more for each session"
    assert done.seconds < 15


def test_a_host_that_falls_silent_within_a_transfer_is_a_timeout(host):
    """Unacknowledged segments are repeated as often as allowed, no more."""
    host.kernel_server()
    piece = text(50_000)
    endless = {"program": {"client": [{"repeat": {"times": "endless", "do": [{"send": piece}, {"wait": "5ms"}]}}]}}
    tcp = {"data_retries": 3, "rto_initial": "300ms", "rto_max": "400ms"}
    process = host.start(host.client(endless, False, SINK, open="100/s", count=5, tcp=tcp))
    wait_until(lambda: len(host.sockets("state", "established", f"sport = :{SINK}")) == 5, "connections")
    rules(host.host, "input", "meta l4proto tcp counter name hit drop")
    done = host.lab.finish(process, 20)
    assert check(done.json["sessions"]["s"])["failed"] == {"timeout": 5}, str(done)
