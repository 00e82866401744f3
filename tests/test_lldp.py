"""LLDP agents behind a port, and Debian's lldpd behind the device's: each lists the other."""

import json
import os
import time

import pytest
from lab import need, wait_until


class Lldpd:
    """lldpd at the far end of a veth pair."""

    def __init__(self, lab, *options):
        need("ip", "lldpd", "lldpcli")
        self.lab = lab
        self.tester, self.device = lab.netns("tester"), lab.netns("device")
        lab.veth(self.tester, "veth0", self.device, "d0")
        self.device.ip("address", "add", "10.0.0.1/24", "dev", "d0")
        folder = lab.folder()
        os.chmod(folder, 0o755)
        self.socket = folder / "lldpd.socket"
        config = folder / "lldpd.conf"
        config.write_text("configure lldp tx-interval 2\nconfigure system hostname device\n")
        self.process = lab.start(
            *("lldpd", "-d", "-u", self.socket, "-O", config, "-I", "d0", "-S", "the device", *options),
            ns=self.device,
        )
        wait_until(lambda: self.socket.exists() and self.cli("show", "chassis"), "lldpd")

    def cli(self, *words):
        said = self.device.run("lldpcli", "-u", self.socket, "-f", "json0", *words, check=False)
        return json.loads(said) if said.startswith("{") else {}

    def neighbours(self):
        """Each neighbour's chassis and port, as lldpd tells of them."""
        found = self.cli("show", "neighbors", "details").get("lldp", [{}])[0].get("interface", [])
        return [(row, row["chassis"][0], row["port"][0]) for row in found]


def value(row, *keys):
    """What is in lldpcli's lists of one."""
    for key in keys:
        row = row[key][0]
    return row["value"]


SAID = {
    "chassis_id": "rack-7",
    "port_id": "ge-0/0/1",
    "port_description": "to the lab",
    "system_name": "tide",
    "system_description": "a tester of many hosts",
    "capabilities": ["bridge", "router", "station"],
    "enabled": ["router"],
    "management": ["10.0.0.2", "2001:db8::2"],
    "tlvs": [{"oui": "00 a0 b0", "subtype": 7, "value": "00ff10"}],
    "interval": "2s",
    "hold": 3,
}


def test_lldpd_and_the_port_list_each_other(lab):
    """Every field, both ways; what is taken back at the end is forgotten at once."""
    device = Lldpd(lab)
    ports = {"west": {"device": "afpacket:veth0", "ip": "10.0.0.2/24", "lldp": SAID}}
    profile = lab.profile(ports, [], load={"duration": "4s", "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=device.tester)
    wait_until(device.neighbours, "lldpd to know the port", 20, every=0.1)
    ((heard, chassis, port),) = device.neighbours()
    lldp = lab.finish(process, 60).result()["ports"]["west"]["lldp"]
    print(json.dumps(chassis), json.dumps(port), json.dumps(lldp))
    assert chassis["id"] == [{"type": "local", "value": "rack-7"}], chassis
    assert (value(chassis, "name"), value(chassis, "descr")) == ("tide", "a tester of many hosts")
    assert sorted(ip["value"] for ip in chassis["mgmt-ip"]) == ["10.0.0.2", "2001:db8::2"]
    able = {row["type"]: row["enabled"] for row in chassis["capability"]}
    assert {name: able[name] for name in ("Bridge", "Router", "Station")} == {
        "Bridge": False,
        "Router": True,
        "Station": False,
    }
    assert port["id"] == [{"type": "ifname", "value": "ge-0/0/1"}], port
    assert (value(port, "descr"), value(port, "ttl")) == ("to the lab", "7")
    (custom,) = heard["unknown-tlvs"][0]["unknown-tlv"]
    assert {key: custom[key] for key in ("oui", "subtype", "value")} == {
        "oui": "00,A0,B0",
        "subtype": "7",
        "value": "00,FF,10",
    }, heard
    wait_until(lambda: not device.neighbours(), "lldpd to forget what was taken back", 5)

    (row,) = lldp["neighbours"]
    mac = device.device.mac("d0")
    ours = device.cli("show", "chassis", "details")["local-chassis"][0]["chassis"][0]
    assert (row["mac"], row["port_id"], row["port_id_type"]) == (mac, mac, "mac"), row
    assert (row["chassis_id"], row["chassis_id_type"]) == (value(ours, "id"), ours["id"][0]["type"]), row
    assert (row["system_name"], row["system_description"]) == ("device", "the device"), row
    assert (row["port_description"], row["ttl_s"]) == ("d0", 8), row
    told = {cap["type"].lower().replace("wlan", "wlan_access_point"): cap["enabled"] for cap in ours["capability"]}
    assert set(row["capabilities"]) == {n.replace("tel", "telephone") for n in told}, row
    assert set(row["enabled"]) == {n.replace("tel", "telephone") for n, on in told.items() if on}, row
    assert "10.0.0.1" in row["management"], row
    # 802.3 MAC and PHY configuration, as raw bytes.
    assert {"oui": "00120f", "subtype": 1} in [{k: tlv[k] for k in ("oui", "subtype")} for tlv in row["tlvs"]], row
    assert lldp["known"] == lldp["learnt"] == 1 and lldp["rx_errors"] == lldp["tlvs_discarded"] == 0, lldp
    # Once, four times fast, at the interval, and the last one.
    assert 5 <= lldp["tx_frames"] <= 8 and lldp["rx_frames"] >= 2, lldp


@pytest.mark.unsteady("on a busy machine lldpd starts late")
def test_a_neighbour_that_falls_silent_is_forgotten(lab):
    """It is known until its time to live is over, and no longer."""
    device = Lldpd(lab)
    device.cli("configure", "lldp", "tx-hold", "1")
    ports = {"west": {"device": "afpacket:veth0", "lldp": {}}}
    profile = lab.profile(ports, [], load={"duration": "12s", "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=device.tester)
    wait_until(device.neighbours, "lldpd to know the port", 10, every=0.1)
    time.sleep(2.5)  # It sends every two seconds.
    device.cli("pause")
    lldp = lab.finish(process, 60).result()["ports"]["west"]["lldp"]
    assert (lldp["learnt"], lldp["aged_out"], lldp["left"], lldp["known"]) == (1, 1, 0, 0), lldp
    assert lldp["neighbours"] == [], lldp


def test_many_hosts_are_as_many_neighbours_beside_a_namespace(lab):
    """Each host is an agent with its own chassis; a namespace for the hosts' control plane hears LLDP as well."""
    device = Lldpd(lab)
    hosts = [{"name": "h", "count": 19, "ip": "10.0.0.20/24"}]
    west = {"device": "afpacket:veth0", "ip": "10.0.0.2/24", "hosts": hosts, "punt": {}}
    west["lldp"] = {"each_host": True, "system_name": "host-{n}", "interval": "10s"}
    profile = lab.profile({"west": west}, [], load={"duration": "4s", "drain": "100ms"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=device.tester)
    wait_until(lambda: len(device.neighbours()) == 20 or process.poll() is not None, "all hosts", 20, every=0.1)
    known = device.neighbours()
    port = lab.finish(process, 60).result()["ports"]["west"]
    assert sorted(value(chassis, "name") for _, chassis, _ in known) == sorted(f"host-{n}" for n in range(20))
    assert len({value(chassis, "id") for _, chassis, _ in known}) == 20
    assert port["lldp"]["known"] == 1 and port["rx_punted"] > 0, port
    wait_until(lambda: not device.neighbours(), "the hosts to be forgotten", 5)


def test_a_short_run_explains_that_no_neighbour_was_heard(lab):
    """Most agents send every 30 s: a port without neighbours in a shorter run says so, a port with one does not."""
    ports = {"west": {"device": "ring:a", "ip": "10.0.0.1/24", "lldp": {"interval": "1s"}}, "east": {"device": "ring:b", "ip": "10.0.0.2/24"}}
    stream = {"name": "s", "from": "west", "to": "east", "packet": ["ipv4", "udp"], "size": "128B", "rate": "10pps"}
    profile = lab.profile(ports, [stream], load={"duration": "300ms", "drain": "50ms"})
    result = lab.eagre("run", profile, "--json", "-").told
    (note,) = [note for note in result["verdict"]["notes"] if "neighbour" in note]
    assert note.startswith("port west: no LLDP neighbour within 300ms; most agents send every 30s"), note



@pytest.mark.parametrize("interval, hold", [("1s", 4), ("10s", 1)])
def test_two_ports_know_each_other_in_virtual_time(lab, interval, hold):
    """Both say their part on time, and nobody is forgotten before the end."""
    lldp = {"interval": interval, "hold": hold}
    ports = {name: {"device": f"ring:{name}", "speed": "1Gbps", "lldp": lldp} for name in ("west", "east")}
    wired = {"name": "s", "from": "west", "to": "east", "packet": ["ethernet"], "rate": "10pps"}
    profile = lab.profile(ports, [wired], load={"duration": "100s", "drain": "100ms"})
    rows = lab.eagre("sim", profile, "--json", "-").result()["ports"]
    for name, other in (("west", "east"), ("east", "west")):
        row = rows[name]["lldp"]
        assert (row["known"], row["learnt"], row["aged_out"]) == (1, 1, 0), row
        (neighbour,) = row["neighbours"]
        assert (neighbour["port_id"], neighbour["system_name"]) == (other, other), row
        assert 99 < neighbour["known_for_s"] < 101, row


def test_what_cannot_be_said_is_refused(lab):
    lldp = {"interval": "1ms", "tlvs": [{"oui": "00"}], "capabilities": ["switch"]}
    done = lab.eagre("check", lab.profile({"a": {"device": "ring:a", "lldp": lldp}}, []))
    done.refused(2, "ports.a.lldp.interval: must be from 1s to 1h", "ports.a.lldp.tlvs[0].oui: must be three bytes", "switch")
