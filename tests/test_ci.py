"""`eagre ci` and verdicts for machines, read by the programs that CI systems use."""

import json
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET

import pytest
import yaml
from lab import CANNOT_JUDGE, EAGRE, FAILED, REPO, missing, pair, stream

ACTION = REPO / "packaging/ci/github/action.yml"
TEMPLATE = REPO / "packaging/ci/gitlab/eagre.yml"
JUNITPARSER, CTRF = "junitparser==5.0.3", "ctrf@0.3.0"


def profile(lab, loss="0%", criteria=None, name="profile.yaml", delay="50us"):
    """A simulated link."""
    path = lab.profile(
        pair(),
        [stream("s", "west", "east", rate="10kpps")],
        load={"duration": "300ms", "drain": "50ms"},
        criteria=criteria or {},
        sim={"link": {"loss": loss, "delay": delay}},
        seed=1,
    )
    return path.rename(path.parent / name)


def files(folder):
    """Options for all files of verdicts."""
    names = {"--junit": "junit.xml", "--ctrf": "ctrf.json", "--summary-md": "summary.md", "--report": "report.html", "--json": "eagre.json"}
    return [word for option, name in names.items() for word in (option, folder / name)]


def cases(folder):
    """Outcomes by name, as JUnit has them."""
    outcomes = {}
    for case in ET.parse(folder / "junit.xml").getroot().iter("testcase"):
        outcomes[case.get("name")] = next((child.tag for child in case if child.tag != "properties"), "passed")
    return outcomes


def test_a_baseline_is_written_and_compared(lab):
    """The first run makes it, the second is the same, a device that loses is worse."""
    folder = lab.folder()
    baseline = folder / "baseline.json"
    again = ["--sim", "--baseline", baseline, *files(folder)]
    path = profile(lab, criteria={"streams.s.lost": "< 1000"})
    done = lab.eagre("ci", path, *again)
    assert done.exit == 0 and "baseline written" in done.err, str(done)
    written = json.loads(baseline.read_text())
    assert written["schema"] == "eagre.baseline/1"
    (kept,) = written["profiles"].values()
    assert {"streams.s.loss_ratio", "streams.s.latency_ns.p95"} <= set(kept["figures"])
    done = lab.eagre("ci", path, *again)
    assert done.exit == 0 and set(cases(folder).values()) == {"passed"}, str(done)
    # The same device, worse.
    lossy = path.read_text().replace('"0%"', '"1%"')
    path.write_text(lossy)
    done = lab.eagre("ci", path, *again)
    outcomes = cases(folder)
    assert done.exit == FAILED and outcomes["streams.s.loss_ratio against the baseline"] == "failure", str(done)
    assert outcomes["streams.s.latency_ns.p99 against the baseline"] == "passed"
    assert json.loads(baseline.read_text()) == written, "a baseline changes on request only"
    done = lab.eagre("ci", path, *again, "--update-baseline")
    assert done.exit == FAILED and json.loads(baseline.read_text()) != written
    done = lab.eagre("ci", path, *again)
    assert done.exit == 0, str(done)
    # Better is no failure, and says so.
    path.write_text(lossy.replace('"1%"', '"0%"'))
    assert "better" in lab.eagre("ci", path, *again).ok().err


def test_several_profiles_and_a_failed_one(lab):
    """Suites have distinct names; no baseline is made of a failure."""
    folder = lab.folder()
    good, bad = profile(lab), profile(lab, criteria={"streams.s.tx": "< 10"})
    done = lab.eagre("ci", good, bad, "--sim", "--baseline", folder / "baseline.json", *files(folder))
    assert done.exit == FAILED and not (folder / "baseline.json").exists(), str(done)
    suites = [suite.get("name") for suite in ET.parse(folder / "junit.xml").getroot().iter("testsuite")]
    assert suites == ["profile", "profile (2)"]
    document = json.loads((folder / "eagre.json").read_text())
    assert [entry["outcome"] for entry in document["profiles"]] == ["passed", "failed"]
    text = (folder / "summary.md").read_text()
    assert "### profile: ✓ passed" in text and "### profile (2): ✕ failed" in text and r"| ✕ failed | streams.s.tx &lt; 10 | 3,000 |" in text, text
    assert "<html" in (folder / "report.html").read_text()


def test_what_is_compared_with_nothing_is_said(lab):
    """A profile that the baseline lacks is added, one that has changed is named, and a path has one spelling."""
    path = profile(lab)
    folder = path.parent
    again = ["--sim", "--baseline", "b.json", *files(folder)]
    lab.eagre("ci", "profile.yaml", *again, cwd=folder).ok()
    for spelling in ("./profile.yaml", path, "./././profile.yaml"):
        done = lab.eagre("ci", spelling, *again, cwd=folder).ok()
        assert "warning" not in done.err and "streams.s.loss_ratio against the baseline" in cases(folder), str(done)
    other = folder / "other.yaml"
    other.write_text(path.read_text())
    done = lab.eagre("ci", "profile.yaml", "other.yaml", *again, cwd=folder).ok()
    assert "other.yaml is not in the baseline" in done.err and "other.yaml added" in done.err, str(done)
    assert set(json.loads((folder / "b.json").read_text())["profiles"]) == {"profile.yaml", "other.yaml"}
    other.write_text(path.read_text().replace("10kpps", "20kpps"))
    done = lab.eagre("ci", "other.yaml", *again, cwd=folder).ok()
    assert "other.yaml has changed since its baseline" in done.err, str(done)
    assert "has changed since" in (folder / "junit.xml").read_text()


def test_figures_can_be_chosen(lab):
    folder = lab.folder()
    lab.eagre("ci", profile(lab), "--sim", "--baseline", folder / "b.json", "--figure", "streams.*.latency_ns.max", "--figure", "ports.west.tx_packets").ok()
    (kept,) = json.loads((folder / "b.json").read_text())["profiles"].values()
    assert set(kept["figures"]) == {"streams.s.latency_ns.max", "ports.west.tx_packets"}


@pytest.mark.parametrize("text", ["{", '{"schema": "eagre.baseline/9", "version": "", "profiles": {}}', "[]"])
def test_a_bad_baseline_is_refused(lab, text):
    path = lab.folder() / "baseline.json"
    path.write_text(text)
    lab.eagre("ci", profile(lab), "--sim", "--baseline", path).refused(2, str(path))
    assert path.read_text() == text


def test_real_ports_have_intervals(lab):
    """Three runs: a figure is off by its spread, and three more are no worse."""
    folder = lab.folder()
    path = lab.profile(pair(), [stream("s", "west", "east", rate="5kpps")], load={"duration": "300ms", "drain": "50ms"})
    again = ["--baseline", folder / "b.json", "--figure", "streams.*.lost", "--figure", "streams.*.tx", "--on-disturbed", "repeat", "5"]
    done = lab.eagre("ci", path, *again)
    assert done.exit in (0, CANNOT_JUDGE), str(done)
    (kept,) = json.loads((folder / "b.json").read_text())["profiles"].values()
    assert kept["figures"]["streams.s.tx"] == {"lower": 1500, "upper": 1500, "mean": 1500, "runs": 3}
    assert lab.eagre("ci", path, *again).exit in (0, CANNOT_JUDGE)


def test_bench_has_a_case_for_each_finding(lab):
    folder = lab.folder()
    ports = {name: {**port, "speed": "1Gbps"} for name, port in pair().items()}
    path = lab.profile(ports, [stream("s", "west", "east")])
    quick = ["--quick", "--sim", "--trial", "10ms", "--sizes", "64B,512B", "--set", "resolution=0.2"]
    done = lab.eagre("bench", "throughput", path, *quick, "--store", folder / "r.db", *files(folder))
    assert done.exit == 0, str(done)
    outcomes = cases(folder)
    assert [name.split()[1:] for name in outcomes] == [["64B", "throughput"], ["512B", "throughput"]], outcomes
    case = next(ET.parse(folder / "junit.xml").getroot().iter("testcase"))
    numbers = {prop.get("name"): prop.get("value") for prop in case.iter("property")}
    assert numbers["unit"] == "pps" and float(numbers["value"]) > 1e6, numbers


def test_annotations_are_for_github_only(lab):
    path = profile(lab, criteria={"streams.s.tx": "< 10"})
    assert "::error" not in lab.eagre("sim", path, "--json", "-").err
    summary = lab.folder() / "summary"
    summary.write_text("of another step\n")
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)}
    done = lab.eagre("sim", path, "--summary-md", summary, "--json", "-", env=env)
    assert "::error title=profile%3A streams.s.tx < 10::3,000, not < 10" in done.err, done.err
    text = summary.read_text()
    assert text.startswith("of another step\n### profile: ✕ failed"), text


# Read by others.


def node(tmp, *packages):
    if not shutil.which("npm"):
        missing("needs npm")
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", *packages], cwd=tmp, capture_output=True, text=True, timeout=240)
    if done.returncode:
        pytest.skip(f"npm can't install {packages}: {done.stderr[-300:]}")


def outcomes_of_each_kind(lab):
    """A folder with verdicts: one passed, one failed; the device is simulated."""
    folder = lab.folder()
    criteria = {"streams.s.lost": "== 0", "streams.s.tx": "< 10", "streams.s.latency_ns.p95": "< 1s"}
    assert lab.eagre("sim", profile(lab, criteria=criteria), *files(folder)).exit == FAILED
    return folder


def test_junitparser_reads_the_verdicts(lab):
    """Counts, messages and numbers are what was written."""
    folder, site = outcomes_of_each_kind(lab), lab.folder()
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--target", site, JUNITPARSER], capture_output=True, text=True, timeout=240)
    if done.returncode:
        pytest.skip(f"pip can't install {JUNITPARSER}: {done.stderr[-300:]}")
    script = """
import json, sys
from junitparser import JUnitXml
xml = JUnitXml.fromfile(sys.argv[1])
suite = next(iter(xml))
print(json.dumps({
    "counts": [xml.tests, xml.failures, xml.errors, xml.skipped], "time": suite.time,
    "cases": {case.name: [case.is_failure, case.result and case.result[0].message, {p.get("name"): p.get("value") for p in case._elem.iter("property")}] for case in suite},
}))
"""
    read = subprocess.run([sys.executable, "-c", script, folder / "junit.xml"], capture_output=True, text=True, timeout=60, env={**os.environ, "PYTHONPATH": str(site)})
    assert read.returncode == 0, read.stderr
    read = json.loads(read.stdout)
    assert read["counts"] == [4, 1, 0, 0] and 0.29 < read["time"] < 0.32, read
    failed, message, numbers = read["cases"]["streams.s.tx < 10"]
    assert failed and message == "3,000, not < 10" and numbers == {"value": "3000"}, read["cases"]
    assert read["cases"]["streams.s.lost == 0"][:2] == [False, []] or not read["cases"]["streams.s.lost == 0"][1]


def test_ctrf_reads_the_verdicts(lab):
    """The format's own library finds nothing wrong, and merges them with another report."""
    folder, tmp = outcomes_of_each_kind(lab), lab.folder()
    node(tmp, CTRF)
    script = """
import { validate, merge, filterTests } from 'ctrf';
import fs from 'node:fs';
const report = JSON.parse(fs.readFileSync(process.argv[2]));
const failed = filterTests(report, { status: 'failed' }).map(test => [test.name, test.message, test.extra]);
console.log(JSON.stringify({ valid: validate(report), failed, merged: merge([report, report]).results.summary }));
"""
    (tmp / "read.mjs").write_text(script)
    read = subprocess.run(["node", "read.mjs", folder / "ctrf.json"], cwd=tmp, capture_output=True, text=True, timeout=60)
    assert read.returncode == 0, read.stderr
    read = json.loads(read.stdout)
    assert read["valid"]["valid"] is True, read
    assert read["failed"] == [["streams.s.tx < 10", "3,000, not < 10", {"value": 3000}]]
    assert [read["merged"][name] for name in ("tests", "passed", "failed", "other")] == [8, 6, 2, 0]


# The action and the template.


def steps():
    return yaml.safe_load(ACTION.read_text())["runs"]["steps"]


def test_the_action_is_whole():
    """Inputs that are used exist, those that exist are used, and none is part of a command."""
    action = yaml.safe_load(ACTION.read_text())
    used = set(re.findall(r"inputs\.([a-z-]+)", ACTION.read_text()))
    assert used == set(action["inputs"]) and action["runs"]["using"] == "composite"
    for step in steps():
        assert "${{" not in step.get("run", ""), "a text in an input would be a command"
        assert "shell" in step or "uses" in step
        assert re.fullmatch(r"actions/[a-z/-]+@v\d+", step.get("uses", "actions/x@v1"))


def local_run(folder, step, **inputs):
    """Runs the action's own step as a runner does."""
    action = yaml.safe_load(ACTION.read_text())
    values = {name: str(about.get("default", "")) for name, about in action["inputs"].items()} | inputs
    env = {name: re.sub(r"\$\{\{ inputs\.([a-z-]+) \}\}", lambda found: values[found[1]], text) for name, text in step["env"].items()}
    for name in ("GITHUB_STEP_SUMMARY", "GITHUB_OUTPUT"):
        env[name] = str(folder / name)
        (folder / name).touch()
    shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]]
    return subprocess.run(shell, cwd=folder, env={**os.environ, "GITHUB_ACTIONS": "true", **env}, capture_output=True, text=True, timeout=120)


def test_the_actions_step_runs(lab):
    """In a folder of its own, with the program that was built: verdicts, summary, baseline and exit code."""
    (step,) = [step for step in steps() if "run" in step]
    folder = lab.folder()
    inputs = {"eagre": str(EAGRE), "sim": "true", "baseline": "baseline.json", "on-disturbed": "repeat 2"}
    done = local_run(folder, step, profiles=f"{profile(lab)}\n{profile(lab, name='other.yaml')}", **inputs)
    assert done.returncode == 0, done.stderr
    assert (folder / "GITHUB_OUTPUT").read_text() == "exit-code=0\n"
    assert {path.name for path in (folder / "eagre-ci").iterdir()} == {"junit.xml", "ctrf.json", "report.html", "eagre.json"}
    assert "### other: ✓ passed" in (folder / "GITHUB_STEP_SUMMARY").read_text()
    assert (folder / "baseline.json").exists()
    done = local_run(folder, step, profiles=str(profile(lab, criteria={"streams.s.tx": "< 10"})), **inputs)
    assert done.returncode == FAILED and "::error title=" in done.stderr, done.stderr
    assert (folder / "GITHUB_OUTPUT").read_text().endswith("exit-code=1\n")
    done = local_run(folder, step, profiles="x", **inputs | {"eagre": "no-such-program"})
    assert done.returncode == 3 and "::error title=Eagre::'no-such-program' is not installed" in done.stdout, done


def test_the_template_runs(lab):
    """GitLab runs its script with sh."""
    job = yaml.safe_load(TEMPLATE.read_text())[".eagre"]
    folder = lab.folder()
    env = {**job["variables"], "EAGRE": str(EAGRE), "EAGRE_SIM": "true", "EAGRE_PROFILES": str(profile(lab)), "EAGRE_BASELINE": "b.json"}
    done = subprocess.run(["sh", "-ec", "\n".join(job["script"])], cwd=folder, env={**os.environ, **env}, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    written = {path.name for path in folder.iterdir()}
    assert set(job["artifacts"]["paths"]) | {"b.json"} == written and job["artifacts"]["reports"]["junit"] in written
    assert job["allow_failure"]["exit_codes"] == [CANNOT_JUDGE]
