"""The store and its reports: stored runs, lists, exports, pages in a browser."""

import csv
import io
import json
import sqlite3

import browser as browsers
import pytest
from lab import REPO, missing

HOSTILE = "<script>document.title = 'taken'</script>\"'&"
LOADS = ("200kpps", "800kpps", "1Mpps", "1200kpps", "1500kpps")

# Texts of a chart that lie on each other, charts without a mark, texts outside their drawing, ids that are not unique.
EXAMINE = """
const faults = [];
const box = e => e.getBoundingClientRect();
for (const svg of document.querySelectorAll('.chart > svg')) {
  const name = svg.querySelector('title').textContent, frame = box(svg);
  if (!svg.querySelector('.m, rect.b')) faults.push(`${name}: empty`);
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
    assert browser.run(EXAMINE) == []
    assert browser.run("return document.querySelectorAll('.chart > svg').length") >= 2
    assert browser.run("return document.title") != "taken"


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
