"""Each kind of port moves real packets; both ends count the same."""

import json
import re
import subprocess

import pytest
from hosts import PYTHON, TESTS
from lab import REPO, call, judged, need, settled, sums, wait_until
from testpmd import Testpmd, server

COUNT = 5_000
FLOW = [{"ethernet": {"dst": "02:00:00:00:00:99"}}, {"ipv4": {"src": "10.0.0.2", "dst": "10.0.0.3"}}]


@pytest.fixture
def testpmd(lab):
    """Starts dpdk-testpmd."""
    running = []

    def start(*vdevs, **options):
        running.append(Testpmd(lab, *vdevs, **options))
        return running[-1]

    yield start
    for one in running:
        one.close()


def flow(name, source, target, udp_port, **rest):
    """A stream whose addresses are written out, so that nobody is asked for any."""
    target = {"to": target} if target else {}
    return {"name": name, "from": source, **target, "packet": [*FLOW, {"udp": {"dst": udp_port}}], **rest}


def both_ways(**rest):
    return [flow("eastward", "west", "east", 9001, **rest), flow("westward", "east", "west", 9002, **rest)]


def devices(west, east):
    return {"west": {"device": west}, "east": {"device": east}}


def through(lab, make_forwarder, ports):
    """Sends a known number of packets both ways through testpmd, and reads testpmd's counters.

    A virtual device forgets its counts when the peer leaves. So a last packet holds the run open, and testpmd is asked
    in the silence before it.
    """
    forwarder = make_forwarder()
    last = flow("last", "west", "east", 9003, rate="1pps", count=1, start_delay="3500ms")
    streams = [*both_ways(rate="5kpps", count=COUNT, size="128B"), last]
    profile = lab.profile(ports, streams, load={"duration": "5s", "drain": "500ms"})
    process = lab.start_eagre("run", profile, "--json", "-")
    seen, goal = [{}], {port: {"rx": COUNT, "tx": COUNT} for port in (0, 1)}
    wait_until(
        lambda: seen.append(forwarder.counters()) or seen[-1] == goal or process.poll() is not None, "the end", 30, 0.2
    )
    done = lab.finish(process)
    forwarder.close()
    return done, max(seen, key=lambda counters: sum(port["rx"] + port["tx"] for port in counters.values()))


def agree(done, counters):
    """Nothing was lost, and both sides counted the same."""
    result = done.result()
    for name in ("eastward", "westward"):
        one = result["streams"][name]
        assert (one["tx"], one["rx"], one["lost"], one["duplicates"], one["reordered"]) == (COUNT, COUNT, 0, 0, 0), name
    assert result["streams"]["last"]["lost"] == 0
    assert judged(result) == {"valid": True, "generator_limited": False, "disturbed": False, "reasons": []}
    assert counters == {port: {"rx": COUNT, "tx": COUNT} for port in (0, 1)}


@pytest.mark.unsteady("testpmd polls on the core the tester needs")
def test_memif_through_testpmd(lab, testpmd):
    """Two memif ports and a mac-forwarder: nothing is lost at a modest rate, and testpmd counts the same."""
    folder = lab.folder()
    forwarder = lambda: testpmd(server(0, folder / "west.sock"), server(1, folder / "east.sock"))
    settled(
        lambda: through(lab, forwarder, devices(f"memif:{folder}/west.sock", f"memif:{folder}/east.sock")), agree, 2
    )


@pytest.mark.unsteady("testpmd polls on the core the tester needs")
def test_virtio_through_testpmd(lab, testpmd):
    """The same over vhost-user, with the tester on the virtio side."""
    folder = lab.folder()
    forwarder = lambda: testpmd(f"net_vhost0,iface={folder}/west.sock", f"net_vhost1,iface={folder}/east.sock")
    settled(
        lambda: through(lab, forwarder, devices(f"virtio:{folder}/west.sock", f"virtio:{folder}/east.sock")), agree, 2
    )


def test_the_example_with_memif_runs(lab, testpmd):
    """Its sockets are elsewhere here, and it is not as fast: this machine may be busy."""
    folder = lab.folder()
    profile = folder / "memif.yaml"
    profile.write_text((REPO / "examples/memif.yaml").read_text().replace("/run/eagre", str(folder)))

    def once():
        forwarder = testpmd(server(0, folder / "west.sock"), server(1, folder / "east.sock"))
        done = lab.eagre("run", profile, "--duration", "500ms", "--rate", "20kpps", "--json", "-")
        forwarder.close()
        return done

    settled(once, complete)


def test_memif_to_memif_in_one_process(lab):
    """One port serves, the other joins it."""
    socket = lab.folder() / "pair.sock"
    profile = lab.profile(
        devices(f"memif:{socket},server", f"memif:{socket}"),
        both_ways(rate="20kpps"),
        load={"duration": "500ms", "drain": "500ms"},
    )
    settled(lambda: lab.eagre("run", profile, "--json", "-"), complete)


def complete(done):
    """All that was sent has arrived."""
    result = done.result()
    assert sums(result, "tx") == sums(result, "rx") > 0 and sums(result, "lost") == 0, result["streams"]
    assert judged(result) == {"valid": True, "generator_limited": False, "disturbed": False, "reasons": []}
    return result


def test_rings_of_dpdk_hear_themselves(lab):
    """vdev:net_ring0 is handed to DPDK as it is."""
    profile = lab.profile(
        {"loop": {"device": "vdev:net_ring0"}},
        [flow("s", "loop", "loop", 9001, rate="20kpps")],
        load={"duration": "500ms", "drain": "500ms"},
    )
    settled(lambda: lab.eagre("run", profile, "--json", "-"), complete)


def test_null_takes_everything(lab):
    """What nobody here receives is sent, and neither lost nor received."""
    profile = lab.profile(
        {"nowhere": {"device": "null"}},
        [flow("s", "nowhere", None, 9001, rate="50kpps")],
        load={"duration": "500ms", "drain": "100ms"},
    )
    done = lab.whole("run", profile)
    one = done.result()["streams"]["s"]
    assert one["tx"] == 25_000 and "lost" not in one and "rx" not in one
    assert done.json["ports"]["nowhere"]["rx_packets"] == 0


def test_tap_counts_as_the_kernel_does(lab):
    """Each packet sent is one that the kernel's interface received."""
    need("ip")
    host = lab.netns("host")
    profile = lab.profile(
        {"kernel": {"device": "tap:eagre0"}},
        [flow("s", "kernel", None, 9001, rate="5kpps", count=5000)],
        load={"duration": "3s", "drain": "1500ms"},
    )

    def once():
        process = lab.start_eagre("run", profile, "--json", "-", ns=host)
        counted = [0]

        def look():
            links = json.loads(host.ip("-s", "-j", "link", "show"))
            counted.extend(link["stats64"]["rx"]["packets"] for link in links if link["ifname"] == "eagre0")
            return process.poll() is not None

        wait_until(look, "the end", 20, 0.05)
        return lab.finish(process), max(counted)

    def check(done, counted):
        result = done.result()
        assert result["streams"]["s"]["tx"] == 5000 and result["verdict"]["valid"], result
        # The kernel may say something of its own on a new interface; that is the other direction.
        assert counted == 5000

    settled(once, check)
    assert "eagre0" not in host.ip("-o", "link", "show"), "the interface is still there"


@pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
def test_a_port_computes_checksums_of_sessions(lab, v6):
    """The driver of a TAP interface fills in what TCP and UDP leave, and the kernel behind it counts no checksum as wrong."""
    need("ip", "nstat")
    host = lab.netns("host")
    ours, theirs, prefix = ("fd00::1", "fd00::2", 64) if v6 else ("10.0.0.1", "10.0.0.2", 24)
    server = lab.start(PYTHON, TESTS / "text_server.py", json.dumps({7: b"odd".hex()}), ns=host, stdout=subprocess.PIPE)
    assert server.stdout.readline().strip() == "ready"
    app = {"program": {"client": [{"send": "a request of an odd number of bytes\n!"}, {"expect": "odd"}]}}
    sessions = [
        {"name": transport, "client": {"port": "kernel"}, "server": {"addresses": theirs, "ports": 7}, "app": app, "transport": transport, "open": "50/s", "count": 50}
        for transport in ("tcp", "udp")
    ]  # fmt: skip
    port = {"device": "tap:eagre0", "ip": f"{ours}/{prefix}", "checksum": "offload"}
    profile = lab.profile({"kernel": port}, None, sessions=sessions, load={"duration": "3s", "drain": "1s"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=host)
    wait_until(lambda: "eagre0" in host.ip("-o", "link", "show"), "the interface")
    host.sysctl({"net.ipv6.conf.eagre0.disable_ipv6": 0})
    host.ip("address", "add", f"{theirs}/{prefix}", "dev", "eagre0", *(["nodad"] if v6 else []))
    host.ip("link", "set", "eagre0", "up")
    done = lab.finish(process)
    for name in ("tcp", "udp"):
        one = done.json["sessions"][name]
        assert (one["completed"], one["failed"]) == (50, {}), one
    wrong = host.run("nstat", "-asz", "TcpInCsumErrors", "UdpInCsumErrors", "Udp6InCsumErrors").split()
    assert [wrong[wrong.index(name) + 1] for name in ("TcpInCsumErrors", "UdpInCsumErrors", "Udp6InCsumErrors")] == ["0"] * 3, wrong


def test_a_port_that_computes_no_checksums_is_refused(lab):
    profile = lab.profile(
        {"a": {"device": "ring:a", "ip": "10.0.0.1/24", "checksum": "offload"}, "b": {"device": "ring:b", "ip": "10.0.0.2/24"}},
        None,
        sessions=[{"name": "s", "client": {"port": "a"}, "server": {"port": "b"}, "app": "echo", "open": "1/s"}],
        load={"duration": "1s"},
    )
    lab.eagre("run", profile).refused(2, "sessions s: port a can't compute checksums; remove 'checksum: offload'")


def test_pcap_files_hold_what_was_sent(lab):
    """Sent to a file: as many packets as the result says, all readable. Read from a file: all of them arrive."""
    need("tshark")
    folder = lab.folder()
    out = folder / "out.pcap"
    profile = lab.profile(
        {"file": {"device": f"pcap:,{out}"}},
        [flow("s", "file", None, 9001, rate="20kpps", count=4000)],
        load={"duration": "1s", "drain": "100ms"},
        seed=1,
    )
    assert lab.whole("run", profile).result()["streams"]["s"]["tx"] == 4000
    lengths = call(
        "tshark", "-r", out, "-Y", "udp.dstport == 9001 && frame.len == 60", "-T", "fields", "-e", "frame.number"
    ).split()
    assert len(lengths) == 4000
    copy = folder / "copy.pcap"
    ports = {"file": {"device": f"pcap:{out},{copy}"}}
    profile = lab.profile(
        ports,
        [flow("t", "file", "file", 9002, rate="1kpps", count=1)],
        load={"duration": "200ms", "drain": "500ms"},
        seed=2,
    )
    result = lab.eagre("run", profile, "--json", "-").json
    assert result["ports"]["file"]["rx_packets"] == 4000
    assert result["ports"]["file"]["rx_other"] == 4000, "packets of another run are not this run's"
    assert result["streams"]["t"]["lost"] == 1


def test_every_kind_of_port_of_the_contract_is_told_to_users(lab):
    """`eagre ports` names them all."""
    out = lab.eagre("ports").ok().out
    for kind in ("afpacket:", "afxdp:", "xdp:", "ring:", "memif:", "tap:", "vhost:", "virtio:", "pcap:", "null", "vdev:"):
        assert kind in out, kind
    assert re.search(r"PCI", out)
    assert isinstance(json.loads(lab.eagre("ports", "--json").ok().out), dict)
