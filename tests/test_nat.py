"""`eagre bench nat` (RFC 9693): nftables translates, and what is found is what its rules say; `eagre nat-log` names what is missing from
the kernel's own record."""

import json
import re
import struct
import subprocess
from pathlib import Path

import pytest
from captures import eth, ip4, pcap, udp
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

    # The same events by IPFIX.
    events = re.compile(r"\[(\d+\.\d+)\].*?src=(\S+) dst=(\S+) sport=(\d+) dport=(\d+) .*?src=\S+ dst=(\S+) sport=\S+ dport=(\d+)")
    found = [events.search(line).groups() for line in log.read_text().splitlines() if ours.search(line)]
    rows = [
        {"at": float(at), "event": 4, "inside": [src, int(sport)], "to": [dst, int(dport)], "outside": [out, int(port)]}
        for at, src, dst, sport, dport, out, port in found
    ]
    done = lab.eagre("nat-log", mappings, exported(folder, rows), "--late", "5s", "--json", "-")
    assert done.exit == FAILED and done.json["matched"] == len(written) - len(gone), done
    assert {(one["inside"]["address"], str(one["inside"]["port"])) for one in done.json["missing"]} == missing, done
    assert done.json["records"] == len(rows) and done.json["messages"] > 1 and "lines" not in done.json, done


def row(n, event=4, late=0.0):
    """An event of the n-th mapping of `mapped`."""
    return {"at": 1764403200.25 + n / 1000 + late, "event": event, "inside": ["10.0.0.2", 1024 + n], "to": ["10.0.1.2", 9], "outside": ["192.0.2.1", 20000 + n]}


def mapped(folder, count):
    """A file of mappings as `eagre bench nat` writes it."""
    path = folder / "mappings"
    with path.open("w") as out:
        for n in range(count):
            one, sent = row(n), 1764403200 * 10**9 + 250 * 10**6 + n * 10**6
            ends = {key: dict(zip(("address", "port"), one[name])) for key, name in (("inside", "inside"), ("to", "to"), ("outside", "outside"), ("remote", "to"))}
            out.write(json.dumps({"protocol": "udp", **ends, "sent_ns": sent, "arrived_ns": sent + 50_000}) + "\n")
    return path


# The exporter is Debian's python3-ipfix.
EXPORTER = """
import datetime, ipaddress, json, sys
import ipfix.ie, ipfix.template, ipfix.writer
ipfix.ie.use_iana_default()
rows = [json.loads(line) for line in sys.stdin]
ADDRESS = "IPv4Address"
SESSION = ("observationTimeMilliseconds", "natEvent", "source" + ADDRESS, "postNATSource" + ADDRESS, "protocolIdentifier", "sourceTransportPort",
           "postNAPTSourceTransportPort", "destination" + ADDRESS, "destinationTransportPort")
BLOCK = ("observationTimeMilliseconds", "natEvent", "source" + ADDRESS, "postNATSource" + ADDRESS, "portRangeStart", "portRangeEnd")
with open(sys.argv[1], "wb") as out:
    writer = ipfix.writer.to_stream(out, mtu=1400)
    writer.set_domain(7)
    for number, names in ((256, SESSION), (257, BLOCK)):
        writer.add_template(ipfix.template.from_ielist(number, ipfix.ie.spec_list(names)))
    for row in rows:
        inside, outside, to = row["inside"], row["outside"], row.get("to", ["0.0.0.0", 0])
        writer.set_export_template(257 if "last" in row else 256)
        writer.export_namedict({
            "observationTimeMilliseconds": datetime.datetime(1970, 1, 1) + datetime.timedelta(seconds=row["at"]), "natEvent": row["event"],
            "source" + ADDRESS: ipaddress.ip_address(inside[0]), "postNATSource" + ADDRESS: ipaddress.ip_address(outside[0]),
            "protocolIdentifier": 17, "sourceTransportPort": inside[1], "postNAPTSourceTransportPort": outside[1],
            "destination" + ADDRESS: ipaddress.ip_address(to[0]), "destinationTransportPort": to[1],
            "portRangeStart": outside[1], "portRangeEnd": row.get("last", 0),
        })
    writer.flush()
"""


def exported(folder, rows):
    """A file of IPFIX messages."""
    path = folder / "export.ipfix"
    subprocess.run(
        ["/usr/bin/python3", "-c", EXPORTER, str(path)], input="".join(json.dumps(one) + "\n" for one in rows), text=True, check=True, timeout=120
    )
    return path


def messages(data):
    """The messages of a file."""
    found = []
    while data:
        length = int.from_bytes(data[2:4], "big")
        found.append(data[:length])
        data = data[length:]
    return found


def test_an_export_by_ipfix_is_compared(lab):
    """Deletions, and mappings of others, are no records of ours; one is missing, one wrong, one late."""
    folder = lab.folder()
    mappings = mapped(folder, 1000)
    rows = [row(n) for n in range(1000)]
    whole = lab.eagre("nat-log", mappings, exported(folder, [*rows, *(row(n, event=5, late=9) for n in range(1000))]), "--json", "-").ok().json
    assert (whole["matched"], whole["records"], whole["extra"]) == (1000, 1000, []), whole
    rows[7] = row(5000)
    rows[8] = {**row(8), "outside": ["192.0.2.1", 9]}
    rows[9] = row(9, late=3)
    shown = lab.eagre("nat-log", mappings, exported(folder, rows))
    assert shown.exit == FAILED and "997 matched, 1 missing, 1 wrong, 1 late; 1 records of others" in shown.out, shown
    assert "missing: 10.0.0.2:1031 as 192.0.2.1:20007" in shown.out and "record 9 has 192.0.2.1:9" in shown.out, shown
    assert "record 10 is from 3.000 s later" in shown.out and "messages" in shown.out, shown


def test_blocks_of_ports_by_ipfix(lab):
    folder = lab.folder()
    mappings = mapped(folder, 1000)
    block = {"at": 1764403000.0, "event": 16, "inside": ["10.0.0.2", 0], "outside": ["192.0.2.1", 19968], "last": 20479}
    second = {**block, "outside": ["192.0.2.1", 20480], "last": 21503}
    assert lab.eagre("nat-log", mappings, exported(folder, [block, second]), "--json", "-").ok().json["matched"] == 1000
    done = lab.eagre("nat-log", mappings, exported(folder, [block, {**second, "event": 17}]), "--json", "-")
    assert done.exit == FAILED and (done.json["matched"], len(done.json["wrong"])) == (480, 520), done


def netflow(rows, templates=True):
    """A datagram of NetFlow 9 with the fields of Cisco's and others' NAT logs; flowset 0 has the template."""
    columns = ((323, 8), (230, 1), (8, 4), (225, 4), (4, 1), (7, 2), (227, 2), (12, 4), (11, 2))
    template = struct.pack(">HH", 300, len(columns)) + b"".join(struct.pack(">HH", *column) for column in columns)
    address = lambda text: bytes(int(part) for part in text.split("."))  # noqa: E731
    data = b"".join(
        struct.pack(">QB", int(one["at"] * 1000), 1) + address(one["inside"][0]) + address(one["outside"][0])
        + struct.pack(">BHH", 17, one["inside"][1], one["outside"][1]) + address(one["to"][0]) + struct.pack(">H", one["to"][1])
        for one in rows
    )  # fmt: skip
    data += bytes(-len(data) % 4)
    sets = struct.pack(">HH", 0, 4 + len(template)) + template if templates else b""
    sets += struct.pack(">HH", 300, 4 + len(data)) + data
    return struct.pack(">HHIIII", 9, len(rows) + templates, 1000, 1764403200, 1, 7) + sets


def captured(folder, payloads):
    """A capture of datagrams, between packets of others."""
    frame = lambda data, port: eth(ip4("192.0.2.9", "198.51.100.1", 17, udp("192.0.2.9", "198.51.100.1", 5000, port, data)))  # noqa: E731
    path = folder / "export.pcap"
    path.write_bytes(pcap([frame(b"a question of someone", 53), *(frame(one, 4739) for one in payloads), frame(b"\0\x0a\xff\xff", 53)]))
    return path


def test_exports_in_captures(lab):
    """IPFIX and NetFlow 9 over UDP. A template may come after its records; without any they are counted."""
    folder = lab.folder()
    mappings = mapped(folder, 60)
    rows = [row(n) for n in range(60)]
    ipfix = messages(exported(folder, rows).read_bytes())
    assert len(ipfix) > 1
    for payloads in (ipfix, ipfix[::-1], [netflow(rows[:30], False), netflow(rows[30:])]):
        done = lab.eagre("nat-log", mappings, captured(folder, payloads), "--json", "-").ok().json
        assert (done["matched"], done["messages"], done["extra"]) == (60, len(payloads), []), done
        assert "warnings" not in done, done
    done = lab.eagre("nat-log", mappings, captured(folder, [netflow(rows[:30], False), netflow(rows[30:], False)]), "--json", "-")
    assert done.exit == FAILED and len(done.json["missing"]) == 60, done
    assert "2 sets of records were left out, because their templates are in no message" in done.err, done


def test_parts_of_messages_are_counted(lab):
    """Fragments, and packets that the capture cut; datagrams of others are not."""
    folder = lab.folder()
    mappings = mapped(folder, 60)
    first, second = messages(exported(folder, [row(n) for n in range(30)]).read_bytes())[0], netflow([row(n) for n in range(30, 60)])
    whole = udp("192.0.2.9", "198.51.100.1", 5000, 4739, second)
    part = eth(ip4("192.0.2.9", "198.51.100.1", 17, whole[:512], place=0x2000))
    rest = eth(ip4("192.0.2.9", "198.51.100.1", 17, whole[512:], place=64))
    cut = eth(ip4("192.0.2.9", "198.51.100.1", 17, whole))
    other = eth(ip4("192.0.2.9", "198.51.100.1", 17, udp("192.0.2.9", "198.51.100.1", 5000, 53, b"a" * 200)))
    path = captured(folder, [first])
    path.write_bytes(path.read_bytes() + pcap([part, rest, (cut[:96], len(cut)), (other[:96], len(other))])[24:])
    done = lab.eagre("nat-log", mappings, path, "--json", "-")
    assert done.exit == FAILED and done.json["messages"] == 1, done
    assert "2 messages were left out, because only a part of each is in the capture" in done.err, done
    path.write_bytes(pcap([part, rest]))
    lab.eagre("nat-log", mappings, path).refused(BAD_INPUT, "no whole message of IPFIX or NetFlow 9 over UDP", "1 messages were left out")


def test_wireshark_reads_the_same_of_these_messages(lab):
    """The figures of the NetFlow datagrams that are made here are right."""
    need("tshark")
    folder = lab.folder()
    path = captured(folder, [netflow([row(n) for n in range(3)])])
    names = ("cflow.post_natsource_ipv4_address", "cflow.post_naptsource_transport_port", "cflow.srcport", "cflow.nat_event")
    fields = [part for name in names for part in ("-e", name)]
    line = ["tshark", "-r", path, "-d", "udp.port==4739,cflow", "-T", "fields", *fields, "udp.dstport == 4739"]
    shown = subprocess.run(line, capture_output=True, text=True, check=True, timeout=60).stdout.split()
    assert shown == ["192.0.2.1,192.0.2.1,192.0.2.1", "20000,20001,20002", "1024,1025,1026", "1,1,1"], shown


def test_exports_that_are_none_are_refused(lab):
    folder = lab.folder()
    mappings = mapped(folder, 3)
    export = exported(folder, [row(n) for n in range(3)])

    def refused(path, *said, options=()):
        lab.eagre("nat-log", mappings, path, *options).refused(BAD_INPUT, *said)

    refused(export, "messages of IPFIX, which has no lines", "leave out --pattern", options=("--pattern", "{inside} {inside_port} {outside} {outside_port}"))
    cut = folder / "cut.ipfix"
    cut.write_bytes(export.read_bytes()[:-1])
    refused(cut, "not a message of IPFIX at byte 0", "bytes are there")
    refused(captured(folder, []), "no whole message of IPFIX or NetFlow 9 over UDP")


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
