"""What happens to a port's own interface or its other end is not the device's loss, and holds nobody up."""

import contextlib
import http.client
import signal
import socket
import threading
import time
from pathlib import Path

import bpf
import pytest
from lab import CANNOT_JUDGE, pair, stream, wait_until
from server import Server, rings
from test_port_identity import one_port


@pytest.fixture
def tester(lab):
    """A namespace with a veth pair."""
    namespace = lab.netns("ends")
    lab.veth(namespace, "v0", namespace, "v1")
    return namespace


def disturbed(lab, tester, kind, what, exit_code=1, **rest):
    """A run during which something happens to v0."""
    streams = [stream("s", "west", "east", rate="5kpps", **rest, packet=[{"ethernet": {"dst": "02:00:00:00:00:99"}}, {"ipv4": {"dst": "10.0.0.3"}}, "udp"])]
    profile = lab.profile(pair(f"{kind}:v0", f"{kind}:v1"), streams, load={"duration": "3s", "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    wait_until(lambda: tester.counters("v0")["tx"] > 500 or process.poll() is not None, "traffic", 15)
    what()
    done = lab.finish(process)
    verdict = done.told["verdict"]
    # With nothing lost, what was asked holds; where the tester may have lost all of it, nothing is known of the device.
    nothing_lost = verdict["disturbed"] and done.told["streams"]["s"]["lost"] == 0
    assert done.exit in (exit_code, CANNOT_JUDGE) or (done.exit == 0 and nothing_lost), done
    assert verdict["valid"] is False, verdict
    return "\n".join(verdict["reasons"])


LOCKED = "on a busy machine a change of an interface can wait for the kernel until the run is over"


@pytest.mark.unsteady(LOCKED)
@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_a_deleted_interface_is_said(lab, tester, kind):
    """Both ends of the pair are gone, at a time."""
    reasons = disturbed(lab, tester, kind, lambda: tester.ip("link", "delete", "v0"))
    for name, end in (("west", "v0"), ("east", "v1")):
        assert f"port {name}: {end} was deleted " in reasons, reasons
    assert " s after the start" in reasons


@pytest.mark.unsteady(LOCKED)
@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_an_interface_that_is_set_down_is_said(lab, tester, kind):
    """Also if it is up again at the end; its other end loses its carrier."""

    def down_and_up():
        tester.ip("link", "set", "v0", "down")
        time.sleep(0.2)
        tester.ip("link", "set", "v0", "up")

    reasons = disturbed(lab, tester, kind, down_and_up, CANNOT_JUDGE)
    assert "port west: v0 was set down on this machine " in reasons, reasons
    assert "port east: v1 lost its carrier " in reasons, reasons


@pytest.mark.unsteady(LOCKED)
def test_a_moved_interface_is_said(lab, tester):
    """It is not deleted; it is elsewhere."""
    elsewhere = lab.netns("elsewhere")
    reasons = disturbed(lab, tester, "afpacket", lambda: tester.ip("link", "set", "v1", "netns", elsewhere.name))
    assert "port east: v1 was moved to another network namespace " in reasons, reasons


@pytest.mark.unsteady(LOCKED)
@pytest.mark.parametrize("kind", ["afxdp", "xdp"])
def test_an_xdp_program_that_is_taken_off_is_said(lab, tester, kind):
    """Without it AF_XDP receives nothing. `ip link` can't take it off."""

    def take_off():
        with pytest.raises(AssertionError):
            tester.ip("link", "set", "v1", "xdp", "off")
        index = tester.link("v1")["ifindex"]
        assert any([bpf.detach(process, index) for process in tester.pids()])

    reasons = disturbed(lab, tester, kind, take_off)
    assert "port east: v1 lost its XDP program" in reasons, reasons


@pytest.mark.unsteady(LOCKED)
@pytest.mark.parametrize(("name", "end"), [("west", "v0"), ("east", "v1")])
def test_an_mtu_that_shrinks_is_said(lab, tester, name, end):
    """On the port that sends or receives: frames that are too long for it now are the tester's loss, not the device's."""

    def shrink():
        tester.ip("link", "set", end, "mtu", 600)
        time.sleep(0.2)
        tester.ip("link", "set", end, "mtu", 1500)

    reasons = disturbed(lab, tester, "afpacket", shrink, CANNOT_JUDGE, size="1000B")
    assert f"port {name}: {end} got an MTU of 600 bytes instead of 1500 " in reasons, reasons
    assert "raised" not in reasons


@pytest.mark.parametrize("kinds", [("afpacket", "afpacket"), ("afpacket", "afxdp"), ("afxdp", "vdev:net_af_packet0,iface=")])
def test_a_second_tester_on_an_interface_is_refused(lab, tester, kinds):
    """The process that has it is named, the first run goes on undisturbed, and afterwards the interface is free."""
    first, second = kinds
    again = second + "v0" if second.startswith("vdev") else f"{second}:v0"
    profile = lab.profile(**one_port(f"{first}:v0") | {"load": {"duration": "20s", "drain": "0s"}})
    running = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    wait_until(lambda: tester.counters("v0")["tx"] > 100, "traffic", 15)
    lab.eagre("run", lab.profile(**one_port(again)), ns=tester).refused(
        3, f"v0 is already in use by Eagre, process {running.pid}", "end the other one first"
    )
    assert f"in use by Eagre, process {running.pid}" in lab.eagre("ports", ns=tester).ok().out
    shown = {one["name"]: one["used_by"] for one in lab.eagre("ports", "--json", ns=tester).ok().json["interfaces"]}
    assert (shown["v0"], shown["v1"]) == (running.pid, None)
    running.send_signal(signal.SIGINT)
    assert lab.finish(running).json["verdict"]["valid"]
    lab.eagre("run", lab.profile(**one_port(again)), ns=tester).ok()


def test_the_same_number_in_another_namespace_is_another_interface(lab, tester):
    """Interfaces of two namespaces often have the same number."""
    other = lab.netns("other")
    lab.veth(other, "v0", other, "v1")
    assert other.link("v0")["ifindex"] == tester.link("v0")["ifindex"]
    profile = lab.profile(**one_port("v0") | {"load": {"duration": "20s", "drain": "0s"}})
    lab.start_eagre("run", profile, ns=tester)
    wait_until(lambda: tester.counters("v0")["tx"] > 100, "traffic", 15)
    lab.eagre("run", lab.profile(**one_port("v0")), ns=other).ok()


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_a_killed_run_leaves_no_interface_promiscuous(lab, tester, kind):
    """While it runs, it hears all frames; the kernel ends that with the process."""
    profile = lab.profile(**one_port(f"{kind}:v0") | {"load": {"duration": "20s", "drain": "0s"}})
    process = lab.start_eagre("run", profile, ns=tester)
    wait_until(lambda: tester.counters("v0")["tx"] > 100, "traffic", 15)
    assert tester.link("v0")["promiscuity"] > 0
    process.kill()
    process.wait()
    wait_until(lambda: tester.link("v0")["promiscuity"] == 0, "an interface as it was")


# The other end of a socket.


@pytest.fixture
def silent(lab):
    """A socket that takes connections and says nothing."""
    path = lab.folder() / "silent.sock"
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(str(path))
    listener.listen(8)
    yield path
    listener.close()


def in_background(server, device):
    """Starts a run that waits for its other end."""
    answers = []
    new = {"profile": one_port(device), "name": "waits"}

    def ask():
        # A server that ends meanwhile need not answer.
        with contextlib.suppress(OSError, http.client.HTTPException):
            answers.append(server.ask("POST", "/api/v1/runs", new, timeout=60))

    thread = threading.Thread(target=ask, daemon=True)
    thread.start()
    wait_until(lambda: any(run["name"] == "waits" and run["state"] == "starting" for run in server.get("/api/v1/runs")), "the run")
    return thread, answers


def waiting_run(server):
    return next(run for run in server.get("/api/v1/runs") if run["name"] == "waits")


@pytest.mark.parametrize(
    "device", ["memif:lonely.sock,server,wait=300", "memif:lonely.sock,wait=300", "virtio:lonely.sock,server=1,wait=300", "vhost:lonely.sock,wait=300"]
)
def test_a_port_that_waits_holds_nobody_up(lab, device):
    """Other ports of DPDK open meanwhile, a stop ends the wait, and the socket can be used again."""
    server = Server(lab)
    for _ in range(2):
        thread, answers = in_background(server, device)
        other = server.start(profile=one_port("null"))
        assert server.ended(other)["state"] == "done"
        assert thread.is_alive()
        begun = time.monotonic()
        assert server.ask("POST", f"/api/v1/runs/{waiting_run(server)['id']}/stop").status == 200
        thread.join(10)
        assert answers and answers[0].status == 503 and "stopped while the port opened" in answers[0].detail, answers
        assert time.monotonic() - begun < 5
        server.ask("DELETE", f"/api/v1/runs/{waiting_run(server)['id']}")


def test_a_server_ends_while_a_port_waits(lab):
    """SIGTERM is answered as ever."""
    server = Server(lab)
    in_background(server, "virtio:lonely.sock,server=1,wait=300")
    begun = time.monotonic()
    assert server.stop() == 0
    assert time.monotonic() - begun < 10


def test_a_peer_that_says_nothing_is_given_up(lab, silent):
    """vhost-user asks a peer many things; one that does not answer has five seconds."""
    server = Server(lab)
    begun = time.monotonic()
    answer = server.ask("POST", "/api/v1/runs", {"profile": one_port(f"virtio:{silent}")}, timeout=60)
    assert answer.status == 503 and str(silent) in answer.detail, answer
    assert time.monotonic() - begun < 20
    assert server.ended(server.start(profile=one_port("null")))["state"] == "done"


@pytest.mark.parametrize("wait", ["18446744073709551615", "99999999999999999999999", "301", "-1", "1e3", ""])
def test_an_absurd_wait_is_refused(lab, wait):
    """The option and what it takes are named; nothing panics, here or in a server."""
    device = f"memif:/tmp/x.sock,server,wait={wait}"
    words = ("the option 'wait' takes a whole number of seconds, at most 300", wait)
    lab.eagre("run", lab.profile(**one_port(device))).refused(2, *words)
    server = Server(lab)
    answer = server.ask("POST", "/api/v1/runs", {"profile": one_port(device)})
    assert answer.status == 422 and words[0] in answer.detail, answer
    server.start(profile=rings("1kpps", duration="100ms"))


def test_a_server_of_virtio_meets_its_peer(lab):
    """The network card makes the socket, the back end comes to it."""
    folder = lab.folder()
    card = lab.profile(**one_port(f"virtio:{folder}/x.sock,server=1,wait=20") | {"load": {"duration": "500ms", "drain": "0s"}})
    first = lab.start_eagre("run", card, "--json", "-")
    wait_until(lambda: (folder / "x.sock").exists() or first.poll() is not None, "the socket", 15)
    back = lab.profile(**one_port(f"vhost:{folder}/x.sock,client=1,wait=20") | {"load": {"duration": "3s", "drain": "0s"}})
    lab.start_eagre("run", back)
    assert lab.finish(first).ended, first


@pytest.mark.parametrize("kind", ["afxdp", "afpacket", "memif", "vhost"])
def test_a_port_leaves_no_descriptor_open(lab, tester, kind):
    """A server opens and closes ports as long as it lives."""
    server = Server(lab, ns=tester)
    ports = {
        "afxdp": pair("afxdp:v0", "afxdp:v1"),
        "afpacket": pair("v0", "v1"),
        "memif": pair("memif:p.sock,server", "memif:p.sock"),
        "vhost": pair("vhost:p.sock,wait=0", "null"),
    }
    blind = one_port("null")["streams"]
    profile = {"ports": ports[kind], "streams": blind, "load": {"duration": "10ms", "drain": "0s"}}
    counts = []
    for _ in range(12):
        server.ended(server.start(profile=profile, keep=False))
        counts.append(len(list(Path(f"/proc/{server.process.pid}/fd").iterdir())))
    assert max(counts[6:]) <= max(counts[1:6]) + 1, counts
