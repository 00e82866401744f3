"""Captures while traffic runs: every packet is in the file or counted as dropped, and other tools read the file."""

import re
import signal
import time

import pytest
from lab import call, need, stream, wait_until

RATE = "1Mpps"


def ports(capture, **east):
    return {
        "west": {"device": "ring:a", "ip": "10.0.0.1/24"},
        "east": {"device": "ring:b", "ip": "10.0.0.2/24", "capture": capture, **east},
    }


def captured(lab, capture, streams=None, port="east", duration="500ms", **options):
    """The result, its capture, and the packets all its files have."""
    need("capinfos", "tshark", "tcpdump")
    folder = lab.folder()
    plan = ports({"file": str(folder / "c.pcapng"), **capture})
    streams = streams or [stream("s", "west", "east", rate=RATE, size="256B")]
    profile = lab.profile(plan, streams, load={"duration": duration, "drain": "100ms"})
    result = lab.eagre("run", profile, "--json", "-", **options).json
    found = result["captures"][port]
    return result, found, sum(packets(file) for file in found["files"])


def packets(file):
    return int(re.search(r"Number of packets:\s+(\d+)", call("capinfos", "-c", "-M", file)).group(1))


@pytest.mark.unsteady("sends as fast as a core can")
def test_a_million_packets_a_second_are_captured_or_counted(lab):
    result, found, written = captured(lab, {})
    assert found["seen"] == result["ports"]["east"]["rx_packets"] > 100_000
    assert found["captured"] + found["dropped"] == found["matched"] == found["seen"]
    assert written == found["captured"] > 0
    assert "error" not in found


def test_what_memory_has_no_room_for_is_counted_and_traffic_goes_on(lab):
    """One megabyte between worker and disk, and packets that fill it in a moment."""
    streams = [stream("s", "west", "east", rate="max", size="9000B", measure=False)]
    result, found, written = captured(lab, {"buffer": "1MB"}, streams)
    assert found["dropped"] > 0
    assert found["captured"] + found["dropped"] == found["matched"] == found["seen"]
    assert written == found["captured"]
    assert result["ports"]["west"]["tx_packets"] > found["captured"]


def test_filter_snap_length_and_direction(lab):
    streams = [stream("a", "west", "east", 9, rate="10kpps"), stream("b", "east", "west", 10, rate="10kpps")]
    result, found, written = captured(
        lab, {"filter": "udp dst port 10", "snap": "60B", "direction": "both"}, streams
    )
    assert found["matched"] == written == result["streams"]["b"]["tx"]
    assert found["seen"] >= result["streams"]["a"]["rx"] + result["streams"]["b"]["tx"]
    dissected = call("tshark", "-r", found["files"][0], "-T", "fields", "-e", "udp.dstport", "-e", "frame.cap_len")
    assert set(dissected.split("\n")) - {""} == {"10\t60"}


def test_files_rotate_and_the_newest_are_kept(lab):
    result, found, written = captured(lab, {"rotate_size": "2MB", "files": 3})
    assert len(found["files"]) == 3 and found["displaced"] > 0
    assert written + found["displaced"] == found["captured"]
    times = [call("tcpdump", "-r", file, "-c", "1", "-tt", "-n").split()[0] for file in found["files"]]
    assert times == sorted(times, key=float)


def test_a_ring_in_memory_keeps_the_newest(lab):
    result, found, written = captured(lab, {"ring": "1MB"})
    assert 0 < written < found["captured"] and written + found["displaced"] == found["captured"]


def test_tcpdump_in_the_same_place_sees_the_same_packets(lab):
    """A port on veth and tcpdump beside it: the same bytes. Two cores of the kernel may hand two packets to both at once, in any order."""
    need("tcpdump", "tshark")
    tester, peer = lab.netns("tester"), lab.netns("peer")
    for namespace in (tester, peer):
        namespace.sysctl({"net.ipv6.conf.all.disable_ipv6": 1})
    lab.veth(tester, "veth0", peer, "veth1")
    folder = lab.folder()
    theirs, ours = folder / "theirs.pcap", folder / "ours.pcapng"
    # A slot of tcpdump's buffer is as long as the longest packet it keeps: 64 KiB on an interface with offloads, and so room for 32.
    tcpdump = lab.start("tcpdump", "-i", "veth1", "-w", theirs, "--immediate-mode", "-U", "-s", 128, "-B", 8192, ns=peer, stderr=-1)
    wait_until(lambda: "listening" in tcpdump.stderr.readline(), "tcpdump listens")
    listener = lab.start_eagre("capture", "--port", "veth1", "--file", ours, "--for", "60s", ns=peer)
    # It has its name from the first packet on.
    wait_until(lambda: ours.exists() or any(folder.glob(".eagre-*.new")), "the capture has begun")
    lab.eagre(
        "send", "--port", "veth0", "--ip", "10.0.0.1/24", "--dst", "10.0.0.2", "--dst-mac", "02:00:00:00:00:02",
        "--rate", "2kpps", "--count", "2000", "--for", "2s", ns=tester,
    )
    time.sleep(0.3)
    listener.send_signal(signal.SIGINT)
    lab.finish(listener, 20)
    tcpdump.terminate()
    tcpdump.wait(10)
    fields = ["-T", "fields", "-e", "frame.len", "-e", "udp.payload", "-Y", "udp.dstport == 9"]
    seen = [sorted(call("tshark", "-r", file, *fields).splitlines()) for file in (theirs, ours)]
    assert seen[0] == seen[1] and len(seen[0]) == 2000


@pytest.mark.parametrize(
    "capture, reason",
    [
        ({"file": "/nowhere/c.pcapng"}, "port east: capture: /nowhere/c.pcapng: No such file or directory"),
        ({"file": "/dev/null", "filter": "udp port"}, "port east: capture: "),
    ],
)
def test_a_capture_that_cannot_begin_is_refused_before_traffic(lab, capture, reason):
    profile = lab.profile(ports(capture), [stream("s", "west", "east", rate="1kpps")])
    assert reason in lab.eagre("run", profile).refused(2).err


def test_a_full_disk_ends_the_capture_and_not_the_traffic(lab):
    profile = lab.profile(
        ports({"file": "/dev/full"}),
        [stream("s", "west", "east", rate="200kpps")],
        load={"duration": "500ms", "drain": "100ms"},
    )
    result = lab.eagre("run", profile, "--json", "-").json
    assert "No space left" in result["captures"]["east"]["error"]
    assert result["streams"]["s"]["rx"] > 50_000


def test_a_file_on_a_full_disk_ends_with_a_whole_packet(lab):
    """And as many are in it as the result says."""
    disk = lab.folder()
    call("mount", "-t", "tmpfs", "-o", "size=200k", "none", disk)
    try:
        file = disk / "c.pcapng"
        profile = lab.profile(ports({"file": str(file)}), [stream("s", "west", "east", rate="10kpps")], load={"duration": "1s"})
        found = lab.eagre("run", profile, "--json", "-").json["captures"]["east"]
        assert "No space left" in found["error"], found
        done = call("tshark", "-r", file, "-T", "fields", "-e", "frame.number")
        assert 0 < found["captured"] == len(done.splitlines()), found
    finally:
        call("umount", disk)


def test_receive_counts_what_arrives(lab):
    tester, peer = lab.netns("tester"), lab.netns("peer")
    lab.veth(tester, "veth0", peer, "veth1")
    listener = lab.begun("receive", "--port", "veth1", "--for", "60s", "--json", "-", ns=peer)
    lab.eagre(
        "send", "--port", "veth0", "--ip", "10.0.0.1/24", "--dst", "10.0.0.2", "--dst-mac", "02:00:00:00:00:02",
        "--rate", "1kpps", "--count", "500", "--for", "1s", ns=tester,
    )
    listener.send_signal(signal.SIGINT)
    result = lab.finish(listener, 20).json
    assert result["verdict"]["valid"] and result["ports"]["rx"]["rx_packets"] >= 500
