"""Routing daemons behind a port: sessions and adjacencies through the test port, routes in the device, traffic to them."""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from frr import launch_all
from lab import LONG, need, stream, wait_until
from server import Server

TESTS = Path(__file__).parent
PREFIXES = 100_000 if LONG else 2_000
# Seconds an adjacency stays up beside traffic.
HELD = 60 if LONG else 5


class Router:
    """The kernel as a router between the tester's ports, with FRR as its control plane."""

    def __init__(self, lab, daemons, config):
        need("bird", "vtysh")
        self.lab = lab
        self.network = lab.router()
        self.ns, self.tester, self.folder = self.network.router, self.network.tester, lab.folder()
        launch_all(lab, self.ns, self.folder, daemons, config)

    def fib(self, kind="bgp"):
        """Routes of a protocol in the kernel."""
        return len(self.ns.ip("-4", "route", "show", "proto", kind).splitlines())


BGP = """
router bgp 65000
 bgp router-id 10.0.0.1
 no bgp ebgp-requires-policy
 neighbor 10.0.0.2 remote-as 65001
 address-family ipv4 unicast
  maximum-paths 1
 exit-address-family
"""


DEVICE = ("local 10.0.0.2 as 65001;\n  neighbor 10.0.0.1 as 65000", "next hop self")


def bird(count, session=DEVICE):
    """BIRD as a peer that advertises networks of 24 bits from 16.0.0.0 on: the first half by one protocol, the rest by another."""
    neighbor, hop = session
    halves = []
    for name, numbers in (("kept", range(count // 2)), ("withdrawn", range(count // 2, count))):
        routes = "\n".join(f"  route {16 + (n >> 16)}.{n >> 8 & 255}.{n & 255}.0/24 blackhole;" for n in numbers)
        halves.append(f"protocol static {name} {{\n  ipv4;\n{routes}\n}}\n")
    return (
        "router id 10.0.0.2;\nprotocol device {}\n"
        + "".join(halves)
        + f"protocol bgp dut {{\n  {neighbor};\n  ipv4 {{ import none; export all; {hop}; }};\n}}\n"
    )


def to_half(name, first, count):
    """A stream to every network of one half."""
    varied = {"ipv4.dst": {"from": first, "step": 256, "count": count}}
    one = stream(name, "east", "west", rate=f"{count}pps" if LONG else "2kpps")
    return {**one, "packet": [{"ipv4": {"dst": first}}, {"udp": {"dst": 9}}], "vary": varied}


def address(network):
    return f"{16 + (network >> 16)}.{network >> 8 & 255}.{network & 255}.1"


def halves():
    return [to_half("kept", address(0), PREFIXES // 2), to_half("withdrawn", address(PREFIXES // 2), PREFIXES // 2)]


def ports(router, kind="afpacket", **punt):
    both = router.network.ports(kind, v6=False)
    both["west"]["punt"] = punt
    return both


def begun(lab, router, profile, timeout=60):
    """A run whose traffic flows: its first interval is there."""
    lines = profile.parent / "lines.jsonl"
    command = ("run", profile, "--json", "-", "--jsonl", lines, "--interval", "200ms")
    process = lab.start_eagre(*command, ns=router.tester)
    wait_until(lambda: lines.exists() and lines.read_text().count("\n") > 2 or process.poll() is not None, "traffic", timeout)
    assert process.poll() is None, process.communicate()[1]
    return process, lines


def withdrawal(lab, router, protocol, withdraw, *others):
    """Traffic to all prefixes, half of which are withdrawn meanwhile: those are lost, and no others. `withdraw` gets the folder of the
    first of the programs, of which the last is the device's peer.
    """
    folder = lab.folder()
    ready = f"test $(ip -n {router.ns.name} -4 route show proto bgp | wc -l) -ge {PREFIXES}"
    entries = [{"port": "west", "timeout": "120s", "name": f"other{at}", "folder": str(lab.folder()), **other} for at, other in enumerate(others)]
    entries = [*entries, {"name": "peer", "port": "west", "folder": str(folder), "timeout": "120s", "ready": ready, **protocol}]
    load = {"duration": "20s" if LONG else "8s", "drain": "1s"}
    profile = lab.profile(ports(router, match="bgp"), halves(), protocols=entries, load=load)
    process, lines = begun(lab, router, profile, 150)
    assert router.fib() == PREFIXES
    before = json.loads(lines.read_text().splitlines()[-1])
    assert before["streams"]["withdrawn"]["rx"] > 0, before["streams"]
    withdraw(Path(entries[0]["folder"]))
    wait_until(lambda: router.fib() == PREFIXES // 2, "the FIB", 60)
    done = lab.finish(process)
    result = done.json
    kept, withdrawn = result["streams"]["kept"], result["streams"]["withdrawn"]
    assert kept["lost"] == 0 and kept["rx"] == kept["tx"] > 0, done
    assert 0 < withdrawn["rx"] < withdrawn["tx"], done
    last = [json.loads(line) for line in lines.read_text().splitlines()]
    last = [line["streams"]["withdrawn"] for line in last if not line["draining"]][-1]
    assert last["tx"] > 0 and last["rx"] == 0, "what was withdrawn arrives still"
    port = result["ports"]["west"]
    assert port["rx_punt_dropped"] == port["tx_punt_dropped"] == 0, port
    assert [said["name"] for said in result["protocols"]] == [entry["name"] for entry in entries], result["protocols"]
    said = result["protocols"][-1]
    assert said["folder"] == str(folder) and not any("ended" in one for one in result["protocols"])
    assert all(Path(log).exists() for log in said["logs"]) and said["up_after_s"] > 0, said
    return said


def test_routes_of_bird_are_in_the_device_and_half_of_them_withdrawn(lab):
    router = Router(lab, ["bgpd"], BGP)
    config = lab.folder() / "bird.conf"
    config.write_text(bird(PREFIXES))

    def withdraw(folder):
        subprocess.run(["birdc", "-s", folder / "bird.ctl", "disable", "withdrawn"], check=True, capture_output=True)

    said = withdrawal(lab, router, {"daemon": "bird", "config_file": str(config)}, withdraw)
    assert said["up_after_s"] < 60


GOBGP = """
[global.config]
  as = 65001
  router-id = "10.0.0.2"
[[neighbors]]
  [neighbors.config]
    neighbor-address = "10.0.0.1"
    peer-as = 65000
[[neighbors]]
  [neighbors.config]
    neighbor-address = "127.0.0.1"
    peer-as = 64999
  [neighbors.transport.config]
    passive-mode = true
"""


def test_routes_of_gobgp_are_in_the_device_and_half_of_them_withdrawn(lab):
    """GoBGP speaks with the device through the port; it has the routes from a BIRD beside it in the namespace."""
    router = Router(lab, ["bgpd"], BGP)
    config, feed = lab.folder() / "gobgp.toml", lab.folder() / "bird.conf"
    config.write_text(GOBGP)
    neighbor = "local 127.0.0.1 port 1790 as 64999;\n  neighbor 127.0.0.2 as 65001;\n  multihop;\n  connect delay time 1"
    feed.write_text(bird(PREFIXES, (neighbor, "next hop address 10.0.0.2")).replace("router id 10.0.0.2", "router id 10.0.0.9"))

    def withdraw(folder):
        subprocess.run(["birdc", "-s", folder / "bird.ctl", "disable", "withdrawn"], check=True, capture_output=True)

    gobgp, bird_ = ({"daemon": name, "config_file": str(file)} for name, file in (("gobgp", config), ("bird", feed)))
    need("gobgpd", "gobgp")
    withdrawal(lab, router, gobgp, withdraw, bird_)


def adjacent(lab, daemon, streams, held, kind="afpacket"):
    """A finished run with FRR in the port's namespace next to FRR in the device, and whether the device had its route all the while."""
    ospf = "interface {0}\n ip ospf area 0\n ip ospf hello-interval 1\n ip ospf dead-interval 4\nrouter ospf\n ospf router-id {1}\n"
    isis = (
        "interface {0}\n ip router isis 1\n isis circuit-type level-2-only\n isis hello-interval 1\n"
        "router isis 1\n net 49.0001.0000.0000.000{2}.00\n is-type level-2-only\n"
    )
    text = {"ospf": ospf, "isis": isis}[daemon]
    router = Router(lab, [f"{daemon}d"], text.format("r0", "10.0.0.1", 1))
    own = text.format("${interface}", "${address}", 2) + {"ospf": " redistribute static\n", "isis": " redistribute ipv4 static level-2\n"}[daemon]
    own = "ip route 16.1.0.0/24 blackhole\n" + own
    entry = {
        "port": "west",
        "daemon": "frr",
        "config": own,
        "timeout": "60s",
        "ready": f"test $(ip -n {router.ns.name} -4 route show proto {daemon} | wc -l) -ge 1",
    }
    load = {"duration": f"{held}s", "drain": "1s"}
    profile = lab.profile(ports(router, kind, match=[daemon]), streams(router), protocols=[entry], load=load)
    process, _ = begun(lab, router, profile, 90)
    states = []
    while process.poll() is None:
        states.append(router.fib(daemon) > 0)
        time.sleep(0.5)
    done = lab.finish(process)
    assert True in states, "no route was learnt"
    (said,) = done.json["protocols"]
    shutil.rmtree(said["folder"])
    assert "ended" not in said, said
    # The daemon ends with the run.
    return done, all(states[:-6])


@pytest.mark.parametrize("daemon", ["ospf", "isis"])
def test_an_adjacency_stays_up_beside_traffic(lab, daemon):
    both = [stream("eastward", "west", "east", rate="5kpps"), stream("westward", "east", "west", rate="5kpps")]
    learnt = stream("learnt", "east", "west", rate="1kpps")
    learnt |= {"packet": [{"ipv4": {"dst": "16.1.0.9"}}, {"udp": {"dst": 9}}]}
    done, _ = adjacent(lab, daemon, lambda _: [*both, learnt], HELD)
    for row in done.json["streams"].values():
        assert row["lost"] == 0, done


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("daemon", ["ospf", "isis"])
def test_an_adjacency_stays_up_beside_a_million_packets_a_second(lab, daemon):
    """For a minute. The device drops the packets before its kernel sees them."""

    def load(router):
        # Frames that XDP sends are received where GRO is on.
        router.ns.run("ethtool", "-K", "r0", "gro", "on")
        router.ns.run("ethtool", "-K", "r1", "gro", "on")
        dropper = lab.start(sys.executable, TESTS / "bpf.py", "r0", "udp", ns=router.ns, stdin=subprocess.PIPE)
        assert dropper.stdout.readline() == "ready\n", dropper.stderr.read()
        million = stream("million", "west", None, rate="1Mpps", measure=False)
        del million["to"]
        return [{**million, "packet": [{"ipv4": {"dst": "10.0.0.1"}}, {"udp": {"dst": 9}}]}]

    done, stayed = adjacent(lab, daemon, load, 60, "xdp")
    port, sent = done.json["ports"]["west"], done.json["streams"]["million"]["tx"]
    print(daemon, sent / 60, port["rx_punted"], port["tx_punted"], port["rx_punt_dropped"], port["tx_punt_dropped"])
    assert stayed and sent > 55_000_000, done
    assert port["rx_punted"] > 50 and port["tx_punted"] > 50 and port["rx_punt_dropped"] == port["tx_punt_dropped"] == 0, port


def command(line):
    """Processes with this in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if line.encode() in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            pass
    return found


def simple(lab, **entry):
    """A profile on the in-process pair with a program."""
    two = {"west": {"device": "ring:a", "ip": "10.0.0.2/24", "punt": {}}, "east": {"device": "ring:b", "ip": "10.0.0.3/24"}}
    entry = {"port": "west", "folder": str(lab.folder()), **entry}
    return lab.profile(two, [], protocols=[entry], load={"duration": "30s", "drain": "100ms"}), entry["folder"]


def test_programs_end_with_the_run_however_it_ends(lab):
    need("ip")
    mark = f"86{os.getpid()}"
    script = f"sleep {mark} & sleep {mark}"
    for kill in (False, True):
        profile, _ = simple(lab, command=["sh", "-c", script])
        process = lab.start_eagre("run", profile)
        wait_until(lambda: len(command(mark)) >= 3, "the program and its child")
        process.kill() if kill else process.terminate()
        process.wait(20)
        wait_until(lambda: not command(mark), "their end")


def test_a_program_that_does_not_come_up_is_named_with_its_log(lab):
    need("ip")
    absent, _ = simple(lab, command=["no-such-program"])
    lab.eagre("run", absent).refused(3, "protocols.no-such-program: there is no program 'no-such-program'")
    dies, folder = simple(lab, command=["sh", "-c", "echo the tide is out; exit 3"], name="tide", ready="false")
    lab.eagre("run", dies).refused(3, "protocols.tide: tide ended (exit status: 3)", f"{folder}/tide.log ends:", "the tide is out")
    never, folder = simple(lab, command=["sh", "-c", "echo waiting; exec sleep 60"], ready="echo no answer; false", timeout="1s", name="late")
    lab.eagre("run", never).refused(3, "protocols.late: it was not ready within 1 s", f"{folder}/late.log ends:", "waiting", "no answer")
    wrong, _ = simple(lab, daemon="bird", config="protocol nonsense {}\n")
    lab.eagre("run", wrong).refused(3, "protocols.bird: bird ended", "syntax error")
    later, _ = simple(lab, command=["sh", "-c", "sleep 2; echo gone; exit 1"], name="later")
    done = lab.eagre("run", later, "--duration", "4s", "--json", "-")
    assert done.exit == 1 and not done.json["verdict"]["valid"], done
    assert any("protocols.later: later ended (exit status: 1)" in reason and "gone" in reason for reason in done.json["verdict"]["reasons"])


def test_a_server_starts_no_programs_and_enters_no_namespace(lab):
    need("ip")
    named, server = lab.netns("named"), Server(lab)
    marker = lab.folder() / "ran"
    two, _ = simple(lab, command=["touch", str(marker)])
    answer = server.ask("POST", "/api/v1/runs", {"profile": two.read_text()})
    assert answer.status == 403 and "protocols: a server starts no programs for its clients" in answer.detail, answer
    two = json.loads(two.read_text())
    two["protocols"], two["ports"]["west"]["punt"] = [], {"namespace": named.name}
    answer = server.ask("POST", "/api/v1/runs", {"profile": json.dumps(two)})
    assert answer.status == 403 and "ports.west.punt.namespace: clients of a server can't use" in answer.detail, answer
    two["ports"]["west"]["punt"], two["load"]["duration"] = {}, "1s"
    run = server.start(profile=json.dumps(two))
    server.ended(run)
    assert not marker.exists()
