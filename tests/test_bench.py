"""`eagre bench`: methods against a model device whose answers are known, on the command line, from beginning to end."""

import json
import os
import signal
import sqlite3

import pytest
from lab import need, wait_until

# Both ways at once through one router: each direction gets half of what it forwards. Every frame of a trial is simulated, so the links
# are slow.
CAPACITY, BUFFER, LINE = 80_000, 64, 200_000_000
PROFILE = {
    "ports": {
        "west": {"device": "ring:a", "ip": "10.0.0.2/24", "gateway": "10.0.0.1", "speed": "200Mbps"},
        "east": {"device": "ring:b", "ip": "10.0.1.2/24", "gateway": "10.0.1.1", "speed": "200Mbps"},
    },
    "streams": [
        {"name": "eastward", "from": "west", "to": "east", "packet": ["ipv4", {"udp": {"src": 1024, "dst": 9}}]},
        {"name": "westward", "from": "east", "to": "west", "packet": ["ipv4", {"udp": {"src": 1024, "dst": 9}}]},
    ],
    "sim": {"router": {"capacity": "80kpps", "buffer": BUFFER}},
}


def line_pps(size):
    return LINE / 8 / (size + 20)


@pytest.fixture
def desk(lab):
    """A folder with the profile and a store; runs a method in virtual time and gives its document."""
    folder = lab.folder()
    (folder / "model.json").write_text(json.dumps(PROFILE))

    class Desk:
        path = folder
        profile = folder / "model.json"
        store = folder / "results.db"

        def run(self, method, *options, profile=None):
            arguments = ["--sim", "--quick", "--store", self.store, "--json", "-", *options]
            return lab.eagre("bench", method, profile or self.profile, *arguments, timeout=120)

        def bench(self, method, *options, **more):
            done = self.run(method, *options, **more)
            done.ok()
            return done.json

        def results(self, *words):
            done = lab.eagre("results", "--store", self.store, *words)
            done.ok()
            return done

    return Desk()


def rows(document, part=0):
    return document["results"][part]["findings"]["rows"]


def test_throughput(desk):
    """Within the resolution below what the model forwards; the upper bound above it."""
    document = desk.bench("throughput", "--sizes", "64B,512B", "--set", "resolution=0.002")
    assert document["ended"] == "done" and document["schema"] == "eagre.campaign/1"
    for row, size in zip(rows(document), (64, 512), strict=True):
        found = row["throughput"]["total_pps"]
        assert CAPACITY - 2 * 0.002 * line_pps(size) - 1 <= found <= CAPACITY, row
        assert row["failed_pps"] * 2 > CAPACITY * 0.999, row
        assert [group["group"] for group in row["throughput"]["groups"]] == ["west to east", "east to west"]


def test_rfc2544_is_one_campaign(desk):
    """Throughput, then latency and bursts at it without searching again; loss; a report that a person can read."""
    page = desk.path / "report.html"
    document = desk.bench("rfc2544", "--sizes", "512B", "--report", page)
    assert [result["method"] for result in document["results"]] == [
        "rfc2544-throughput", "rfc2544-latency", "rfc2544-frame-loss", "rfc9004-back-to-back"]  # fmt: skip
    throughput = rows(document)[0]["throughput"]["total_pps"]
    latency = rows(document, 1)[0]
    assert latency["load"]["total_pps"] == pytest.approx(throughput, rel=1e-6)
    # Only the trials that are needed: no second search.
    assert len(document["results"][1]["trials"]) == latency["trials"]
    # 20 us in the router, and twice the time of a frame on a wire.
    assert 20_000 < latency["mean_ns"]["mean"] < 100_000
    loss = {point["load_percent"]: point["loss_percent"] for point in rows(document, 2)[0]["points"]}
    assert loss[100] == pytest.approx(100 - 100 * CAPACITY / (2 * line_pps(512)), abs=0.5) and loss[80] == 0
    assert rows(document, 3)[0]["burst_frames"]["mean"] > BUFFER / 2
    text = page.read_text()
    assert "Back-to-back" in text and "Reproduction" in text and "<svg" in text


def test_bursts_tell_the_buffer(desk):
    """n frames of each direction fill it: 2n − what is forwarded meanwhile = the buffer."""
    document = desk.bench("back-to-back", "--sizes", "64B", "--set", "back-to-back.resolution_frames=1")
    frames = rows(document)[0]["burst_frames"]["mean"]
    held = 2 * frames * (1 - CAPACITY / (2 * line_pps(64)))
    assert held == pytest.approx(BUFFER, rel=0.05)
    # Between bounds, however far apart a quick search leaves them.
    coarse = rows(desk.bench("back-to-back", "--sizes", "64B"))[0]
    assert coarse["burst_frames"]["min"] <= frames < coarse["lost_from_frames"] <= frames + 64, coarse
    assert "fewer than" in desk.results("show", "latest").out


def test_recovery(desk):
    """The queue is full when the load drops, and nothing is lost after that: B is A."""
    document = desk.bench("recovery", "--sizes", "64B")
    row = rows(document)[0]
    assert row["recovery_ns"]["mean"] < 2e6 and row["not_recovered"] == 0, row


def test_mrr_sweep_and_soak(desk):
    received = rows(desk.bench("mrr", "--sizes", "64B"))[0]["received_pps"]["mean"]
    assert received == pytest.approx(CAPACITY, rel=0.01)
    points = rows(desk.bench("sweep", "--sizes", "512B", "--set", "step=0.2"))[0]["points"]
    lossy = [point for point in points if point["loss_ratio"] > 0]
    knee = CAPACITY / (2 * line_pps(512))
    assert min(point["load"]["share"] for point in lossy) > knee * 0.99
    assert len(points) > 6, "more points around the knee"
    soak = rows(desk.bench("soak", "--sizes", "512B", "--trial", "4s"))[0]
    assert len(soak["intervals"]) >= 2


def test_mlrsearch(desk):
    """Several goals in one search, and latency at shares of the last."""
    document = desk.bench("mlrsearch", "--sizes", "512B")
    goals = {goal["name"]: goal for goal in rows(document)[0]["goals"]}
    assert set(goals) == {"NDR", "PDR 0.1%", "PDR 0.5%"}
    for goal in goals.values():
        low, high = goal["lower"]["load"]["total_pps"], goal["upper"]["load"]["total_pps"]
        assert goal["regular"] and low <= CAPACITY * 1.006 and high >= CAPACITY * 0.99, goal
    assert [row["share_of_rate"] for row in rows(document, 1)] == [0.9, 0.5, 0.1]


def test_settings_are_said(desk, lab):
    """What can be set is listed; what can't be is refused with what can."""
    done = lab.eagre("bench", "rfc2544", "--settings")
    done.ok()
    assert "resolution=0.001" in done.out and "repeats=50" in done.out
    desk.run("throughput", "--set", "resolutoin=0.1").refused(2, "resolutoin=0.1: unknown setting", "resolution")
    desk.run("throughput", "--set", "resolution=2").refused(2, "resolution: must be between 0 and 1")
    desk.run("thruput").refused(2, "unknown method 'thruput'", "throughput")
    listed = lab.eagre("bench", "list")
    listed.ok()
    assert all(name in listed.out for name in ("rfc2544", "mlrsearch", "sessions", "campaign"))
    about = lab.eagre("bench", "rfc2544", desk.profile, "--sim", "--estimate")
    about.ok()
    assert " h: " in about.out and "of traffic" in about.out, about.out


def test_a_profile_that_does_not_suit(desk, lab):
    """Each with the place and the reason."""
    streams = PROFILE["streams"]
    cases = [
        ({**PROFILE, "streams": [{**streams[0], "to": None, "packet": [{"ipv4": {"dst": "10.0.1.2"}}, "udp"]}]}, "stream eastward: no destination port"),
        ({**PROFILE, "streams": [{**streams[0], "measure": False}]}, "stream eastward: its packets carry no signature"),
        ({**PROFILE, "streams": [{**streams[0], "packet": ["ipv4", "udp", {"hex": "00" * 100}]}]}, "stream eastward: its packets need 164B"),
    ]  # fmt: skip
    for number, (profile, text) in enumerate(cases):
        profile["streams"] = [{k: v for k, v in stream.items() if v is not None} for stream in profile["streams"]]
        path = desk.path / f"bad{number}.json"
        path.write_text(json.dumps(profile))
        desk.run("throughput", "--sizes", "64B", profile=path).refused(2, text)


def test_a_campaign_document(desk, lab):
    """Methods times configurations; hooks around them in their order with their variables; one table of all."""
    log = desk.path / "hooks.log"
    hooks = [{"when": when, "run": f"echo {when} {what} >> {log}"} for when, what in [
        ("before-campaign", "{campaign.name}"), ("after-campaign", "{campaign.name}"),
        ("before-configuration", "{config.routes}/{config.rules}"), ("after-configuration", "{config.routes}"),
        ("before-trial", "{method} {frame_size}"), ("after-trial", "{trial.number}")]]  # fmt: skip
    document = {"name": "routers", "profile": "model.json", "methods": ["mrr", "sweep"], "quick": True, "sizes": ["64B"],
                "set": {"step": 0.45, "refine": 0, "repeats": 1}, "matrix": {"routes": [2, 1000], "rules": [0]},
                "tags": ["dut=model"], "hooks": hooks}  # fmt: skip
    path = desk.path / "campaign.json"
    path.write_text(json.dumps(document))
    page, found = desk.path / "all.html", desk.path / "found.json"
    done = lab.eagre("bench", "campaign", path, "--sim", "--store", desk.store, "--report", page, "--json", found)
    done.ok()
    lines = log.read_text().splitlines()
    assert lines[0] == "before-campaign routers" and lines[-1] == "after-campaign routers"
    around = [line for line in lines if "configuration" in line]
    assert around == ["before-configuration 2/0", "after-configuration 2", "before-configuration 1000/0", "after-configuration 1000"]
    assert "before-trial mrr 64B" in lines and lines.count("after-trial 0") == 4
    series = json.loads(found.read_text())
    assert [c["method"] for c in series["campaigns"]] == ["mrr", "sweep"] * 2
    assert all(c["state"] == "done" and "dut=model" in c["tags"] for c in series["campaigns"])
    assert "routes=1000,rules=0" in page.read_text()
    document["methods"], document["hooks"][0]["run"] = ["mrr", "nothing"], "{config.cores}"
    path.write_text(json.dumps(document))
    done = lab.eagre("bench", "campaign", path, "--sim", "--store", desk.store)
    done.refused(2, "methods[1]: unknown method 'nothing'", "hooks[0]: ", "config.cores")


def test_a_failing_hook_stops_the_campaign(desk, lab):
    hooks = [{"when": "before-trial", "run": "echo no such route >&2; exit 3"}]
    path = desk.path / "campaign.json"
    path.write_text(json.dumps({"name": "x", "profile": "model.json", "methods": ["mrr"], "hooks": hooks}))
    done = lab.eagre("bench", "campaign", path, "--sim", "--store", desk.store)
    done.refused(3, "before-trial", "no such route")


def test_a_series_is_resumed(desk, lab):
    """Killed in the middle of its second run: the first is not run again, nor are the finished trials of the second."""
    slow = {"when": "before-trial", "run": "sleep 0.3"}
    path = desk.path / "campaign.json"
    path.write_text(json.dumps({"name": "x", "profile": "model.json", "methods": ["mrr", "frame-loss"], "quick": True,
                                "sizes": ["512B"], "hooks": [slow]}))  # fmt: skip
    process = lab.start_eagre("bench", "campaign", path, "--sim", "--store", desk.store)

    def trials():
        if not desk.store.exists():
            return {}
        with sqlite3.connect(f"file:{desk.store}?mode=ro", uri=True) as db:
            query = "SELECT method, count(number) FROM campaign JOIN trial ON campaign = id GROUP BY id"
            try:
                return dict(db.execute(query).fetchall())
            except sqlite3.OperationalError:
                return {}

    wait_until(lambda: trials().get("frame-loss", 0) >= 2, "the second run", 60)
    process.send_signal(signal.SIGKILL)
    process.wait()
    before = trials()
    done = lab.eagre("bench", "--resume", "--store", desk.store, "--json", "-")
    done.ok()
    campaigns = done.json["campaigns"]
    assert [c["state"] for c in campaigns] == ["done", "done"]
    after = trials()
    assert after["mrr"] == before["mrr"] and after["frame-loss"] > before["frame-loss"] >= 2
    with sqlite3.connect(desk.store) as db:
        resumed = dict(db.execute("SELECT method, resumed FROM campaign").fetchall())
        labels = [label for (label,) in db.execute("SELECT label FROM trial JOIN campaign ON campaign = id WHERE method = 'frame-loss'")]
    assert resumed == {"mrr": 0, "frame-loss": 1}
    assert len(labels) == len(set(labels)), "no finished trial is repeated"
    path.write_text(path.read_text().replace("512B", "64B"))
    with sqlite3.connect(desk.store) as db:
        db.execute("UPDATE campaign SET state = 'running' WHERE method = 'frame-loss'")
    lab.eagre("bench", "--resume", "--store", desk.store).refused(2, "has changed since it started")


@pytest.mark.quiet
@pytest.mark.unsteady("the kernel router drops frames while something else has its core")
def test_a_real_router(lab):
    """The kernel's, in a namespace, which lets 20,000 packets a second through: that is its throughput."""
    need("nft")
    router = lab.router()
    router.router.run("nft", "-f", "-", input="""
table inet limits {
  chain forward {
    type filter hook forward priority 0
    meta l4proto udp limit rate over 20000/second burst 200 packets counter drop
  }
}""")
    ports = router.ports("afpacket", v6=False)
    for port in ports.values():
        port["speed"] = "100Mbps"
    streams = [{"name": "forth", "from": "west", "to": "east", "packet": ["ipv4", {"udp": {"src": 1024, "dst": 9}}]}]
    folder = lab.folder()
    profile, page = lab.profile(ports, streams), folder / "report.html"
    path = folder / "path.yaml"
    hop = {"name": "router", "in": "r0", "out": "r1", "local": {"namespace": router.router.name}, "sources": ["link", "nft"]}
    path.write_text(json.dumps({"hops": [hop], "interval": "200ms"}))
    done = lab.eagre("bench", "throughput", profile, "--quick", "--sizes", "64B", "--set", "resolution=0.05", "--path", path,
                     "--store", folder / "results.db", "--json", "-", "--report", page, ns=router.tester, timeout=120)  # fmt: skip
    done.ok()
    row = done.json["results"][0]["findings"]["rows"][0]
    # Its clock ticks in steps, and a burst passes: a little less or more.
    assert 17_000 < row["throughput"]["total_pps"] < 22_000, done
    # The rule that drops is named beside every trial that lost, with as many packets, and in the report.
    with sqlite3.connect(folder / "results.db") as db:
        outcomes = [json.loads(outcome) for (outcome,) in db.execute("SELECT outcome FROM trial")]
    lossy = [outcome for outcome in outcomes if sum(group["lost"] for group in outcome["groups"]) > 1000]
    assert lossy
    for outcome in lossy:
        dropped = sum(count for name, count in outcome["drops"] if "router: nft" in name)
        assert dropped == pytest.approx(sum(group["lost"] for group in outcome["groups"]), rel=0.02), outcome["drops"]
    report = page.read_text()
    assert "Losses along the path" in report
    # The device's rates over time, and the rule in the summary.
    assert "Packets per second into and out of each device, by its counters" in report and "router: out" in report
    summary = report.split('id="h-answer"')[1].split("<section")[0]
    assert "router lost most in" in summary and "limit rate over 20000/second" in summary, summary
    with sqlite3.connect(folder / "results.db") as db:
        [(environment, command)] = db.execute("SELECT environment, command FROM campaign").fetchall()
    assert json.loads(environment)["kernel"] == os.uname().release and command.startswith("eagre bench throughput")
