"""`eagre bench switch`: a model switch whose memory is known, the kernel's bridge with queues of a known length, and Open vSwitch."""

import pytest
from bench import Bench
from lab import REPO, need
from ovs import Ovs

KIB = 1024
LONG = 1518
FAST = ["--quick", "--set", "resolution=0.1", "--set", "wait=5ms", "--learning", "0s", "--drain", "50ms", "--settle", "0s"]
# A link on which switches in software keep up.
SPEED, SIZE = "20Mbps", 512
# Bytes of a frame of the kernel's queue: without FCS, with the 24 that preamble, gap and FCS take on the line.
QUEUED = SIZE - 4 + 24
QUEUE = 64


def rows(done):
    (result,) = done.ok().json["results"]
    print("\n".join(result["summary"]), result["remarks"])
    return result["findings"]["rows"], result


def simulated(lab, dut, *more, sizes=f"{LONG}B", trial="50ms"):
    """Findings of the example's profile over a model switch."""
    command = ["bench", "switch", REPO / "examples/switch-bench.yaml", "--sim", "--dut", dut, *FAST, "--sizes", sizes, "--trial", trial]
    found, result = rows(lab.eagre(*command, "--store", lab.folder() / "store.db", "--json", "-", *more, timeout=120))
    return found[0], result


def only(*tests):
    return ["--set", f"tests={','.join(tests)}"]


@pytest.mark.parametrize("mode", ["", ",cut-through"])
def test_the_buffer_of_a_model_is_found_within_a_frame(lab, mode):
    row, result = simulated(lab, f"switch:buffer=512KiB{mode}", *only("buffer"))
    pair, three, both = row["bursts"]
    assert (pair["senders"], three["senders"], both["receivers"]) == (2, 3, 2), row["bursts"]
    assert pair["held_bytes"] <= 512 * KIB < pair["failed_bytes"] == pair["held_bytes"] + LONG, pair
    assert three["held_bytes"] <= 512 * KIB < three["failed_bytes"] == three["held_bytes"] + 2 * LONG, three
    assert abs(both["held_bytes"] - 512 * KIB) <= 2 * LONG and any("they share it" in text for text in result["summary"]), both
    (interval,) = (one for one in result["intervals"] if (one["frame"], one["goal"]) == (f"{LONG}B 2 senders", "switch_buffer"))
    assert (interval["lower"], interval["upper"]) == (pair["held_bytes"], pair["failed_bytes"]), interval


def test_buffers_of_ports_are_told_from_a_shared_one(lab):
    row, result = simulated(lab, "switch:queue=64KiB", *only("buffer"), sizes="64B")
    pair, _, both = row["bursts"]
    assert pair["held_bytes"] == 64 * KIB and pair["failed_bytes"] == 64 * KIB + 64, pair
    assert both["held_bytes"] == 2 * 64 * KIB and any("they do not share it" in text for text in result["summary"]), both
    # A part of it is a port's.
    row, result = simulated(lab, "switch:buffer=100000B,queue=64KiB", *only("buffer"), sizes="64B")
    assert any("they share a part of it" in text for text in result["summary"]), result["summary"]


BLOCKING = {
    "switch:queue=64KiB": ("absent", 0, 0),
    "switch:buffer=64KiB": ("shared_buffer", 0.05, 1),
    "switch:queue=64KiB,queues=input": ("head_of_line", 0.25, 0.35),
}


@pytest.mark.parametrize("dut", BLOCKING)
def test_incast_and_head_of_line_blocking_are_told_apart(lab, dut):
    row, result = simulated(lab, dut, *only("incast", "head_of_line"), trial="100ms")
    blocking, least, most = BLOCKING[dut]
    congestion = row["congestion"]
    idle = congestion["flows"][0]
    assert congestion["blocking"] == blocking and least <= idle["loss_ratio"] <= most, congestion
    assert idle["flow"] == "a to c" and all(flow["flow"].endswith("to d") for flow in congestion["flows"][1:]), congestion
    # Incast loses as much of each, whatever the queues: but for the first 64 KiB, what the port cannot take.
    for load in row["loads"]:
        share = 1 - 1 / load["senders"]
        assert share - 0.03 <= load["loss_ratio"] <= share + 0.001 and load["fairness"] > 0.99, load
        assert not load["beyond_line"] and load["judged"], load


def test_everything_of_a_switch_without_limits(lab):
    report = lab.folder() / "report.html"
    more = ["--set", "oversize=1600B", "--set", "burst_max=1ms"]
    row, result = simulated(lab, "switch:latency=5us", *more, "--report", report, sizes="64B", trial="20ms")
    rates = {rate["traffic"]: rate for rate in row["rates"]}
    assert set(rates) == {"full_mesh", "one_to_many", "many_to_one", "halves", "broadcast"}
    assert all(rate["share"] == 1 and rate["limit"] == "maximum" and rate["flooded"] == 0 for rate in rates.values()), rates
    assert rates["full_mesh"]["rate_pps"] == pytest.approx(4 * 1e9 / 672, rel=1e-5)
    assert all(burst["limit"] == "maximum" for burst in row["bursts"]), row["bursts"]
    assert row["congestion"]["blocking"] == "no_loss", row["congestion"]
    # The model forwards them, which a switch should not.
    assert row["oversize"]["received"] == row["oversize"]["sent"] > 0, row["oversize"]
    assert any("wrong FCS" in text for text in result["remarks"]), result["remarks"]
    page = report.read_text()
    for word in ("Meshed throughput", "Broadcast latency", "Head-of-line loss", "Incast fairness", "Microburst"):
        assert word in page, word


def test_incast_with_tcp_starves_senders_of_a_short_queue(lab):
    def goodputs(dut):
        done = lab.eagre("sim", REPO / "examples/incast.yaml", "--dut", dut, "--seed", 7, "--json", "-")
        return sorted(entry["rx_bps_goodput"] for entry in done.json["sessions"].values())

    least, _, most = goodputs("switch:queue=64KiB")
    assert least < most / 3, (least, most)
    least, _, most = goodputs("switch:queue=1MiB")
    assert least > 0.95 * most and 3 * most > 0.85e9, (least, most)


def test_what_a_profile_lacks(lab):
    text = (REPO / "examples/switch-bench.yaml").read_text()
    command = ["--sim", "--dut", "switch:buffer=512KiB", "--quick", "--store", lab.folder() / "store.db"]

    def refused(change, *words):
        path = lab.folder() / "profile.yaml"
        path.write_text(change(text))
        lab.eagre("bench", "switch", path, *command).refused(2, *words)

    refused(lambda text: "\n".join(line for line in text.splitlines() if "from-d" not in line), "port 'd' sends none", "each port needs a stream")
    refused(lambda text: text.replace("10.0.0.4/24, speed: 1Gbps", "10.0.0.4/24, speed: 10Gbps"), "another speed")
    done = lab.eagre("bench", "switch", REPO / "examples/switch-bench.yaml", "--sim", "--dut", "switch:bufer=1KiB")
    done.refused(2, "unknown option 'bufer=1KiB': use buffer=512KiB")
    sizes = lab.eagre("bench", "switch", REPO / "examples/switch-bench.yaml", *command, "--sizes", "imix")
    sizes.refused(2, "a buffer can't be computed of a mix")


class Wiring:
    """Four veth pairs between the tester and a device."""

    def __init__(self, lab):
        self.lab, self.tester, self.device = lab, lab.netns("tester"), lab.netns("device")
        for index in range(4):
            lab.veth(self.tester, f"veth{index}", self.device, f"d{index}")
        self.bench = Bench(lab, self.tester)

    def profile(self):
        names = "abcd"
        ports = {
            name: {"device": f"afpacket:veth{index}", "ip": f"10.0.0.{index + 1}/24", "speed": SPEED} for index, name in enumerate(names)
        }
        pairs = zip(names, names[1:] + names[:1])
        return self.lab.profile(ports, [{"name": a, "from": a, "to": b, "packet": ["ipv4", "udp"]} for a, b in pairs])

    def run(self, *more):
        command = ["bench", "switch", self.profile(), *FAST, "--sizes", f"{SIZE}B", "--trial", "300ms", "--set", "wait=50ms"]
        options = ["--store", self.bench.store, "--on-disturbed", "warn", "--json", "-"]
        done = self.lab.eagre(*command, *options, *more, ns=self.tester, timeout=200)
        (result,) = done.json["results"]
        print("\n".join(result["summary"]), result["remarks"])
        return result["findings"]["rows"][0], result


def bridge(wiring):
    wiring.device.ip("link", "add", "br0", "type", "bridge", "stp_state", "0", "forward_delay", "0", "mcast_snooping", "0")
    for index in range(4):
        wiring.device.ip("link", "set", f"d{index}", "master", "br0")
    wiring.device.ip("link", "set", "br0", "up")


def shape(wiring):
    """Each port of the device sends at the line rate, from a queue that holds so many frames."""
    need("tc")
    for index in range(4):
        stab = ["stab", "overhead", 24, "linklayer", "ethernet"]
        queue = ["tbf", "rate", "20mbit", "burst", 3 * QUEUED, "limit", QUEUE * QUEUED]
        wiring.device.run("tc", "qdisc", "add", "dev", f"d{index}", "root", "handle", "1:", *stab, *queue)


@pytest.mark.quiet
@pytest.mark.unsteady("the tester, the bridge and its timers share two cores")
def test_queues_of_a_bridge_are_found(lab):
    wiring = Wiring(lab)
    bridge(wiring)
    shape(wiring)
    row, result = wiring.run(*only("buffer", "incast", "head_of_line"), "--set", "senders=2")
    pair, both = row["bursts"]
    # The queue, what its token bucket lets through at once, and frames under way.
    if pair["limit"] == "dut":
        assert QUEUE - 4 <= pair["held_frames"] <= QUEUE + 12, pair
    if pair["limit"] == both["limit"] == "dut":
        assert any("they do not share it" in text for text in result["summary"]) or both["held_frames"] > 1.5 * QUEUE, both
    two = row["loads"][1]
    if two["judged"]:
        assert not two["beyond_line"] and 0.3 < two["loss_ratio"] <= 0.51, two
    if row["congestion"]["judged"]:
        assert row["congestion"]["blocking"] == "absent" and row["congestion"]["flows"][0]["loss_ratio"] == 0, row["congestion"]
    assert pair["limit"] == "dut" or two["judged"] or row["congestion"]["judged"], "nothing could be judged"


def to_a_report(wiring):
    report = wiring.lab.folder() / "report.html"
    row, result = wiring.run("--report", report, "--set", "patterns=full_mesh,many_to_one")
    assert result["status"] == "complete", result["status"]
    assert len(row["rates"]) == 3 and len(row["bursts"]) == 3 and len(row["loads"]) == 3, row
    # Its links are as fast as the processor: nothing is said of what was not congested.
    congestion = row["congestion"]
    if congestion["judged"]:
        assert congestion["beyond_line"] and congestion["blocking"] is None, congestion
    assert all(burst["limit"] != "dut" or burst["held_frames"] > 16 for burst in row["bursts"]), row["bursts"]
    assert "Meshed throughput" in report.read_text()


@pytest.mark.unsteady("the tester and the device share two cores")
def test_the_bridge_runs_to_a_report(lab):
    wiring = Wiring(lab)
    bridge(wiring)
    to_a_report(wiring)


@pytest.mark.unsteady("the tester and the device share two cores")
def test_open_vswitch_runs_to_a_report(lab):
    wiring = Wiring(lab)
    switch = Ovs(lab, wiring.device)
    ports = [word for index in range(4) for word in ("--", "add-port", "br0", f"d{index}")]
    switch.configure("add-br", "br0", "--", "set", "bridge", "br0", "datapath_type=netdev", *ports)
    to_a_report(wiring)
