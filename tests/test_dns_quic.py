"""DNS over QUIC: clients and servers nobody here wrote against ours, and both of ours where packets are lost."""

import json
import re
import time

import pytest
from hosts import PYTHON, TESTS, Host, installed
from lab import need
from servers import certificate
from sessions import all_failed, all_through, check, of

PORT = 853
LONG_TEXT = "x" * 200
RULES = [
    {"suffix": "long.test", "answers": [{"type": "TXT", "text": f"{number}{LONG_TEXT}"} for number in range(40)]},
    {"suffix": "slow.test", "answers": ["198.18.0.2"], "delay": "20ms"},
    {"suffix": "test", "answers": [{"address": "198.18.0.1", "count": 4}]},
]
SERVER = {"dns": {"rules": RULES}}
QUIC = {"transport": "quic"}
PACKAGES = [
    "aioquic==1.3.0", "attrs==25.3.0", "certifi==2025.6.15", "cffi==1.17.1", "cryptography==45.0.4", "dnspython==2.8.0",
    "pyasn1==0.6.1", "pyasn1-modules==0.4.2", "pycparser==2.22", "pylsqpack==0.3.23", "pyopenssl==25.1.0",
    "service-identity==24.2.0", "typing-extensions==4.14.0",
]  # fmt: skip


@pytest.fixture(scope="module")
def packages():
    """aioquic and dnspython, installed below target/."""
    return installed("doq-1", *PACKAGES)


@pytest.fixture
def host(lab):
    return Host(lab, offloads=True)


def serving(host, **rest):
    return host.serving(host.server(SERVER, **QUIC, **rest))


def served(host, process):
    return check(host.served(process)["sessions"]["s"])


def said(host, packages, mode):
    """What a client on the host says."""
    command = [PYTHON, TESTS / "doq_peer.py", packages, mode, host.tester_address(), PORT]
    return json.loads(host.host.run(*command, timeout=100))


def kdig(host, *arguments):
    need("kdig")
    return host.host.run("kdig", f"@{host.tester_address()}", "+quic", "+retry=0", "+time=5", *arguments)


def test_kdig_asks(host):
    """Responses of every kind, long ones too; kdig pads its queries, so ours pad their responses."""
    process = serving(host)
    whole = kdig(host, "long.test", "TXT")
    assert whole.count(LONG_TEXT) == 40 and "ANSWER: 40" in whole, whole
    assert "198.18.0.2" in kdig(host, "a.slow.test")
    assert "status: NXDOMAIN" in kdig(host, "x.invalid")
    padded = kdig(host, "a.test", "+padding=128")
    assert re.search(r"PADDING", padded) and re.search(r"Received 468 B", padded), padded
    one = served(host, process)
    assert (one["attempted"], one["transactions"], one["failed"]) == (4, 4, {}), one
    side = one["server"]
    assert side["dns"] == {"noerror": 3, "nxdomain": 1} and side["quic"]["connections"] == 4, side
    assert {(agreed["alpn"], agreed["version"]) for agreed in side["tls"]} == {("doq", "1.3")}, side


def test_dnspython_asks(host, packages):
    """200 queries on a connection, and a connection for each of three others, with a Retry before each."""
    process = serving(host, quic={"retry": True})
    heard = said(host, packages, "ask")
    assert heard["codes"] == {"NOERROR": 202, "NXDOMAIN": 1}, heard
    assert len([address for address in heard["addresses"] if address.startswith("198.18.0.")]) == 4, heard
    assert heard["lengths"] > 8_000, heard
    one = served(host, process)
    assert (one["attempted"], one["transactions"], one["failed"]) == (4, 203, {}), one
    assert one["server"]["quic"]["retries_sent"] >= 4, one["server"]["quic"]


def test_a_client_that_breaks_a_rule_is_told(host, packages):
    """DOQ_PROTOCOL_ERROR to each, and a reason in the result; a client of another protocol gets none."""
    process = serving(host)
    codes = said(host, packages, "rude")
    rules = ("id", "keepalive", "twice", "half", "one_way", "none")
    assert codes == {**dict.fromkeys(rules, 2), "alpn": "refused"}, codes
    one = served(host, process)
    assert one["failed"]["doq_protocol"] == len(rules) and one["transactions"] == 0, one
    details = one["server"]["failure_details"]
    assert details["a query with an identifier other than 0"] == 1 and sorted(details.values()) == [1] * len(rules), details


class Peer:
    """`doq_peer.py` as a server on the host."""

    def __init__(self, host, packages):
        *files, _ = certificate(host.lab.folder(), "a.test")
        command = [PYTHON, TESTS / "doq_peer.py", packages, "serve", host.address(), PORT, *files]
        self.process = host.lab.start(*command, ns=host.host)
        assert self.process.stdout.readline().strip() == "ready", "the peer does not start"

    def seen(self):
        # aioquic reports an end three probe time-outs after it.
        time.sleep(1)
        self.process.terminate()
        return json.loads(self.process.communicate(timeout=20)[0])


def asking(host, name="s", query="a.test", count=10, app=None, **rest):
    return host.client({"dns": {"names": query, **(app or {})}}, name=name, **QUIC, open="20/s", count=count, **rest)


@pytest.mark.unsteady("on a busy machine connections begin before an earlier one has had its ticket, and then without early data")
def test_aioquic_is_asked(host, packages):
    """Eight queries at a time, padded, all with the identifier 0; resumed connections begin with early data."""
    peer = Peer(host, packages)
    app = {"requests": 50, "streams_per_connection": 8, "padding": True}
    tls = {"server_name": "a.test", "resumption": 10}
    done = host.run(
        asking(host, app=app, tls={"server_name": "a.test"}, quic={"key_update": 20}),
        asking(host, name="early", app={"requests": 2}, tls=tls, quic={"early_data": True}),
    )
    one = all_through(of(done), 10, 500)
    assert one["client"]["dns"] == {"noerror": 500} and one["client"]["tls"][0]["alpn"] == "doq", one
    early = all_through(of(done, "early"), 10, 20)["client"]["quic"]
    seen = peer.seen()
    # A connection that begins before an earlier one has its ticket has none to use.
    assert early["early_data_accepted"] == early["early_requests"] == seen["early"] and 4 <= seen["early"] <= 9, (early, seen)
    assert (seen["queries"], seen["ids"], seen["alpn"]) == (520, [0], ["doq"]), seen
    assert 128 in seen["lengths"] and seen["closes"] == {"0": 20}, seen


def test_a_server_that_breaks_a_rule_is_told(host, packages):
    """A counted reason each, and DOQ_PROTOCOL_ERROR for the rules."""
    peer = Peer(host, packages)
    rules = ("id", "twice", "half", "stop", "open")
    entries = [asking(host, name=name, query=f"{name}.test", count=2, response_timeout="2s") for name in (*rules, "reset", "close")]
    done = host.run(*entries)
    for name in rules:
        all_failed(of(done, name), 2, doq_protocol=2)
    reset = all_failed(of(done, "reset"), 2, stream_reset=2)
    assert reset["client"]["failure_details"] == {"RESET_STREAM: DOQ_INTERNAL_ERROR": 2}, reset
    closed = all_failed(of(done, "close"), 2, quic_closed=2)
    assert closed["client"]["failure_details"] == {"CONNECTION_CLOSE: DOQ_EXCESSIVE_LOAD": 2}, closed
    assert peer.seen()["closes"]["2"] == 2 * len(rules)


def simulated(lab, seed, app, **rest):
    """Both ends of ours in virtual time, where packets are lost."""
    entry = {
        "name": "s",
        "client": {"port": "west"},
        "server": {"port": "east"},
        "app": {"dns": {"names": "host{1..1000}.test", "rules": RULES, **app}},
        **QUIC,
        "open": "20/s",
        "count": 20,
        **rest,
    }
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    link = {"speed": "1Gbps", "delay": "1ms", "loss": "5%"}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "2s", "drain": "3s"}, sim={"link": link})
    return lab.eagre("sim", profile, "--seed", seed, "--json", "-", timeout=60).result()


@pytest.mark.parametrize(
    "rest",
    [{}, {"quic": {"retry": True}}, {"quic": {"migrate": {"every": "30ms"}, "key_update": 20}}, {"quic": {"early_data": True}, "tls": {"resumption": 20}}],
    ids=["plain", "retry", "migrates", "early"],
)
def test_ours_through_losses(lab, rest):
    """A twentieth of the packets is lost: every query has its response, and a seed repeats the run exactly."""
    app = {"requests": 50, "streams_per_connection": 10, "padding": True}
    results = [simulated(lab, seed, app, **rest) for seed in (1, 1)]
    one, again = (all_through(check(result["sessions"]["s"]), 20, 1_000) for result in results)
    assert one == again
    assert one["client"]["dns"]["noerror"] == one["server"]["dns"]["noerror"] == 1_000, one
    assert one["client"]["quic"]["packets_lost"] > 0, one


@pytest.mark.parametrize("early", [False, True], ids=["plain", "early"])
def test_no_session_fails_for_losses_at_the_end(lab, early):
    """Sessions whose packets were lost go on after the load has ended, and their server with them."""
    app = {"requests": 50, "streams_per_connection": 10, "padding": True}
    rest = {"quic": {"early_data": True}, "tls": {"resumption": 20}} if early else {}
    for seed in range(1, 17):
        one = simulated(lab, seed, app, **rest)["sessions"]["s"]
        # A handshake of which most is lost takes longer than the drain.
        assert one["failed"] == {} and one["attempted"] == 20 and one["completed"] >= 19 and one["transactions"] >= 940, (seed, one)


@pytest.mark.parametrize(
    "change, place",
    [
        ({"tls": False}, "tls: QUIC is always encrypted"),
        ({"tls": {"versions": 1.2}}, "tls.versions: QUIC needs TLS 1.3"),
        ({"transport": "udp", "quic": {"retry": True}}, "quic: these sessions do not go over QUIC"),
        ({"quic": {"early_data": True}}, "quic.early_data: only a resumed session"),
        ({"app": {"dns": {"names": "a.test", "retries": 1}}}, "retries: applies to UDP only"),
        ({"transport": "tcp", "app": {"dns": {"names": "a.test", "streams_per_connection": 2}}}, "streams_per_connection: applies to QUIC and HTTPS only"),
        ({"transport": "udp", "app": {"dns": {"names": "a.test", "padding": True}}}, "padding: hides the lengths"),
        ({"app": {"dns": {"names": "a.test", "padding": True, "edns": "512B"}}}, "edns: is an option"),
        ({"app": "websocket"}, "transport: websocket does not go over QUIC"),
    ],
)
def test_what_can_not_be_is_refused(lab, change, place):
    entry = {"name": "s", "client": {"port": "west"}, "server": {"port": "east"}, "app": {"dns": {"names": "a.test"}}, **QUIC, "open": "1/s", **change}
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    done = lab.eagre("check", lab.profile(ports, None, sessions=[entry]))
    assert done.exit == 2 and place in done.out + done.err, done
