"""Sessions with both ends played here, in memory and in simulated time: every application, load shape and ending."""

import itertools
import json
import os
import re
import signal
import time
from collections import Counter

import conversation
import pytest
from lab import INTERRUPTED, REPO, call, need, pair, parsed, settled, wait_until, was_disturbed
from sessions import all_through, check, of, raw

ECHO = {"echo": {"request": "100B", "requests": 2}}
PING_PONG = {
    "program": {
        "client": [
            {"send": "PING {session}\n"},
            {"expect_until": "PONG\n"},
            {"repeat": {"times": 3, "do": [{"send": {"bytes": "700B"}}, {"expect": {"bytes": "900B"}}]}},
            "half_close",
            "expect_end",
        ],
        "server": [
            {"expect_until": "\n"},
            {"wait": "1ms..3ms"},
            {"send": "PONG\n"},
            {"repeat": {"times": 3, "do": [{"expect": {"bytes": "700B"}}, {"send": {"bytes": "900B"}}]}},
            "expect_end",
            "close",
        ],
    }
}
DNS = {"dns": {"names": "host{1..100}.a.test", "requests": 2}}
HTTP = {"http": {"response": "3000B", "requests": 2}}
SIZES = {"http": {"response": {"1KB": 3, "20KB": 1}, "requests": 4}}
MIX = {
    "mix": [
        {"name": "web", "weight": 3, "app": HTTP, "ports": 80},
        {"name": "echo", "weight": 1, "app": ECHO, "ports": 7},
    ]
}

# Applications, other keys of their entries, and transactions of a session.
APPS = {
    "raw": (raw("200B", "5000B", requests=3), {"server": {"ports": 9000}}, 3),
    "raw-udp": (raw("200B", "1000B", requests=3), {"server": {"ports": 9000}, "transport": "udp"}, 3),
    "echo": (ECHO, {}, 2),
    "echo-udp": (ECHO, {"transport": "udp"}, 2),
    "http": (HTTP, {}, 2),
    "http-sizes": (SIZES, {}, 4),
    "http-pipelined": ({"http": {"response": "2KB", "requests": 12, "pipeline": 4}}, {}, 12),
    "http-chunked": ({"http": {"response": "9KB", "body": "7KB", "chunked": "1KB", "method": "POST"}}, {}, 1),
    "http-closed-by-server": ({"http": {"response": "2KB", "close_by": "server"}}, {}, 1),
    "http-closed-by-reset": ({"http": {"response": "2KB", "close_by": "reset"}}, {}, 1),
    "dns": (DNS, {}, 2),
    "dns-tcp": (DNS, {"transport": "tcp"}, 2),
    "bulk-up": ({"bulk": {"bytes": "300KB"}}, {"server": {"ports": 9}}, None),
    "bulk-down": ({"bulk": {"from": "server", "bytes": "300KB"}}, {"server": {"ports": 19}}, None),
    "program": (PING_PONG, {"server": {"ports": 9000}}, None),
    "tls-12": (HTTP, {"tls": {"versions": ["1.2"], "verify": "generated"}}, 2),
    "tls-13": (HTTP, {"tls": {"versions": ["1.3"], "verify": "generated"}}, 2),
    "tls-resumed": (HTTP, {"tls": {"resumption": 100}}, 2),
    "tls-raw": (raw("200B", "5000B"), {"tls": True, "server": {"ports": 9000}}, 1),
    "mix": (MIX, {}, None),
}


def entry(app, name="s", client=None, server=None, v6=False, **rest):
    """Sessions from west to east."""
    return {
        "name": name,
        "client": {"port": "west", **(client or {})},
        "server": {"port": "east", **(server or {})},
        "app": app,
        **rest,
    }


def ports6(ports):
    """The same ports with addresses of IPv6 instead."""
    ports["west"]["ip"], ports["east"]["ip"] = "2001:2::2/64", "2001:2::3/64"
    return ports


def profile(lab, *entries, ports=None, duration="20s", drain="300ms", load=None, **rest):
    load = {"duration": duration, "drain": drain, **(load or {})}
    return lab.profile(ports or pair(), None, sessions=list(entries), load=load, **rest)


def run(lab, *entries, command="run", arguments=(), timeout=60, **options):
    return lab.eagre(command, profile(lab, *entries, **options), "--json", "-", *arguments, timeout=timeout)


def agree(one, each=1):
    """Both ends of a completed entry agree.

    A session of the client may be several to the server: a datagram does not announce later ones.
    """
    client, server = one["client"], one["server"]
    assert (
        each * client["completed"] == server["completed"] and each * client["established"] == server["established"]
    ), one
    assert server["failed"] == {} and server["active"] == 0, server
    return one


# Applications.


@pytest.mark.parametrize("command", ["run", "sim"])
@pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
def test_every_application_at_once(lab, command, v6):
    """Each in a separate entry: all sessions complete, byte for byte where they can be compared, both ends agree."""
    entries, count = [], 60
    for number, (name, (app, more, _)) in enumerate(APPS.items()):
        server = more.get("server", {})
        network = "2001:2::1:" if v6 else "10.0.0."
        # Every entry has its own servers.
        server = {**server, "addresses": f"{network}{100 + number}"}
        rest = {key: value for key, value in more.items() if key != "server"}
        verify = not name.startswith("mix")
        entries.append(entry(app, name, server=server, open="200/s", count=count, verify=verify, **rest))
    ports = ports6(pair()) if v6 else pair()
    done = run(lab, *entries, ports=ports, command=command)
    assert done.json["duration_s"] < 15, "a run with counts ends when all is done"
    for name, (_, _, transactions) in APPS.items():
        one = all_through(of(done, name), count, transactions and count * transactions)
        agree(one, transactions if name == "dns" else 1)


@pytest.mark.parametrize("name", APPS)
def test_an_application_counts_what_it_does(lab, name):
    """Bytes, requests, codes, versions: the side that sends and the side that receives count the same."""
    app, more, transactions = APPS[name]
    count = 100
    one = all_through(of(run(lab, entry(app, open="500/s", count=count, **more), command="sim")), count)
    client, server = one["client"], one["server"]
    agree(one, transactions if name == "dns" else 1)
    if transactions:
        assert one["transactions"] == server["transactions"] == count * transactions
        assert one["ttfb_ns"]["samples"] == one["ttlb_ns"]["samples"] == count * transactions
    if more.get("transport") == "udp" or name == "dns":
        assert not client["tcp"]
    else:
        assert client["tcp"]["bytes_out"] == server["tcp"]["bytes_in"]
        assert client["tcp"]["bytes_in"] == server["tcp"]["bytes_out"]
        assert client["tcp"]["bytes_in"] + client["tcp"]["bytes_out"] >= 100 * count
        assert client["tcp"]["opened_active"] == server["tcp"]["opened_passive"] == count
        assert one["setup_ns"]["samples"] == count
        assert not any(value for key, value in client["tcp"].items() if key.startswith("bad_")), client["tcp"]
    if name.startswith("http"):
        assert client["http"] == server["http"] == {"2xx": count * transactions}
    if name.startswith("dns"):
        assert client["dns"] == server["dns"] == {"noerror": count * transactions}
    if "tls" in name:
        assert sum(agreed["handshakes"] for agreed in client["tls"]) == count
        assert sorted(client["tls"], key=str) == sorted(server["tls"], key=str)
        if name in ("tls-12", "tls-13"):
            assert {agreed["version"] for agreed in client["tls"]} == {"1." + name[-1]}
        resumed = sum(agreed["handshakes"] for agreed in client["tls"] if agreed["resumed"])
        assert (resumed > count / 2) is (name == "tls-resumed"), client["tls"]
    if name == "bulk-up":
        assert client["tcp"]["bytes_out"] == count * 300_000
    if name == "bulk-down":
        assert client["tcp"]["bytes_in"] == count * 300_000
    if name == "http-sizes":
        bodies = count * 4 * (3 * 1000 + 20_000) / 4
        assert client["tcp"]["bytes_in"] == pytest.approx(bodies + count * 4 * 80, rel=0.05)


def test_a_conversation_from_a_capture(lab):
    """The data of both ends of a capture are sent again on new sessions, to the byte, with or without its pauses."""
    turns = [b"HELO\r\n", b"250 " + b"y" * 5000 + b"\r\n", b"MAIL\r\n" + bytes(range(256)) * 10, b"OK\r\n"]
    file = lab.folder() / "conversation.pcap"
    conversation.write(file, turns)
    for timing, shortest in (("fast", 0), ("as_captured", 0.05)):
        app = {"pcap": {"file": str(file), "timing": timing}}
        done = run(lab, entry(app, open="200/s", count=100, verify=True))
        one = agree(all_through(of(done), 100))
        said = [sum(map(len, turns[who::2])) for who in (0, 1)]
        assert [one["client"]["tcp"][key] for key in ("bytes_out", "bytes_in")] == [100 * n for n in said]
        assert done.json["duration_s"] >= shortest


def test_members_of_a_mix_come_by_weight(lab):
    """Three in four are what has weight three, to the session."""
    one = all_through(of(run(lab, entry(MIX, open="1000/s", count=1000), command="sim")), 1000, 2000)
    assert one["client"]["http"] == one["server"]["http"] == {"2xx": 2 * 750}


def test_members_of_a_mix_are_told_apart(lab):
    """Counts and times of each, on both sides, in the result and in every interval; criteria may name them."""
    wanted = {"sessions.s.client.apps.web.ttlb_ns.p99": "< 1s", "sessions.s.client.apps.echo.completed": ">= 250"}
    done = run(lab, entry(MIX, open="1000/s", count=1000), command="sim", criteria=wanted)
    one = all_through(of(done), 1000, 2000)
    assert [criterion["passed"] for criterion in done.json["criteria"]] == [True, True]
    for side in ("client", "server"):
        apps = one[side]["apps"]
        assert list(apps) == ["web", "echo"]
        counts = {name: (app["attempted"], app["completed"], app["transactions"], app["active"]) for name, app in apps.items()}
        assert counts == {"web": (750, 750, 1500, 0), "echo": (250, 250, 500, 0)}, counts
        for key in ("attempted", "completed", "requests", "transactions", "rx_bytes_goodput", "tx_bytes_goodput"):
            assert sum(app[key] for app in apps.values()) == one[side][key], (side, key)
    times = {name: app["ttlb_ns"]["samples"] for name, app in one["client"]["apps"].items()}
    assert times == {"web": 1500, "echo": 500} and "ttlb_ns" not in one["server"]["apps"]["web"]
    alone = run(lab, entry(HTTP, open="100/s", count=10), command="sim")
    assert "apps" not in of(alone)["client"]
    refused = run(lab, entry(MIX, open="100/s", count=10), command="sim", criteria={"sessions.s.client.apps.mail.completed": "> 0"})
    assert refused.exit == 2 and "unknown application of a mix 'mail'" in refused.err


# Load.


@pytest.mark.unsteady("measures how fast sessions open")
@pytest.mark.parametrize("rate", [100, 1000, 10_000])
def test_sessions_are_opened_as_fast_as_asked_for(lab, rate):
    """0.999 of them at least, or the result reports the shortfall."""
    seconds = 2

    def delivered(done):
        one = of(done)
        assert abs(one["attempted"] + one["unopened"] - rate * seconds) <= 1, one
        assert one["failed"] == {}
        assert one["completed"] == one["attempted"]
        if one["attempted"] >= 0.999 * rate * seconds:
            assert one["open_per_s"] == pytest.approx(rate, rel=2e-3)
            return
        assert done.json["verdict"]["generator_limited"], "a shortfall must be said"
        assert was_disturbed(done), one["attempted"]

    settled(lambda: run(lab, entry(raw(), server={"ports": 80}, open=f"{rate}/s"), duration=f"{seconds}s"), delivered)


def test_a_rate_that_can_not_be_met_is_said(lab):
    """More than a worker can open: what is missing is in the verdict, and what was opened does not wait for it."""
    done = run(lab, entry(raw(), server={"ports": 80}, open="50M/s"), duration="1s", drain="2s")
    one, verdict = check(done.json["sessions"]["s"]), done.json["verdict"]
    assert verdict["generator_limited"], verdict
    assert one["unopened"] == pytest.approx(50_000_000 - one["attempted"], abs=2), one
    assert any("sessions" in reason for reason in verdict["reasons"]), verdict
    # Ports of closed connections are not free at once.
    assert set(one["failed"]) <= {"no_port"} and one["active_max"] < 10_000, one


def test_opening_stops_at_a_count_a_time_or_an_amount(lab):
    """And the run ends when all of them have."""
    for limit, least, most in (
        ({"count": 300}, 300, 300),
        ({"for": "300ms"}, 298, 302),
        ({"bytes": "100KB"}, 480, 560),
    ):
        done = run(lab, entry(raw(), server={"ports": 80}, open="1000/s", **limit), command="sim")
        one = of(done)
        assert least <= one["attempted"] == one["completed"] <= most, (limit, one)
        assert done.json["duration_s"] < 2


def test_a_start_is_delayed(lab):
    """Nothing before it; the rest as without it."""
    done, lines = intervals(lab, entry(raw(), server={"ports": 80}, open="1000/s", start_delay="500ms"), duration="1s")
    assert of(done)["attempted"] == pytest.approx(500, abs=2)
    early = sum(line["sessions"]["s"]["attempted"] for line in lines if line["at_s"] <= 0.5)
    assert early <= 1, early


def intervals(lab, *entries, command="sim", every="100ms", **options):
    """A run and its intervals with traffic."""
    lines = lab.folder() / "lines.jsonl"
    done = run(lab, *entries, command=command, arguments=["--jsonl", lines, "--interval", every], **options)
    return done, [json.loads(line) for line in lines.read_text().splitlines()]


def test_a_rate_goes_up_and_down_again(lab):
    """From nothing up, along, and down: each interval has what the line gives."""
    ramp = {"ramp": {"rate": "10000/s", "up": "400ms", "hold": "200ms", "down": "400ms"}}
    done, lines = intervals(lab, entry(raw(), server={"ports": 80}, open=ramp), duration="1s")
    of(done)
    opened = [line["sessions"]["s"]["attempted"] for line in lines]
    expected = [125, 375, 625, 875, 1000, 1000, 875, 625, 375, 125]
    assert opened[:10] == pytest.approx(expected, abs=12), opened
    again, lines = intervals(
        lab,
        entry(raw(), server={"ports": 80}, open="10000/s"),
        duration="1s",
        load={"ramp_up": "400ms", "ramp_down": "400ms"},
    )
    assert [line["sessions"]["s"]["attempted"] for line in lines][:10] == pytest.approx(expected, abs=12)


def test_a_rate_follows_a_curve(lab):
    """Steps and lines between points."""
    points = [{"at": "0s", "rate": "1000/s"}, {"at": "300ms", "rate": "5000/s"}]
    for shape, expected in (("steps", [100, 100, 100, 500, 500]), ("linear", [167, 300, 433, 500, 500])):
        curve = {"curve": {"points": points, "shape": shape}}
        _, lines = intervals(lab, entry(raw(), server={"ports": 80}, open=curve), duration="500ms")
        assert [line["sessions"]["s"]["attempted"] for line in lines][:5] == pytest.approx(expected, abs=12), shape


def test_so_many_sessions_at_a_time(lab):
    """The number is reached, held, and never exceeded."""
    app = raw(requests="endless", think="10ms")
    sessions = entry(app, server={"ports": 80}, open="max", concurrent=500, hold="50ms..150ms")
    done, lines = intervals(lab, sessions, duration="1s")
    one = of(done)
    assert one["active_max"] == 500 and one["failed"] == {} and one["attempted"] > 4000, one
    # Of an interval it is how many more there are than before.
    held = list(itertools.accumulate(line["sessions"]["s"]["active"] for line in lines if not line["draining"]))
    assert all(480 <= active <= 500 for active in held), held


def test_sessions_beyond_the_ceiling_are_withheld_and_counted(lab):
    """A rate that would need more at a time than allowed."""
    one = of(
        run(
            lab,
            entry(raw(), server={"ports": 80}, open="1000/s", concurrent=50, hold="500ms"),
            duration="2s",
            command="sim",
        )
    )
    assert one["active_max"] == 50 and 180 <= one["attempted"] <= 260, one
    assert one["withheld"] == pytest.approx(2000 - one["attempted"], abs=2)


def test_sessions_last_and_rest_as_long_as_they_are_told(lab):
    """Up for 100 ms, down for 100 ms: five times in a second for each place, and perhaps at its very end."""
    app = raw(requests="endless", think="20ms")
    sessions = entry(app, server={"ports": 80}, concurrent=40, hold="100ms", idle="100ms")
    one = of(run(lab, sessions, duration="1s", command="sim"))
    assert one["active_max"] == 40 and 190 <= one["attempted"] <= 242, one
    assert one["failed"] == {} and one["completed"] == one["attempted"]


def test_requests_and_closings_have_rates_of_their_own(lab):
    """1,000 requests a second over all sessions; 100 closings a second of those that have lasted."""
    app = raw(requests="endless")
    asking = entry(app, "asking", server={"ports": 80}, concurrent=50, request_rate="1000/s")
    closing = entry(app, "closing", server={"ports": 81}, concurrent=50, hold="10ms", close="100/s", request_rate="1000/s")
    done = run(lab, asking, closing, duration="2s", command="sim")
    assert of(done, "asking")["transactions"] == pytest.approx(2000, abs=60)
    assert of(done, "closing")["completed"] == pytest.approx(200 + 50, abs=10)


def test_applications_of_a_mix_share_the_rate_of_requests(lab):
    """1,000 requests a second over both, not each."""
    app = raw(requests="endless")
    members = [{"name": "one", "ports": 80, "app": app}, {"name": "other", "ports": 81, "weight": 3, "app": app}]
    asking = entry({"mix": members}, concurrent=40, open="max", request_rate="1000/s")
    one = of(run(lab, asking, duration="2s", command="sim"))
    assert one["transactions"] == pytest.approx(2000, abs=60)
    assert {name: row["attempted"] for name, row in one["client"]["apps"].items()} == {"one": 10, "other": 30}


def test_a_load_is_multiplied(lab):
    """Rates and concurrent sessions of all entries."""
    sessions = entry(raw(), server={"ports": 80}, open="1000/s")
    one = of(run(lab, sessions, duration="1s", load={"multiply": 2.5}, command="sim"))
    assert one["attempted"] == pytest.approx(2500, abs=2)


def test_pools_are_gone_through_evenly(lab):
    """Every pair of client and server comes, by weight; with few ports sessions wait for none."""
    client = {"addresses": "10.0.0.10..10.0.0.19", "ports": "5000..5099"}
    server = {"addresses": {"10.0.0.100": 3, "10.0.0.101..10.0.0.102": 1}, "ports": 80}
    pcap = lab.folder() / "out.pcap"
    sessions = entry(raw(), client=client, server=server, open="1000/s", count=1000)
    all_through(of(run(lab, sessions, command="sim", arguments=["--pcap", pcap])), 1000)
    need("tshark")
    syns = call(
        "tshark",
        "-r",
        pcap,
        "-Y",
        "tcp.flags == 0x002",
        "-T",
        "fields",
        "-e",
        "ip.src",
        "-e",
        "ip.dst",
        "-e",
        "tcp.srcport",
    )
    rows = {tuple(line.split("\t")) for line in syns.splitlines()}
    assert len(rows) == 1000, "an address and port came twice"
    servers = Counter(row[1] for row in rows)
    assert servers == {"10.0.0.100": 600, "10.0.0.101": 200, "10.0.0.102": 200}
    assert set(Counter(row[0] for row in rows).values()) == {100}
    assert all(5000 <= int(row[2]) <= 5099 for row in rows)


def seen(pcap, rule, *fields):
    """Rows of fields of a capture, by tshark."""
    need("tshark")
    words = (word for field in fields for word in ("-e", field))
    return [tuple(line.split("\t")) for line in call("tshark", "-r", pcap, "-Y", rule, "-T", "fields", *words).splitlines()]


def test_pools_go_in_step(lab):
    """Client i meets server i, each side round by itself, with its next port after each round; more than that many pairs there are not."""
    client = {"addresses": "10.0.0.10..10.0.0.12", "ports": "5000..5099"}
    server = {"addresses": "10.0.0.100..10.0.0.101", "ports": 80}
    pcap = lab.folder() / "out.pcap"
    sessions = entry(raw(), client=client, server=server, open="1000/s", count=300, order="in_step")
    all_through(of(run(lab, sessions, command="sim", arguments=["--pcap", pcap])), 300)
    rows = seen(pcap, "tcp.flags == 0x002", "ip.src", "tcp.srcport", "ip.dst")
    expected = [(f"10.0.0.{10 + n % 3}", str(5000 + n // 3), f"10.0.0.{100 + n % 2}") for n in range(300)]
    # Requests due at one instant are sent in any order.
    assert sorted(rows) == sorted(expected) and rows[:2] == expected[:2]
    many = entry(raw(), client=client, server=server, open="1000/s", concurrent=301, order="in_step")
    done = run(lab, many, command="sim")
    done.refused(2, "1 port make only 300 of them in step")


def test_sequence_numbers_and_timestamps_are_as_said(lab):
    """Every connection begins at its given number, and data passes the wrap of sequence numbers; timestamps advance in steps of 50 ms."""
    pcap = lab.folder() / "out.pcap"
    tcp = {"isn": 2**32 - 1000, "timestamp_step": "50ms"}
    app = raw("2000B", "3000B", requests=3, think="120ms")
    sessions = entry(app, client={"tcp": tcp}, server={"ports": 80}, open="10/s", count=2, verify=True)
    all_through(of(run(lab, sessions, command="sim", arguments=["--pcap", pcap], duration="2s")), 2, 6)
    rows = seen(pcap, "tcp.dstport == 80", "frame.time_epoch", "tcp.flags.syn", "tcp.seq_raw", "tcp.options.timestamp.tsval")
    syns = [int(seq) for _, syn, seq, _ in rows if syn in ("1", "True")]
    assert syns == [2**32 - 1000] * 2 and min(int(seq) for _, _, seq, _ in rows) < 6000
    assert all(float(at) // 0.05 - 1 <= int(stamp) <= float(at) // 0.05 + 1 for at, _, _, stamp in rows), rows[:3]
    answers = {int(seq) for seq, in seen(pcap, "tcp.srcport == 80 && tcp.flags.syn == 1", "tcp.seq_raw")}
    assert len(answers) == 2 and 2**32 - 1000 not in answers
    wrong = entry(app, client={"tcp": {"timestamp_step": "2s"}}, server={"ports": 80}, open="10/s")
    run(lab, wrong, command="sim").refused(2, "sessions[0].client.tcp.timestamp_step", "once in 1ms to 1s")


def test_running_out_of_ports_is_a_reason(lab):
    """10 ports and sessions that last: the eleventh has none."""
    sessions = entry(
        raw(requests="endless", think="1s"),
        client={"ports": "5000..5009"},
        server={"ports": 80},
        open="100/s",
        count=30,
    )
    one = of(run(lab, sessions, duration="2s", command="sim"))
    assert one["failed"] == {"no_port": 20} and one["active_max"] >= 10, one


# Criteria.


@pytest.mark.parametrize(
    "criteria, exit_code",
    [
        ({"sessions.s.failed_ratio": "< 0.001%"}, 0),
        ({"sessions.s.failed_ratio": "> 0"}, 1),
        ({"sessions.s.completed": "== 500"}, 0),
        ({"sessions.s.completed": "== 501"}, 1),
        ({"sessions.s.setup_ns.p99": "< 1ms", "sessions.s.open_per_s": ">= 900/s"}, 0),
        ({"sessions.s.setup_ns.p99": "< 1ns"}, 1),
        ({"sessions.s.ttlb_ns.max": "<= 1s", "sessions.s.retransmitted_segments": "== 0"}, 0),
    ],
    ids=str,
)
def test_criteria_decide_the_exit_code(lab, criteria, exit_code):
    """Met: 0. Not met: 1, and the result names it."""
    done = run(lab, entry(raw(), server={"ports": 80}, open="1000/s", count=500), criteria=criteria, command="sim")
    assert done.exit == exit_code, str(done)
    passed = [criterion["passed"] for criterion in done.json["criteria"]]
    assert all(passed) is (exit_code == 0) and len(passed) == len(criteria)


# Simulated links.

LINKS = {
    "loss 5%": {"loss": "5%"},
    "loss 20%": {"loss": "20%"},
    "reordering": {"reorder": "20%", "reorder_by": "3ms"},
    "duplicates": {"duplicate": "20%"},
    "all of it": {"loss": "5%", "duplicate": "5%", "reorder": "10%", "reorder_by": "2ms"},
}


@pytest.mark.parametrize("link", LINKS.values(), ids=LINKS)
def test_sessions_survive_bad_links(lab, link):
    """All are through, every byte as it was sent; what was lost was sent again."""
    link = {"delay": "1ms", "speed": "1Gbps", **link}
    loss = float(link.get("loss", "0%").rstrip("%"))
    tcp = {"rto_initial": "300ms", "syn_retries": 20, "syn_ack_retries": 20, "data_retries": 30, "rto_max": "5s"}
    apps = {
        "http": (HTTP, {}), "bulk": ({"bulk": {"bytes": "200KB"}}, {"server": {"ports": 9}}),
        "echo": ({"echo": {"request": "20KB"}}, {}), "tls": (HTTP, {"tls": True}),
    }  # fmt: skip
    entries = []
    for number, (name, (app, more)) in enumerate(apps.items()):
        server = {**more.get("server", {}), "addresses": f"10.0.0.{100 + number}"}
        rest = {key: value for key, value in more.items() if key != "server"}
        entries.append(
            entry(app, name, server=server, open="50/s", count=50, verify=True, tcp=tcp, response_timeout="none", **rest)
        )
    done = run(lab, *entries, command="sim", duration="600s", drain="30s", sim={"link": link}, seed=11)
    for name in apps:
        one = agree(all_through(of(done, name), 50))
        assert (one["retransmitted_segments"] > 0) or not loss, name
    bulk = done.json["sessions"]["bulk"]
    assert bulk["server"]["tcp"]["bytes_in"] == 50 * 200_000


def test_a_seed_repeats_a_simulation(lab):
    """The same document, but for when it was made; another seed gives another."""
    link = {"delay": "1ms", "loss": "2%", "reorder": "5%", "reorder_by": "1ms"}
    app = {"http": {"response": "1KB..40KB"}}

    def result(seed):
        done = run(
            lab, entry(app, open="500/s", count=300), command="sim", sim={"link": link}, arguments=["--seed", seed]
        )
        document = of(done) and done.json
        for key in ("started", "workers", "profile_sha256"):
            document.pop(key, None)
        return document

    first, second, other = result(5), result(5), result(6)
    assert first == second
    assert first["sessions"] != other["sessions"]


def test_a_link_that_loses_everything(lab):
    """No host responds: every session fails by its time-out, and the run ends."""
    tcp = {"syn_retries": 2, "rto_initial": "200ms"}
    sessions = entry(HTTP, client={"mac": "02:00:00:00:00:01"}, open="100/s", count=100, tcp=tcp)
    one = of(run(lab, sessions, command="sim", duration="60s", sim={"link": {"loss": "100%"}}))
    assert one["failed"] == {"setup_timeout": 100} and one["established"] == 0


# Workers and processes.


def test_two_workers_play_as_one(lab):
    """All sessions of both workers, none twice; addresses and ports divided between them."""
    cores = min(2, len(os.sched_getaffinity(0)))
    sessions = entry(raw(), server={"ports": 80}, open="2000/s", count=3000)
    done = run(lab, sessions, arguments=["--cores", cores])
    agree(all_through(of(done), 3000, 3000))
    assert len(done.json["workers"]) == cores


def joined_by_veth(lab):
    """Two namespaces and what each side's port is in its own."""
    west, east = lab.netns("west"), lab.netns("east")
    lab.veth(west, "v0", east, "v1")
    return (west, "afpacket:v0"), (east, "afpacket:v1")


def joined_by_memif(lab):
    """Two processes on one socket."""
    socket = lab.folder() / "x.sock"
    return (None, f"memif:{socket}"), (None, f"memif:{socket},server")


@pytest.mark.parametrize("joined", [joined_by_veth, joined_by_memif], ids=["veth", "memif"])
def test_each_end_in_a_process_of_its_own(lab, joined):
    """A client here, a server there: what one sends the other has, and both count the same sessions."""
    (here, client_device), (there, server_device) = joined(lab)
    ports = pair(client_device, server_device)
    client = {**entry(HTTP, open="1000/s", count=1000), "server": {"addresses": "10.0.0.3"}}
    server = {"name": "s", "server": {"port": "east"}, "app": HTTP}
    load = {"duration": "60s", "drain": "300ms"}
    serving = lab.profile({"east": ports["east"]}, None, sessions=[server], load=load)
    asking = lab.profile({"west": ports["west"]}, None, sessions=[client], load={**load, "duration": "20s"})
    # The ends of a socket wait for each other.
    start = lab.start_eagre if joined is joined_by_memif else lab.begun
    process = start("run", serving, "--json", "-", ns=there)
    one = all_through(of(lab.eagre("run", asking, "--json", "-", ns=here)), 1000, 2000)
    process.send_signal(signal.SIGINT)
    done = lab.finish(process, 20)
    other = check(done.json["sessions"]["s"])
    assert (other["attempted"], other["completed"], other["transactions"], other["failed"]) == (1000, 1000, 2000, {})
    assert one["client"]["tcp"]["bytes_in"] == other["server"]["tcp"]["bytes_out"]
    assert one["client"]["tcp"]["bytes_out"] == other["server"]["tcp"]["bytes_in"]


# Endings.

ENDLESS = raw(requests="endless", think="5ms")


@pytest.mark.parametrize("at_end", ["close", "reset"])
def test_what_becomes_of_open_sessions_at_the_end(lab, at_end):
    """Closed after their transaction, or reset: none stays, and none is a failure."""
    sessions = entry(ENDLESS, server={"ports": 80}, concurrent=200, at_end=at_end)
    one = of(run(lab, sessions, duration="500ms", drain="1s"))
    assert (one["attempted"], one["completed"], one["failed"], one["active"]) == (200, 200, {}, 0), one
    assert (one["client"]["tcp"]["resets_out"] == 200) is (at_end == "reset"), one["client"]["tcp"]


@pytest.mark.parametrize("delay", ["5ms", "60ms"])
def test_datagrams_under_way_at_the_end_belong_to_their_session(lab, delay):
    """Clients that only send are through at once; their servers are not, until what was sent has come."""
    program = {"client": [{"send": {"bytes": "1288B"}}, {"send": {"bytes": "208B"}}], "server": [{"expect": {"bytes": "1288B"}}, {"expect": {"bytes": "208B"}}]}
    entry = {
        "name": "s", "transport": "udp", "client": {"port": "west"}, "server": {"port": "east", "ports": 99},
        "app": {"program": program}, "count": 3, "open": "100/s",
    }  # fmt: skip
    profile = lab.profile(pair(), None, sessions=[entry], sim={"link": {"speed": "10Gbps", "delay": delay}}, load={"drain": "300ms"})
    one = lab.eagre("sim", profile, "--json", "-").ok().told["sessions"]["s"]
    for side in ("client", "server"):
        counts = one[side]
        assert (counts["attempted"], counts["completed"], counts["stopped"], counts["failed"]) == (3, 3, 0, {}), (side, counts)


def test_sessions_that_are_not_answered_in_time_have_failed(lab):
    """A server that never responds, and a drain shorter than a client's time-out: the drain is all they get."""
    silent = {
        "program": {"client": [{"send": "hello"}, {"expect": "world"}], "server": [{"expect": {"bytes": "10KB"}}]}
    }
    one = of(run(lab, entry(silent, server={"ports": 80}, open="1000/s", count=100), duration="300ms", drain="300ms"))
    assert (one["failed"], one["completed"], one["active"]) == ({"response_timeout": 100}, 0, 0), one


def test_sessions_that_can_not_end_in_time_are_still_there(lab):
    """A response that takes longer than the drain, and is under way: neither completed nor failed."""
    app = {
        "program": {
            "client": [{"send": "hello"}, {"expect": {"bytes": "1KB"}}],
            "server": [{"expect": "hello"}, {"repeat": {"times": 100, "do": [{"send": {"bytes": "10B"}}, {"wait": "50ms"}]}}],
        }
    }
    one = of(run(lab, entry(app, server={"ports": 80}, open="1000/s", count=100), duration="300ms", drain="300ms"))
    assert (one["failed"], one["completed"], one["active"]) == ({}, 0, 100), one


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM], ids=lambda how: how.name)
def test_an_interrupted_run_says_what_it_has(lab, how):
    """Within seconds, marked as interrupted, every session accounted for."""
    sessions = entry(ENDLESS, server={"ports": 80}, open="500/s", concurrent=300)
    path = lab.folder() / "lines.jsonl"
    arguments = ("--json", "-", "--jsonl", path, "--interval", "100ms")
    process = lab.start_eagre("run", profile(lab, sessions, duration="60s", drain="1s"), *arguments)
    lines = lambda: [json.loads(line) for line in path.read_text().rpartition("\n")[0].splitlines()] if path.exists() else []
    wait_until(lambda: sum(line["sessions"]["s"]["attempted"] for line in lines()) >= 300 or process.poll() is not None, "all sessions")
    process.send_signal(how)
    sent = time.monotonic()
    done = lab.finish(process, 20)
    assert time.monotonic() - sent < 10 and done.exit == INTERRUPTED, str(done)
    assert done.json["interrupted"] is True and done.json["verdict"]["valid"], done.json["verdict"]
    one = check(done.json["sessions"]["s"])
    assert one["attempted"] >= 300 and one["active"] == 0 and one["failed"] == {}, one


def test_a_killed_run_stops_no_next_one(lab):
    """The peer of a killed client notices, and another client of the same addresses is served."""
    (here, client_device), (there, server_device) = joined_by_veth(lab)
    ports = pair(client_device, server_device)
    server = {"name": "s", "server": {"port": "east", "ports": 80}, "app": ENDLESS}
    serving = lab.profile({"east": ports["east"]}, None, sessions=[server], load={"duration": "60s", "drain": "300ms"})
    load = {"duration": "30s", "drain": "1s"}
    client = {**entry(ENDLESS, concurrent=100), "server": {"addresses": "10.0.0.3", "ports": 80}}
    asking = lab.profile({"west": ports["west"]}, None, sessions=[client], load=load)
    process = lab.begun("run", serving, "--json", "-", ns=there)
    killed = lab.start_eagre("run", asking, "--json", "-", ns=here)
    before = here.counters("v0")["tx"]
    wait_until(lambda: here.counters("v0")["tx"] > before + 1000 or killed.poll() is not None, "traffic")
    assert killed.poll() is None, killed.communicate()[1]
    killed.kill()
    killed.wait(10)
    one = of(lab.eagre("run", asking, "--duration", "1s", "--json", "-", ns=here))
    assert (one["attempted"], one["failed"], one["active"]) == (100, {}, 0), one
    process.send_signal(signal.SIGINT)
    assert check(lab.finish(process, 20).json["sessions"]["s"])["established"] >= 200


@pytest.mark.unsteady("a worker that loses its core opens sessions late")
def test_streams_and_sessions_side_by_side(lab):
    """One run has both: neither loses anything to the other."""
    streams = [
        {"name": "noise", "from": "west", "to": "east", "packet": ["ipv4", {"udp": {"dst": 9}}], "rate": "20kpps"}
    ]
    load = {"duration": "1s", "drain": "300ms"}
    both = lab.profile(pair(), streams, sessions=[entry(HTTP, open="1000/s")], load=load)

    def fine(done):
        one = of(done)
        assert one["failed"] == {} and one["completed"] == one["attempted"] == pytest.approx(1000, abs=2)
        assert (done.json["streams"]["noise"]["tx"], done.json["streams"]["noise"]["lost"]) == (20_000, 0)

    settled(lambda: lab.eagre("run", both, "--json", "-"), fine)


def test_a_flood_from_random_addresses_keeps_nobody_out(lab):
    """400,000 SYNs from as many addresses and hardware addresses, none of them followed up; then clients come."""
    flood = {
        "name": "flood",
        "from": "west",
        "to": "east",
        "packet": ["ethernet", "ipv4", {"tcp": {"dst": 80, "flags": 2}}],
        "vary": {
            "ethernet.src": {"random": "02:00:00:00:00:00..02:ff:ff:ff:ff:ff"},
            "ipv4.src": {"random": "10.1.0.0..10.255.255.255"},
            "tcp.src": {"random": "1024..65535"},
        },
        "size": "64B",
        "rate": "200kpps",
        "measure": False,
    }
    web = {
        "name": "web",
        "client": {"port": "west"},
        "server": {"port": "east"},
        "app": {"http": {"response": "1KB"}},
        "open": "500/s",
        "start_delay": "1s",
    }
    # One seed in some hundred has a mark of 24 bits that answers to some of these addresses have by chance, too.
    profile = lab.profile(pair(), [flood], sessions=[web], load={"duration": "2s", "drain": "2s"}, seed=1)
    result = lab.eagre("sim", profile, "--json", "-", timeout=120).ok().json
    assert result["sessions"]["web"]["completed"] == 500 and result["sessions"]["web"]["failed"] == {}, result["sessions"]
    assert result["sessions"]["web"]["server"]["frames"]["flows_refused"] > 100_000, result["sessions"]["web"]["server"]


# Examples.


def plays_alone(example):
    """Whether an example has sessions and both of their ends on in-process ports."""
    document = parsed(example)
    ports = document["ports"].values()
    return bool(document.get("sessions")) and all(port["device"].startswith("ring:") for port in ports)


EXAMPLES = [example for example in sorted((REPO / "examples").glob("*.yaml")) if plays_alone(example)]


def test_there_are_examples_of_sessions():
    """Several."""
    assert len(EXAMPLES) >= 5


@pytest.mark.parametrize("command", ["run", "sim"])
@pytest.mark.parametrize("example", [example.name for example in EXAMPLES])
def test_examples_of_sessions_run(lab, example, command):
    """Shortened; what they show works, and their criteria are met or speak of a duration they did not have."""
    example = REPO / "examples" / example
    if "gateway" in example.read_text():
        command = "sim"
    seconds = "3s" if "ramp" in example.read_text() else "1s"
    done = lab.eagre(command, example, "--duration", seconds, "--seed", "1", "--json", "-", cwd=REPO, timeout=120)
    assert done.exit == 0 or (done.exit == 1 and "criteria" in done.json), str(done)
    assert done.json["verdict"]["valid"], done.json["verdict"]
    for one in done.json["sessions"].values():
        check(one)
        assert one["attempted"] > 0 and one["failed_ratio"] < 0.01, one
    assert not re.search(r"panicked", done.err)
