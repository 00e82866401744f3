"""`eagre bench routes`: FRR that ends the session beyond a limit of prefixes, or installs only some; and what is refused."""

import pytest
from bench import FAST, Bench
from lab import LONG, stream
from test_bgp import ONE, Device, peer

CAPACITY = 40
ROUTES = 100
SETTINGS = ["--set", f"first={CAPACITY // 2}", "--set", "rate=1kpps", "--set", "rest=500ms"]
SETTINGS += ["--set", f"resolution={0.01 if LONG else 0.3}"]


def profile(lab, ports, streams=None):
    return lab.profile(ports, [to_routes()] if streams is None else streams)


def to_routes():
    return {**stream("one", "east", "west"), "packet": [{"ipv4": {"dst": "16.0.0.9"}}, {"udp": {"dst": 9}}]}


def routes(*ranges, **keys):
    return {"peers": [peer(routes=list(ranges) or [{"prefixes": "16.0.0.0/24", "count": ROUTES}])], "settle": "1s", "timeout": "8s", **keys}


def bench(device, *settings, bgp=None):
    ports = device.ports(bgp or routes())
    ports["east"]["speed"] = "1Gbps"
    campaign = Bench(device.lab, device.tester)
    command = ["bench", "routes", profile(device.lab, ports), "--quick", *FAST, *SETTINGS, *settings]
    done = device.lab.eagre(*command, "--store", campaign.store, "--json", "-", ns=device.tester, timeout=300)
    result = done.json["results"][0]
    (row,) = result["findings"]["rows"]
    print(result["summary"], result["remarks"])
    findings = {finding["goal"]: finding for finding in campaign.shown()["findings"]}
    return done, row, result["summary"][0], findings


def lies_between(row):
    """The capacity lies within the resolution, unless the machine kept the tester from its work."""
    if row["limit"] == "dut":
        assert row["best"]["routes"] <= CAPACITY < row["failed"]["routes"], row
        assert row["failed"]["routes"] - row["best"]["routes"] <= max(1, row["failed"]["routes"] * row["resolution"]), row
    assert row["best"] is None or row["best"]["routes"] <= CAPACITY and row["best"]["lost"] == 0, row


@pytest.mark.quiet
@pytest.mark.unsteady("packets that a busy machine drops are lost by the device")
def test_a_device_that_ends_the_session_at_its_limit(lab):
    """`maximum-prefix`: the session ends, and stays down until somebody clears it."""
    limited = f" address-family ipv4 unicast\n  neighbor 10.0.0.2 maximum-prefix {CAPACITY}\n exit-address-family\n"
    device = Device(lab, f"{ONE} neighbor 10.0.0.2 timers connect 1\n{limited}")
    clear = f"vtysh --vty_socket {device.folder} -c 'clear bgp *' && sleep 0.5"
    done, row, said, findings = bench(device, "--before-trial", f"ip netns exec {device.ns.name} {clear}")
    lies_between(row)
    failed = row["failed"]
    # Cleared just before, FRR may close a first connection without a word.
    whys = ("Maximum Number of Prefixes", "without a NOTIFICATION")
    assert failed["outcome"]["sessions_lost"] > 0 and any(why in failed["outcome"]["why"] for why in whys), failed
    assert failed["outcome"]["why"] in said and failed["outcome"]["why"] in findings["route_capacity"]["note"], said
    assert findings["route_capacity"]["upper"] == failed["routes"], findings
    assert 0 < findings["announce_time"]["value"] < 10, findings
    done.ok()


@pytest.mark.quiet
@pytest.mark.unsteady("packets that a busy machine drops are lost by the device")
def test_a_device_that_installs_only_some(lab):
    """A filter of the neighbor denies all routes beyond the first; the session stays."""
    device = Device(lab, f"{ONE} neighbor 10.0.0.2 timers connect 1\n")
    permitted = [f"ip prefix-list few permit 16.0.{number}.0/24" for number in range(CAPACITY)]
    neighbor = ["address-family ipv4 unicast", "neighbor 10.0.0.2 prefix-list few in"]
    lines = [*permitted, "router bgp 65000", *neighbor]
    device.vtysh("-c", "configure terminal", *(f"-c{line}" for line in lines))
    done, row, said, findings = bench(device)
    lies_between(row)
    failed = row["failed"]
    assert failed["outcome"]["sessions_lost"] == 0 and failed["outcome"]["advertised"] == failed["routes"], failed
    # Of packets that go to all in turn, those to the others are lost.
    share = 1 - CAPACITY / failed["routes"]
    assert failed["lost"] / failed["sent"] == pytest.approx(share, abs=0.05), failed
    assert f"of {failed['sent']:,} packets were lost" in said, said
    assert findings["route_capacity"]["value"] == row["best"]["routes"], findings
    done.ok()


def test_sessions_that_never_come_up_are_no_failure_of_the_device(lab):
    device = Device(lab, " neighbor 10.0.0.9 remote-as 65001\n")
    one = ["--set", "first=1", "--set", "maximum=1"]
    _, row, said, findings = bench(device, *one, bgp=routes(timeout="2s"))
    assert row["best"] is None and row["failed"] is None and row["limit"] in ("disturbed", "tester"), row
    assert "1 of 1 BGP sessions could not be established" in said, said
    assert findings["route_capacity"]["value"] is None, findings


def test_what_is_refused(lab):
    def refused(text, change=lambda ports, streams: None, settings=()):
        ports = {
            "west": {"device": "ring:a", "ip": "10.0.0.2/24", "bgp": routes()},
            "east": {"device": "ring:b", "ip": "10.9.0.2/24", "gateway": "10.9.0.1", "speed": "1Gbps"},
        }
        streams = [to_routes()]
        change(ports, streams)
        lab.eagre("bench", "routes", profile(lab, ports, streams), *settings, "--estimate").refused(2, text)

    refused("port west, to which it goes, advertises no IPv4 routes", lambda ports, _: ports["west"].pop("bgp"))
    refused("streams: a stream is needed, to the port that advertises routes", lambda _, streams: streams.clear())
    refused("its packets carry no signature", lambda _, streams: streams[0].update(measure=False))
    refused("no destination port: methods need 'to'", lambda _, streams: streams[0].pop("to"))
    refused("maximum: the profile has 100 routes", settings=["--set", "maximum=101"])
    refused("packets: must be from 1 to 1000", settings=["--set", "packets=0"])
    refused("loss_max: must be at least 0 and below 1", settings=["--set", "loss_max=1"])


def test_an_estimate_sends_nothing(lab):
    ports = {
        "west": {"device": "ring:a", "ip": "10.0.0.2/24", "bgp": routes()},
        "east": {"device": "ring:b", "ip": "10.9.0.2/24", "gateway": "10.9.0.1", "speed": "1Gbps"},
    }
    done = lab.eagre("bench", "routes", profile(lab, ports), "--quick", "--estimate").ok()
    assert "trials" in done.out, done
