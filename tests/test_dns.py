"""Our DNS servers before programs nobody here wrote: dig with odd questions, dnsperf and dnsdist near what one worker can do."""

import re

import pytest
from hosts import Host, rules
from lab import need, wait_until
from servers import Named, Unbound
from sessions import all_through, check, of

FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
LONG_TEXT = "x" * 200
# Eight texts of 200 bytes are more than a datagram of the MTU.
RULES = [
    {"suffix": "long.test", "answers": [{"type": "TXT", "text": f"{number}{LONG_TEXT}"} for number in range(8)]},
    {"suffix": "test", "answers": ["198.18.0.1"]},
]
DNS = {"dns": {"names": "a.test", "rules": RULES}}
PORT = 53


def entries(host, v6=False):
    """A server over UDP and one over TCP."""
    return [host.server(DNS, v6, name=name, transport=name) for name in ("udp", "tcp")]


def dig(host, v6, *arguments):
    return host.host.run("dig", f"@{host.tester_address(v6)}", "+tries=1", "+time=3", *arguments)


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
def test_dig_asks_over_tcp_what_it_can_not_take(lab, kind, v6):
    """1,800 bytes are more than dig takes by default: truncated, so it asks once more; with room for them they come whole."""
    need("dig")
    host = Host(lab, offloads=True)
    serving = host.serving(*entries(host, v6), kind=kind)
    cut = dig(host, v6, "a.long.test", "TXT", "+bufsize=1232", "+ignore")
    assert re.search(r"flags: [a-z ]*\btc\b", cut) and "ANSWER: 0" in cut, cut
    for room in (1232, 4096):
        whole = dig(host, v6, "a.long.test", "TXT", f"+bufsize={room}")
        assert whole.count(LONG_TEXT) == 8 and "ANSWER: 8" in whole, whole
    sessions = host.served(serving)["sessions"]
    assert (sessions["udp"]["transactions"], sessions["tcp"]["transactions"]) == (3, 1)


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
def test_dig_is_told_what_is_not_implemented(lab, kind, v6):
    """Another operation, another version of EDNS: each has its code, and the version that is known is said."""
    need("dig")
    host = Host(lab, offloads=True)
    serving = host.serving(*entries(host, v6), kind=kind)
    for how in ((), ("+tcp",)):
        said = dig(host, v6, "a.test", "+opcode=status", "+noedns", *how)
        assert "status: NOTIMP" in said and "opcode: STATUS" in said, said
        said = dig(host, v6, "a.test", "+edns=1", "+noednsnegotiation", *how)
        assert "status: BADVERS" in said and "EDNS: version: 0" in said, said
        assert "198.18.0.1" in dig(host, v6, "a.test", "+edns=1", *how), "dig falls back to the version it is told"
    sessions = host.served(serving)["sessions"]
    for name in ("udp", "tcp"):
        one = check(sessions[name])
        assert (one["transactions"], one["failed"]) == (4, {}), one


def performance(host, *arguments, port=PORT, address=None):
    """What dnsperf counted."""
    names = host.lab.folder() / "names"
    names.write_text("".join(f"host{number}.test A\n" for number in range(1_000)))
    said = host.host.run(
        "dnsperf", "-s", address or host.tester_address(), "-p", port, "-d", names, "-c", "4", "-t", "3", *arguments
    )
    counts = {name: int(count) for name, count in re.findall(r"Queries (sent|completed|lost): +(\d+)", said)}
    [rate] = re.findall(r"Queries per second: +([\d.]+)", said)
    return counts, float(rate), said


@pytest.mark.alone
@pytest.mark.unsteady("a machine that others use drops packets before the tester sees them")
def test_dnsperf_at_80_percent_loses_nothing(lab):
    """First all that dnsperf gets with 200 queries on their way, then four fifths of it."""
    need("dnsperf")
    host = Host(lab, offloads=True)
    serving = host.serving(host.server(DNS, transport="udp"))
    first, most, _ = performance(host, "-q", "200", "-l", "2")
    counts, rate, said = performance(host, "-q", "200", "-l", "3", "-Q", int(most * 0.8))
    assert counts["lost"] == 0 and counts["sent"] == counts["completed"] > 1_000, said
    assert rate > most * 0.4, said
    one = check(host.served(serving)["sessions"]["s"])
    assert one["failed"] == {} and one["transactions"] == counts["sent"] + first["sent"] - first["lost"], one


DNSDIST = """
setLocal("127.0.0.1:5300")
addACL("0.0.0.0/0")
newServer({{address="{address}:53", sockets=4, checkInterval=1}})
setVerboseHealthChecks(false)
"""


@pytest.mark.alone
@pytest.mark.unsteady("a machine that others use drops packets before the tester sees them")
def test_dnsdist_at_80_percent_loses_nothing(lab):
    """dnsdist passes on the queries of many clients from a few ports of its own."""
    need("dnsperf", "dnsdist")
    host = Host(lab, offloads=True)
    host.host.ip("link", "set", "lo", "up")
    serving = host.serving(host.server(DNS, transport="udp"))
    config = lab.folder() / "dnsdist.conf"
    config.write_text(DNSDIST.format(address=host.tester_address()))
    lab.start("dnsdist", "--supervised", "--disable-syslog", "-C", config, ns=host.host)
    answers = lambda: "198.18.0.1" in host.host.run("dig", "@127.0.0.1", "-p", "5300", "+tries=1", "+time=1", "x.test", check=False)
    wait_until(answers, "an answer by way of dnsdist", 20)
    _, most, _ = performance(host, "-q", "100", "-l", "2", port=5300, address="127.0.0.1")
    counts, rate, said = performance(host, "-q", "100", "-l", "3", "-Q", int(most * 0.8), port=5300, address="127.0.0.1")
    assert counts["lost"] == 0 and counts["sent"] == counts["completed"] > 1_000, said
    assert rate > most * 0.4, said
    one = check(host.served(serving)["sessions"]["s"])
    assert one["failed"] == {} and one["transactions"] >= counts["completed"], one


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@pytest.mark.parametrize("server", [Named, Unbound], ids=["bind", "unbound"])
@FAMILIES
def test_what_is_cut_short_is_asked_again_over_tcp(lab, server, kind, v6):
    """Of three queries of a session the second is too long for UDP: one more query, over TCP, and back to UDP for the third.
    The server counts the same."""
    need("unbound-control" if server is Unbound else "named")
    host = Host(lab, offloads=True)
    peer = server(lab, host.host)
    names = ["a{session}.short.test", "b{session}.long.test", "c{session}.short.test"]
    app = {"dns": {"names": names, "type": "TXT", "requests": 3}}
    one = all_through(of(host.run(host.client(app, v6, transport="udp", open="200/s", count=100), kind=kind)), 100, 300)
    assert one["client"]["dns"] == {"noerror": 300, "truncated": 100, "over_tcp": 100}, one["client"]
    assert one["requests"] == 300 and one["client"]["dns"].get("retries", 0) == 0, one
    assert peer.queries() == (300, 100)


def test_what_is_cut_short_may_be_the_answer(lab):
    """As dig does with +ignore."""
    need("named")
    host = Host(lab, offloads=True)
    peer = Named(lab, host.host)
    app = {"dns": {"names": "b.long.test", "type": "TXT", "tcp_fallback": False}}
    one = all_through(of(host.run(host.client(app, transport="udp", open="100/s", count=20))), 20, 20)
    assert one["client"]["dns"] == {"noerror": 20, "truncated": 20}, one["client"]
    assert peer.queries() == (20, 0)


def test_a_server_without_tcp_is_told(lab):
    """TCP is refused: what was cut short is no answer, and the session fails by what TCP says."""
    need("named", "nft")
    host = Host(lab, offloads=True)
    peer = Named(lab, host.host)
    rules(host.host, "input", "tcp dport 53 reject with tcp reset")
    app = {"dns": {"names": "b.long.test", "type": "TXT"}}
    one = of(host.run(host.client(app, transport="udp", open="100/s", count=20)))
    assert (one["failed"], one["client"]["dns"]) == ({"refused": 20}, {"truncated": 20}), one
    assert peer.queries() == (20, 0)


def test_our_own_server_has_both(lab):
    """Between a client and a server of ours, over one entry: what does not fit UDP comes over TCP."""
    lab.netns("tester")
    profile = lab.profile(
        {"west": {"device": "ring:a", "ip": "10.0.0.2/24"}, "east": {"device": "ring:b", "ip": "10.0.0.3/24"}},
        None,
        sessions=[{
            "name": "s", "client": {"port": "west"}, "server": {"port": "east"}, "transport": "udp", "open": "500/s",
            "count": 200, "app": {"dns": {"names": ["a.test", "a.long.test"], "type": "TXT", "requests": 2, "rules": RULES}},
        }],
        load={"duration": "2s"},
    )  # fmt: skip
    one = all_through(of(lab.eagre("run", profile, "--json", "-")), 200, 400)
    assert one["client"]["dns"] == {"noerror": 400, "truncated": 200, "over_tcp": 200}, one["client"]
    assert one["server"]["transactions"] == 600 and one["server"]["failed"] == {}, one["server"]
