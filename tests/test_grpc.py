"""gRPC: clients and servers of grpcio against ours, ends that misbehave, and both of ours where packets are lost."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from grpc_peer import (
    AGING,
    BREAKING,
    CLEAR,
    ECHOES,
    FAILING,
    HOSTILE,
    KINDS,
    OURS,
    OURS_PLAIN,
    OURS_SECURE,
    PORTS,
    REPLIES,
    SECURE,
    SLOW,
    SMALL,
)
from hosts import PYTHON, TESTS, Host
from lab import REPO
from servers import certificate
from sessions import all_failed, all_through, check, of

VERSION = "1.85.3"
PACKAGES = [f"grpcio=={VERSION}", "typing_extensions==4.15.0", "hpack==4.1.0"]
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target")).resolve()
FOLDER = TARGET / f"reference/grpcio-{VERSION}"
STATUSES = (
    "OK CANCELLED UNKNOWN INVALID_ARGUMENT DEADLINE_EXCEEDED NOT_FOUND ALREADY_EXISTS PERMISSION_DENIED RESOURCE_EXHAUSTED "
    "FAILED_PRECONDITION ABORTED OUT_OF_RANGE UNIMPLEMENTED INTERNAL UNAVAILABLE DATA_LOSS UNAUTHENTICATED"
).split()


@pytest.fixture(scope="module")
def package():
    """The packages, installed below target/."""
    if not all((FOLDER / name).is_dir() for name in ("grpc", "hpack")):
        pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        wanted = [*pip, "--upgrade", "--target", str(FOLDER), *PACKAGES]
        done = subprocess.run(wanted, check=False, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            pytest.fail(f"grpcio {VERSION} can't be installed with pip: {done.stderr.strip()}", pytrace=False)
    return FOLDER


@pytest.fixture
def host(lab):
    return Host(lab, offloads=True)


class Peer:
    """`grpc_peer.py` as servers on the host."""

    def __init__(self, host, package, *more):
        command = [PYTHON, TESTS / "grpc_peer.py", package, "serve", host.address(), *more]
        self.process = host.lab.start(*command, ns=host.host, stderr=subprocess.DEVNULL)
        assert self.process.stdout.readline().strip() == "ready", "the peer does not start"

    def seen(self):
        self.process.terminate()
        return json.loads(self.process.communicate(timeout=20)[0])


def said(host, package, mode, *more):
    """What a client on the host says."""
    command = [PYTHON, TESTS / "grpc_peer.py", package, mode, host.tester_address(), *more]
    return json.loads(host.host.run(*command, timeout=180))


def grpc(**keys):
    return {"grpc": keys}


def test_our_clients_and_their_servers(host, package):
    """Every byte of calls of all kinds, many at a time; their metadata and deadlines arrive."""
    peer = Peer(host, package)
    common = {
        "metadata": {"x-run": "7", "x-bytes-bin": "AP8="},
        "deadline": "60s",
        "requests": 20,
        "streams_per_connection": 5,
    }
    given = "hex"
    apps = {
        "unary": {"request": "0B..70KB", "expect": "echo"},
        "client_streaming": {"message": {given: "00ff"}, "messages": 30},
        "server_streaming": {"message": {given: "61"}, "reply": {given: "61"}, "responses": REPLIES},
        "bidirectional": {"request": "0B..70KB", "expect": "echo", "messages": 30},
    }
    entries = [
        host.client(
            grpc(method=f"peer.Test/{kind}", kind=kind, **keys, **common),
            server_port=CLEAR,
            name=kind,
            open="10/s",
            count=5,
        )
        for kind, keys in apps.items()
    ]
    done = host.run(*entries, duration="60s", timeout=150)
    expected = {"unary": (1, 1), "client_streaming": (30, 1), "server_streaming": (1, REPLIES), "bidirectional": (30, 30)}
    total = 0
    for kind, (sent, received) in expected.items():
        one = all_through(of(done, kind), 5, 100)
        counts = one["client"]["grpc"]
        assert (counts["messages_sent"], counts["messages_received"]) == (100 * sent, 100 * received), counts
        assert counts["statuses"] == {"OK": 100} and counts["deadlines"] == 0, counts
        assert ("message_ns" in counts) == (received > 1) and one["ttlb_ns"]["samples"] == 100, counts
        if "echo" in apps[kind].values():
            assert counts["bytes_sent"] == counts["bytes_received"], counts
        total += 100 * sent
    seen = peer.seen()
    assert (seen["calls"], seen["messages"]) == (400, total), seen
    assert (seen["metadata"], seen["deadlines"]) == (400, 400), seen


def test_their_bytes_are_compared(host, package):
    """A method that returns a digest is no echo."""
    Peer(host, package)
    app = grpc(method="peer.Test/client_streaming", kind="client_streaming", messages=2, reply={"hex": "00" * 32})
    one = of(host.run(host.client(app, server_port=CLEAR, open="10/s", count=3)))
    all_failed(one, 3, wrong_content=3)
    assert one["client"]["failure_details"] == {"a message with other bytes than expected": 3}, one


def test_over_tls(host, package):
    peer = Peer(host, package, *map(str, certificate(host.lab.folder(), "a.test")[:2]))
    app = grpc(method="peer.Test/unary", request="0B..20KB", expect="echo", requests=20, streams_per_connection=4)
    tls = {"server_name": "a.test"}
    one = all_through(of(host.run(host.client(app, server_port=SECURE, tls=tls, open="10/s", count=10))), 10, 200)
    assert one["handshake_ns"]["samples"] == 10 and {row["alpn"] for row in one["client"]["tls"]} == {"h2"}, one
    assert peer.seen()["calls"] == 200


def test_every_status_of_theirs(host, package):
    """The status is in the result, and fails the session, or is only counted, or is expected."""
    Peer(host, package)
    entries = [
        host.client(
            grpc(method="peer.Test/fails", message={"hex": f"{code:02x}"}, requests=3, errors_fail=False),
            server_port=CLEAR,
            name=name,
            open="10/s",
            count=1,
        )
        for code, name in enumerate(STATUSES)
    ]
    app = grpc(method="peer.Test/fails", message={"base64": "BQ=="})
    entries.append(host.client(app, server_port=CLEAR, name="fails", open="10/s", count=1))
    app = grpc(method="peer.Test/fails", message={"base64": "BQ"}, status="NOT_FOUND", requests=2)
    entries.append(host.client(app, server_port=CLEAR, name="expected", open="10/s", count=1))
    done = host.run(*entries, duration="6s")
    for name in STATUSES:
        one = all_through(of(done, name), 1, 3)
        assert one["client"]["grpc"]["statuses"] == {name: 3}, (name, one)
        assert one["failed_requests_ratio"] == (name != "OK"), (name, one)
        details = {} if name == "OK" else {f"{name}: no \u00fc 100%": 3}
        assert one["client"]["failure_details"] == details, one
    all_failed(of(done, "fails"), 1, grpc_status=1)
    assert of(done, "expected")["client"]["grpc"]["statuses"] == {"NOT_FOUND": 2}


def test_limits_and_deadlines_of_both(host, package):
    """Theirs refuses a message above its limit; a call whose time is over is cancelled; an unknown method has a status."""
    Peer(host, package)
    common = {"errors_fail": False, "requests": 3}
    entries = [
        host.client(grpc(method="peer.Test/unary", request="1001B", **common), server_port=SMALL, name="long", open="10/s", count=2),
        host.client(
            grpc(method="peer.Test/slow", deadline="200ms", **common), server_port=CLEAR, name="slow", open="10/s", count=2
        ),
        host.client(grpc(method="peer.Test/nothing", **common), server_port=CLEAR, name="unknown", open="10/s", count=2),
        host.client(
            grpc(method="peer.Test/server_streaming", kind="server_streaming", request="300B", message_max="100B"),
            server_port=CLEAR,
            name="ours",
            open="10/s",
            count=2,
        ),
    ]
    done = host.run(*entries, duration="8s")
    for name, status in (("long", "RESOURCE_EXHAUSTED"), ("slow", "DEADLINE_EXCEEDED"), ("unknown", "UNIMPLEMENTED")):
        one = of(done, name)
        assert (one["completed"], one["failed"]) == (2, {}), one
        assert one["client"]["grpc"]["statuses"] == {status: 6}, one
    one = of(done, "ours")
    all_failed(one, 2, grpc_protocol=2)
    assert one["client"]["grpc"]["statuses"] == {"RESOURCE_EXHAUSTED": 2}, one


def test_a_server_that_ends_connections_loses_no_call(host, package):
    """Theirs takes three calls at a time, and ends each connection after half a second: calls follow on another."""
    peer = Peer(host, package)
    app = grpc(method="peer.Test/unary", expect="echo", requests="endless", streams_per_connection=10)
    entry = host.client(app, server_port=AGING, concurrent=2, request_rate="500/s", late_requests="send", request_count=1_500)
    one = of(host.run(entry, duration="60s", timeout=100))
    assert (one["requests"], one["transactions"], one["failed"]) == (1_500, 1_500, {}), one
    http2 = one["client"]["http2"]
    assert http2["goaways"] >= 2 and http2["connections"] >= 4 and http2["peer_streams"] == 3, http2
    assert peer.seen()["calls"] == 1_500


def test_servers_that_misbehave(host, package):
    """Each way has a reason of its own, and nothing hangs."""
    Peer(host, package)
    entries = [
        host.client(
            grpc(requests=2),
            server_port=port,
            name=name.replace(" ", "-").replace("/", "-"),
            open="10/s",
            count=3,
            response_timeout="1s",
        )
        for name, port in PORTS.items()
    ]
    done = host.run(*entries, duration="5s")
    for name, (_, reason, status, detail) in HOSTILE.items():
        one = check(done.json["sessions"][name.replace(" ", "-").replace("/", "-")])
        all_failed(one, 3, **{reason: 3})
        counted = one["client"].get("grpc", {}).get("statuses", {})
        assert counted == ({status: 3} if status else {}), (name, counted)
        assert detail is None or one["client"]["failure_details"][detail] == 3, (name, one["client"]["failure_details"])


def our_servers(host, ask, reply, tls):
    """One of each kind, which compares bytes and has its own; others that echo, are slow, fail, or are secured."""
    files = {"message": {"file": str(ask)}, "reply": {"file": str(reply)}}
    streams = {"server_streaming": {"responses": REPLIES}}
    apps = {kind: (OURS[kind], grpc(kind=kind, **files, **streams.get(kind, {}))) for kind in KINDS}
    apps |= {
        "echoes": (ECHOES, grpc(kind="bidirectional", expect="echo")),
        "slow": (SLOW, grpc(delay="3s")),
        "failing": (FAILING, grpc(status="DATA_LOSS", status_message="lost \u00fc 100%")),
        "plain": (OURS_PLAIN, grpc()),
        "secure": (OURS_SECURE, grpc(**files)),
    }
    return [
        host.server(app, name=name, server={"ports": port}, **({"tls": tls} if name == "secure" else {}))
        for name, (port, app) in apps.items()
    ]


@pytest.fixture
def files(host):
    folder = host.lab.folder()
    ask, reply = folder / "ask.bin", folder / "reply.bin"
    ask.write_bytes(os.urandom(5_000))
    reply.write_bytes(os.urandom(70_000))
    return ask, reply


def test_their_clients_and_our_servers(host, package, files):
    """Calls of all kinds, echoes of many sizes, and statuses as a client of grpcio sees them."""
    chain, key, root = certificate(host.lab.folder(), "a.test")
    tls = {"certificate": {"chain": str(chain), "key": str(key)}}
    process = host.serving(*our_servers(host, *files, tls), duration="300s")
    told = said(host, package, "talk", *map(str, files), str(root))
    for kind in (*KINDS, "echoes", "many", "tls"):
        assert told[kind] is True, (kind, told)
    assert told["too long"] == ["RESOURCE_EXHAUSTED", "a message that is too long"], told
    assert told["compressed"][0] == "UNIMPLEMENTED" and told["unknown"][0] == "UNIMPLEMENTED", told
    assert told["deadline"] == "DEADLINE_EXCEEDED" and told["fails"] == ["DATA_LOSS", "lost \u00fc 100%"], told
    result = host.served(process)
    for kind, (calls, messages) in {
        "unary": (100, 100),
        "client_streaming": (5, 100),
        "server_streaming": (5, 5),
        "bidirectional": (5, 100),
    }.items():
        one = check(result["sessions"][kind])
        counts = one["server"]["grpc"]
        assert (one["transactions"], one["failed"], counts["messages_received"]) == (calls, {}, messages), one
        assert counts["bytes_received"] == messages * 5_000 and counts["statuses"] == {"OK": calls}, counts
    echoes = check(result["sessions"]["echoes"])["server"]["grpc"]
    assert echoes["statuses"] == {"OK": 2, "RESOURCE_EXHAUSTED": 1, "UNIMPLEMENTED": 2}, echoes
    slow = check(result["sessions"]["slow"])["server"]
    assert slow["grpc"]["deadlines"] + slow["http2"]["resets"] >= 1, slow


def test_clients_that_misbehave(host, package, files):
    """Our server says what is wrong by a status, and counts it."""
    process = host.serving(*our_servers(host, *files, False), duration="300s")
    codes = said(host, package, "break")
    assert codes == [*(answer for _, answer in BREAKING), ["reset", 2]], codes
    one = check(host.served(process)["sessions"]["plain"])
    expected = {"OK": 1, "INTERNAL": 5, "RESOURCE_EXHAUSTED": 1, "UNIMPLEMENTED": 1}
    assert one["attempted"] == len(BREAKING) and one["server"]["grpc"]["statuses"] == expected, one


def simulated(lab, seed, link, app, **more):
    entry = {
        "name": "s",
        "client": {"port": "west"},
        "server": {"port": "east"},
        "app": app,
        "open": "20/s",
        "count": 20,
        "verify": True,
        **more,
    }
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    sim = {"link": {"speed": "1Gbps", **link}}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "30s", "drain": "20s"}, sim=sim)
    return lab.eagre("sim", profile, "--seed", seed, "--json", "-", timeout=120).result()


@pytest.mark.parametrize("kind", KINDS)
def test_loss_costs_no_message_and_seeds_repeat(lab, kind):
    """5% lost, and some out of order: every byte arrives, and a seed says all there is to say."""
    link = {"delay": "1ms", "loss": "5%", "reorder": "2%", "reorder_by": "1ms"}
    app = grpc(kind=kind, request={"100B": 3, "30KB": 1}, response={"100B": 3, "30KB": 1}, requests=10, streams_per_connection=4)
    results = [simulated(lab, seed, link, app) for seed in (1, 1, 2)]
    for result in results:
        one = all_through(check(result["sessions"]["s"]), 20, 200)
        client, server = one["client"]["grpc"], one["server"]["grpc"]
        assert one["retransmitted_segments"] > 0 and client["statuses"] == server["statuses"] == {"OK": 200}, one
        assert (client["bytes_sent"], client["bytes_received"]) == (server["bytes_received"], server["bytes_sent"]), one
    first, again, other = (result["sessions"] for result in results)
    assert first == again and first != other


def test_times_count_from_when_messages_were_due(lab):
    """A round trip of a second (two links each way), a message each 100 ms: each has its reply a second after it was due."""
    app = grpc(kind="bidirectional", messages=10, interval="100ms")
    one = all_through(check(simulated(lab, 1, {"delay": "250ms"}, app, count=1)["sessions"]["s"]), 1, 1)
    times = one["client"]["grpc"]["message_ns"]
    assert times["samples"] == 10 and 1_000_000_000 <= times["min"] <= times["max"] < 1_100_000_000, times
    assert 1_900_000_000 <= one["ttlb_ns"]["max"] < 2_000_000_000, one
    late = {"open": "1/s", "count": 1, "request_rate": "10/s", "late_requests": "send", "request_count": 10}
    one = check(simulated(lab, 1, {"delay": "250ms"}, grpc(requests="endless"), **late)["sessions"]["s"])
    assert (one["requests"], one["transactions"], one["failed"]) == (10, 10, {}), one
    assert one["ttlb_ns"]["max"] < 1_100_000_000 and 9_000_000_000 < one["ttlb_due_ns"]["max"] < 11_000_000_000, one
