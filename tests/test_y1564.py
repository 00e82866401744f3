"""`eagre bench y1564`: services through the kernel's router, which polices some of them; each has, or lacks, what was agreed."""

import json

import pytest
from bench import Bench
from hosts import rules
from lab import LONG, need

# Packets of 500 bytes: 2 Mbit/s are 500 a second.
SIZE, CIR, EIR = "500B", 500, 400
PORTS = {"good": 1001, "short": 1002, "open": 1003, "shallow": 1004}
# What the router lets through of each, packets a second, and the depth of its bucket; 'open' is not policed.
BUCKETS = {"good": (CIR + EIR, 25), "short": (CIR * 6 // 10, 25), "shallow": (CIR + EIR, 5)}
FAILS_AT = {
    "good": (),
    "short": ("100% of CIR", "CIR + EIR", "policing", "performance"),
    "open": ("policing",),
    "shallow": ("CBS",),
}


# Each step of each service is a trial.
TESTED = list(PORTS) if LONG else ["short", "open"]
STEPS = [50, 100] if LONG else [100]
STEP = "1s" if LONG else "250ms"


def rate(packets):
    return f"{packets * 500 * 8 // 1000}kbps"


def services(**more):
    each = {"cir": rate(CIR), "eir": rate(EIR), "policing": True, "flr_max": 0.02, "ftd_max": "500ms", "fdv_max": "500ms"}
    burst = {"good": {"cbs": 16 * 500}, "shallow": {"cbs": 16 * 500}}
    return json.dumps([{"name": name, **each, **burst.get(name, {}), **more} for name in TESTED])


def profile(lab, router):
    ports = {name: {**port, "speed": "100Mbps"} for name, port in router.ports("afpacket", v6=False).items()}
    one = lambda name, udp: {"name": name, "from": "west", "to": "east", "packet": ["ipv4", {"udp": {"dst": udp}}], "size": SIZE}
    return lab.profile(ports, [one(*item) for item in PORTS.items()])


def test_each_service_is_judged_by_what_was_agreed(lab):
    need("nft")
    router = lab.router()
    for name, (packets, burst) in BUCKETS.items():
        limit = f"limit rate over {packets}/second burst {burst} packets"
        rules(router.router, "forward", f"udp dport {PORTS[name]} {limit} counter name hit drop", name=name)
    bench = Bench(lab, router.tester)
    settings = ["--set", f"services={services()}", "--set", f"step={STEP}", "--set", "performance=1s"]
    settings += ["--set", f"steps_percent={STEPS}", "--set", "margin=0.04", "--report", lab.folder() / "report.html"]
    command = ["bench", "y1564", profile(lab, router), "--settle", "0s", "--learning", "50ms", "--drain", "200ms", *settings]
    done = lab.eagre(*command, "--store", bench.store, "--json", "-", ns=router.tester, timeout=120)
    result = done.json["results"][0]
    rows = {row["service"]["name"]: row for row in result["findings"]["rows"]}
    assert list(rows) == TESTED, rows
    for name, row in rows.items():
        steps = {step["step"]: step for step in row["steps"]}
        bursts = {"CBS": 0.8 * CIR} if name in ("good", "shallow") else {}
        asked = {f"{share}% of CIR": CIR * share // 100 for share in STEPS}
        asked |= {"CIR + EIR": CIR + EIR, "policing": CIR + EIR * 5 // 4, **bursts, "performance": CIR}
        assert {step: one["asked_bps"] for step, one in steps.items()} == {step: 4_000 * n for step, n in asked.items()}, steps
        for step, one in steps.items():
            # A trial that the tester spoilt is not judged; one that it did not is judged right.
            assert one["passed"] in (step not in FAILS_AT[name], None), (name, one)
            assert one["passed"] is not False or one.get("because"), (name, one)
        known = [one["passed"] for one in steps.values()]
        assert row["passed"] is (False if False in known else None if None in known else True), row
    because = {name: {one["step"]: one.get("because", []) for one in row["steps"]} for name, row in rows.items()}
    for text in because["short"]["100% of CIR"]:
        assert "lost, at most 2%" in text, because
    for text in because["open"]["policing"]:
        assert "received, more than CIR + EIR: not policed, nothing was dropped" in text, because
    failed = [name for name, row in rows.items() if row["passed"] is False]
    if result["remarks"][-1].startswith("The performance test lasted"):
        assert failed == [name for name in TESTED if FAILS_AT[name]], rows
    assert done.exit == (1 if failed else 0), done
    findings = {(one["frame"], one["goal"]): one for one in bench.shown()["findings"]}
    # A performance test that the tester spoilt has none.
    found = findings["open", "service_ir"]["value"]
    assert found is None or 0.9 * CIR * 4_000 < found < 1.1 * CIR * 4_000, findings
    assert "open" not in failed or findings["open", "service_activation"]["value"] < 1, findings
    page = settings[-1].read_text()
    assert 'id="services"' in page and ("not policed" in page or "open" not in failed), page[:3000]


# What the router lets through by DSCP, packets a second: a bucket for each colour, or one for both.
BY_COLOUR = {
    "each": [(10, CIR * 11 // 10), (12, EIR)],
    "one": [("{ 10, 12 }", CIR + EIR)],
}


@pytest.mark.parametrize("buckets", BY_COLOUR)
def test_yellow_frames_must_not_cost_green_ones(lab, buckets):
    need("nft")
    router = lab.router()
    for number, (dscp, packets) in enumerate(BY_COLOUR[buckets]):
        limit = f"limit rate over {packets}/second burst 25 packets"
        rules(router.router, "forward", f"ip dscp {dscp} {limit} counter name hit drop", name=f"colour{number}")
    ports = {name: {**port, "speed": "100Mbps"} for name, port in router.ports("afpacket", v6=False).items()}
    colour = lambda name, dscp: {"name": name, "from": "west", "to": "east", "packet": [{"ipv4": {"dscp": dscp}}, "udp"], "size": SIZE}
    path = lab.profile(ports, [colour("green", 10), colour("yellow", 12)])
    agreed = {"name": "green", "yellow": "yellow", "cir": rate(CIR), "eir": rate(EIR), "policing": True}
    agreed |= {"flr_max": 0.05, "ftd_max": "500ms", "fdv_max": "500ms"}
    settings = {"services": json.dumps([agreed]), "step": "500ms", "performance": "1s", "steps_percent": [100], "margin": 0.1}
    words = [word for name, value in settings.items() for word in ("--set", f"{name}={value}")]
    bench = Bench(lab, router.tester)
    command = ["bench", "y1564", path, "--settle", "0s", "--learning", "50ms", "--drain", "200ms", *words]
    done = lab.eagre(*command, "--store", bench.store, "--json", "-", ns=router.tester, timeout=120)
    (row,) = done.json["results"][0]["findings"]["rows"]
    steps = {step["step"]: step for step in row["steps"]}
    assert list(steps) == ["100% of CIR", "CIR + EIR", "policing", "policing of yellow", "coupling", "performance"], steps
    asked = {name: (step["asked_bps"] // 4_000, step.get("yellow", {}).get("asked_bps", 0) // 4_000) for name, step in steps.items()}
    over = EIR + (CIR + EIR) // 4
    assert asked["CIR + EIR"] == (CIR, EIR) and asked["policing of yellow"] == (CIR, over) and asked["coupling"] == (0, CIR + EIR), asked
    # One bucket drops green frames for yellow ones, and lets yellow ones use the whole CIR.
    fails = {"each": (), "one": ("policing of yellow", "coupling")}[buckets]
    for name, step in steps.items():
        assert step["passed"] in (name not in fails, None), (name, step)
    if steps["coupling"]["passed"] is False:
        assert "more than the EIR: coupled" in steps["coupling"]["because"][0], steps
    if steps["policing of yellow"]["passed"] is False:
        assert "lost, at most 5%" in " ".join(steps["policing of yellow"]["because"]), steps


def test_what_is_refused(lab):
    def refused(services, text):
        path = profile(lab, Ring())
        lab.eagre("bench", "y1564", path, "--set", f"services={json.dumps(services)}", "--estimate").refused(2, text)

    refused([{"name": "voice", "cir": "1Mbps"}], "the profile has no stream 'voice', only good, short, open, shallow")
    refused([{"name": "good", "cbs": 100}], "'good': cbs of 100 bytes is less than a frame of 500B")
    refused([{"name": "good", "frames": "40B"}], "frame")
    refused([{"name": "good"}, {"name": "good"}], "'good' is listed twice")
    refused([{"name": "good", "cir": "1Mbps-L1"}], "information rates are of layer 2")
    refused([{"name": "good", "yellow": "short"}], "yellow needs eir")
    refused([{"name": "good", "yellow": "amber", "eir": "1Mbps"}], "the profile has no stream 'amber'")


class Ring:
    @staticmethod
    def ports(_, v6):
        assert not v6
        return {"west": {"device": "ring:a", "ip": "10.0.0.2/24"}, "east": {"device": "ring:b", "ip": "10.0.0.3/24"}}
