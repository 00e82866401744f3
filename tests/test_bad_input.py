"""Errors: one sentence and the right exit code, 2 for bad input, 3 if the machine refuses."""

import resource
import socket

import pytest
from lab import EAGRE, REPO, need, pair, stream, wait_until

BROKEN = sorted((REPO / "core/profile/tests/broken").glob("*.yaml"))


def short(lab, ports, streams=None, **rest):
    streams = streams or [stream("s", "west", "east", rate="1kpps")]
    return lab.profile(ports, streams, load={"duration": "100ms", "drain": "100ms"}, **rest)


@pytest.fixture
def tester(lab):
    """A namespace with both ends of a veth pair, v0 and v1."""
    namespace = lab.netns("tester")
    lab.veth(namespace, "v0", namespace, "v1")
    return namespace


# Profiles and flags.


def test_there_are_broken_profiles():
    """Twenty at least."""
    assert len(BROKEN) >= 20


@pytest.mark.parametrize("path", BROKEN, ids=lambda path: path.stem)
def test_a_broken_profile_is_told_with_all_its_errors(eagre, path):
    """Each line of the table beside the profile, with its path, on standard error; exit code 2."""
    expected = [f"eagre: {path}: {line}" for line in path.with_suffix(".txt").read_text().splitlines()]
    for command in ("check", "run", "sim"):
        done = eagre(command, path).refused(2)
        assert done.err.splitlines() == expected
        assert done.out == ""


@pytest.mark.parametrize(
    "arguments, texts",
    [
        (["run", "examples/demo.yaml", "--fast"], ["unexpected argument '--fast'", "Usage: eagre run"]),
        (["runn"], ["unrecognized subcommand 'runn'", "'run'"]),
        (["run"], ["<PROFILE>"]),
        (["demo", "--rate", "10bananas"], ["'10bananas'", "--rate", "1Mpps"]),
        (["demo", "--duration", "soon"], ["'soon'", "--duration", "30s"]),
        (["demo", "--seed", "many"], ["'many'", "--seed"]),
        (["demo", "--cores", "0"], ["'0'", "--cores"]),
        (["run", "/nonexistent/profile.yaml"], ["eagre: /nonexistent/profile.yaml: No such file or directory"]),
        (["run", "/"], ["eagre: /: Is a directory"]),
        (["check", "/dev/zero"], ["eagre: /dev/zero: is larger than"]),
        (["bench", "mrr", "examples/sim-router.yaml", "--sim", "--set", "repeats=many"], ["'many' is not a whole number"]),
        (["sim", "examples/demo.yaml", "--dut", "firewall"], ["'firewall'", "'wire', 'router:", "'switch:"]),
        (["demo", "--duration", "0s"], ["must be longer than 0"]),
        (["demo", "--json", "/nonexistent/folder/result.json"], ["/nonexistent/folder/result.json: No such file"]),
        (["demo", "--out", "/proc/nothing"], ["eagre: /proc/nothing: "]),
        (["send", "--port", "ring:a", "--udp", "--tcp"], ["'--udp'", "'--tcp'"]),
        (["run", "examples/demo.yaml", "--sizes", "64"], ["'--sizes' is an option of 'eagre bench'"]),
        (["run", "examples/demo.yaml", "--cpu", "2"], ["'--cores' does that here"]),
        (["bench", "rfc2455"], ["unknown method 'rfc2455'; did you mean 'rfc2544'?"]),
        (["lab", "run", "kernel-ruter"], ["unknown topology 'kernel-ruter'; did you mean 'kernel-router'?"]),
        (["lab", "generate", "routes", "--count", "1", "--via", "10.0.0.1", "--syntax", "cisko"], ["did you mean 'cisco'?"]),
        (["serve", "--listen", "here"], ["127.0.0.1:8443", "or a port"]),
        (["results", "show", "--store", "/nonexistent/results.db"], ["there is no store", "--store"]),
    ],
    ids=lambda value: " ".join(value) if value and not value[0].startswith("'") else "",
)
def test_a_wrong_command_line_is_told(eagre, arguments, texts):
    """Exit code 2, and what was expected."""
    assert eagre(*arguments, cwd=REPO).refused(2, *texts).out == ""


@pytest.mark.parametrize(
    "arguments, texts",
    [
        (["send", "--port", "null", "--dst", "10.0.0.1"], ["--rate: no rate", "--src or --ip"]),
        (["send", "--port", "null", "--rate", "1kpps", "--ip", "10.0.0.1/24"], ["give --dst"]),
        (["send", "--port", "null", "--rate", "1kpps", "--ip", "10.0.0.1/24", "--dst", "10.1.0.1"], ["give --gateway or --dst-mac"]),
        (["capture", "--port", "null", "--rotate-size", "1", "--file", "/dev/null"], ["--rotate-size: must be at least 1MB"]),
        (["replay", "examples/replay.pcap", "--port", "null", "--rewrite", "ipv4.scr=1"], ["--rewrite: ", "did you mean 'src'?"]),
        (["replay", "/nonexistent.pcap", "--port", "null"], ["FILE: '/nonexistent.pcap': No such file"]),
        (
            ["http", "http://10.0.0.1/a b", "--port", "null", "--ip", "10.0.0.2/24", "-H", "a b: c", "-z", "0"],
            ["URL: a path has no spaces", "--header: 'a b' is not a valid", "--duration: must be longer than 0"],
        ),
    ],
    ids=lambda value: value[0] if value[0] in ("send", "capture", "replay") else "",
)
def test_options_are_named_where_there_is_no_profile(eagre, arguments, texts):
    """Nobody has seen the profile that they make: neither its lines nor its keys."""
    done = eagre(*arguments, cwd=REPO).refused(2, *texts)
    assert "line " not in done.err and "streams[" not in done.err, done.err


def test_numbers_without_a_unit(eagre):
    """Seconds, bytes, a factor: where nothing else makes sense."""
    for arguments in (
        ["demo", "--duration", "0.2", "--json", "-"],
        ["bench", "throughput", "examples/sim-router.yaml", "--sim", "--sizes", "64,128B", "--trial", "1", "--estimate"],
        ["replay", "examples/replay.pcap", "--port", "null", "--speed", "10", "--print"],
    ):
        eagre(*arguments, cwd=REPO).ok()


def test_a_server_is_not_alone(lab, eagre):
    """Another one at its address, none where one is looked for, a folder that is not its own: each with its remedy."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port, folder = taken.getsockname()[1], lab.folder()
        where = ("--store", folder / "results.db", "--state", folder / "serve")
        eagre("serve", "--listen", f":{port}", *where).refused(3, f"127.0.0.1:{port}: Address already in use", "--listen")
    eagre("top", f"http://127.0.0.1:{port}", "--once").refused(3, "Connection refused", "'eagre serve' starts a server")
    eagre("serve", "--listen", "0", "--store", folder / "r.db", "--state", "/proc/eagre").refused(3, "/proc/eagre: ")


def test_a_wrong_output_path_is_told_before_any_traffic(eagre):
    """Not after an hour of it."""
    done = eagre("demo", "--duration", "20s", "--json", "/nonexistent/result.json")
    assert done.refused(2).seconds < 5


def test_more_cores_than_there_are(eagre):
    """The machine refuses, and how many there are is said."""
    eagre("demo", "--cores", "256").refused(3, "256 worker cores requested", "use a smaller --cores")


def test_a_profile_may_come_from_standard_input(eagre):
    """And its errors too."""
    text = (REPO / "examples/demo.yaml").read_text()
    assert "OK: 4 streams on 2 ports" in eagre("check", "-", stdin=text).ok().out
    eagre("check", "-", stdin=text.replace("to: east", "to: eats")).refused(
        2, "unknown port 'eats'; did you mean 'east'?"
    )


# Devices.


@pytest.mark.parametrize(
    "device, texts",
    [
        ("afpacket:", ["can't be the name of an interface"]),
        ("afxdp:no spaces", ["can't be the name of an interface"]),
        ("fiber:eth0", ["'fiber:' is not a kind of port known here", "memif:SOCKET"]),
        ("ring:c", ["ring:a or ring:b"]),
        ("memif:", ["the socket's path is missing"]),
        ("pcap:,", ["neither file is named"]),
        ("vdev:nothing", ["'nothing' can't be a DPDK network driver"]),
        ("afpacket:v0,fast", ["'fast' is not an option of afpacket"]),
    ],
)
def test_a_malformed_device_is_told(lab, device, texts):
    """Bad input: the machine was not even asked."""
    profile = short(lab, pair(device, "null"))
    lab.eagre("run", profile).refused(2, f"port '{device}': ", *texts)


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_an_interface_that_is_not_there(lab, tester, kind):
    """The ones that are there are named."""
    profile = short(lab, pair(f"{kind}:v7", f"{kind}:v1"))
    lab.eagre("run", profile, ns=tester).refused(3, "there is no interface v7", "the interfaces here are: lo, ", "v0")


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_an_interface_that_is_down(lab, tester, kind):
    """The command that mends it is given."""
    tester.ip("link", "set", "v0", "down")
    profile = short(lab, pair(f"{kind}:v0", f"{kind}:v1"))
    lab.eagre("run", profile, ns=tester).refused(3, "the interface v0 is down", "ip link set v0 up")


def test_an_interface_without_carrier(lab, tester):
    """Its peer is down."""
    tester.ip("link", "set", "v1", "down")
    profile = short(
        lab,
        {"west": {"device": "afpacket:v0"}},
        [{"name": "s", "from": "west", "packet": [{"ethernet": {"dst": "02:00:00:00:00:01"}}], "rate": "1kpps"}],
    )
    lab.eagre("run", profile, ns=tester).refused(3, "v0 has no carrier")


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_frames_longer_than_the_mtu(lab, tester, kind):
    """How large it must be is said."""
    profile = short(lab, pair(f"{kind}:v0", f"{kind}:v1"), [stream("s", "west", "east", rate="1kpps", size="1600B")])
    lab.eagre("run", profile, ns=tester).refused(
        3, "frames of 1600 bytes need an MTU of 1582, and v0 has 1500", "ip link set v0 mtu 1582"
    )


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_a_small_mtu_does_not_matter_to_small_frames(lab, tester, kind):
    """64-byte frames go through an interface with an MTU of 1000."""
    for end in ("v0", "v1"):
        tester.ip("link", "set", end, "mtu", "1000")
    profile = short(lab, pair(f"{kind}:v0", f"{kind}:v1"))
    lab.eagre("run", profile, ns=tester).ok()
    profile = short(lab, pair(f"{kind}:v0", f"{kind}:v1"), [stream("s", "west", "east", rate="1kpps", size="1200B")])
    lab.eagre("run", profile, ns=tester).refused(3, "v0 has 1000")


@pytest.mark.parametrize("device", ["afpacket:v0", "afxdp:v0", "tap:eagre0"])
def test_no_privilege(lab, tester, public_program, device):
    """An ordinary user is told which capability it takes."""
    need("setpriv")
    profile = short(lab, pair(device, "null"))
    lab.eagre("run", profile, ns=tester, user="nobody", binary=public_program).refused(
        3, f"port '{device}': ", "run as root, or with CAP_NET_"
    )


def test_a_pci_device_that_is_not_there(lab):
    """By its address."""
    lab.eagre("run", short(lab, pair("0000:7f:1f.7", "null"))).refused(3, "there is no PCI device 0000:7f:1f.7")


@pytest.mark.parametrize(
    "device, texts",
    [
        (
            "memif:{folder}/none.sock,wait=1",
            ["there is no socket {folder}/none.sock, after 1 s", "start the memif server first"],
        ),
        ("memif:{folder}/own.sock,server,wait=1", ["no memif peer took up the link"]),
        ("memif:{folder}/no/own.sock,server,wait=1", ["there is no folder {folder}/no"]),
        ("vhost:{folder}/own.sock,wait=1", ["no vhost-user peer connected to {folder}/own.sock within 1 s"]),
        ("virtio:{folder}/none.sock,wait=1", ["no process listens at {folder}/none.sock"]),
        ("pcap:{folder}/none.pcap,", ["there is no file {folder}/none.pcap"]),
    ],
)
def test_another_end_that_is_not_there(lab, device, texts):
    """Told, soon, and with what to do."""
    folder = lab.folder()
    device = device.format(folder=folder)
    done = lab.eagre("run", short(lab, pair(device, "null")), timeout=20)
    done.refused(3, f"port '{device}': ", *(text.format(folder=folder) for text in texts))
    assert done.seconds < 6


def test_checksums_by_a_port_that_computes_none(lab):
    """A profile that asks for too much is bad input."""
    ports = pair()
    ports["west"]["checksum"] = "offload"
    lab.eagre("run", short(lab, ports)).refused(2, "stream s: port west can't compute checksums")


def test_a_share_of_a_link_without_a_speed(lab):
    """40% of what?"""
    profile = short(lab, pair(), [stream("s", "west", "east", rate="40%")])
    lab.eagre("run", profile).refused(2, "stream s: 40% needs a link speed", "'speed: 10Gbps'")


# The default route.


@pytest.fixture
def default_route(tester):
    tester.ip("address", "add", "192.0.2.2/24", "dev", "v0")
    tester.ip("route", "add", "default", "via", "192.0.2.1")
    return tester


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_the_default_route_is_spared(lab, default_route, kind):
    """A tester on a live network harms it; nothing is sent."""
    before = default_route.counters("v0")["tx"]
    lab.eagre("run", short(lab, pair(f"{kind}:v0", f"{kind}:v1")), ns=default_route).refused(
        3, "port west: v0 carries this machine's default route", "RFC 6815", "allow_default_route: true"
    )
    assert default_route.counters("v0")["tx"] - before < 5


def test_the_default_route_is_used_when_it_is_meant(lab, default_route):
    """By the profile, or by the flag of `send`."""
    ports = pair("afpacket:v0", "afpacket:v1")
    ports["west"]["allow_default_route"] = True
    lab.eagre("run", short(lab, ports), ns=default_route).ok()
    send = [
        "send",
        "--port",
        "v0",
        "--ip",
        "10.0.0.2/24",
        "--dst",
        "10.0.0.3",
        "--dst-mac",
        "02:00:00:00:00:01",
        "--rate",
        "1kpps",
        "--for",
        "100ms",
    ]
    lab.eagre(*send, ns=default_route).refused(3, "default route")
    lab.eagre(*send, "--allow-default-route", ns=default_route).ok()


def test_other_ports_do_not_mind_a_default_route(lab, default_route):
    """Only the interface that carries it is refused."""
    lab.veth(default_route, "v2", default_route, "v3")
    lab.eagre("run", short(lab, pair("v2", "v3")), ns=default_route).ok()


# Resources.


def test_an_interface_in_use_over_af_xdp(lab, tester):
    """The process that uses it is named."""
    first = lab.start_eagre("run", short(lab, pair("afxdp:v0", "afxdp:v1")), "--duration", "20s", ns=tester)
    wait_until(lambda: tester.counters("v0")["tx"] > 100, "traffic")
    lab.eagre("run", short(lab, pair("afxdp:v0", "afxdp:v1")), ns=tester).refused(
        3, "v0 is already in use by Eagre, process", str(first.pid)
    )
    assert first.poll() is None, "the first run was disturbed"


def with_little_memory(lab, profile, megabytes):
    limit = megabytes << 20
    process = lab.start_eagre("run", profile, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (limit, limit)))
    return lab.finish(process)


def test_no_memory_for_dpdk(lab):
    """DPDK does not start, and that is said in one sentence."""
    with_little_memory(lab, short(lab, pair("null", "vdev:net_ring0")), 400).refused(3, "memory")


@pytest.mark.parametrize("copies", [100_000, 2_000_000])
def test_no_memory_for_streams(lab, copies):
    """More streams than fit: the machine refuses, and the program does not fall over."""
    many = [stream("many", "west", "east", rate="1pps", copies=copies)]
    with_little_memory(lab, short(lab, pair(), many), 400).refused(3, "memory")


def test_a_full_disk(lab):
    """A result that can't be written is not lost in silence."""
    with open("/dev/full", "w") as full:
        process = lab.start(EAGRE, "demo", "--duration", "100ms", "--json", "-", stdout=full)
        done = lab.finish(process)
    done.err = "\n".join(line for line in done.err.splitlines() if line.startswith("eagre: "))
    done.refused(3, "standard output", "No space left on device")


@pytest.mark.parametrize(
    "arguments",
    [
        "schema",
        "schema result",
        "completion bash",
        "ports",
        "doctor",
        "demo --duration 100ms",
        "demo --duration 100ms --json -",
        "--help",
    ],
)
def test_a_reader_that_leaves_early(lab, arguments):
    """`eagre … | head -1` ends without a complaint about a panic."""
    process = lab.start("sh", "-c", f"{EAGRE} {arguments} | true", stderr=-2)
    out, _ = process.communicate(timeout=30)
    assert "panicked" not in out and "RUST_BACKTRACE" not in out, out
