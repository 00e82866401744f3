"""Programs over QUIC: on streams and in datagrams, with clients and servers of aioquic, and both of ours where packets are lost."""

import json
import time

import pytest
from hosts import PYTHON, TESTS, Host
from servers import Caddy, Process, certificate
from sessions import all_failed, all_through, check, of
from test_dns_quic import packages

__all__ = ["packages"]
PORT = 4433
ALPN = "tide/1"
PEER = TESTS / "quic_program_peer.py"
QUIC = {"transport": "quic", "tls": {"alpn": ALPN}}
DATAGRAMS = {**QUIC, "quic": {"datagrams": True}}


@pytest.fixture
def host(lab):
    return Host(lab, offloads=True)


def program(client=(), server=()):
    sides = {"client": list(client), "server": list(server)}
    return {"program": {key: steps for key, steps in sides.items() if steps}}


def size(bytes_):
    return {"bytes": bytes_}


def rounds(times, *steps):
    return {"repeat": {"times": times, "do": list(steps)}}


def serving(host, app, **rest):
    return host.serving(host.server(app, server={"ports": PORT}, **rest))


def said(host, packages, mode):
    return json.loads(host.host.run(PYTHON, PEER, packages, mode, host.tester_address(), PORT, timeout=60))


def test_a_client_of_aioquic_exchanges_messages(host, packages):
    """Texts, 20 messages of one size and responses of another, and the end of the stream both ways; another protocol is refused."""
    steps = [{"expect": "HELLO\r\n"}, {"send": "OK\r\n"}, rounds(20, {"expect": size("1000B")}, {"send": size("3000B")}), "expect_end"]
    process = serving(host, program(server=steps), **QUIC)
    heard = said(host, packages, "ask")
    assert heard == {"greeting": "OK\r\n", "lengths": [3_000] * 20, "rest": 0}, heard
    assert said(host, packages, "other") == "refused"
    one = check(host.served(process)["sessions"]["s"])
    assert (one["completed"], one["transactions"], one["failed"]) == (1, 21, {}), one
    side = one["server"]
    assert side["rx_bytes_goodput"] == 7 + 20_000 and side["tx_bytes_goodput"] == 4 + 60_000, side
    assert side["quic"]["connections"] == 1, side


def test_a_client_of_aioquic_sends_datagrams(host, packages):
    process = serving(host, program(server=[rounds("endless", {"expect": size("100B")}, {"send": size("700B")})]), **DATAGRAMS)
    assert said(host, packages, "datagrams") == {"came": [700] * 10}
    one = check(host.served(process)["sessions"]["s"])
    assert (one["completed"], one["failed"]) == (1, {}), one
    quic = one["server"]["quic"]
    assert quic["datagram_frames_sent"] == quic["datagram_frames_received"] == 10, quic


@pytest.mark.parametrize("mode", ["many", "one_way"])
def test_a_client_of_aioquic_has_many_streams(host, packages, mode):
    """Ten streams at a time, of either kind, of one connection: on each the whole program."""
    steps = [rounds(20, {"expect": size("1000B")}, {"send": size("3000B")}), "expect_end"]
    way = {**QUIC, **({"quic": {"unidirectional": True}} if mode == "one_way" else {})}
    process = serving(host, program(server=steps), **way)
    first = 3 if mode == "one_way" else 0
    heard = said(host, packages, mode)
    assert heard == {"got": [60_000] * 10, "streams": [first + 4 * number for number in range(10)], "ended": 10}, heard
    one = check(host.served(process)["sessions"]["s"])
    assert (one["completed"], one["transactions"], one["failed"]) == (1, 200, {}), one
    assert one["server"]["rx_bytes_goodput"] == 200_000 and one["server"]["quic"]["connections"] == 1, one


class Peer:
    """`quic_program_peer.py` as a server on the host."""

    def __init__(self, host, packages):
        *files, _ = certificate(host.lab.folder(), "a.test")
        self.process = host.lab.start(PYTHON, PEER, packages, "serve", host.address(), PORT, *files, ns=host.host)
        assert self.process.stdout.readline().strip() == "ready", "the peer does not start"

    def seen(self):
        # aioquic reports an end three probe time-outs after it.
        time.sleep(1)
        self.process.terminate()
        return json.loads(self.process.communicate(timeout=20)[0])


def asking(host, steps, name="s", count=10, way=QUIC, **rest):
    return host.client(program(steps), name=name, server_port=PORT, **{**way, **rest}, open="20/s", count=count)


def test_a_server_of_aioquic_is_asked(host, packages):
    """Streams and datagrams at a time; a text that comes back in upper case, a long message, and the end of the stream."""
    peer = Peer(host, packages)
    long = "x" * 40_000
    stream = [
        {"send": "hello {session}\r\n"},
        {"expect_until": "\r\n"},
        rounds(10, {"send": "abc"}, {"expect": "ABC"}),
        {"send": long},
        "half_close",
        {"expect": long.upper()},
        "expect_end",
    ]
    done = host.run(
        asking(host, stream, quic={"key_update": 20}),
        asking(host, [rounds(30, {"send": size("300B")}, {"expect": size("300B")})], name="datagrams", way=DATAGRAMS),
    )
    one = all_through(of(done), 10)
    assert one["client"]["quic"]["key_updates"] > 0, one
    assert one["transactions"] == 10 * 13, one
    frames = all_through(of(done, "datagrams"), 10, 300)["client"]["quic"]
    assert frames["datagram_frames_sent"] == frames["datagram_frames_received"] == 300, frames
    seen = peer.seen()
    assert seen["streams"] == [0] and seen["ends"] == 10 and seen["datagrams"] == 300 and seen["closes"] == {"0": 20}, seen


def test_a_server_of_aioquic_takes_early_data(host, packages):
    """Sessions after the first send their first message with the handshake. The server keeps tickets, each for one session."""
    peer = Peer(host, packages)
    steps = [{"send": "hello\r\n"}, {"expect": "HELLO\r\n"}, {"send": "bye"}, {"expect": "BYE"}, "half_close", "expect_end"]
    way = {**QUIC, "tls": {"alpn": ALPN, "resumption": 10}, "quic": {"early_data": True}}
    one = all_through(of(host.run(asking(host, steps, way=way))), 10)
    quic = one["client"]["quic"]
    assert quic["early_data_accepted"] >= 5 and quic["early_requests"] == quic["early_data_accepted"] + quic["early_data_rejected"], one
    seen = peer.seen()
    assert (seen["bytes"], seen["ends"]) == (10 * 10, 10), seen


def test_a_server_of_aioquic_is_asked_on_many_streams(host, packages):
    """Eight streams of either kind at a time."""
    peer = Peer(host, packages)
    steps = [rounds(10, {"send": "a{session}c "}, {"expect_until": "C "}), "half_close", "expect_end"]
    done = host.run(
        asking(host, steps, quic={"streams": 8}),
        asking(host, steps, name="one_way", quic={"streams": 8, "unidirectional": True}),
    )
    for name in ("s", "one_way"):
        one = all_through(of(done, name), 10)
        assert one["transactions"] == 10 * 8 * 11, one
    seen = peer.seen()
    assert seen["ends"] == 10 * (8 + 8) and seen["closes"] == {"0": 20}, seen
    assert seen["streams"] == sorted([*range(0, 32, 4), *range(2, 34, 4)]), seen


def test_what_ends_a_stream_early_has_a_reason(host, packages):
    peer = Peer(host, packages)
    cases = {"reset": "stream_reset", "close": "quic_closed", "leave": "closed_early"}
    entries = [asking(host, [{"send": f"{name.upper()}!"}, {"expect": size("9B")}], name=name, count=2) for name in cases]
    wrong = asking(host, [{"send": "abc"}, {"expect": "abc"}], name="wrong", count=2)
    other = asking(host, [{"send": "abc"}], name="other", count=2, tls={"alpn": "tide/2"})
    done = host.run(*entries, wrong, other)
    details = {name: all_failed(of(done, name), 2, **{reason: 2})["client"]["failure_details"] for name, reason in cases.items()}
    assert details["reset"] == {"RESET_STREAM: code 0x7": 2} and details["close"] == {"CONNECTION_CLOSE: code 0x9": 2}, details
    all_failed(of(done, "wrong"), 2, wrong_content=2)
    # aioquic has the alert handshake_failure for that.
    all_failed(of(done, "other"), 2, tls_alert=2)
    assert peer.seen()["closes"]["1"] == 4, "both that failed here say so"


class Reverser(Process):
    """OpenSSL's server of a protocol, which sends lines back to front."""

    def __init__(self, lab, namespace, protocol):
        self.folder = lab.folder()
        chain, key, _ = certificate(self.folder, "a.test")
        command = ["openssl", "s_server", "-quiet", "-accept", PORT, "-cert", chain, "-key", key, "-alpn", protocol, "-rev"]
        self.start(lab, namespace, PORT, *command)


def test_protocols_have_their_names(host):
    """One that both ends know is in the result; a server that knows none of a client's says so by an alert: over TCP (OpenSSL) and QUIC (quic-go)."""
    Reverser(host.lab, host.host, ALPN)
    Caddy(host.lab, host.host)
    steps = [{"send": "abc\n"}, {"expect": "cba\n"}]
    over = {"tcp": {"tls": {"alpn": ALPN}}, "other": {"tls": {"alpn": "tide/2"}}}
    entries = [host.client(program(steps), name=name, server_port=PORT, **rest, open="5/s", count=2) for name, rest in over.items()]
    quic = asking(host, [{"send": "abc"}], name="quic", count=2, way={"transport": "quic", "tls": {"alpn": "tide/2"}})
    done = host.run(*entries, {**quic, "server": {**quic["server"], "ports": 443}})
    assert all_through(of(done, "tcp"), 2)["client"]["tls"][0]["alpn"] == ALPN
    why = {"ALPN: the other end supports none of the application protocols": 2}
    for name in ("other", "quic"):
        assert all_failed(of(done, name), 2, no_alpn=2)["client"]["failure_details"] == why, name


def simulated(lab, seed, app, loss="5%", count=20, **rest):
    """Both ends of ours in virtual time."""
    entry = {
        "name": "s",
        "client": {"port": "west"},
        "server": {"port": "east", "ports": PORT},
        "app": app,
        "open": "20/s",
        "count": count,
        "verify": True,
        **rest,
    }
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    link = {"speed": "1Gbps", "delay": "1ms", **({"loss": loss} if loss else {})}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "10s", "drain": "5s"}, sim={"link": link})
    done = lab.eagre("sim", profile, "--seed", seed, "--json", "-", timeout=60)
    assert done.exit in (0, 1), str(done)
    return done.json


@pytest.mark.parametrize("rest", [{}, {"quic": {"retry": True}}, {"quic": {"migrate": {"every": "30ms"}, "key_update": 20}}], ids=["plain", "retry", "migrates"])
def test_ours_through_losses(lab, rest):
    """A twentieth of the packets is lost: every byte comes, in order, and a seed repeats the run exactly."""
    client = [rounds(20, {"send": size("100B")}, {"expect": size("1KB..20KB")}), "half_close", "expect_end"]
    server = [rounds(20, {"expect": size("100B")}, {"send": size("1KB..20KB")}), "expect_end"]
    results = [simulated(lab, seed, program(client, server), **QUIC, **rest) for seed in (1, 1)]
    one, again = (check(result["sessions"]["s"]) for result in results)
    assert one == again
    all_through(one, 20, 20 * 21)
    assert one["server"]["transactions"] == 20 * 20 and one["client"]["quic"]["packets_lost"] > 0, one


def test_raw_requests_on_streams(lab):
    one = all_through(check(simulated(lab, 1, {"raw": {"request": "100B", "response": "300KB", "requests": 5}}, **QUIC)["sessions"]["s"]), 20, 100)
    assert one["client"]["rx_bytes_goodput"] == 100 * 300_000, one


@pytest.mark.parametrize("quic", [{"streams": 20}, {"streams": 12, "unidirectional": True}], ids=["many", "one_way"])
def test_many_streams_of_ours_through_losses(lab, quic):
    """Each stream has the whole program, and every byte of it comes, in order; a seed repeats the run exactly."""
    client = [rounds(10, {"send": size("100B")}, {"expect": size("1KB..20KB")}), "half_close", "expect_end"]
    server = [rounds(10, {"expect": size("100B")}, {"send": size("1KB..20KB")}), "expect_end"]
    results = [simulated(lab, seed, program(client, server), **QUIC, quic=quic) for seed in (1, 1)]
    one, again = (check(result["sessions"]["s"]) for result in results)
    assert one == again
    all_through(one, 20, 20 * quic["streams"] * 11)
    assert one["server"]["transactions"] == 20 * quic["streams"] * 10, one


@pytest.mark.parametrize("quic", [{}, {"streams": 8, "unidirectional": True}], ids=["one", "many"])
def test_early_data_of_ours_through_losses(lab, quic):
    """Resumed sessions send their first messages with the handshake, and every byte comes once; a seed repeats the run exactly."""
    client = [rounds(5, {"send": size("700B")}, {"expect": size("1KB..20KB")}), "half_close", "expect_end"]
    server = [rounds(5, {"expect": size("700B")}, {"send": size("1KB..20KB")}), "expect_end"]
    rest = {**QUIC, "tls": {"alpn": ALPN, "resumption": 100}, "quic": {"early_data": True, **quic}}
    results = [simulated(lab, seed, program(client, server), **rest) for seed in (1, 1)]
    one, again = (check(result["sessions"]["s"]) for result in results)
    assert one == again
    streams = quic.get("streams", 1)
    all_through(one, 20, 20 * streams * 6)
    quic, server = one["client"]["quic"], one["server"]
    resumed = sum(agreed["handshakes"] for agreed in one["client"]["tls"] if agreed["resumed"])
    assert resumed >= 10 and quic["early_data_accepted"] == server["quic"]["early_data_accepted"] == resumed, (resumed, one)
    assert quic["early_requests"] == streams * resumed and server["rx_bytes_goodput"] == 20 * streams * 5 * 700, one


def test_datagrams_that_are_lost_are_not_sent_again(lab):
    """Without losses all come; with them a session that waits for one fails, as over UDP."""
    app = program([rounds(20, {"send": size("100B")}, {"expect": size("900B")})], [rounds(20, {"expect": size("100B")}, {"send": size("900B")})])
    rest = {**DATAGRAMS, "response_timeout": "500ms"}
    whole = all_through(check(simulated(lab, 1, app, loss=None, **rest)["sessions"]["s"]), 20, 400)
    quic = whole["client"]["quic"]
    assert quic["datagram_frames_sent"] == quic["datagram_frames_received"] == 400, quic
    lossy = check(simulated(lab, 1, app, **rest)["sessions"]["s"])
    assert lossy["failed"]["response_timeout"] > 0 and lossy["client"]["quic"]["packets_lost"] > 0, lossy


@pytest.mark.parametrize(
    "change, place",
    [
        ({"tls": True}, "tls.alpn: a protocol over QUIC has a name"),
        ({"quic": {"early_data": True}}, "quic.early_data: only a resumed session"),
        ({"quic": {"early_data": True, "datagrams": True}, "tls": {"alpn": ALPN, "resumption": 5}}, "quic.early_data: DATAGRAM frames"),
        ({"quic": {"streams": 2, "datagrams": True}}, "quic.streams: has no effect on messages in DATAGRAM frames"),
        ({"quic": {"streams": 17, "unidirectional": True}}, "quic.streams: an end takes 16 unidirectional streams"),
        ({"app": {"dns": {"names": "a.test"}}, "tls": True, "quic": {"streams": 2}}, "quic.streams: is for 'raw' and 'program'"),
        ({"app": program([{"expect": "hi"}], [{"send": "hi"}])}, "client: a stream of QUIC begins with"),
        ({"app": program([{"send": "hi"}, "half_close"], [{"expect": "hi"}]), "quic": {"datagrams": True}}, "is of TCP"),
        ({"app": {"dns": {"names": "a.test"}}, "tls": True, "quic": {"datagrams": True}}, "quic.datagrams: DATAGRAM frames are for"),
    ],
)
def test_what_can_not_be_is_refused(lab, change, place):
    app = program([{"send": "hi"}], [{"expect": "hi"}])
    entry = {"name": "s", "client": {"port": "west"}, "server": {"port": "east", "ports": PORT}, "app": app, **QUIC, "open": "1/s", **change}
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    done = lab.eagre("check", lab.profile(ports, None, sessions=[entry]))
    assert done.exit == 2 and place in done.out + done.err, done
