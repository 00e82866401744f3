"""MLRsearch beside the package `MLRsearch`, which is only run: the same loads judged, the same devices searched."""

import json
import math
import os
import random
import statistics
import subprocess
import sys
from pathlib import Path

import pytest
from lab import EAGRE, LONG, REPO

VERSION = "1.2.1"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target")).resolve()
# Our side: a method over standard input and output, built with the program.
DRIVE = EAGRE.with_name("drive")
FOLDER = TARGET / f"reference/MLRsearch-{VERSION}"
LINE_BPS = 10_000_000_000
LINE = LINE_BPS / 672
MINIMUM = 0.001
WIDTH = 0.005


@pytest.fixture(scope="module")
def reference():
    """The package, installed below target/."""
    if not (FOLDER / "MLRsearch").is_dir():
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps"]
        done = subprocess.run(
            [*pip, "--target", str(FOLDER), f"MLRsearch=={VERSION}"], capture_output=True, text=True, timeout=300
        )
        if done.returncode != 0:
            pytest.fail(f"MLRsearch {VERSION} can't be installed with pip: {done.stderr.strip()}", pytrace=False)
    sys.path.insert(0, str(FOLDER))
    import MLRsearch

    return MLRsearch


class Ours:
    """Searches by `dev/drive`."""

    def __init__(self):
        pipe = subprocess.PIPE
        self.process = subprocess.Popen([DRIVE], stdin=pipe, stdout=pipe, text=True)

    def say(self, document):
        """One line to it."""
        self.process.stdin.write(json.dumps(document) + "\n")
        self.process.stdin.flush()

    def search(self, goals, device):
        """Lower bounds, results and seconds of traffic."""
        method = {"mlr": {"sizes": ["64B"], "minimum": MINIMUM, "goals": goals}}
        self.say({"method": method, "testbed": {"groups": [{"name": "forward", "line_bps": LINE_BPS}]}})
        while "trial" in (answer := json.loads(self.process.stdout.readline())):
            trial = answer["trial"]
            load, duration = trial["offered"][0]["rate_pps"], trial["duration_ns"] / 1e9
            sent = int(load * duration)
            lost = device(sent, load, duration)
            group = {"group": "forward", "requested_pps": load, "achieved_pps": load, "sent": sent}
            group |= {"received": sent - lost, "lost": lost}
            self.say({"valid": True, "duration_ns": trial["duration_ns"], "groups": [group]})
        row = answer["result"]["findings"]["rows"][0]
        lower = [goal["lower"] and goal["lower"]["load"]["total_pps"] for goal in row["goals"]]
        found = [(goal["conditional_throughput"] or {}).get("total_pps") for goal in row["goals"]]
        return lower, found, answer["result"]["traffic_s"]


@pytest.fixture(scope="module")
def ours():
    """Our side, running."""
    ours = Ours()
    yield ours
    ours.process.stdin.close()
    assert ours.process.wait(timeout=10) == 0


def theirs(package, goals, device):
    """The same by the package."""

    class Measurer(package.AbstractMeasurer):
        """Runs trials."""

        seconds = 0.0

        def measure(self, intended_duration, intended_load):
            sent = int(intended_load * intended_duration)
            lost = device(sent, intended_load, intended_duration)
            self.seconds += intended_duration
            return package.MeasurementResult(
                intended_duration=intended_duration,
                intended_load=intended_load,
                offered_count=sent,
                loss_count=lost,
                forwarding_count=sent - lost,
            )

    config = package.Config()
    config.goals = [package.SearchGoal(**goal) for goal in goals]
    config.min_load, config.max_load = LINE * MINIMUM, LINE
    config.search_duration_max, config.warmup_duration = 1e9, None
    measurer = Measurer()
    results = package.MultipleLossRatioSearch(config=config).search(measurer).values()
    lower = [result.relevant_lower_bound and float(result.relevant_lower_bound) for result in results]
    return lower, [float(result.conditional_throughput) for result in results], measurer.seconds


def device(seed, stalls=0.0, noise=0.0, inversion=False, buffer=0, warm_up=0.0):
    """Frames lost of those sent, by seed: a device of some capacity with some unpleasantness."""
    chance = random.Random(seed)
    capacity = LINE * chance.uniform(0.2, 0.9)
    clock = 0.0

    def trial(sent, load, duration):
        nonlocal clock
        warm = 0.5 if clock < warm_up else 1.0
        clock += duration
        through = capacity * warm * (1 + noise * chance.gauss(0, 1)) * duration + buffer
        lost = max(0, sent - math.ceil(through))
        if stalls and chance.random() < 1 - math.exp(-stalls * duration):
            lost = max(lost, 2000)
        if inversion and 0.5 * capacity < load < 0.6 * capacity:
            lost = max(lost, sent // 1000)
        return min(lost, sent)

    return trial


# What our goals call what the package's call otherwise.
NAMES = {"final_trial_duration": "final_trial", "relative_width": "width", "preceding_targets": "preceding"}


def ours_of(goal):
    """The same goal in our words."""
    durations = {"final_trial": "{:g}s", "duration_sum": "{:g}s"}
    renamed = {NAMES.get(name, name): value for name, value in goal.items()}
    return {name: durations[name].format(value) if name in durations else value for name, value in renamed.items()}


def goals(*losses, **more):
    """Goals of these loss ratios."""
    return [{"loss_ratio": loss} | more for loss in losses]


CSIT = goals(0.0, 0.005)
THREE = goals(0.0, 0.001, 0.005)
FULL = goals(0.0, 0.005, exceed_ratio=0.0, final_trial_duration=60.0, duration_sum=60.0)
TST009 = goals(0.0, final_trial_duration=60.0, duration_sum=120.0)
WIDTHS = [{"loss_ratio": 0.0, "relative_width": 0.003}, {"loss_ratio": 0.005, "relative_width": 0.005}]
ONE = goals(0.0, 0.005, preceding_targets=1)
FOUR = goals(0.0, 0.005, preceding_targets=4)


def test_the_same_loads_are_judged_alike(reference):
    """10,000 loads, 100,000 in `make soak`: whole seconds, which meet thresholds exactly, and any."""
    from MLRsearch.target_spec import TargetSpec
    from MLRsearch.target_stat import TargetStat

    chance = random.Random(1)
    orders, expected = [], []
    for number in range(100_000 if LONG else 10_000):
        whole = number % 2 == 0
        exceed = chance.choice([0.0, 0.25, 0.5, 0.75]) if whole else chance.uniform(0, 0.99)
        total = float(chance.choice([1, 2, 21, 60, 120])) if whole else chance.uniform(0.1, 120)
        length = (lambda: float(chance.randrange(0, 64))) if whole else (lambda: chance.uniform(0, 100))
        good, bad, short_good, short_bad = (length() if chance.random() < 0.7 else 0.0 for _ in range(4))
        losses = {}
        for share, what in ((good, 0.0), (bad, 0.01)):
            for piece in range(3) if share else ():
                losses[what + piece * 0.001 + chance.random() * 1e-4] = share / 4 * (1 + (piece == 2))
        spec = TargetSpec(0.005, exceed, None, 1.0, total, 2, True, None)
        stat = TargetStat(spec, good, bad, short_good, short_bad, dict(losses))
        expected.append((*stat.estimates(), stat.pessimistic_loss_ratio))
        durations = {"full_low": good, "full_high": bad, "short_low": short_good, "short_high": short_bad}
        order = {"exceed_ratio": exceed, "duration_sum": total, "durations": durations}
        orders.append(json.dumps({"classify": order | {"losses": list(losses.items())}}))
    done = subprocess.run([DRIVE], input="\n".join(orders), capture_output=True, text=True, check=True, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    wrong = [
        (order, answer, want)
        for order, answer, want in zip(orders, answers, expected, strict=True)
        if (answer["optimistic"], answer["pessimistic"]) != want[:2] or not math.isclose(answer["loss"], want[2])
    ]
    assert not wrong, f"{len(wrong)} of {len(orders)}, such as {wrong[0]}"


@pytest.mark.parametrize(
    "name, wanted, seeds, change",
    [
        ("hard limit", CSIT, 200, {}),
        ("hard limit, three goals", THREE, 50, {}),
        ("hard limit, RFC 2544 goals", FULL, 50, {}),
        ("hard limit, TST 009 goal", TST009, 50, {}),
        ("hard limit, two widths", WIDTHS, 50, {}),
        ("hard limit, one preceding target", ONE, 50, {}),
        ("hard limit, four preceding targets", FOUR, 50, {}),
        ("stalls", CSIT, 100, {"stalls": 0.01}),
        ("stalls, RFC 2544 goals", FULL, 50, {"stalls": 0.003}),
        ("capacity noise", CSIT, 50, {"noise": 0.01}),
        ("loss inversion", CSIT, 50, {"inversion": True}),
        ("buffer", CSIT, 50, {"buffer": 4096}),
        ("warm-up", CSIT, 50, {"warm_up": 3.0}),
    ],
)
def test_the_same_devices_have_the_same_bounds_in_no_more_time(reference, ours, name, wanted, seeds, change):
    """Medians of the bounds within one width; traffic at most a tenth more than the reference's (target P18)."""
    rows = []
    for seed in range(seeds):
        mine = ours.search([ours_of(goal) for goal in wanted], device(seed, **change))
        other = theirs(reference, wanted, device(seed, **change))
        rows.append((mine, other))
    for goal in range(len(wanted)):
        pairs = [(mine[1][goal], other[1][goal]) for mine, other in rows if mine[1][goal] and other[1][goal]]
        assert len(pairs) >= 0.9 * len(rows), f"goal {goal}: found in {len(pairs)} of {len(rows)} searches"
        ratio = statistics.median(mine / other for mine, other in pairs)
        assert abs(ratio - 1) <= WIDTH, f"goal {goal}: {ratio:.4f} of the reference's"
        if not change:
            bounds = [(mine[0][goal], other[0][goal]) for mine, other in rows]
            assert all(abs(mine / other - 1) <= WIDTH for mine, other in bounds)
    seconds = [statistics.median(row[side][2] for row in rows) for side in (0, 1)]
    spread = [statistics.pstdev(row[side][2] for row in rows) for side in (0, 1)]
    print(
        f"{name}: {seconds[0]:.1f} ± {spread[0]:.1f} s of traffic, the reference {seconds[1]:.1f} ± {spread[1]:.1f} s"
        f" ({seconds[0] / seconds[1]:.2f})"
    )
    assert seconds[0] <= 1.1 * seconds[1], f"{seconds[0]:.1f} s of traffic, the reference {seconds[1]:.1f} s"
