"""Ports of a lag by LACP, with Open vSwitch's bond as their partner: both sides agree."""

import re
import signal
import struct
import time

import capture
import pytest
from bond import UP, Switch
from lab import need, wait_until

SYSTEM = "02:00:00:00:00:77"
# What the result calls the states of an end, and what Open vSwitch does.
STATES = {"synchronization": "synchronized"}
SLOW = b"\x88\x09"
STOPPED = "the partner has stopped sending LACPDUs"


def bonded(lab, lacp="active"):
    """A namespace with v0 and v1, which lead to a switch's bond, and v2 on another port of the switch; and the switch."""
    tester, switch = lab.netns("tester"), lab.netns("switch")
    for number in (0, 1):
        lab.veth(tester, f"v{number}", switch, f"s{number}")
    lab.veth(switch, "out", tester, "v2")
    return tester, Switch(lab, switch, lacp)


def ports(kind="afpacket", **lacp):
    lag = {name: {"device": f"{kind}:v{number}", "lacp": lacp} for number, name in enumerate(("west", "east"))}
    return lag | {"far": {"device": f"{kind}:v2"}}


def stream(source="west", **rest):
    """Packets through the switch, which floods what it has no address of."""
    packet = [{"ethernet": {"dst": "02:00:00:00:00:99"}}, {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}}, "udp"]
    return {"name": source, "from": source, "to": "far", "packet": packet, "rate": "100pps"} | rest


def set_key(switch, key):
    """Gives the bond a key: that of one of its links, which one is not said."""
    for interface in ("s0", "s1"):
        switch.configure("set", "Interface", interface, f"other_config:lacp-aggregation-key={key}")


def both_up(switch, system=SYSTEM):
    wait_until(lambda: switch.links() == [(UP, system, UP)] * 2, "both links", 25, every=0.1)


def running(lab, tester, switch, duration):
    """A run whose lag has come up."""
    profile = lab.profile(ports(system=SYSTEM), [stream()], load={"duration": duration, "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    both_up(switch)
    return process


def said(end):
    """An end of the result as Open vSwitch shows it."""
    state = " ".join(STATES.get(name, name) for name in end["state"])
    keys = {"sys_id": "system", "sys_priority": "system_priority", "key": "key", "port_id": "port", "port_priority": "port_priority"}
    return {"state": state} | {key: str(end[name]) for key, name in keys.items()}


def shown(member, end):
    return {key.removeprefix(f"{end} "): value for key, value in member.items() if key.startswith(f"{end} ")}


@pytest.mark.unsteady("a busy machine sends LACPDUs late, and after 3 s without one a link is lost")
@pytest.mark.parametrize("kind", ["afpacket", "afxdp", "xdp"])
def test_a_lag_comes_up_with_a_switch(lab, kind):
    """Both ends of both links distribute, know each other, and traffic passes, not before; the ports leave at the end."""
    need("tcpdump", "ethtool")
    tester, switch = bonded(lab)
    if kind == "xdp":
        for interface in ("s0", "s1", "out"):
            switch.ns.run("ethtool", "-K", interface, "gro", "on")
    file = lab.folder() / "s0.pcap"
    dump = lab.start("tcpdump", "-i", "s0", "-U", "-w", file, "--immediate-mode", ns=switch.ns)
    wait_until(lambda: "listening" in dump.stderr.readline(), "tcpdump listens")
    # The switch takes some time to enable a link.
    streams = [stream("west", start_delay="1500ms"), stream("east", start_delay="1500ms")]
    lacp = {"system": SYSTEM, "key": 7, "system_priority": 11, "port_priority": 12, "wait": "20s"}
    profile = lab.profile(ports(kind, **lacp), streams, load={"duration": "5s", "drain": "200ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    both_up(switch)
    members = switch.members()
    result = lab.finish(process, 60).result()
    stats = switch.show("lacp/show-stats")
    wait_until(lambda: all(not end[2].endswith("distributing") for end in switch.links()), "the ports to leave", 5)
    rows = [result["ports"][name]["lacp"] for name in ("west", "east")]
    assert result["verdict"]["valid"], result["verdict"]
    assert not [note for note in result["verdict"].get("notes", []) if "lag" in note], result["verdict"]
    for number, (row, member) in enumerate(zip(rows, members)):
        assert (row["lag"], row["state"], row["receive"], row["flaps"]) == ("lag", "distributing", "current", 0), row
        assert said(row["actor"]) == shown(member, "partner"), (row, member)
        assert said(row["partner"]) == shown(member, "actor"), (row, member)
        assert row["actor"]["port"] == number + 1 and row["actor"]["key"] == 7, row
        assert 2 <= row["distributing_after_s"] < 10 and "reason" not in row, row
        assert row["rx_lacpdus"] >= 5 and row["rx_errors"] == row["rx_unknown"] == 0, row
    assert [int(n) for n in re.findall(r"RX PDUs: (\d+)", stats)] == [row["tx_lacpdus"] for row in rows], (stats, rows)
    assert set(re.findall(r"(?:RX Bad PDUs|Link Defaulted): (\d+)", stats)) <= {"0", "1"}, stats
    for row in result["streams"].values():
        assert row["rx"] == row["tx"] == 350, row
    assert "lacp" not in result["ports"]["far"] and result["ports"]["far"]["rx_other"] == 0, result["ports"]["far"]

    dump.terminate()
    dump.wait(10)
    own = bytes.fromhex(tester.mac("v0").replace(":", ""))
    frames = [(at, frame) for at, frame in capture.records(file) if frame[6:12] == own]
    # Its own state is the 33rd byte behind Ethernet's header.
    distributes = min(at for at, frame in frames if frame[12:14] == SLOW and frame[32] & 0x30 == 0x30)
    sent = [at for at, frame in frames if frame[12:14] == b"\x08\x00"]
    assert len(sent) == 350 and min(sent) > distributes, (distributes, sent[:3])
    last = [frame for _, frame in frames if frame[12:14] == SLOW][-1]
    assert len(last) == 124 and not last[32] & 0x38 and struct.unpack_from("!H", last, 26) == (7,)


@pytest.mark.unsteady("a busy machine sends LACPDUs late, and after 3 s without one a link is lost")
def test_a_link_that_is_lost_is_told_of(lab):
    """Its port notices within the timeout, the other one goes on; the result says why."""
    tester, switch = bonded(lab)
    set_key(switch, 5)
    process = running(lab, tester, switch, "5s")
    switch.ns.ip("link", "set", "s1", "down")
    result = lab.finish(process, 60).json
    west, east = (result["ports"][name]["lacp"] for name in ("west", "east"))
    assert (west["state"], west["flaps"]) == ("distributing", 0), west
    # If it takes long until traffic ends, the partner's place is taken by defaults.
    late = (east["state"], east["receive"]) == ("detached", "defaulted")
    assert late or (east["state"], east["receive"]) == ("attached", "expired"), east
    assert (east["flaps"], east["reason"]) == (1, STOPPED), east
    note = f"port east: it stopped distributing in its lag 'lag' once while traffic ran; at the end {STOPPED}"
    assert note in result["verdict"]["notes"], result["verdict"]


@pytest.mark.unsteady("a busy machine sends LACPDUs late, and after 3 s without one a link is lost")
def test_a_partner_that_falls_silent_and_speaks_again(lab):
    """Both ports stop to distribute after three seconds, and distribute again; those whose partner stays silent forget it."""
    tester, switch = bonded(lab)
    process = running(lab, tester, switch, "17s")
    switch.process.send_signal(signal.SIGSTOP)
    time.sleep(4)
    switch.process.send_signal(signal.SIGCONT)
    both_up(switch)
    switch.process.send_signal(signal.SIGSTOP)
    result = lab.finish(process, 60).json
    switch.process.send_signal(signal.SIGCONT)
    for name in ("west", "east"):
        row = result["ports"][name]["lacp"]
        assert (row["state"], row["flaps"], row["receive"], row["reason"]) == ("detached", 2, "defaulted", STOPPED), row
        assert "partner" not in row and "defaulted" in row["actor"]["state"], row
        note = f"port {name}: it stopped distributing in its lag 'lag' 2 times while traffic ran; at the end {STOPPED}"
        assert note in result["verdict"]["notes"], result["verdict"]


@pytest.mark.unsteady("a busy machine sends LACPDUs late, and after 3 s without one a link is lost")
def test_a_partner_with_another_key_is_another_lag(lab):
    """The ports leave the lag they were in, and are one again with the new key."""
    tester, switch = bonded(lab)
    process = running(lab, tester, switch, "7s")
    set_key(switch, 99)
    result = lab.finish(process, 60).json
    for name in ("west", "east"):
        row = result["ports"][name]["lacp"]
        assert (row["partner"]["key"], row["flaps"], row["state"]) == (99, 1, "distributing"), row
        note = f"port {name}: it stopped distributing in its lag 'lag' once while traffic ran"
        assert note in result["verdict"]["notes"], result["verdict"]


@pytest.mark.unsteady("a busy machine sends LACPDUs late, and after 3 s without one a link is lost")
def test_a_port_with_another_partner_makes_the_result_invalid(lab):
    """Of two ports of a lag one leads elsewhere: traffic starts after the time to wait."""
    tester, switch = bonded(lab)
    switch.configure("del-bond-iface", "bond0", "s1", "--", "add-port", "br0", "s1", "--", "set", "port", "s1", "lacp=active")
    profile = lab.profile(ports(wait="4s"), [stream()], load={"duration": "1s", "drain": "100ms"})
    done = lab.eagre("run", profile, "--json", "-", ns=tester)
    result = done.told
    assert done.exit == 1 and not result["verdict"]["valid"], done
    assert result["ports"]["west"]["lacp"]["state"] == "distributing" and result["streams"]["west"]["tx"] == 100, result
    row = result["ports"]["east"]["lacp"]
    reason = "its partner has another system or key than that of the other ports of the lag"
    assert (row["state"], row["reason"]) == ("detached", reason) and "distributing_after_s" not in row, row
    assert f"port east: it did not distribute in its lag 'lag' within 4s: {reason}" in result["verdict"]["reasons"], result["verdict"]


@pytest.mark.parametrize(
    "partner, activity, reason",
    [
        (None, "active", "no LACPDU was received"),
        ("off", "active", "no LACPDU was received"),
        ("passive", "passive", "no LACPDU was received, and with 'activity: passive' none is sent before: one of both ends must be active"),
    ],
)
def test_a_partner_that_says_nothing_ends_the_run(lab, partner, activity, reason):
    """After the time to wait, with a sentence, and not a packet was sent."""
    if partner:
        tester, _ = bonded(lab, partner)
    else:
        tester, far = lab.netns("tester"), lab.netns("far")
        for number in (0, 1, 2):
            lab.veth(tester, f"v{number}", far, f"f{number}")
    profile = lab.profile(ports(activity=activity, wait="3s"), [stream()], load={"duration": "1s"})
    before, begun = tester.counters("v0")["tx"], time.monotonic()
    done = lab.eagre("run", profile, ns=tester)
    done.refused(3, f"port west: lacp: it did not distribute in its lag 'lag' within 3s: {reason}\n")
    assert time.monotonic() - begun >= 3
    assert tester.counters("v0")["tx"] - before <= (5 if activity == "active" else 0)


@pytest.mark.unsteady("a busy machine sends LACPDUs late, and after 3 s without one a link is lost")
def test_a_lag_stays_up_while_neighbours_are_asked_for(lab):
    """A gateway that answers after seconds: LACPDUs go on meanwhile, and nothing flaps."""
    tester, switch = bonded(lab)
    router = lab.netns("router")
    lab.veth(tester, "v3", router, "r3")
    routed = ports(system=SYSTEM) | {"north": {"device": "afpacket:v3", "ip": "10.9.0.2/24", "gateway": "10.9.0.1"}}
    north = {"name": "north", "from": "north", "packet": [{"ipv4": {"src": "10.9.0.2", "dst": "10.8.0.1"}}, "udp"], "rate": "10pps"}
    profile = lab.profile(routed, [stream(), north], load={"duration": "1s", "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=tester)
    both_up(switch)
    time.sleep(3.5)
    assert switch.links() == [(UP, SYSTEM, UP)] * 2
    router.ip("address", "add", "10.9.0.1/24", "dev", "r3")
    result = lab.finish(process, 60).json
    for name in ("west", "east"):
        row = result["ports"][name]["lacp"]
        assert (row["flaps"], row["state"]) == (0, "distributing") and row["tx_lacpdus"] >= 8, row
    notes = [note for note in result["verdict"].get("notes", []) if " moved from core " not in note]
    assert notes == [], result["verdict"]


def test_two_lags_know_each_other_in_virtual_time(lab):
    """Each port comes up with the one at the other end of its link, with the times of each end, and stays."""

    def lag(name, ends, **lacp):
        return {end: {"device": f"ring:{end}", "speed": "1Gbps", "lacp": {"lag": name} | lacp} for end in ends}

    all_ports = lag("x", ("a", "c"), timeout="long", system="02:00:00:00:00:0a") | lag("y", ("b", "d"), activity="passive")
    wired = [
        {"name": f"{a}{b}", "from": a, "to": b, "packet": ["ethernet"], "rate": "1pps", "start_delay": "1s"} for a, b in ("ab", "cd")
    ]
    profile = lab.profile(all_ports, wired, load={"duration": "300s", "drain": "100ms"})
    rows = {name: port["lacp"] for name, port in lab.eagre("sim", profile, "--json", "-").result()["ports"].items()}
    for name, other in ("ab", "ba", "cd", "dc"):
        assert rows[name]["state"] == "distributing" and rows[name]["flaps"] == 0, rows[name]
        assert rows[name]["partner"] == rows[other]["actor"], (rows[name], rows[other])
        # Each sends as the other end wants it: every second to a short timeout, every 30 seconds to a long one.
        least, most = (300, 310) if name in "ac" else (10, 18)
        assert least <= rows[name]["tx_lacpdus"] <= most, rows[name]
    assert {rows[name]["lag"] for name in "ac"} == {"x"} and {rows[name]["actor"]["key"] for name in "bd"} == {2}


def test_a_lag_of_one_port_and_what_is_no_lag(lab):
    """One port is a lag as well; each mistake is told of where it is."""

    def check(**lacp):
        return lab.eagre("check", lab.profile({name: {"device": f"ring:{name}", "lacp": own} for name, own in lacp.items()}, []))

    check(a={}, b={"lag": "other"}).ok()
    check(a={"port": 3, "key": 1, "system": SYSTEM}, b={"port": 3, "key": 2, "system": "02:00:00:00:00:01", "system_priority": 0}).refused(
        2,
        "ports.b.lacp.key: differs from that of other ports of the lag 'lag'",
        "ports.b.lacp.system: differs from that of other ports of the lag 'lag'",
        "ports.b.lacp.port: 3 is the number of port 'a'",
    )
    check(a={"system": "01:00:00:00:00:01", "key": 0, "activity": "on", "wait": "2y"}).refused(
        2, "ports.a.lacp.key", "ports.a.lacp.activity", "ports.a.lacp.wait"
    )
    check(a={"system": "01:00:00:00:00:01"}).refused(2, "ports.a.lacp.system: must be the MAC address of one system, not of a group, and not 0")
    twice = {"key": 5, "system": SYSTEM}
    check(a={"lag": "x"} | twice, b={"lag": "y"} | twice).refused(2, "ports.b.lacp.lag: 'y' has the system and key of the lag 'x' of port 'a'")
