"""Devices of known capacity on real ports: findings hold the true rate, or say that the tester was disturbed.

The device is the kernel's router with a token bucket of nftables: so many packets a second and a small burst pass, whatever
the machine does meanwhile. Random busy loops take the tester's core from it. A wrong finding must never be told as sure.

`make soak` does so fifty times, with busy loops and without, and prints what was found; `make test` twice, with busy loops.
"""

import json
import os
import random
import statistics
from collections import Counter
from pathlib import Path

import pytest
from lab import EAGRE, LONG, Lab, need

HOG = Path(__file__).with_name("hog.py")
RUNS = int(os.environ.get("EAGRE_KNOWN_ANSWERS", 50 if LONG else 2))
SIZE = 256
TRIAL_S = 0.4
# Findings bound loads with whole packets; a trial of so many packets says no more.
ROUNDING_PPS = 1.5 / TRIAL_S
WIDTH = 0.02 if LONG else 0.05
GOAL = {"initial_trial": "400ms", "final_trial": "400ms", "duration_sum": "1200ms", "width": WIDTH, "preceding": 1}
METHODS = {
    "throughput": [f"resolution={WIDTH}", "loss_verification=1", "minimum=0.05"],
    "mlrsearch": [
        "mlrsearch.minimum=0.05",
        "mlrsearch.goals=" + json.dumps([GOAL | {"loss_ratio": ratio, "exceed_ratio": 0.5} for ratio in (0.0, 0.01)]),
        "latency.shares=0.5",
        "latency.duration=100ms",
    ],
}


class Bucket:
    """A router that forwards `rate` packets a second and `burst` at once; the tester declares links of `line` packets a second."""

    def __init__(self, lab, seed):
        need("nft", "taskset")
        chance = random.Random(seed)
        self.lab, self.router = lab, lab.router()
        self.rate, self.burst = chance.randrange(2_000, 8_000), chance.randrange(12, 40)
        self.line_bps = int(self.rate / chance.uniform(0.3, 0.8) * (SIZE + 20) * 8)
        self.router.router.run("nft", "-f", "-", input=self.rules(self.rate))

    def rules(self, rate):
        """For nft: so many packets a second, whatever was before."""
        chain = f"type filter hook forward priority 0\n limit rate over {rate}/second burst {self.burst} packets drop"
        return f"table ip known\ndelete table ip known\ntable ip known {{\n chain forward {{\n {chain}\n }}\n}}\n"

    def profile(self):
        ports = self.router.ports("afpacket", v6=False)
        for port in ports.values():
            port["speed"] = f"{self.line_bps}bps"
        packet = ["ipv4", {"udp": {"dst": 9}}]
        return self.lab.profile(ports, [{"name": "s", "from": "west", "to": "east", "packet": packet}])

    def truth(self, finding):
        """The highest loads that pass for sure, and at best: the burst passes once in a trial."""
        ratio = float(finding["goal"].split()[1].rstrip("%")) / 100 if finding["goal"].startswith("pdr") else 0.0
        return self.rate / (1 - ratio), (self.rate + self.burst / TRIAL_S) / (1 - ratio)

    def is_right(self, finding):
        """Whether the bounds have the true rate between them."""
        low, high = self.truth(finding)
        lower, upper = finding["lower"], finding["upper"]
        return (lower is None or lower <= high + ROUNDING_PPS) and (upper is None or upper >= low - ROUNDING_PPS)


def limits(result):
    """What bounds each finding from above: of a search for the throughput, or of the goals of MLRsearch."""
    row = result["findings"]["rows"][0]
    return [goal["limit"] for goal in row["goals"]] if "goals" in row else [row["limit"]]


class Known:
    """What searches found of devices of known capacity."""

    def __init__(self):
        self.findings = self.sure = self.disturbed = self.doubted = self.trials = self.left_out = 0
        self.widths, self.wrong, self.told_wrong = [], [], []

    def add(self, bucket, result):
        self.trials += len(result["trials"])
        self.left_out += sum(trial["standing"] != "counted" for trial in result["trials"])
        for finding, limit in zip(result["intervals"], limits(result), strict=True):
            told = limit == "disturbed" or "disturbed in" in finding.get("doubt", "")
            doubted = bool(finding.get("doubt")) and not told
            sentence = next(line for line in result["summary"] if line.split(" at ")[0].lower() == finding["goal"])
            # What the document says, its sentence says, too.
            assert told == ("disturbed" in " ".join(result["summary"] if finding.get("doubt") else [sentence])), result["summary"]
            self.findings += 1
            self.disturbed += told
            self.doubted += doubted
            self.sure += not told and not doubted
            if not bucket.is_right(finding):
                kind = self.wrong if not told and not doubted else self.told_wrong
                losses = [(t["magnitude"], t["sent"], t["lost"], t["standing"]) for t in result["trials"]]
                kind.append((bucket.rate, bucket.burst, bucket.line_bps, finding, losses))
            elif finding["lower"] and finding["upper"]:
                self.widths.append(finding["upper"] / finding["lower"] - 1)

    def __str__(self):
        width = f", median width {100 * statistics.median(self.widths):.1f}%" if self.widths else ""
        return (
            f"{self.findings} findings{width}: {self.sure} sure, {self.disturbed} say that the tester was disturbed, "
            f"{self.doubted} that trials disagree; wrong and sure: {len(self.wrong)}, wrong and not sure: {len(self.told_wrong)}; "
            f"{self.left_out} of {self.trials} trials left out"
        )


def search(lab, bucket, method, core):
    """A search on one core."""
    arguments = ["--sizes", f"{SIZE}B", "--trial", f"{TRIAL_S * 1000:.0f}ms"]
    arguments += [word for setting in METHODS[method] for word in ("--set", setting)]
    arguments += ["--settle", "0s", "--learning", "50ms", "--drain", "150ms", "--store", lab.folder() / "results.db", "--json", "-"]
    command = ("taskset", "-c", core, EAGRE, "bench", method, bucket.profile())
    done = lab.finish(lab.start(*command, *arguments, ns=bucket.router.tester), timeout=300)
    assert done.ended and done.out.startswith("{"), str(done)
    return done.told["results"][0]


def searches(method, disturbed, core):
    """So many runs, each with a device of its own."""
    known = Known()
    for seed in range(RUNS):
        lab = Lab()
        try:
            bucket = Bucket(lab, f"{method}/{seed}")
            if disturbed:
                lab.start("/usr/bin/python3", HOG, core, seed)
            known.add(bucket, search(lab, bucket, method, core))
        finally:
            lab.close()
    print(f"{method}, {RUNS} runs {'with' if disturbed else 'without'} busy loops: {known}")
    for kind in (known.wrong, known.told_wrong):
        for one in kind:
            print("  wrong:", *one)
    return known


@pytest.mark.parametrize("method", ["throughput", pytest.param("mlrsearch", marks=pytest.mark.long)])
def test_busy_loops_make_no_wrong_finding_sure(method):
    """The tester's core is taken from it at random."""
    known = searches(method, True, max(os.sched_getaffinity(0)))
    assert known.findings and not known.wrong, known.wrong


@pytest.mark.long
@pytest.mark.alone
@pytest.mark.parametrize("method", METHODS)
def test_an_undisturbed_tester_is_not_called_disturbed(method):
    """At most once in fifty runs, on a machine that does nothing else."""
    known = searches(method, False, max(os.sched_getaffinity(0)))
    assert known.findings and not known.wrong, known.wrong
    assert known.disturbed <= RUNS // 50, str(known)


def compare(lab, bucket, factor, core, seed):
    """Two rates of one router: the second is `factor` times the first."""
    rates, commands = [20_000, round(20_000 * factor)], []
    for rate in rates:
        rules = lab.folder() / "rules.nft"
        rules.write_text(bucket.rules(rate))
        commands.append(f"ip netns exec {bucket.router.router.name} nft -f {rules}")
    ports = bucket.router.ports("afpacket", v6=False)
    one = {"name": "s", "from": "west", "to": "east", "packet": ["ipv4", {"udp": {"dst": 9}}], "rate": "30kpps"}
    profile = lab.profile(ports, [one], load={"duration": "250ms", "drain": "100ms"})
    words = ("versus", profile, "--before-a", commands[0], "--before-b", commands[1], "--seed", seed, "--json", "-")
    done = lab.finish(lab.start("taskset", "-c", core, EAGRE, *words, ns=bucket.router.tester), timeout=300)
    assert done.out.startswith("{"), str(done)
    return done.told


@pytest.mark.long
@pytest.mark.parametrize("disturbed", [False, True], ids=["idle", "busy"])
@pytest.mark.parametrize("factor, right", [(1.02, "b"), (1.0, "alike")])
def test_two_rates_are_compared(factor, right, disturbed):
    """2% apart: told apart each time. Alike: called different at most once in fifty times."""
    core, answers, disturbed_pairs = max(os.sched_getaffinity(0)), [], 0
    for seed in range(RUNS):
        lab = Lab()
        try:
            bucket = Bucket(lab, f"versus/{seed}")
            if disturbed:
                lab.start("/usr/bin/python3", HOG, core, seed)
            told = compare(lab, bucket, factor, core, seed)
        finally:
            lab.close()
        answers.append(told["answer"])
        disturbed_pairs += told["disturbed_pairs"]
    print(f"versus, rates {factor} apart, busy: {disturbed}: {Counter(answers)}, {disturbed_pairs} disturbed pairs")
    wrong = [answer for answer in answers if answer not in (right, "unknown")]
    assert len(wrong) <= (RUNS // 50 if right == "alike" else 0), answers
    assert answers.count(right) >= 0.9 * RUNS, answers
