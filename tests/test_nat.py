"""`eagre bench nat` (RFC 9693): nftables translates, and what is found is what its rules say; `eagre nat-log` names what is missing from
the kernel's own record."""

import json
import re
from pathlib import Path

import pytest
from lab import BAD_INPUT, FAILED, LONG, need, wait_until

MAX = Path("/proc/sys/net/netfilter/nf_conntrack_max")
# Seconds after which the router forgets a mapping.
TIMEOUT = 3
OFF = {
    "samples": 0,
    "timeout_max": "0s",
    "capacity_max": 0,
    "rate_max": 0,
    "throughput_max": 0,
}
INSIDE = [f"10.0.0.{host}" for host in (2, 10, 11, 12)]


class Gateway:
    """The kernel between both ends, with rules of nftables that translate, and conntrack's record of it."""

    def __init__(self, lab):
        need("nft", "conntrack")
        self.lab, router = lab, lab.router()
        self.tester, self.router = router.tester, router.router
        # The second address of the pool.
        self.router.ip("address", "add", "10.0.1.8/24", "dev", "r1")
        names = ("nf_conntrack_udp_timeout", "nf_conntrack_udp_timeout_stream")
        self.router.sysctl({f"net.netfilter.{name}": TIMEOUT for name in names})
        self.folder = lab.folder()

    def translate(self, rule):
        # What comes from outside without a mapping reaches no host, and leaves no entry behind.
        self.router.run(
            "nft",
            "-f",
            "-",
            input=f"""
table ip nat {{
  chain post {{
    type nat hook postrouting priority srcnat
    oifname "r1" {rule}
  }}
}}
table ip filter {{
  chain in {{
    type filter hook input priority filter
    iifname "r1" meta l4proto udp drop
  }}
}}
""",
        )

    def profile(self):
        more = [
            {
                "name": "more",
                "count": len(INSIDE) - 1,
                "ip": "10.0.0.10/24",
                "gateway": "10.0.0.1",
            }
        ]
        other = [{"name": "other", "ip": "10.0.1.3/24", "gateway": "10.0.1.1"}]
        ports = {
            "inside": {
                "device": "afpacket:veth0",
                "speed": "10Gbps",
                "ip": "10.0.0.2/24",
                "gateway": "10.0.0.1",
                "hosts": more,
            },
            "outside": {
                "device": "afpacket:veth1",
                "speed": "10Gbps",
                "ip": "10.0.1.2/24",
                "gateway": "10.0.1.1",
                "hosts": other,
            },
        }
        packet = [
            {"ipv4": {"src": "10.0.0.2", "dst": "10.0.1.2"}},
            {"udp": {"src": 1024, "dst": 9}},
        ]
        return self.lab.profile(
            ports,
            [
                {
                    "name": "nat",
                    "from": "inside",
                    "to": "outside",
                    "packet": packet,
                    "rate": "1kpps",
                }
            ],
        )

    def profile64(self, remote):
        """From IPv6 hosts to IPv4 ones."""
        more = [{"name": "more", "count": 3, "ip": "2001:2::10/64", "gateway": "2001:2::1"}]
        other = [{"name": "other", "ip": "10.0.1.3/24", "gateway": "10.0.1.1"}]
        ports = {
            "inside": {"device": "afpacket:veth0", "speed": "10Gbps", "ip": "2001:2::2/64", "gateway": "2001:2::1", "hosts": more},
            "outside": {"device": "afpacket:veth1", "speed": "10Gbps", "ip": "10.0.1.2/24", "gateway": "10.0.1.1", "hosts": other},
        }
        packet = [{"ipv6": {"src": "2001:2::2", "dst": remote}}, {"udp": {"src": 1024, "dst": 9}}]
        stream = {"name": "nat", "from": "inside", "to": "outside", "packet": packet, "size": "84B", "rate": "1kpps"}
        return self.lab.profile(ports, [stream])

    def bench(self, *options, profile=None, **settings):
        """The row of a campaign and its result; only parts that `settings` name are tested."""
        flush = f"ip netns exec {self.router.name} conntrack -F"
        command = [
            "bench",
            "nat",
            profile or self.profile(),
            "--quick",
            "--settle",
            "0s",
            "--drain",
            "200ms",
            "--before-trial",
            flush,
        ]
        for name, value in {**OFF, **settings}.items():
            command += ["--set", f"{name}={value}"]
        command += [
            "--store",
            self.folder / "store.db",
            "--json",
            "-",
            "--on-disturbed",
            "warn",
            *options,
        ]
        done = self.lab.eagre(*command, ns=self.tester, timeout=180)
        (result,) = done.json["results"]
        (row,) = result["findings"]["rows"]
        print(
            result["summary"],
            result["remarks"],
            [(trial["label"], trial["standing"]) for trial in result["trials"]],
        )
        return row, result


@pytest.fixture
def gateway(lab):
    return Gateway(lab)


# Rules, and what they must show: what mappings depend on, the ports, whether the inside port is kept.
RULES = {
    "masquerade": ("masquerade", "endpoint_independent", (1024, 65535), True),
    "range": (
        "ip protocol udp snat to 10.0.1.1:20000-20999",
        "endpoint_independent",
        (20000, 20999),
        False,
    ),
    "random": (
        "masquerade fully-random",
        "address_and_port_dependent",
        (1024, 65535),
        False,
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_what_is_found_is_what_the_rules_say(gateway, name):
    rule, dependence, (low, high), keeps = RULES[name]
    gateway.translate(rule)
    row, result = gateway.bench(samples=64)
    behavior = row["behavior"]
    mapping = behavior["mapping"]
    assert mapping["mapping"]["value"] == dependence, mapping
    assert low <= mapping["port_min"] <= mapping["port_max"] <= high, mapping
    assert mapping["translated"]["count"] == mapping["translated"]["of"] == mapping["mappings"], mapping
    preserved = mapping["preserved"]["count"] / mapping["preserved"]["of"]
    # An inside port within a range may be kept.
    assert keeps is None or (preserved > 0.2) == keeps, mapping["preserved"]
    assert mapping["outside_addresses"] == 1 and "value" not in mapping["pooling"], mapping
    # A connection lets in what answers it, and nothing else.
    filtering = behavior["filtering"]
    assert filtering["rule"]["value"] == "address_and_port_dependent", filtering
    assert filtering["same_endpoint"]["count"] == filtering["same_endpoint"]["of"] == 64, filtering
    assert behavior["hairpinning"]["count"] == 0 < behavior["hairpinning"]["of"], behavior
    assert behavior["icmp_errors"]["count"] == behavior["icmp_errors"]["of"] == 32, behavior
    goals = {interval["goal"] for interval in result["intervals"]}
    assert {"endpoint_independent_mapping", "port_parity", "icmp_errors"} <= goals, goals


def test_a_time_out_is_the_one_that_was_set(gateway):
    gateway.translate("masquerade")
    row, result = gateway.bench(timeout_max="5s", timeout_probes=250)
    timeout = row["timeout"]
    # Entries end at the first jiffy after their time.
    assert timeout["contradictions"] == 0 and timeout["probes"] == 250, timeout
    assert TIMEOUT - 0.05 <= timeout["lower_ns"] / 1e9 < timeout["upper_ns"] / 1e9 <= TIMEOUT + 0.1, timeout
    assert timeout["reused"]["of"] > 50, timeout
    assert any("Time-out of a UDP mapping: between" in sentence for sentence in result["summary"]), result["summary"]


@pytest.mark.alone
def test_the_capacity_is_the_tables_and_rates_have_bounds(gateway):
    """No bound is above the table's size. A search that nothing disturbed ends close below it: the kernel drops entries early, of
    connections without a reply, to make room for new ones. EAGRE_LONG repeats a disturbed search until it can be judged."""
    gateway.translate("masquerade")
    before = MAX.read_text()
    # It can be set in the first namespace only, and holds in each by itself.
    MAX.write_text("10000\n")
    try:
        for _ in range(8 if LONG else 1):
            row, result = gateway.bench(
                connections=8000,
                capacity_max=40000,
                establish_rate=20000,
                validate_rate=20000,
                rate_first=20000,
                rate_max=80000,
                resolution=0.5,
            )
            is_judged = not {row["capacity"]["limit"], row["rate"]["limit"]} & {"disturbed", "tester"}
            if is_judged:
                break
    finally:
        MAX.write_text(before)
    assert is_judged or not LONG, result["summary"]
    capacity, rate = row["capacity"], row["rate"]
    intervals = {interval["goal"]: interval for interval in result["intervals"]}
    assert capacity["best"]["connections"] <= 10000, (capacity, result["summary"])
    assert intervals["table_capacity"]["lower"] == capacity["best"]["connections"], intervals
    if capacity["limit"] == "dut":
        assert capacity["best"]["connections"] >= 9900 and capacity["failed"]["connections"] > capacity["best"]["connections"], capacity
        assert intervals["table_capacity"]["upper"] == capacity["failed"]["connections"], intervals
    else:
        assert capacity["limit"] in ("disturbed", "tester"), capacity
    if rate["best"]:
        assert rate["best"]["rate"] >= 20000, (rate, result["summary"])
        assert intervals["connection_rate"]["lower"] == rate["best"]["rate"], intervals


def test_traffic_of_established_connections_and_tear_down(gateway):
    gateway.translate("masquerade")
    flush = f"table=ip netns exec {gateway.router.name} conntrack -F"
    row, result = gateway.bench(
        "--reset",
        flush,
        "--trial",
        "500ms",
        connections=500,
        throughput_first=500,
        throughput_max=1000,
        tear_downs=2,
        resolution=0.5,
    )
    throughput = row["throughput"]
    assert throughput["limit"] == "maximum" and throughput["best"]["rate"] == 1000, (
        throughput,
        result["summary"],
    )
    assert len(row["tear_down_per_s"]) == 2 and min(row["tear_down_per_s"]) > 500, (
        row["tear_down_per_s"],
        result["remarks"],
    )


def test_a_log_lacks_exactly_the_lines_that_were_removed(gateway, lab):
    gateway.translate("masquerade")
    folder = lab.folder()
    log, mappings = folder / "log", folder / "mappings"
    lab.start("sh", "-c", f"exec conntrack -E -e NEW -o timestamp -b 8388608 > {log}", ns=gateway.router)

    def listens():
        gateway.router.run("ping", "-c1", "-W1", "10.0.1.1", check=False)
        return log.exists() and log.stat().st_size > 0

    wait_until(listens, "conntrack's first line", 10)
    gateway.bench("--mappings", mappings, connections=1000, capacity_max=1000, establish_rate=2000, validate_rate=5000)
    written = [json.loads(line) for line in mappings.read_text().splitlines()]
    assert len(written) >= 1000 and len(written) % 1000 == 0, len(written)
    ours = re.compile(r"\[NEW\] udp .*? src=(10\.0\.0\.\d+) dst=10\.0\.1\.2 sport=(\d+) ")
    wait_until(lambda: len(ours.findall(log.read_text())) == len(written), "all lines of conntrack", 10)
    done = lab.eagre("nat-log", mappings, log, "--late", "5s", "--json", "-").ok().json
    assert done["matched"] == len(written) and done["missing"] == done["wrong"] == done["late"] == [], done

    # One line in a hundred is gone.
    lines = log.read_text().splitlines(keepends=True)
    gone = [number for number, line in enumerate(lines) if ours.search(line)][7::100]
    log.write_text("".join(line for number, line in enumerate(lines) if number not in gone))
    done = lab.eagre("nat-log", mappings, log, "--late", "5s", "--json", "-")
    assert done.exit == FAILED, done
    missing = {(one["inside"]["address"], str(one["inside"]["port"])) for one in done.json["missing"]}
    assert missing == {ours.search(lines[number]).groups() for number in gone}, done
    assert done.json["matched"] == len(written) - len(gone) and len(gone) >= 10, done
    shown = lab.eagre("nat-log", mappings, log, "--late", "5s")
    assert f"{len(gone)} missing, 0 wrong, 0 late" in shown.out and "  missing: 10.0.0." in shown.out, shown


# RFC 6052: the well-known prefix is not for private IPv4 addresses.
PREFIX = "2001:db8:64::"


def test_nat64_of_tayga_and_nftables(gateway, lab):
    need("tayga")
    router, folder = gateway.router, lab.folder()
    (folder / "tayga.conf").write_text(
        f"tun-device nat64\nipv4-addr 192.168.255.1\nprefix {PREFIX}/96\ndynamic-pool 192.168.255.0/24\ndata-dir {folder}\n"
    )
    router.run("tayga", "-c", folder / "tayga.conf", "--mktun")
    router.ip("link", "set", "nat64", "up")
    router.ip("route", "add", "192.168.255.0/24", "dev", "nat64")
    router.ip("route", "add", f"{PREFIX}/96", "dev", "nat64")
    gateway.translate("masquerade")
    lab.start("tayga", "-c", folder / "tayga.conf", "-d", "-n", ns=router)
    wait_until(lambda: "LOWER_UP" in router.ip("link", "show", "nat64"), "tayga", 10)
    remote = PREFIX + "a00:102"
    row, _ = gateway.bench(profile=gateway.profile64(remote), samples=64)
    behavior = row["behavior"]
    mapping = behavior["mapping"]
    assert mapping["mapping"]["value"] == "endpoint_independent", mapping
    assert mapping["translated"]["count"] == mapping["mappings"] == 64 * 5, mapping
    assert behavior["filtering"]["rule"]["value"] == "address_and_port_dependent", behavior
    assert behavior["icmp_errors"]["count"] == behavior["icmp_errors"]["of"] == 32, behavior


def test_profiles_and_files_that_do_not_fit_are_refused(lab):
    one = {"west": {"device": "null", "ip": "10.0.0.1/24", "speed": "1Gbps"}}
    stream = {
        "name": "a",
        "from": "west",
        "to": "west",
        "packet": [{"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.9"}}, "udp"],
        "rate": "1kpps",
    }
    done = lab.eagre("bench", "nat", lab.profile(one, [stream]), "--store", lab.folder() / "store.db")
    assert done.exit == BAD_INPUT and "it must go to another port" in done.err, done
    folder = lab.folder()
    (folder / "empty").write_text("")
    (folder / "bad").write_text("{}\n")
    for mappings, why in (
        ("empty", "there is no mapping in it"),
        ("bad", "bad:1: not a mapping"),
        ("none", "No such file"),
    ):
        done = lab.eagre("nat-log", folder / mappings, folder / "empty")
        assert done.exit == BAD_INPUT and why in done.err, done
    done = lab.eagre("nat-log", folder / "bad", folder / "empty", "--pattern", "{inside}")
    assert done.exit == BAD_INPUT and "'{inside_port}' is missing" in done.err, done
