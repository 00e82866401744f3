"""Whatever the examples send leaves an `xdp:` port as the interpreter of field programs writes it, byte for byte."""

import contextlib
import json
import shutil
import sys

import pytest
import yaml
from capture import records
from lab import EAGRE, LONG, REPO, missing, need, settled, wait_until

SOURCE, NEXT_HOP = "02:00:00:00:00:01", "02:00:00:00:00:02"
PACKETS = 100_000 if LONG else 5_000
PPS = 100_000
SECONDS = 2 if LONG else 0.5
# Programs are interpreted where nobody may run code that was not loaded from a file: PR_SET_MDWE of Linux 6.3.
INTERPRETED = "import ctypes, os, sys\nctypes.CDLL(None).prctl(65, 1, 0, 0, 0) and sys.exit(77)\nos.execv(sys.argv[1], sys.argv[1:])\n"


def sender(example):
    """The streams of an example's first port, for a port whose next hop is known; None if they need what is behind a port."""
    profile = yaml.safe_load(example.read_text())
    (name, port), *others = profile["ports"].items()
    needs = {"bgp", "ospf", "isis", "pppoe", "multicast", "addresses", "hosts"}
    streams = [one for one in profile.get("streams", []) if one["from"] == name]
    if not streams or needs & {key for port in profile["ports"].values() for key in port}:
        return None
    ports = {name: {**port, "device": "xdp:v0"}, **{other: {**port, "device": "null"} for other, port in others}}
    for port in ports.values():
        port.pop("gateway", None)
    for one in streams:
        if "packet" in one:
            first, *rest = one["packet"]
            given = first.get("ethernet", {}) if isinstance(first, dict) and "ethernet" in first else {}
            rest = rest if "ethernet" in first else one["packet"]
            one["packet"] = [{"ethernet": {"dst": NEXT_HOP, **given, "src": SOURCE}}, *rest]
        if "replay" in one:
            one["replay"].pop("split")
            one["replay"]["rewrite"].update({"ethernet.src": SOURCE, "ethernet.dst": NEXT_HOP})
        # A signature has the time in it.
        one["measure"] = False
        one.pop("egress", None)
        if isinstance(one.get("rate"), str):
            one["rate"] = f"{PPS / len(streams) / one.get('copies', 1):.3f}pps"
    return {"ports": ports, "streams": streams, "load": {"duration": f"{SECONDS}s", "drain": "10ms"}, "seed": 7}


EXAMPLES = {path.stem: profile for path in sorted((REPO / "examples").glob("*.yaml")) if (profile := sender(path))}


def test_there_are_examples():
    assert len(EXAMPLES) >= 30, sorted(EXAMPLES)


@pytest.mark.unsteady("on a busy machine the other end's queue runs over")
@pytest.mark.parametrize("name", EXAMPLES)
def test_frames_are_those_of_the_interpreter(lab, name):
    need("tcpdump", "ethtool")
    tester = lab.netns("tester")
    lab.veth(tester, "v0", tester, "v1", mtu=2000)
    tester.run("ethtool", "-K", "v1", "gro", "on")
    folder = lab.folder()
    shutil.copy(REPO / "examples/replay.pcap", folder)
    profile, meant, seen = folder / "profile.yaml", folder / "meant.pcap", folder / "seen.pcap"
    profile.write_text(json.dumps(EXAMPLES[name]))
    simulation = lab.start(sys.executable, "-c", INTERPRETED, EAGRE, "sim", profile, "--pcap", meant, "--packets", PACKETS, "--json", "-")
    simulated = lab.finish(simulation, 120)
    if simulated.exit == 77:
        missing("needs Linux 6.3, which can forbid generated machine code")
    varies = any("vary" in one for one in EXAMPLES[name]["streams"])
    assert simulated.json.get("field_programs") == ("interpreted" if varies else None)
    # Echo replies of the simulated port at the other end are not among them.
    wanted = [frame for _, frame in records(meant) if frame[6:12] == bytes.fromhex(SOURCE.replace(":", ""))]
    assert len(wanted) >= min(PACKETS, 1_000), len(wanted)

    def run():
        dump = lab.start(
            "tcpdump", "-Z", "root", "-n", "-U", "-s", "0", "-B", "131072", "-i", "v1", "-Q", "in", "-w", seen, f"ether src {SOURCE}", ns=tester
        )
        wait_until(lambda: seen.exists() and seen.stat().st_size >= 24, "tcpdump")
        done = lab.eagre("run", profile, "--json", "-", ns=tester)
        # Frames that are lost on a busy machine never come: `check` sees that.
        with contextlib.suppress(AssertionError):
            wait_until(lambda: seen.stat().st_size >= 24 + sum(16 + len(frame) for frame in wanted), "what was sent", every=0.1)
        dump.terminate()
        dump.communicate(timeout=20)
        arrived = [frame for _, frame in records(seen)]
        seen.unlink()
        return done, arrived

    def check(done, arrived):
        assert len(arrived) >= len(wanted), done.json["verdict"]
        different = next((i for i, (here, there) in enumerate(zip(arrived, wanted, strict=False)) if here != there), None)
        assert different is None, (different, arrived[different].hex(), wanted[different].hex())

    settled(run, check)
