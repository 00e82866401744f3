"""The store and its reports: stored runs, lists, exports, pages in a browser."""

import csv
import io
import json
import os
import signal
import sqlite3
import time

import browser as browsers
import pytest
from lab import REPO, missing, pair, stream

HOSTILE = "<script>document.title = 'taken'</script>\"'&"
LOADS = ("200kpps", "800kpps", "1Mpps", "1200kpps", "1500kpps")

# Texts of a chart that lie on each other, charts without a mark, texts outside their drawing, ids that are not unique.
# Looks at what is folded, too.
EXAMINE = """
document.querySelectorAll('details').forEach(part => part.open = true);
const faults = [];
const box = e => e.getBoundingClientRect();
for (const svg of document.querySelectorAll('.chart > svg')) {
  const name = svg.querySelector('title').textContent, frame = box(svg);
  if (!svg.querySelector('.m, rect.b, .x')) faults.push(`${name}: empty`);
  const texts = [...svg.querySelectorAll('text')];
  for (const [i, one] of texts.entries()) {
    const a = box(one);
    if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1)
      faults.push(`${name}: '${one.textContent}' lies outside`);
    for (const other of texts.slice(i + 1)) {
      const b = box(other);
      if (a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top + 2 < b.bottom - 2 && b.top + 2 < a.bottom - 2)
        faults.push(`${name}: '${one.textContent}' and '${other.textContent}' overlap`);
    }
  }
  for (const mark of svg.querySelectorAll('.m')) {
    const a = box(mark);
    if (a.left < frame.left - 1 || a.right > frame.right + 1) faults.push(`${name}: a mark lies outside`);
  }
}
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
if (new Set(ids).size != ids.length) faults.push('an id occurs twice');
for (const table of document.querySelectorAll('table')) {
  if (!table.caption || !table.tBodies[0].rows.length) faults.push('a table without caption or rows');
  const widths = new Set([...table.rows].map(row => row.cells.length));
  if (widths.size != 1) faults.push(`ragged table: ${table.caption.textContent}`);
}
if (document.documentElement.scrollWidth > window.innerWidth) faults.push('the page is wider than the window');
return faults;
"""


@pytest.fixture(scope="module")
def kept(shared, tmp_path_factory):
    """A store with a campaign of five loads, one of a single run with a hostile name, and one of many streams."""
    folder = tmp_path_factory.mktemp("kept")
    runs = []
    for load in LOADS:
        runs.append(folder / load)
        arguments = ["--rate", load, "--duration", "200ms", "--interval", "20ms", "--out", runs[-1]]
        shared.eagre("sim", REPO / "examples/sim-router.yaml", *arguments)
    sizes = folder / "sizes"
    shared.eagre("sim", REPO / "examples/rfc2544-sizes.yaml", "--duration", "200ms", "--interval", "20ms", "--out", sizes)
    store = folder / "results.db"

    def add(name, *more):
        return shared.eagre("results", "--store", store, "add", "--name", name, *more).ok().out.strip()

    ids = {
        "sweep": add("sweep", "--tag", "dut=model", "--tag", "config=plain", *runs),
        "again": add("again", "--tag", "dut=model", "--tag", "config=nat", *runs[1:]),
        "hostile": add(HOSTILE, "--tag", HOSTILE, runs[-1]),
        "sizes": add("sizes", sizes),
    }
    return {"store": store, "ids": ids, "folder": folder, "runs": runs}


def results(lab, kept, *arguments):
    return lab.eagre("results", "--store", kept["store"], *arguments)


def page(lab, kept, *arguments):
    path = kept["folder"] / "page.html"
    results(lab, kept, "report", *arguments, "-o", path).ok()
    return path


@pytest.fixture(scope="module")
def browser():
    if browsers.missing():
        missing(f"needs {', '.join(browsers.missing())}")
    browser = browsers.Browser()
    yield browser
    browser.close()


# The store.


def test_what_was_kept_is_listed_and_shown(lab, kept):
    """Newest first; by name and by tag; with all trials."""
    listed = results(lab, kept, "list", "--json").ok().json
    assert {c["id"]: c["trials"] for c in listed} == {
        kept["ids"]["sweep"]: 5, kept["ids"]["again"]: 4, kept["ids"]["hostile"]: 1, kept["ids"]["sizes"]: 1,
    }
    tagged = results(lab, kept, "list", "--tag", "config=nat", "--json").ok().json
    assert [c["name"] for c in tagged] == ["again"]
    shown = results(lab, kept, "show", kept["ids"]["sweep"], "--json").ok().json
    assert shown["schema"] == "eagre.archive/1"
    assert len(shown["trials"]) == 5 and all(len(t["intervals"]) >= 10 for t in shown["trials"])
    kept_result = json.loads((kept["runs"][0] / "result.json").read_text())
    assert shown["trials"][0]["result"] == kept_result
    text = results(lab, kept, "show", kept["ids"]["sweep"]).ok().out
    assert "1.2 Mpps" in text and "valid" in text


def test_campaigns_are_compared_and_followed(lab, kept):
    """Side by side, and over time."""
    ids = kept["ids"]
    compared = results(lab, kept, "compare", ids["sweep"], ids["again"], "--json").ok().json
    assert len(compared["comparison"]["campaigns"]) == 2 and compared["comparison"]["rows"]
    assert compared["matrices"][0]["columns"] == ["plain", "nat"]
    assert "beyond noise" in results(lab, kept, "compare", ids["sweep"], ids["again"]).ok().out
    trends = results(lab, kept, "trend", "--name", "sizes", "--goal", "offered", "--json").ok().json
    assert len(trends) == 1 and len(trends[0]["points"]) == 1
    assert "median" in results(lab, kept, "trend").ok().out


def test_exports_can_be_read(lab, kept):
    """CSV by Python's reader, JSON, and trending documents."""
    rows = list(csv.DictReader(io.StringIO(results(lab, kept, "export", kept["ids"]["sweep"]).ok().out)))
    assert len(rows) == 5 and all(row["valid"] == "true" for row in rows)
    assert float(rows[-1]["loss_ratio"]) > 0.3 and rows[0]["lost"] == "0" and rows[0]["sessions_failed"] == ""
    whole = results(lab, kept, "export", kept["ids"]["sweep"], "--format", "json").ok().json
    assert whole["campaign"]["name"] == "sweep"
    trending = results(lab, kept, "export", kept["ids"]["sizes"], "--format", "trending").ok().json
    assert trending[0]["tg_type"] == "eagre" and "lower" in trending[0]["result"]["offered"]


def test_the_store_answers_sqlite(kept):
    """The tables are as docs/store.md says."""
    with sqlite3.connect(f"file:{kept['store']}?mode=ro", uri=True) as database:
        query = "SELECT t.offered_pps, t.loss_ratio FROM trial t JOIN campaign c ON c.id = t.campaign WHERE c.name = ?"
        rows = database.execute(query + " ORDER BY t.number", ["sweep"]).fetchall()
        assert [round(load) for load, _ in rows] == [200_000, 800_000, 1_000_000, 1_200_000, 1_500_000]
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_mistakes_are_said_and_are_bad_input(lab, kept, tmp_path):
    """No such store, no such campaign, a file that is something else."""
    lab.eagre("results", "--store", tmp_path / "none.db", "list").refused(2, "there is no store")
    assert not (tmp_path / "none.db").exists()
    results(lab, kept, "show", "20010101").refused(2, "no campaign '20010101'")
    (tmp_path / "text.db").write_text("this is a text\n" * 100)
    lab.eagre("results", "--store", tmp_path / "text.db", "list").refused(2, "no results store")


# The pages.


@pytest.mark.parametrize("which", ["sweep", "hostile", "sizes", "several"])
@pytest.mark.parametrize("width", [1200, 390])
def test_a_page_is_in_order(lab, kept, browser, which, width):
    """No errors, no texts on each other, no empty chart, no wider than the window: on a desk and in the hand."""
    wanted = ["sweep", "again"] if which == "several" else [which]
    browser.open(page(lab, kept, *(kept["ids"][name] for name in wanted)), width)
    assert browser.console() == []
    if which != "several":
        # The answer, the curves, and the names of what is folded: no more.
        assert browser.run("return document.documentElement.scrollHeight") <= (2_500 if width > 1_000 else 4_000)
        assert browser.run("return document.querySelector('.verdict').getBoundingClientRect().bottom") < 700
        # A sweep looks for nothing: its curves are the answer.
        tiles = browser.run("return document.querySelectorAll('.tiles dd').length")
        assert tiles == 0 if which == "sweep" else 2 <= tiles <= 6
    assert browser.run(EXAMINE) == []
    assert browser.run("return document.querySelectorAll('.chart > svg').length") >= 2
    assert browser.run("return document.title") != "taken"


def test_rfc2544_of_one_length_is_short(lab, browser, tmp_path):
    """A band, large figures, a table of the length by its figures, loss and latency over one axis; no table is cut off."""
    profile = lab.profile(routed("1Gbps"), [stream("s", "west", "east")], sim={"router": {"capacity": "400kpps", "buffer": 64, "latency": "20us"}})
    store, path = tmp_path / "results.db", tmp_path / "page.html"
    options = ["--sim", "--sizes", "64B", "--quick", "--trial", "10ms", "--store", store, "--name", "one"]
    lab.eagre("bench", "rfc2544", profile, *options).ok()
    lab.eagre("results", "--store", store, "report", "one", "-o", path).ok()
    for width in (1280, 390):
        browser.open(path, width)
        assert browser.run("return document.documentElement.scrollHeight") <= 4_000
        band, table = browser.run("return ['.verdict', 'table'].map(which => document.querySelector(which).innerText)")
        assert "Measured" in band and all(head in table for head in ("Throughput", "of line rate", "Latency, 99%", "Back-to-back frames")), table
        assert browser.run("return document.querySelectorAll('#load .chart > svg path.mark').length") == 2, "the knee, in both plots"
        boxes = "return [...document.querySelectorAll('.scroll')].filter(e => e.checkVisibility() && e.scrollWidth > e.clientWidth + 1).length"
        assert width < 1_000 or browser.run(boxes) == 0
        text = browser.run("return document.body.innerText")
        assert "120%" not in text and "Mbit/s" not in text
    assert browser.run(EXAMINE) == []


def test_the_examination_would_notice(lab, kept, browser):
    """It is not blind: each fault that it looks for is made and found."""
    browser.open(page(lab, kept, kept["ids"]["sweep"]))
    browser.run("""
      const [one, other, third] = document.querySelectorAll('.chart > svg');
      const texts = one.querySelectorAll('text.k');
      for (const name of ['x', 'y']) texts[1].setAttribute(name, texts[0].getAttribute(name));
      other.querySelectorAll('.m, rect.b').forEach(e => e.remove());
      third.querySelector('text').setAttribute('x', 2000);
      document.querySelector('tbody tr').lastChild.remove();
      document.body.append(document.querySelector('[id]').cloneNode());
    """)
    faults = " ".join(browser.run(EXAMINE))
    assert all(word in faults for word in ("overlap", "empty", "outside", "ragged", "twice")), faults


def test_a_page_follows_the_reader(lab, kept, browser):
    """Dark where that is preferred, light on paper; headings, landmarks and regions that a keyboard reaches."""
    browser.open(page(lab, kept, kept["ids"]["sweep"]))
    colours = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    light = browser.run(colours)
    browser.emulate(prefers_color_scheme="dark")
    dark = browser.run(colours)
    browser.emulate(media="print", prefers_color_scheme="dark")
    paper = browser.run(colours)
    browser.emulate()
    assert light[0] == paper[0] == "rgb(255, 255, 255)" and dark[0] not in light
    assert browser.pdf().startswith(b"%PDF")
    assert browser.run("return document.documentElement.lang") == "en"
    assert browser.run("return document.querySelectorAll('main, h1').length") == 2
    unlabelled = "return [...document.querySelectorAll('[tabindex]')].filter(e => !e.ariaLabel && e.tagName != 'PRE').length"
    assert browser.run(unlabelled) == 0


def test_a_run_that_is_in_no_store_has_a_page(lab, kept, browser):
    """Its folder is enough."""
    browser.open(page(lab, kept, "--run", kept["runs"][3]))
    assert browser.console() == [] and browser.run(EXAMINE) == []
    text = browser.run("return document.body.innerText")
    assert "frame loss rate" in text and "Over time" in text


# What the tester, the device and the repeats say.


def body(browser, page, width=1200):
    """The text of a page that is in order."""
    browser.open(page, width)
    assert browser.console() == [] and browser.run(EXAMINE) == []
    return browser.run("return document.body.innerText")


def routed(speed):
    """Two ports with the model router between them."""
    ends = enumerate((("west", "ring:a"), ("east", "ring:b")))
    return {
        name: {"device": device, "ip": f"10.0.{net}.2/24", "gateway": f"10.0.{net}.1", "speed": speed}
        for net, (name, device) in ends
    }


def test_a_pause_is_shaded_in_the_charts(lab, browser, tmp_path):
    """The tester's process is stopped for 300 ms: that interval says so, and so do the charts and the tables."""
    profile = lab.profile(pair(), [stream("s", "west", "east", rate="5kpps")], load={"duration": "2s", "drain": "100ms"})
    out = tmp_path / "out"
    process = lab.begun("run", profile, "--out", out, intervals=3, every="200ms")
    os.kill(process.pid, signal.SIGSTOP)
    time.sleep(0.3)
    os.kill(process.pid, signal.SIGCONT)
    lab.finish(process)
    intervals = [json.loads(line) for line in (out / "intervals.jsonl").read_text().splitlines()]
    told = [what for interval in intervals for what in interval.get("disturbances", [])]
    stood = [float(what.split("stalled for ")[1].split(" ms")[0]) for what in told if "stalled for" in what]
    assert max(stood) >= 250, told
    lab.eagre("results", "report", "--run", out, "-o", tmp_path / "page.html").ok()
    text = body(browser, tmp_path / "page.html")
    assert "The tester was disturbed in" in text and f"stalled for {max(stood):.1f} ms" in text
    assert "worker 0 stalled" in text
    strip, axis = browser.run("const box = s => document.querySelector(s).getBoundingClientRect();"
                              "return [box('#time .chart rect.band').top, Math.max(...[...document.querySelectorAll('#time path.g')].map(e => e.getBoundingClientRect().bottom))]")  # fmt: skip
    assert strip >= axis - 8, "the strip lies over the plot"
    bands = browser.run("return [...document.querySelectorAll('.chart rect.band')].map(e => e.getBoundingClientRect().width)")
    assert len(bands) >= 2 and min(bands) >= 2, bands
    for head in ("back to back", "latest departure", "between arrivals, mean", "jitter, RFC 3550", "standard deviation"):
        assert head in text, head


def test_virtual_time_has_no_shade(kept):
    """No interval of a simulated run is disturbed, whatever the machine does."""
    for run in kept["runs"]:
        for line in (run / "intervals.jsonl").read_text().splitlines():
            assert "disturbances" not in json.loads(line)


def test_repeats_are_points_and_the_faster_one_is_named(lab, browser, tmp_path):
    """Three repeats at two loads each, of two devices: points around medians; a sentence on which is faster, by how much."""
    store = tmp_path / "results.db"
    ids = []
    for name, loads in (("slow", ("400kpps", "500kpps")), ("fast", ("800kpps", "900kpps"))):
        folders = []
        for load in loads:
            for seed in range(3):
                folders.append(tmp_path / name / str(seed) / load)
                options = ["--rate", load, "--duration", "50ms", "--seed", str(seed), "--out", folders[-1]]
                lab.eagre("sim", REPO / "examples/sim-router.yaml", *options).ok()
        ids.append(lab.eagre("results", "--store", store, "add", "--name", name, *folders).ok().out.strip())
    lab.eagre("results", "--store", store, "report", ids[0], "-o", tmp_path / "one.html").ok()
    text = body(browser, tmp_path / "one.html")
    assert "single trials; the line is their median" in text
    marks = browser.run("const s = document.querySelector('.chart > svg');"
                        "return [s.querySelectorAll('circle.o').length, s.querySelectorAll('.m').length]")  # fmt: skip
    assert marks == [30, 10], "loss and four latencies"
    shown = lab.eagre("results", "--store", store, "show", ids[0]).ok().out
    assert [line.split()[0] for line in shown.splitlines() if "kpps  " in line][:6] == list("123456"), shown
    # The same loads, so that what is found has a name in common: a device against itself, and against a faster one.
    again = [folder for folder in sorted((tmp_path / "slow").glob("*/500kpps"))]
    fast = [folder for folder in sorted((tmp_path / "fast").glob("*/900kpps"))]
    ids = [lab.eagre("results", "--store", store, "add", "--name", name, *of).ok().out.strip()
           for name, of in (("a", again), ("b", fast), ("c", again))]  # fmt: skip
    compared = lab.eagre("results", "--store", store, "compare", *ids).ok().out
    assert "b is faster than a in 1 of 1 rates (received +80%, at least +" in compared, compared
    assert "No difference shown between c and a in 1 of 1 rates: the intervals overlap." in compared
    lab.eagre("results", "--store", store, "report", *ids, "-o", tmp_path / "all.html").ok()
    text = body(browser, tmp_path / "all.html")
    assert "b is faster than a in 1 of 1 rates" in text and "No difference shown between c and a" in text


def test_findings_are_csv_with_their_bounds(lab, tmp_path):
    """Of a search in virtual time: lower and upper bound, resolution; the profile comes back as it was."""
    store = tmp_path / "results.db"
    profile = lab.profile(routed("100Mbps"), [stream("s", "west", "east")], sim={"router": {"capacity": "40kpps", "buffer": 20}})
    options = ["--sim", "--quick", "--sizes", "64B,512B", "--store", store]
    lab.eagre("bench", "throughput", profile, *options, timeout=120).ok()
    rows = list(csv.DictReader(io.StringIO(results(lab, {"store": store}, "export", "--format", "findings").ok().out)))
    found = [row for row in rows if row["goal"] == "throughput"]
    assert [row["frame"] for row in found] == ["64B", "512B"]
    value, lower, upper, resolution = (float(found[0][key]) for key in ("value", "lower", "upper", "resolution"))
    assert lower <= value <= upper and 0 < resolution and found[0]["unit"] == "pps" and found[0]["doubt"] == "", found
    # Nothing was lost at line rate: there is no upper bound.
    assert float(found[1]["share_of_line"]) == pytest.approx(1) and found[1]["upper"] == "", found
    results(lab, {"store": store}, "profile", "-o", tmp_path / "again.yaml").ok()
    assert (tmp_path / "again.yaml").read_text() == profile.read_text()


def test_a_session_search_shows_where_the_device_gave_up(lab, browser, tmp_path):
    """In virtual time: curves of two applications over the load asked for, with the trials that failed."""
    entries = [
        {"name": name, "client": {"port": "west"}, "server": {"port": "east", "ports": port}, "app": app, "open": "1/s"}
        for name, port, app in (("http", 80, "http"), ("raw", 9000, {"raw": {"request": "64B"}}))
    ]
    profile = lab.profile(routed("1Gbps"), None, sessions=entries, sim={"router": {"capacity": "2kpps", "buffer": 20}})
    apps = [
        {"name": name, "request_bytes": size, "response_bytes": size, "transactions": 1} for name, size in (("http", 1024), ("raw", 64))
    ]
    settings = [f"apps={json.dumps(apps)}", "target=100", "maximum=800", "resolution=0.2", "phases.sustain=1s"]
    options = [word for one in settings for word in ("--set", one)]
    store, page = tmp_path / "results.db", tmp_path / "page.html"
    lab.eagre("bench", "sessions", profile, "--sim", "--quick", *options, "--store", store, "--report", page, timeout=120).ok()
    text = body(browser, page)
    assert "Sessions over load" in text
    with sqlite3.connect(store) as database:
        trials = database.execute("SELECT frame, load, load_unit, sessions_failed FROM trial ORDER BY number").fetchall()
    assert all(unit == "connections/s" for _, _, unit, _ in trials), trials
    assert {frame for frame, _, _, failed in trials if failed} == {"http 1024B", "raw 64B"}, trials
    # A line for each application; every load is a point on it, those that failed, too.
    points = "return [...document.getElementById('c-session-load-0').closest('svg').querySelectorAll('.m')].map(e => e.textContent).filter(t => t.endsWith('%'))"
    drawn = browser.run(points)
    assert len(drawn) == len({(frame, load) for frame, load, _, _ in trials}), drawn
    assert any("400/s" in point and not point.endswith(" 0%") for point in drawn), drawn
    for head in ("attempted", "established", "requested load", "Time to set up over load", "Time to the first byte over load"):
        assert head in text, head
    exported = results(lab, {"store": store}, "export").ok().out
    assert [int(row["trial"]) for row in csv.DictReader(io.StringIO(exported))] == list(range(1, len(trials) + 1))
