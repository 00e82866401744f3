"""WebSocket: clients and servers nobody here wrote against ours, ends that misbehave, and both of ours where packets are lost."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from hosts import PYTHON, TESTS, Host
from lab import REPO
from servers import certificate
from sessions import all_failed, all_through, check, of
from test_dns_quic import packages
from websocket_h2_peer import CLEAR as CLEAR2, SECURE as SECURE2
from websocket_peer import BREAKING, ECHO, HOSTILE, LIMITED, PLAIN, PORTS, SECURE, TIGHT

__all__ = ["packages"]
VERSION = "17.4"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target")).resolve()
FOLDER = TARGET / f"reference/websockets-{VERSION}"


@pytest.fixture(scope="module")
def package():
    """The package `websockets`, installed below target/."""
    if not (FOLDER / "websockets").is_dir():
        pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        wanted = [*pip, "--target", str(FOLDER), f"websockets=={VERSION}"]
        done = subprocess.run(wanted, check=False, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            pytest.fail(f"websockets {VERSION} can't be installed with pip: {done.stderr.strip()}", pytrace=False)
    return FOLDER


@pytest.fixture
def host(lab):
    return Host(lab, offloads=True)


class Peer:
    """`websocket_peer.py` as servers on the host."""

    def __init__(self, host, package, *more):
        command = [PYTHON, TESTS / "websocket_peer.py", package, "serve", host.address(), *more]
        self.process = host.lab.start(*command, ns=host.host, stderr=subprocess.DEVNULL)
        assert self.process.stdout.readline().strip() == "ready", "the peer does not start"

    def seen(self):
        self.process.terminate()
        return json.loads(self.process.communicate(timeout=20)[0])


def said(host, package, mode, *more):
    """What a client on the host says."""
    command = [PYTHON, TESTS / "websocket_peer.py", package, mode, host.tester_address(), *more]
    return json.loads(host.host.run(*command, timeout=100))


def websocket(**keys):
    return {"websocket": keys}


def test_our_clients_and_their_server(host, package):
    """Every byte of messages of both kinds, whole and in fragments, several at a time, comes back."""
    peer = Peer(host, package)
    binary = websocket(path="/a", request="0B..70KB", requests=50, pipeline=8, subprotocols=["chat", "other"])
    text = websocket(kind="text", request="1B..3KB", requests=200, fragment="100B")
    entries = [
        host.client(binary, server_port=ECHO, name="binary", open="20/s", count=20),
        host.client(text, server_port=ECHO, name="text", open="20/s", count=20),
    ]
    done = host.run(*entries)
    one, other = all_through(of(done, "binary"), 20, 1_000), all_through(of(done, "text"), 20, 4_000)
    for entry, messages in ((one, 1_000), (other, 4_000)):
        counts = entry["client"]["websocket"]
        assert (counts["connections"], counts["messages_sent"], counts["messages_received"]) == (20, messages, messages)
        assert counts["bytes_sent"] == counts["bytes_received"] and counts["closes"] == {"1000": 20}, counts
        assert counts["upgrade_ns"]["samples"] == 20 and entry["ttlb_ns"]["samples"] == messages, entry
    seen = peer.seen()
    assert (seen["connections"], seen["messages"], seen["codes"]) == (40, 5_000, {"1000": 40}), seen


JSON = '{{"number": {request}, "session": {session}, "names": ["alpha", "beta", "gamma", "alpha", "beta", "gamma"]}}'


def test_our_clients_and_their_compression(host, package):
    """With the usual parameters, with all of ours, with all of theirs, and with a server that declines: every byte comes back."""
    peer = Peer(host, package)
    alone = {f"{end}_no_context_takeover": True for end in ("client", "server")}
    ours = {**alone, "client_max_window_bits": 9, "server_max_window_bits": 10, "level": 9}
    entries = {
        "usual": (ECHO, websocket(text=JSON, requests=100, pipeline=4, compression=True)),
        "ours": (ECHO, websocket(text=JSON, requests=100, fragment="20B", compression=ours)),
        "theirs": (TIGHT, websocket(text=JSON, requests=100, compression={"threshold": "10B"})),
        "bytes": (TIGHT, websocket(request="0B..70KB", requests=40, pipeline=8, compression=True)),
        "declined": (PLAIN, websocket(text=JSON, requests=10, compression=True)),
    }
    made = [host.client(app, server_port=port, name=name, open="20/s", count=4) for name, (port, app) in entries.items()]
    done = host.run(*made)
    ratios = {}
    for name, (_, app) in entries.items():
        messages = 4 * app["websocket"]["requests"]
        counts = all_through(of(done, name), 4, messages)["client"]["websocket"]
        part = counts["compression"]
        agreed = 0 if name == "declined" else 4
        assert (part["connections"], part["declined"]) == (agreed, 4 - agreed), (name, part)
        if name == "declined":
            assert part["messages_sent"] == part["messages_received"] == 0, part
            continue
        assert part["messages_sent"] == part["messages_received"] == messages, (name, part)
        assert part["bytes_sent"] == part["bytes_received"] == counts["bytes_sent"] == counts["bytes_received"], (name, part)
        ratios[name] = [part[f"compressed_bytes_{way}"] / part[f"bytes_{way}"] for way in ("sent", "received")]
    # A message that refers to the one before it is a tenth of it; one by itself still saves the names that come twice.
    assert max(ratios["usual"]) < 0.3 < min(*ratios["ours"], *ratios["theirs"]), ratios
    assert max(*ratios["ours"], *ratios["theirs"]) < 0.95 < min(ratios["bytes"]), ratios
    assert peer.seen()["messages"] == 4 * (3 * 100 + 40 + 10)


def test_their_compression_and_our_server(host, package):
    """Their clients' parameters are kept to, and ours told them."""
    limits = {"client_max_window_bits": 11, "server_max_window_bits": 14}
    process = host.serving(host.server(websocket(compression=limits, fragment="1KB")))
    agreed = said(host, package, "squeeze")
    assert agreed == [[11, 14, False, False], [11, 14, True, True], [11, 9, False, False]], agreed
    one = check(host.served(process)["sessions"]["s"])
    assert (one["attempted"], one["transactions"], one["failed"]) == (3, 3 * 203, {}), one
    part = one["server"]["websocket"]["compression"]
    assert (part["connections"], part["messages_sent"], part["messages_received"]) == (3, 609, 609), part
    assert part["compressed_bytes_sent"] < part["bytes_sent"] / 4, part


def test_a_million_messages(host, package):
    """With EAGRE_LONG a million, else 50,000: none is lost, and none fails."""
    peer = Peer(host, package)
    count = 1_000_000 if os.environ.get("EAGRE_LONG") == "1" else 50_000
    app = websocket(request="0B..100B", requests="endless", pipeline=64)
    entry = host.client(app, server_port=ECHO, concurrent=4, request_count=count)
    one = of(host.run(entry, duration="400s", timeout=500))
    assert (one["requests"], one["transactions"], one["failed"]) == (count, count, {}), one
    assert one["client"]["websocket"]["closes"] == {"1000": 4} and peer.seen()["messages"] == count


def test_over_tls(host, package):
    peer = Peer(host, package, *map(str, certificate(host.lab.folder(), "a.test")[:2]))
    app = websocket(request="0B..20KB", requests=20, ping="2s", think="250ms")
    tls = {"server_name": "a.test"}
    one = all_through(of(host.run(host.client(app, server_port=SECURE, tls=tls, open="10/s", count=10))), 10, 200)
    assert one["handshake_ns"]["samples"] == 10 and one["client"]["websocket"]["pongs_received"] >= 10, one
    assert peer.seen()["messages"] == 200


def test_a_limit_of_theirs_is_told(host, package):
    """Theirs refuses what is longer than it takes, by code 1009."""
    Peer(host, package)
    one = of(host.run(host.client(websocket(request="1001B"), server_port=LIMITED, open="10/s", count=5)))
    all_failed(one, 5, websocket_closed=5)
    assert one["client"]["websocket"]["closes"] == {"1009": 5}
    assert one["client"]["failure_details"] == {"closed with code 1009": 5}, one


def test_servers_that_misbehave(host, package):
    """Each way has a reason of its own, and nothing hangs."""
    Peer(host, package)
    entries = [
        host.client(
            websocket(requests=3),
            server_port=port,
            name=name.replace(" ", "-"),
            open="10/s",
            count=3,
            response_timeout="1s",
        )
        for name, port in PORTS.items()
    ]
    done = host.run(*entries, duration="4s")
    for name, (_, reason, detail) in HOSTILE.items():
        one = check(done.json["sessions"][name.replace(" ", "-")])
        all_failed(one, 3, **{reason: 3})
        assert detail is None or one["client"]["failure_details"][detail] == 3, (name, one["client"]["failure_details"])
    assert done.json["sessions"]["refuses"]["client"]["websocket"]["refused"] == {"403": 3}


@pytest.mark.parametrize("scheme", ["ws", "wss"])
def test_their_client_and_our_server(host, package, scheme):
    tls = {"tls": True} if scheme == "wss" else {}
    port = 443 if tls else 80
    compression = {"compression": True} if tls else {}
    process = host.serving(host.server(websocket(subprotocols=["chat"], **compression), server={"ports": port}, **tls))
    told = said(host, package, "talk", *(["tls"] if tls else []))
    assert told == {"subprotocol": "chat", "extensions": len(compression), "messages": 1_015, "code": 1000, "too long": 1009}
    one = check(host.served(process)["sessions"]["s"])
    assert (one["attempted"], one["transactions"], one["failed"]) == (2, 1_015, {"websocket_protocol": 1}), one
    counts = one["server"]["websocket"]
    assert (counts["pings_received"], counts["closes"]["1000"]) == (1, 1), counts


def test_clients_that_misbehave(host, package):
    """Our server says what is wrong by a status or a close code, and counts it."""
    process = host.serving(host.server("websocket"))
    codes = said(host, package, "break")
    assert codes == [code for _, code in BREAKING], codes
    one = check(host.served(process)["sessions"]["s"])
    assert (one["attempted"], one["completed"]) == (len(BREAKING), 1), one
    assert one["failed"] == {"bad_request": 4, "websocket_protocol": 5}, one


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


def test_loss_costs_no_message_and_seeds_repeat(lab):
    """5% lost, and some out of order: every byte arrives, and a seed says all there is to say, masks included."""
    link = {"delay": "1ms", "loss": "5%", "reorder": "2%", "reorder_by": "1ms"}
    app = websocket(request={"100B": 3, "30KB": 1}, requests=100, pipeline=4, fragment="10KB")
    results = [simulated(lab, seed, link, app) for seed in (1, 1, 2)]
    for result in results:
        one = all_through(check(result["sessions"]["s"]), 20, 2_000)
        assert one["retransmitted_segments"] > 0 and one["client"]["websocket"]["closes"] == {"1000": 20}, one
        assert one["server"]["websocket"]["bytes_sent"] == one["client"]["websocket"]["bytes_received"], one
    first, again, other = (result["sessions"] for result in results)
    assert first == again and first != other


def test_answers_pushes_and_messages_without_an_answer(lab):
    link = {"delay": "1ms"}
    reply = websocket(text="n {request}", expect="reply", response="5KB", requests=10)
    one = all_through(check(simulated(lab, 1, link, reply)["sessions"]["s"]), 20, 200)
    assert one["client"]["websocket"]["bytes_received"] == 200 * 5_000, one
    push = websocket(expect="nothing", push="100ms", response="300B", requests=3, think="1s")
    one = all_through(check(simulated(lab, 1, link, push)["sessions"]["s"]), 20, 60)
    assert "ttlb_ns" not in one and one["client"]["websocket"]["messages_received"] >= 20 * 19, one


def test_late_messages_count_from_when_they_were_due(lab):
    """A message of a second's round trip (two links each way) on one connection, one due each 100 ms: the tenth waits for nine seconds."""
    app = websocket(requests="endless")
    late = {"open": "1/s", "count": 1, "request_rate": "10/s", "late_requests": "send", "request_count": 10}
    one = check(simulated(lab, 1, {"delay": "250ms"}, app, **late)["sessions"]["s"])
    assert (one["requests"], one["transactions"], one["failed"]) == (10, 10, {}), one
    assert one["ttlb_ns"]["max"] < 1_100_000_000 and 9_000_000_000 < one["ttlb_due_ns"]["max"] < 11_000_000_000, one


PACKAGES = ["hypercorn==0.18.0", "h11==0.16.0", "h2==4.4.1", "hpack==4.2.0", "hyperframe==6.1.0", "priority==2.0.0", "wsproto==1.3.2"]
HYPERCORN = TARGET / "reference/hypercorn-0.18.0"


@pytest.fixture(scope="module")
def hypercorn():
    """The packages of hypercorn, installed below target/."""
    if not (HYPERCORN / "hypercorn").is_dir():
        pip = [PYTHON, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        done = subprocess.run([*pip, "--target", str(HYPERCORN), *PACKAGES], check=False, capture_output=True, text=True, timeout=300)
        if done.returncode != 0:
            pytest.fail(f"hypercorn can't be installed with pip: {done.stderr.strip()}", pytrace=False)
    return HYPERCORN


def over_http2(host, package, mode, *more, at):
    command = [PYTHON, TESTS / "websocket_h2_peer.py", package, mode, at, *more]
    if mode == "serve":
        process = host.lab.start(*command, ns=host.host, stderr=subprocess.DEVNULL)
        assert process.stdout.readline().strip() == "ready", "the peer does not start"
        return process
    return json.loads(host.host.run(*command, timeout=60))


def test_hypercorn_over_http2(host, hypercorn):
    """Our clients over streams of HTTP/2, with and without TLS: every byte comes back. A refusal, and a server of HTTP/1.1 alone, are told."""
    folder = host.lab.folder()
    *files, _ = certificate(folder, "a.test")
    process = over_http2(host, hypercorn, "serve", *files, at=host.address())
    app = websocket(version=2, request="0B..70KB", requests=50, pipeline=8, subprotocols=["chat"], fragment="20KB")
    entries = [
        host.client(app, server_port=CLEAR2, name="clear", open="10/s", count=10),
        host.client(app, server_port=SECURE2, name="secure", open="10/s", count=10, tls={"server_name": "a.test"}),
        host.client(websocket(version=2, path="/refused"), server_port=CLEAR2, name="refused", open="10/s", count=5),
        host.client(
            websocket(version=2, text=JSON, requests=20, compression=True), server_port=CLEAR2, name="compressed", open="10/s", count=5
        ),
        host.client(websocket(text=JSON, requests=20, compression=True), server_port=CLEAR2, name="one", open="10/s", count=5),
    ]
    done = host.run(*entries)
    for name in ("clear", "secure"):
        one = all_through(of(done, name), 10, 500)
        counts = one["client"]["websocket"]
        assert counts["bytes_sent"] == counts["bytes_received"] and counts["closes"] == {"1000": 10}, counts
        assert (one["client"]["http2"]["connections"], one["client"]["http2"]["streams"]) == (10, 10), one
    for name in ("compressed", "one"):
        counts = all_through(of(done, name), 5, 100)["client"]["websocket"]
        assert counts["compression"]["compressed_bytes_received"] < counts["bytes_received"] / 2, (name, counts)
        assert counts["compression"]["messages_received"] == 100, (name, counts)
    one = all_failed(of(done, "refused"), 5, http_4xx=5)
    assert one["client"]["websocket"]["refused"] == {"403": 5}, one
    process.terminate()
    seen = json.loads(process.communicate(timeout=20)[0])
    assert (seen["versions"], seen["messages"]) == ({"2": 30, "1.1": 5}, 1_200), seen


def test_a_client_of_h2_and_our_server(host, hypercorn):
    """Extended CONNECT, both kinds of messages, the close handshake; and a client that sends 3 MB before it reads."""
    process = host.serving(host.server(websocket(version=2, subprotocols=["other"], message_max="1MiB")))
    said = over_http2(host, hypercorn, "talk", at=host.tester_address())
    assert (said["connects"], said["status"], said["wrong"], said["closed"]) == (1, 200, 0, 1000), said
    assert said["fields"].get("sec-websocket-protocol") == "other" and said["ended"], said
    said = over_http2(host, hypercorn, "held", at=host.tester_address())
    assert said["wrong"] == 0 and said["sent_before"] < 3_000_000, said
    one = check(host.served(process)["sessions"]["s"])
    assert one["attempted"] == 2 and one["server"]["websocket"]["messages_received"] == 14 + 60, one


@pytest.mark.parametrize("link", [{}, {"loss": "5%"}], ids=["clean", "lossy"])
def test_streams_of_ours_lose_nothing(lab, link):
    """Both ends over HTTP/2, with TLS and without, where packets are lost: every byte arrives; a seed repeats the run."""
    entry = {"client": {"port": "west"}, "server": {"port": "east"}, "open": "20/s", "count": 20, "verify": True}
    # A Pong waits behind messages, and where packets are lost for long.
    pings = {} if link else {"ping": "200ms"}
    app = websocket(version=2, request="0B..100KB", requests=20, pipeline=4, fragment="5KB", **pings)
    sessions = [
        {**entry, "name": "echo", "app": app},
        {**entry, "name": "reply", "app": websocket(version=2, expect="reply", response="10KB", requests=20), "tls": True},
    ]
    sessions[1]["server"] = {"port": "east", "ports": 443}
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    link = {"speed": "1Gbps", "delay": "1ms", **link}
    profile = lab.profile(ports, None, sessions=sessions, load={"duration": "20s", "drain": "20s"}, sim={"link": link})
    sessions, again = (lab.eagre("sim", profile, "--seed", 1, "--json", "-", timeout=120).result()["sessions"] for _ in range(2))
    assert sessions == again
    for name in ("echo", "reply"):
        one = all_through(check(sessions[name]), 20, 400)
        assert one["client"]["http2"]["streams"] == one["server"]["http2"]["streams"] == 20, one


PORT3 = 4443


def over_http3(host, folders, mode, *more, at):
    command = [PYTHON, TESTS / "websocket_h3_peer.py", ":".join(map(str, folders)), mode, at, PORT3, *more]
    if mode in ("serve", "plain"):
        process = host.lab.start(*command, ns=host.host, stderr=subprocess.DEVNULL)
        assert process.stdout.readline().strip() == "ready", "the peer does not start"
        return process
    return json.loads(host.host.run(*command, timeout=60))


def test_hypercorn_over_http3(host, hypercorn, packages):
    """Our clients over streams of HTTP/3, with a change of the port and updates of the keys: every byte comes back. A refusal is counted."""
    *files, _ = certificate(host.lab.folder(), "a.test")
    process = over_http3(host, (hypercorn, packages), "serve", *files, at=host.address())
    app = websocket(version=3, request="0B..70KB", requests=50, pipeline=8, subprotocols=["chat"], fragment="20KB")
    small = websocket(version=3, text=JSON, requests=20, compression=True)
    done = host.run(
        host.client(app, server_port=PORT3, name="long", open="5/s", count=10),
        host.client(small, server_port=PORT3, name="compressed", open="5/s", count=5, quic={"key_update": 20}),
        host.client(websocket(version=3, path="/refused"), server_port=PORT3, name="refused", open="10/s", count=5),
    )
    one = all_through(of(done, "long"), 10, 500)
    counts = one["client"]["websocket"]
    assert counts["bytes_sent"] == counts["bytes_received"] and counts["closes"] == {"1000": 10}, counts
    assert (one["client"]["quic"]["connections"], one["client"]["http3"]["streams"]) == (10, 10), one
    assert one["client"]["tls"][0]["alpn"] == "h3", one
    one = all_through(of(done, "compressed"), 5, 100)
    compression = one["client"]["websocket"]["compression"]
    assert compression["compressed_bytes_received"] < one["client"]["websocket"]["bytes_received"] / 2, one
    assert one["client"]["quic"]["key_updates"] > 0, one
    # The refusal has a field 'connection', which HTTP/3 does not have (RFC 9114 section 4.2).
    one = all_failed(of(done, "refused"), 5, http3_protocol=5)
    assert one["client"]["failure_details"] == {"H3_MESSAGE_ERROR: a field of the connection, which only HTTP/1 has": 5}, one
    process.terminate()
    seen = json.loads(process.communicate(timeout=20)[0])
    assert (seen["versions"], seen["messages"]) == ({"3": 20}, 600), seen


def test_a_server_of_http3_that_takes_no_websocket(host, packages, hypercorn):
    """Without SETTINGS_ENABLE_CONNECT_PROTOCOL nothing is requested."""
    *files, _ = certificate(host.lab.folder(), "a.test")
    over_http3(host, (hypercorn, packages), "plain", *files, at=host.address())
    one = all_failed(of(host.run(host.client(websocket(version=3), server_port=PORT3, open="10/s", count=3))), 3, no_http3=3)
    assert any("SETTINGS_ENABLE_CONNECT_PROTOCOL" in text for text in one["client"]["failure_details"]), one


def test_a_client_of_aioquic_and_our_server(host, hypercorn, packages):
    """Extended CONNECT, both kinds of messages, the close handshake; a client that sends 3 MB before it reads; and two that break a rule."""
    app = websocket(version=3, subprotocols=["other"], message_max="1MiB")
    process = host.serving(host.server(app, server={"ports": PORT3}))
    folders = (hypercorn, packages)
    said = over_http3(host, folders, "talk", at=host.tester_address())
    assert (said["connects"], said["status"], said["wrong"], said["closed"]) == (1, 200, 0, 1000), said
    assert said["fields"].get("sec-websocket-protocol") == "other", said
    assert over_http3(host, folders, "held", at=host.tester_address()) == {"wrong": 0, "closed": 1000}
    assert over_http3(host, folders, "rude", at=host.tester_address()) == {"closed": 1002}
    assert over_http3(host, folders, "other", at=host.tester_address()) == {"status": 426}
    one = check(host.served(process)["sessions"]["s"])
    assert (one["attempted"], one["completed"]) == (4, 2), one
    assert one["failed"] == {"websocket_protocol": 1, "bad_request": 1}, one
    assert one["server"]["websocket"]["messages_received"] == 14 + 60, one


@pytest.mark.parametrize("link", [{}, {"loss": "5%"}], ids=["clean", "lossy"])
def test_streams_of_http3_of_ours_lose_nothing(lab, link):
    """Both ends over HTTP/3, with Retry, ports that change and updates of the keys, where packets are lost; a seed repeats the run."""
    entry = {"client": {"port": "west"}, "server": {"port": "east"}, "open": "20/s", "count": 20, "verify": True}
    app = websocket(version=3, request="0B..100KB", requests=20, pipeline=4, fragment="5KB")
    sessions = [
        {**entry, "name": "echo", "app": app, "quic": {"migrate": {"every": "300ms"}, "key_update": 100}},
        {**entry, "name": "reply", "app": websocket(version=3, expect="reply", response="10KB", requests=20), "quic": {"retry": True}},
    ]
    sessions[1]["server"] = {"port": "east", "ports": 444}
    ports = {name: {"device": f"sim:{name}", "ip": f"10.0.0.{last}/24"} for name, last in (("west", 1), ("east", 2))}
    link = {"speed": "1Gbps", "delay": "1ms", **link}
    profile = lab.profile(ports, None, sessions=sessions, load={"duration": "20s", "drain": "20s"}, sim={"link": link})
    sessions, again = (lab.eagre("sim", profile, "--seed", 1, "--json", "-", timeout=120).result()["sessions"] for _ in range(2))
    assert sessions == again
    for name in ("echo", "reply"):
        one = all_through(check(sessions[name]), 20, 400)
        assert one["client"]["http3"]["streams"] == one["server"]["http3"]["streams"] == 20, one
        assert one["client"]["websocket"]["closes"] == one["server"]["websocket"]["closes"] == {"1000": 20}, one
    assert sessions["echo"]["client"]["quic"]["key_updates"] > 0 and sessions["reply"]["server"]["quic"]["retries_sent"] >= 20
