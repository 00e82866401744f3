"""What examples and random field programs send leaves an `xdp:` port as the interpreter writes it, byte for byte."""

import ipaddress
import json
import random
import shutil
import sys
import time

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
    """The streams of an example's first port, for a port whose next hop is known; None if they need what is behind a port, or more ports."""
    profile = yaml.safe_load(example.read_text())
    (name, port), *others = profile["ports"].items()
    needs = {"bgp", "ospf", "isis", "pppoe", "multicast", "addresses", "hosts"}
    streams = [one for one in profile.get("streams", []) if one["from"] == name]
    if not streams or len(others) > 1 or needs & {key for port in profile["ports"].values() for key in port}:
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


# Fields of each header that may hold anything, and their bits.
FIELDS = {
    "vlan": {"id": 12, "pcp": 3},
    "ipv4": {"src": 32, "dst": 32, "ttl": 8, "dscp": 6, "id": 16},
    "ipv6": {"src": 128, "dst": 128, "hop_limit": 8, "flow_label": 20},
    "udp": {"src": 16, "dst": 16},
    "tcp": {"src": 16, "dst": 16, "seq": 32, "ack": 32, "window": 16},
}
ADDRESSED = {"ipv4": {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}}, "ipv6": {"ipv6": {"src": "fd00::1", "dst": "fd00::2"}}}


class Programs:
    """Random streams with random field programs."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def value(self, path, number):
        if path.endswith((".src", ".dst")) and path.startswith("ipv"):
            return str((ipaddress.IPv4Address if path.startswith("ipv4") else ipaddress.IPv6Address)(number))
        return number

    def range(self, path, bits):
        low, high = sorted(self.random.getrandbits(self.random.randint(1, bits)) for _ in range(2))
        return f"{self.value(path, low)}..{self.value(path, high)}"

    def numbers(self, path, bits, n):
        return [self.value(path, self.random.getrandbits(bits)) for _ in range(n)]

    def generator(self, path, bits, earlier):
        draw = self.random
        first = self.value(path, draw.getrandbits(bits))
        count = draw.randint(1, min(1 << bits, 5_000))
        kinds = [
            lambda: {"from": first, "count": count, "step": draw.randint(1, min(1 << (bits - 1), 300))},
            lambda: self.range(path, bits),
            lambda: {"random": self.range(path, bits), "seed": draw.getrandbits(30)},
            lambda: {"random": "all"},
            lambda: {"random": self.range(path, bits), "distinct": 1},
            lambda: self.numbers(path, bits, draw.randint(1, 9)),
            lambda: {"list": self.numbers(path, bits, draw.randint(1, 40)), "order": "random"},
            lambda: {"weights": {str(value): draw.randint(1, 9) for value in self.numbers(path, bits, 4)}},
        ]
        if bits in (8, 16, 32):
            kinds.append(lambda: {"lcg": self.range(path, bits)})
        if earlier and bits <= 64:
            kinds.append(lambda: {"same_as": draw.choice(earlier), "shift": draw.randint(-9, 9), "plus": draw.getrandbits(min(bits, 8))})
        vary = draw.choice(kinds)()
        if isinstance(vary, dict) and draw.random() < 0.3:
            vary["mask"] = self.value(path, draw.getrandbits(bits) | 1)
        if isinstance(vary, dict) and path.startswith("payload") and draw.random() < 0.5:
            vary["endian"] = "little"
        return vary

    def stream(self, number):
        draw = self.random
        headers = [*(["vlan"] if draw.random() < 0.2 else []), draw.choice(["ipv4", "ipv6"]), draw.choice(["udp", "tcp"])]
        fields = [(f"{header}.{field}", bits) for header in headers for field, bits in FIELDS[header].items()]
        at, size = draw.randint(0, 6), draw.choice([1, 2, 4, 8])
        fields.append((f"payload[{at}..{at + size}]", 8 * size))
        vary, earlier = {}, []
        for path, bits in draw.sample(fields, draw.randint(1, min(6, len(fields)))):
            vary[path] = self.generator(path, bits, earlier)
            if bits <= 64:
                earlier.append(path)
        return {
            "name": f"program{number}",
            "from": "west",
            "packet": [{"ethernet": {"src": SOURCE, "dst": NEXT_HOP}}, *(ADDRESSED.get(header, header) for header in headers)],
            "size": f"{draw.randint(120, 1400)}B",
            "vary": vary,
            "measure": False,
        }

    def profile(self, count):
        streams = [{**self.stream(number), "rate": f"{PPS / count:.3f}pps"} for number in range(count)]
        load = {"duration": "0.2s", "drain": "10ms"}
        ports = {"west": {"device": "xdp:v0", "ip": ["10.0.0.1/8", "fd00::1/8"], "speed": "100Gbps"}}
        return {"ports": ports, "streams": streams, "load": load, "seed": 7}


@pytest.mark.unsteady("on a busy machine the other end's queue runs over")
@pytest.mark.parametrize("name", EXAMPLES)
def test_frames_are_those_of_the_interpreter(lab, name):
    compare(lab, EXAMPLES[name])


@pytest.mark.unsteady("on a busy machine the other end's queue runs over")
@pytest.mark.parametrize("seed", range(10 if LONG else 1))
def test_random_programs_write_what_the_interpreter_writes(lab, seed):
    compare(lab, Programs(seed).profile(1000))


def grown(path, size):
    """A condition: a file has this size, or has not grown for three seconds."""
    seen = [0, time.monotonic()]

    def is_so():
        now = path.stat().st_size
        if now > seen[0]:
            seen[:] = now, time.monotonic()
        return now >= size or time.monotonic() > seen[1] + 3

    return is_so


def compare(lab, document):
    need("tcpdump", "ethtool")
    tester = lab.netns("tester")
    lab.veth(tester, "v0", tester, "v1", mtu=2000)
    tester.run("ethtool", "-K", "v1", "gro", "on")
    folder = lab.folder()
    shutil.copy(REPO / "examples/replay.pcap", folder)
    profile, meant, seen = folder / "profile.yaml", folder / "meant.pcap", folder / "seen.pcap"
    profile.write_text(json.dumps(document))
    simulation = lab.start(sys.executable, "-c", INTERPRETED, EAGRE, "sim", profile, "--pcap", meant, "--packets", PACKETS, "--json", "-")
    simulated = lab.finish(simulation, 120)
    if simulated.exit == 77:
        missing("needs Linux 6.3, which can forbid generated machine code")
    varies = any("vary" in one for one in document["streams"])
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
        wait_until(grown(seen, 24 + sum(16 + len(frame) for frame in wanted)), "what was sent", 60, every=0.1)
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
