"""`eagre path` on chains of Linux routers with known drops."""

import json
import os
import re
import signal
import stat

import pytest
from lab import EAST4, INTERRUPTED, WEST4, call, need, stream, sums, wait_until

# What address resolution and the polling itself may add to a counter.
BACKGROUND = 100
COMMUNITY, USER = "path-tests", "watcher"
AUTH, PRIVACY = "auth-password", "privacy-password"


class Chain:
    """A tester's two links with three routers between them, r1 - m - r2; `watch` has a link of its own to r1 and r2."""

    def __init__(self, lab):
        need("ip", "nft", "tc", "snmpd")
        self.lab = lab
        self.tester, self.watch = lab.netns("tester"), lab.netns("watch")
        self.r1, self.m, self.r2 = (lab.netns(name, forwarding=True) for name in ("r1", "m", "r2"))
        self.routers = {"r1": self.r1, "m": self.m, "r2": self.r2}
        self.joined(self.tester, "veth0", None, self.r1, "in", "10.0.0.1/24")
        self.joined(self.r1, "out", "10.9.1.1/24", self.m, "in", "10.9.1.2/24")
        self.joined(self.m, "out", "10.9.2.1/24", self.r2, "in", "10.9.2.2/24")
        self.joined(self.r2, "out", "10.0.1.1/24", self.tester, "veth1", None)
        self.joined(self.watch, "w1", "10.8.1.2/24", self.r1, "watch", "10.8.1.1/24")
        self.joined(self.watch, "w2", "10.8.2.2/24", self.r2, "watch", "10.8.2.1/24")
        # 10.7.0.0/16 is known to all routers but the last.
        for router, to, via in [
            (self.r1, "10.0.1.0/24", "10.9.1.2"),
            (self.r1, "10.7.0.0/16", "10.9.1.2"),
            (self.m, "10.0.1.0/24", "10.9.2.2"),
            (self.m, "10.7.0.0/16", "10.9.2.2"),
            (self.m, "10.0.0.0/24", "10.9.1.1"),
            (self.r2, "10.0.0.0/24", "10.9.2.1"),
        ]:
            router.ip("route", "add", to, "via", via)

    def joined(self, a, end_a, address_a, b, end_b, address_b):
        self.lab.veth(a, end_a, b, end_b)
        for namespace, end, address in ((a, end_a, address_a), (b, end_b, address_b)):
            if address:
                namespace.ip("address", "add", address, "dev", end)

    def plain(self):
        """Takes away what a test has added."""
        for router in self.routers.values():
            router.run("nft", "flush", "ruleset")
            for end in ("in", "out"):
                call(*router.command("tc", "qdisc", "del", "dev", end, "root"), check=False)

    def rule(self, router, rule):
        self.routers[router].run(
            "nft",
            "-f",
            "-",
            input=f"table inet test {{\n chain transit {{\n type filter hook forward priority 0\n {rule}\n }}\n}}\n",
        )

    def send(self, streams=None, seconds=1.0):
        """Sends through the chain; how many packets were sent and lost."""
        streams = streams or [stream("s", "west", "east", rate="6kpps")]
        ports = {
            "west": {"device": "afpacket:veth0", "ip": f"{WEST4}/24", "gateway": "10.0.0.1"},
            "east": {"device": "afpacket:veth1", "ip": f"{EAST4}/24", "gateway": "10.0.1.1"},
        }
        profile = self.lab.profile(ports, streams, load={"duration": f"{seconds}s", "drain": "500ms"})
        done = self.lab.eagre("run", profile, "--json", "-", ns=self.tester)
        assert done.ended, str(done)
        return sums(done.json, "tx"), sums(done.json, "lost")

    def local(self, *names):
        return [
            {"name": name, "in": "in", "out": "out", "local": {"namespace": self.routers[name].name}} for name in names
        ]

    def start(self, hops, ns=None, **rest):
        """Starts to poll; returns when the counters before the test are read."""
        path = self.written(hops, **rest)
        self.page = path.with_suffix(".html")
        process = self.lab.start_eagre("path", path, "--json", "-", "--report", self.page, ns=ns)
        said = ""
        while "polling" not in said:
            line = process.stderr.readline()
            assert line, said
            said += line
        return process

    def written(self, hops, **rest):
        path = self.lab.folder() / "path.yaml"
        path.write_text(json.dumps({"hops": hops, "interval": "200ms", **rest}))
        return path

    def stop(self, process):
        """Ends the polling as Ctrl-C does; its report."""
        process.send_signal(signal.SIGINT)
        report = self.lab.finish(process).ok().json
        assert report["schema"] == "eagre.path/1"
        return report

    def polled(self, hops, send=None, **options):
        """What was sent and lost while the hops were polled, and the report."""
        process = self.start(hops, **options)
        sent, lost = (send or self.send)()
        assert sent > 500, "this machine is too busy to send"
        return sent, lost, self.stop(process)


@pytest.fixture(scope="module")
def network(shared):
    return Chain(shared)


@pytest.fixture
def chain(network):
    network.plain()
    yield network
    network.plain()


def hop(report, name):
    return next(one for one in report["hops"] if one["name"] == name)


def limits(one):
    """What limits a hop's figures; how busy this machine is with other things does not."""
    return [remark for remark in one["remarks"] if "CPU " not in remark]


def assert_named(report, place, lost, *words):
    weakest = report["weakest"]
    assert weakest, json.dumps(report, indent=1)
    assert weakest["hop"] == place, weakest
    assert abs(weakest["lost"] - lost) <= BACKGROUND, (lost, weakest)
    for word in words:
        assert word in weakest["sentence"], weakest["sentence"]


def test_a_limit_is_found_by_its_rule(chain):
    """The rule's text is in the sentence, and the rule's count is the tester's loss to the packet."""
    chain.rule("r2", 'udp dport 9 limit rate over 1000/second counter drop comment "policing"')
    sent, lost, report = chain.polled(chain.local("r1", "m", "r2"))
    assert lost > sent / 3
    assert_named(report, "r2", lost, "nft rule 'udp dport 9 limit rate over", "policing", "handle")
    assert report["weakest"]["counters"][0]["count"] == lost
    assert hop(report, "r2")["in_packets"] >= sent and not report["remarks"], report["remarks"]
    assert 0 <= hop(report, "r2")["softirq"] <= hop(report, "r2")["cpu_busy"] <= 1
    series = [sample for sample in report["samples"] if sample["hop"] == "r2"]
    assert len(series) >= 5
    for key in ("at_s", "in_packets", "out_packets"):
        values = [sample[key] for sample in series]
        assert values == sorted(values), (key, values)
    assert series[-1]["in_packets"] == hop(report, "r2")["in_packets"]
    at = [0, *(sample["at_s"] for sample in series)]
    for rate, total in (("in_pps", "in_packets"), ("out_pps", "out_packets"), ("drops_pps", "drops")):
        sums = sum(sample[rate] * (now - before) for sample, before, now in zip(series, at, at[1:]))
        assert sums == pytest.approx(series[-1][total], rel=1e-6), rate
    page = chain.page.read_text()
    for words in ("Packets per second into and out of each device", "nft rule", "r2: in", "</svg>"):
        assert words in page, words


def test_a_queue_is_found(chain):
    """A narrow exit of the first router."""
    chain.r1.run("tc", "qdisc", "add", "dev", "out", "root", "tbf", "rate", "1mbit", "burst", "16kb", "limit", "30kb")
    sent, lost, report = chain.polled(chain.local("r1", "m", "r2"))
    assert lost > sent / 3
    assert_named(report, "r1", lost, "qdisc tbf of out")
    assert abs(report["weakest"]["counters"][0]["count"] - lost) <= BACKGROUND


def test_a_missing_route_is_found(chain):
    """Of two streams one goes where the last router knows no way."""
    astray = {**stream("astray", "west", "east", rate="2kpps"), "packet": [{"ipv4": {"dst": "10.7.0.1"}}, "udp"]}
    streams = [stream("s", "west", "east", rate="2kpps"), astray]
    sent, lost, report = chain.polled(chain.local("r1", "r2"), lambda: chain.send(streams))
    # What the router says about it quotes a few of the packets.
    assert sent / 2 - 50 <= lost <= sent / 2
    assert_named(report, "r2", lost, "no route")
    # Named rules and whole chains that let all through are no drops.
    assert hop(report, "r1")["drops"] == [] or hop(report, "r1")["drops"][0]["count"] < BACKGROUND


def test_a_drop_that_nobody_counts_is_shown(chain):
    """A rule without a counter: the hop is named, and the rule is."""
    chain.rule("r1", "udp dport 9002 drop")
    streams = [stream("s", "west", "east", rate="2kpps"), stream("bad", "west", "east", 9002, rate="2kpps")]
    sent, lost, report = chain.polled(chain.local("r1", "r2"), lambda: chain.send(streams))
    # One of the streams may have sent one packet more.
    assert abs(lost - sent / 2) < 1
    assert_named(report, "r1", lost, "no drop counter explains it", "udp dport 9002 drop")


def test_nothing_lost_names_nobody(chain):
    """Both ways at once."""
    chain.rule("r1", "udp dport 9 counter accept")
    both = [stream("there", "west", "east", rate="3kpps"), stream("back", "east", "west", rate="3kpps")]
    sent, lost, report = chain.polled(chain.local("r1", "m", "r2"), lambda: chain.send(both))
    assert lost == 0
    assert report["weakest"] is None and report["remarks"] == []
    for one in report["hops"]:
        assert sent <= one["out_packets"] <= one["in_packets"] + 20 <= sent + BACKGROUND, one


def test_loss_between_hops_is_the_links(chain):
    """The router in the middle is no hop of the description."""
    chain.rule("m", "udp dport 9002 counter drop")
    streams = [stream("s", "west", "east", rate="2kpps"), stream("bad", "west", "east", 9002, rate="2kpps")]
    sent, lost, report = chain.polled(chain.local("r1", "r2"), lambda: chain.send(streams))
    assert lost == sent / 2
    assert_named(report, "r1 - r2", lost, "The link from r1 (out) to r2 (in) lost")


def test_hosts_are_asked_by_ssh(chain):
    """Its words are understood by a shell elsewhere; here something that is called ssh runs them."""
    folder = chain.lab.folder()
    ssh = folder / "ssh"
    skip = 'while [ "$1" != -- ]; do shift; done'
    ssh.write_text(f'#!/bin/sh\n{skip}\n[ "$2" = admin@r1 ] || exit 255\nexec sh -c "$3"\n')
    ssh.chmod(ssh.stat().st_mode | stat.S_IXUSR)
    hops = chain.local("r1")
    hops[0]["local"]["ssh"] = "admin@r1"
    path = {"env": {"PATH": f"{folder}:{os.environ['PATH']}"}}
    done = chain.lab.eagre("path", chain.written(hops), "--for", "300ms", "--json", "-", **path).ok()
    assert done.json["hops"][0]["in_packets"] is not None
    hops[0]["local"]["ssh"] = "admin@elsewhere"
    done = chain.lab.eagre("path", chain.written(hops), "--for", "300ms", **path)
    done.refused(3, "hop r1: namespace", "of admin@elsewhere")


def test_people_read_a_table(chain):
    """A row for each hop, and a sentence."""
    done = chain.lab.eagre("path", chain.written(chain.local("r1", "r2")), "--for", "300ms").ok()
    assert re.search(r"hop +packets in +out +lost", done.out) and "\n  r2 " in done.out, done.out
    assert "No hop or link lost more" in done.out


# ---- SNMP


class Agents:
    """An snmpd in r1 that speaks version 2c, and one in r2 that speaks version 3."""

    def __init__(self, chain):
        self.chain, self.folder, self.running = chain, chain.lab.folder(), {}
        for name in ("r1", "r2"):
            self.run(name)

    def run(self, name):
        config = self.folder / f"{name}.conf"
        config.write_text(
            f"rocommunity {COMMUNITY}\n"
            if name == "r1"
            else f'createUser {USER} SHA-256 "{AUTH}" AES "{PRIVACY}"\nrouser {USER} priv\n'
        )
        log = self.folder / f"{name}.log"
        log.unlink(missing_ok=True)
        address = f"udp:10.8.{name[1]}.1:161"
        files = ["-C", "-c", config, "-Lf", log, "-p", self.folder / f"{name}.pid"]
        environment = {"SNMP_PERSISTENT_DIR": str(self.folder / name), "MIBS": ""}
        router = self.chain.routers[name]
        self.running[name] = self.chain.lab.start("snmpd", "-f", *files, address, ns=router, env=environment)
        wait_until(lambda: log.exists() and "NET-SNMP version" in log.read_text(), f"snmpd in {name}")

    def restart(self, name):
        self.running[name].terminate()
        self.running[name].wait(10)
        self.run(name)

    def hops(self):
        user = {
            "user": USER,
            "auth": {"protocol": "sha256", "password": AUTH},
            "privacy": {"protocol": "aes", "password": PRIVACY},
        }
        return [
            {"name": "r1", "in": "in", "out": "out", "snmp": {"host": "10.8.1.1", "community": COMMUNITY}},
            {"name": "r2", "in": "in", "out": "out", "snmp": {"host": "10.8.2.1", "version": 3, **user}},
        ]


@pytest.fixture(scope="module")
def agents(network):
    return Agents(network)


def test_agents_are_read_when_their_counters_are_fresh(chain, agents):
    """Versions 2c and 3: the hop is named by its packet counters, which are as exact as the kernel's own."""
    astray = {**stream("astray", "west", "east", rate="2kpps"), "packet": [{"ipv4": {"dst": "10.7.0.1"}}, "udp"]}
    streams = [stream("s", "west", "east", rate="2kpps"), astray]
    sent, lost, report = chain.polled(agents.hops(), lambda: chain.send(streams), ns=chain.watch)
    assert sent / 2 - 50 <= lost <= sent / 2
    # What Net-SNMP counts has no word for a missing route to packets on their way.
    assert_named(report, "r2", lost, "packets that entered it; no drop counter explains it")
    for one in report["hops"]:
        assert sent <= one["in_packets"] <= sent + BACKGROUND and limits(one) == [], one
        assert one["counters"]["speed of in, Mbit/s"] == 10_000 
        # An agent knows its processors some seconds after its start.
        assert one["cpu_busy"] is None or 0 < one["cpu_busy"] <= 1, one


@pytest.mark.long
def test_an_agent_that_is_restarted_is_not_believed(chain, agents):
    """Its counters have begun anew for all one knows; the hop that was not restarted still counts."""
    process = chain.start(agents.hops(), ns=chain.watch)
    sent, _ = chain.send(seconds=0.5)
    agents.restart("r2")
    report = chain.stop(process)
    assert any("restarted during the test" in remark for remark in hop(report, "r2")["remarks"]), hop(report, "r2")
    assert hop(report, "r2")["in_packets"] is None
    assert hop(report, "r1")["in_packets"] >= sent and limits(hop(report, "r1")) == []
    assert report["weakest"] is None


def test_who_is_not_let_in_is_told(chain, agents):
    """Wrong community, wrong passwords, no agent, no such interface."""
    r1, r2 = agents.hops()

    def refused(code, changed, *words):
        done = chain.lab.eagre("path", chain.written([changed]), "--for", "1s", ns=chain.watch)
        done.refused(code, f"hop {changed['name']}: ", *words)
        assert AUTH not in done.err and COMMUNITY not in done.err

    refused(3, {**r1, "snmp": {**r1["snmp"], "community": "wrong"}}, "no SNMP response from 10.8.1.1:161", "community")
    refused(3, {**r1, "snmp": {**r1["snmp"], "port": 9}}, "10.8.1.1:9 refused the connection: no SNMP agent is listening")
    wrong = {"protocol": "sha256", "password": "another-password"}
    refused(3, {**r2, "snmp": {**r2["snmp"], "auth": wrong}}, f"does not accept user '{USER}'")
    refused(3, {**r2, "snmp": {**r2["snmp"], "user": "nobody"}}, "does not accept user 'nobody'")
    refused(2, {**r1, "out": "eth9"}, "10.8.1.1:161 has no interface 'eth9' (it has", "watch")


# ---- Mistakes


def test_mistakes_are_told(chain):
    """Namespace, interface, source, document."""
    r1 = chain.local("r1")[0]

    def refused(code, hops, *words):
        chain.lab.eagre("path", chain.written(hops), "--for", "1s").refused(code, *words)

    refused(2, [{**r1, "local": {"namespace": "nowhere"}}], "hop r1: unknown network namespace 'nowhere'")
    refused(2, [{**r1, "in": "eth9"}], "hop r1: namespace", "has no interface 'eth9' (it has lo, ")
    refused(2, [r1, r1], "hops[1] (r1): duplicate hop name")
    refused(2, [], "hops: must contain at least one hop")
    refused(2, [{**r1, "typo": 1}], "path.yaml", "typo")
    refused(2, [{**r1, "sources": ["link", "psychic"]}], "psychic")
    chain.lab.eagre("path", "/nowhere.yaml").refused(2, "/nowhere.yaml: No such file")


def test_an_interface_that_goes_is_a_remark(chain):
    """The test goes on, and what is known is told."""
    chain.r1.ip("link", "add", "spare", "type", "veth", "peer", "name", "spare2")
    process = chain.start([{**chain.local("r1")[0], "out": "spare"}])
    chain.r1.ip("link", "del", "spare")
    report = chain.stop(process)
    assert limits(hop(report, "r1")) == ["interface spare no longer existed after the test"]
    assert hop(report, "r1")["in_packets"] is None


def test_an_interrupted_poll_says_so_and_leaves_nothing(chain):
    """Exit 130 with the report so far; the shells in the namespaces are gone."""
    path = chain.written(chain.local("r1", "r2"))
    process = chain.lab.start_eagre("path", path, "--for", "1h", "--json", "-")
    wait_until(lambda: process.stderr.readline().find("polling") >= 0, "polling")
    assert chain.r1.pids()
    process.send_signal(signal.SIGINT)
    done = chain.lab.finish(process)
    assert done.exit == INTERRUPTED and len(done.json["hops"]) == 2, str(done)
    before = {pid for pid in chain.r2.pids()}
    process = chain.start(chain.local("r2"))
    assert set(chain.r2.pids()) > before
    process.kill()
    wait_until(lambda: set(chain.r2.pids()) <= before, "the shell's end")


def test_a_campaign_keeps_its_document(chain, agents):
    """Without what lets others in: the command of the report has all its files again."""
    folder = chain.lab.folder()
    path, store, page = chain.written(agents.hops()), folder / "r.db", folder / "r.html"
    ports = {
        "west": {"device": "ring:a", "ip": f"{WEST4}/24", "speed": "1Gbps"},
        "east": {"device": "ring:b", "ip": "10.0.0.3/24", "speed": "1Gbps"},
    }
    profile = chain.lab.profile(ports, [stream("s", "west", "east")])
    short = ["--sizes", "512B", "--trial", "100ms", "--quick", "--settle", "0s", "--set", "repeats=1"]
    where = ["--path", path, "--store", store, "--report", page]
    chain.lab.eagre("bench", "mrr", profile, *short, *where, ns=chain.watch, timeout=60).ok()
    kept = chain.lab.eagre("results", "--store", store, "profile", "--path").ok()
    document = json.loads(kept.out)
    assert [hop["name"] for hop in document["hops"]] == ["r1", "r2"]
    assert document["hops"][0]["snmp"] == {"host": "10.8.1.1", "community": "hidden"}
    bytes_of_store = b"".join(one.read_bytes() for one in folder.glob("r.db*"))
    for secret in (COMMUNITY, AUTH, PRIVACY):
        assert secret.encode() not in bytes_of_store and secret not in page.read_text(), secret
    text = page.read_text()
    assert "--path -o path.yaml" in text and "fill them in" in text and "does not have it" not in text
    chain.lab.eagre("bench", "mrr", profile, *short, "--store", store).ok()
    chain.lab.eagre("results", "--store", store, "profile", "--path").refused(2, "was run without --path")
