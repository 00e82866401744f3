"""`--cores` on ports with one queue: ports are spread over workers, and a worker that can't help is named."""

import pytest
from lab import WEST4, pair, settled, stream, sums


@pytest.fixture
def veths(lab):
    """Two namespaces; the tester has one port in each of two veth pairs that meet in a bridge."""
    tester, bridge = lab.netns("tester"), lab.netns("bridge")
    bridge.ip("link", "add", "br0", "type", "bridge", "stp_state", "0", "forward_delay", "0")
    for n in (0, 1):
        lab.veth(tester, f"veth{n}", bridge, f"b{n}")
        bridge.ip("link", "set", f"b{n}", "master", "br0")
    bridge.ip("link", "set", "br0", "up")
    return tester


def notes(result):
    return [note for note in result["verdict"].get("notes", []) if "workers" in note]


@pytest.mark.unsteady("on a busy machine the kernel drops frames between the two ports")
@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
def test_two_ports_with_one_queue_each_have_a_worker_each(lab, veths, kind):
    """One worker sends what the other receives: both are busy, nothing is lost, out of order, or counted twice."""
    ports = pair(f"{kind}:veth0", f"{kind}:veth1")
    profile = lab.profile(ports, [stream("s", "west", "east", rate="5kpps")], load={"duration": "1s", "drain": "200ms"})

    def check(done):
        result = done.result()
        one, workers = result["streams"]["s"], result["workers"]
        # A worker that sleeps between packets is busy for a ten-thousandth of the time.
        assert len(workers) == 2 and all(worker["busy_ratio"] > 0 for worker in workers), workers
        assert (one["rx"], one["lost"], one["reordered"], one["duplicates"]) == (one["tx"], 0, 0, 0) and one["tx"] == 5_000, one
        assert notes(result) == [], result["verdict"]

    settled(lambda: lab.eagre("run", profile, "--cores", 2, "--json", "-", ns=veths), check)


def test_a_worker_without_a_queue_is_named(lab, veths):
    """One port with one queue."""
    ports = {"west": {"device": "afxdp:veth0", "ip": f"{WEST4}/24"}}
    packet = ["ethernet", {"ipv4": {"dst": "10.0.0.9"}}, {"udp": {"dst": 9}}]
    packet[0] = {"ethernet": {"dst": "02:00:00:00:00:09"}}
    profile = lab.profile(ports, [{"name": "s", "from": "west", "packet": packet, "rate": "1kpps"}], load={"duration": "300ms", "drain": "50ms"})
    done = lab.eagre("run", profile, "--cores", 2, "--json", "-", ns=veths)
    assert notes(done.told) == ["1 of 2 workers had nothing to do: a queue belongs to one worker, and the ports have too few"], done
    table = lab.eagre("run", profile, "--cores", 2, ns=veths)
    assert "1 of 2 workers had nothing to do" in table.out + table.err, table


def test_sessions_on_ports_with_one_queue_name_their_worker(lab, veths):
    """They run on one worker, and say so."""
    ports = pair("afxdp:veth0", "afxdp:veth1")
    entry = {"name": "s", "client": {"port": "west"}, "server": {"port": "east", "ports": 80}, "app": "http", "open": "50/s"}
    profile = lab.profile(ports, None, sessions=[entry], load={"duration": "1s", "drain": "500ms"})
    result = lab.eagre("run", profile, "--cores", 2, "--json", "-", ns=veths).result()
    assert result["sessions"]["s"]["completed"] >= 45, result["sessions"]
    assert len(notes(result)) == 1 and "sessions on ports with one queue each run on one worker" in notes(result)[0], result["verdict"]


def test_ports_with_a_queue_for_each_worker_share_all(lab):
    """In virtual time two workers share the ports of a ring, which has a queue for each."""
    profile = lab.profile(pair(), [stream("s", "west", "east", rate="1kpps")], load={"duration": "200ms"})
    result = lab.eagre("sim", profile, "--cores", 2, "--json", "-")
    assert result.exit == 0 and sums(result.json, "lost") == 0 and notes(result.json) == []
