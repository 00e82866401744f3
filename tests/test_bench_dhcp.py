"""`eagre bench dhcp`: dnsmasq, reached through a limit on packets per second, which decides how many clients get their addresses in time."""

import pytest
from bench import Bench
from lab import LONG, need
from test_dhcp import Dnsmasq, Isc, Kea, Network

# Packets a second from clients to the server that pass: two for each client, and what its release adds afterwards. Those of a
# tenth of a second may come at once, as after a moment in which the machine stood still.
LIMIT = 400
FAST = ["--settle", "1s", "--set", "rest=1s"] + ([] if LONG else ["--trial", "1s", "--set", "resolution=0.2"])


def limited(device):
    device.run(
        "nft",
        "-f",
        "-",
        input=f"table netdev few {{\n  chain few {{\n    type filter hook ingress device d0 priority 0\n"
        f"    udp dport 67 limit rate over {LIMIT}/second burst 40 packets drop\n  }}\n}}\n",
    )


def test_the_rate_is_that_of_the_server(lab):
    need("nft")
    network = Network(lab)
    Dnsmasq(network)
    limited(network.device)
    ports = {"west": {"device": "afpacket:veth0", "dhcp": {"clients": 900}}}
    profile = lab.profile(ports, [])
    campaign = Bench(lab, network.tester)
    command = ["bench", "dhcp", profile, *FAST, "--set", "first=50", "--set", "maximum=800", "--store", campaign.store, "--json", "-"]
    done = lab.eagre(*command, ns=network.tester, timeout=300)
    result = done.json["results"][0]
    (row,) = result["findings"]["rows"]
    print(result["summary"], result["remarks"])
    best = row["best"]["outcome"]
    assert best["bound"] == best["clients"] and best["repeated"] == best["conflicts"] == 0, row
    assert best["bind"]["max"] < 1e9, row
    # Some clients of a trial at the limit are late already, and packets of the burst come before it applies.
    assert 50 <= row["best"]["rate"] <= LIMIT / 2 * 1.2, row
    if row["limit"] == "dut":
        assert row["failed"]["rate"] > LIMIT / 4 and row["failed"]["violations"], row
        assert any("DHCP set-up rate: " in sentence and "clients/s; at " in sentence for sentence in result["summary"]), result["summary"]
    findings = {finding["goal"]: finding for finding in campaign.shown()["findings"]}
    assert findings["lease_rate"]["value"] == row["best"]["rate"] and {"bind_p50", "bind_p99"} <= findings.keys(), findings


def searched(lab, network, *settings):
    """Findings of one campaign by goal, and its sentence."""
    ports = {"west": {"device": "afpacket:veth0", "dhcp": {"clients": 40}}}
    command = ["bench", "dhcp", lab.profile(ports, []), "--quick", "--trial", "500ms", "--settle", "0s", "--set", "rest=100ms"]
    command += ["--set", "first=20", "--set", "maximum=40", *settings, "--store", lab.folder() / "store.db", "--json", "-"]
    done = lab.eagre(*command, ns=network.tester, timeout=120)
    (result,) = done.json["results"]
    (row,) = result["findings"]["rows"]
    return row, result["summary"][0], len(result["trials"])


# How long each pings an address before it first offers it, by default.
PINGS = {"isc": 1.0, "dnsmasq": 3.0}


@pytest.mark.parametrize("kind", sorted(PINGS))
def test_a_server_that_pings_first_has_that_delay_as_its_finding_each_time(lab, kind):
    network = Network(lab)
    Isc(network, ping=True) if kind == "isc" else Dnsmasq(network, ping=True)
    for _ in range(2):
        row, said, trials = searched(lab, network)
        # It runs again if the tester was disturbed.
        assert (row["best"], row["limit"]) == (None, "impossible") and trials <= 2, (row, said)
        waited = row["alone"]["bind"]["max"] / 1e9
        assert PINGS[kind] <= waited < PINGS[kind] + 2, row
        assert f"none; one client alone, new to the server, waited {waited:.3f} s" in said, said
        assert row["alone"]["repeated"] == 0, row


def test_a_server_that_does_not_ping_has_the_same_rate_each_time(lab):
    network = Network(lab)
    Kea(network)
    for _ in range(2):
        row, said, _ = searched(lab, network)
        assert row["alone"]["bind"]["max"] < 1e9 and row["failed"] is None, (row, said)
        assert row["best"]["rate"] == 40 and row["limit"] == "maximum", (row, said)
        assert row["best"]["outcome"]["bind"]["max"] < 1e9, row


def test_a_profile_without_clients_or_with_too_many_kinds_is_refused(lab):
    def refused(text, **ports):
        profile = lab.profile({name: {"device": f"ring:{name}", **keys} for name, keys in ports.items()}, [])
        lab.eagre("bench", "dhcp", profile, "--estimate").refused(2, text)

    refused("no port has clients that request addresses", a={"ip": "10.0.0.1/24"}, b={"ip": "10.0.0.2/24"})
    refused("ports.b.dhcp: ports.a.dhcp has clients as well", a={"dhcp": {"clients": 9}}, b={"dhcp": {"clients": 9}})
    refused("ports.a.dhcpv6: ports.a.dhcp has clients as well", a={"dhcp": {"clients": 9}, "dhcpv6": {"clients": 9}}, b={"ip": "10.0.0.2/24"})
