"""Criteria: every number a result has can be compared, under the name and with the value it has there."""

import json
import shutil

import pytest
import yaml
from lab import REPO, has_its_peers

EXAMPLES = sorted(path for path in (REPO / "examples").glob("*.yaml") if has_its_peers(path))
UDP = [{"ethernet": {"dst": "02:00:00:00:00:07"}}, {"ipv4": {"src": "10.0.0.1", "dst": "10.0.0.2"}}, "udp"]
TAGGED = [
    {"name": name, "from": "west", "to": "east", "packet": UDP, "rate": "1kpps", "tag": name, "size": "64B"}
    for name in ("voice", "video")
]
# Enough for sessions to begin and end; virtual time is cheap, but some examples send a million packets a second.
SPAN = "5ms"
# Streams or sessions beyond these are like the others.
MEMBERS = 2


def numbers(part, path=""):
    """Every number and flag of a document, by path."""
    if isinstance(part, bool | int | float):
        yield path, part
    elif isinstance(part, dict | list):
        for name, inner in part.items() if isinstance(part, dict) else enumerate(part):
            yield from numbers(inner, f"{path}.{name}" if path else str(name))


def comparable(result):
    """The numbers of a result, of few of its streams, but for the outcome of criteria and what depends on them."""
    streams = dict(list(result["streams"].items())[:MEMBERS])
    return dict(numbers({name: part for name, part in (result | {"streams": streams}).items() if name not in ("criteria", "achieved")}))


def simulated(lab, path):
    """The result of a profile, the same each time."""
    done = lab.eagre("sim", path, "--duration", SPAN, "--seed", "7", "--json", "-", timeout=180)
    assert done.json, done
    return done.json


def compared(lab, folder, document):
    """The numbers of a profile's result, and the outcomes of criteria that each is what it is."""
    plain, judged = folder / "plain.yaml", folder / "judged.yaml"
    plain.write_text(yaml.safe_dump(document, sort_keys=False))
    wanted = comparable(simulated(lab, plain))
    criteria = {path: f"== {json.dumps(value)}" for path, value in wanted.items()}
    judged.write_text(yaml.safe_dump(document | {"criteria": criteria}, sort_keys=False))
    return wanted, {criterion["path"]: criterion for criterion in simulated(lab, judged)["criteria"]}


SHARES = {"loss_ratio": ("tx", "rx"), "failed_ratio": ("attempted", "open_at_clear"), "failed_requests_ratio": ("requests", "transactions")}


def shares_of_nothing(wanted):
    """Shares of packets, sessions or requests of which there were none: no criterion holds of them."""
    of = {path: path.rpartition(".") for path in wanted}
    counts = {path: [wanted[f"{row}.{n}"] for n in SHARES.get(name, ()) if f"{row}.{n}" in wanted] for path, (row, _, name) in of.items()}
    return {path for path, numbers in counts.items() if numbers and not any(numbers)}


def written(lab, document):
    """A file of a profile."""
    path = lab.folder() / "profile.yaml"
    path.write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_every_number_of_an_examples_result_can_be_a_criterion(lab, example):
    """A criterion is compared with the number of its path. Keys and certificates of TLS differ from run to run."""
    folder = lab.folder()
    for path in example.parent.iterdir():
        if path.suffix not in (".yaml", ".py") and path.is_file():
            shutil.copy(path, folder)
    text = example.read_text()
    wanted, outcome = compared(lab, folder, yaml.safe_load(text))
    assert len(wanted) > 30 and set(outcome) == set(wanted)
    none = shares_of_nothing(wanted)
    different = {path: (outcome[path], value) for path, value in wanted.items() if not outcome[path]["passed"] and path not in none}
    if "tls" in text or "https" in text:
        different = {path: both for path, both in different.items() if "value" not in both[0]}
    assert not different


def test_every_number_of_a_row_can_be_a_criterion(lab):
    """Rows of groups are like streams; their names may have dots."""
    ports = {"west": {"device": "ring:a"}, "east": {"device": "ring:b"}}
    profile = {"ports": ports, "streams": TAGGED, "groups": {"tags": "tag", "targets": "ipv4.dst"}}
    wanted, outcome = compared(lab, lab.folder(), profile)
    assert {"groups.tags.voice.tx", "groups.targets.10.0.0.2.latency_ns.p99"} <= set(wanted)
    assert [path for path, criterion in outcome.items() if not criterion["passed"]] == []


def test_a_reason_that_did_not_occur_counts_as_zero(lab):
    """Counters that are zero are absent from a result and can be compared all the same, if there is such a counter."""
    profile = yaml.safe_load((REPO / "examples/http.yaml").read_text())
    name = profile["sessions"][0]["name"]
    path = written(lab, profile | {"criteria": {f"sessions.{name}.failed.refused": "== 0"}})
    (criterion,) = simulated(lab, path)["criteria"]
    assert (criterion["value"], criterion["passed"]) == (0, True)
    path = written(lab, profile | {"criteria": {f"sessions.{name}.failed.refusd": "== 0"}})
    lab.eagre("check", path).refused(2, "unknown counter 'refusd'", "did you mean 'refused'?")


def test_flags_seconds_and_shares_have_units(lab):
    """A flag is true or false, a number of seconds a duration."""
    profile = yaml.safe_load((REPO / "examples/demo.yaml").read_text())
    criteria = {"verdict.valid": "== true", "interrupted": "== false", "duration_s": "<= 1s", "workers.0.busy_ratio": "<= 100%"}
    outcome = simulated(lab, written(lab, profile | {"criteria": criteria}))["criteria"]
    assert [(criterion["path"], criterion["passed"]) for criterion in outcome] == [(path, True) for path in criteria]


NOTHING = {
    "loss": ("streams.s.loss_ratio", {"streams": {"start_delay": "5s"}}),
    "failures": ("sessions.s.failed_ratio", {"sessions": {"start_delay": "5s"}}),
    "a phase's failures": ("sessions.s.phases.sustain.failed_ratio", {"sessions": {"open": {"ramp": {"rate": "1/s", "up": "200ms"}}, "count": 1}}),
    "failed requests": ("sessions.s.failed_requests_ratio", {"sessions": {"start_delay": "5s"}}),
    "a group's loss": ("groups.tags.voice.loss_ratio", {"streams": {"start_delay": "5s", "tag": "voice"}}),
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_share_of_nothing_passes_no_criterion(lab, name):
    """Without a packet, a session or a request there is nothing of which less than a per cent could have failed."""
    path, keys = NOTHING[name]
    ports = {"west": {"device": "ring:a", "ip": "10.0.0.1/24"}, "east": {"device": "ring:b", "ip": "10.0.0.2/24"}}
    stream = {"name": "s", "from": "west", "to": "east", "packet": UDP, "rate": "1kpps"}
    other = {**stream, "name": "other"}
    session = {"name": "s", "client": {"port": "west"}, "server": {"port": "east"}, "app": "http", "open": "10/s"}
    rows = {"streams": [other]}
    for kind, more in keys.items():
        rows[kind] = [*rows.get(kind, []), {**({"streams": stream, "sessions": session}[kind]), **more}]
    groups = {"groups": {"tags": "tag"}} if "tag" in keys.get("streams", {}) else {}
    profile = {"ports": ports, **rows, **groups, "criteria": {path: "< 1%"}, "load": {"duration": "1s"}}
    done = lab.eagre("sim", written(lab, profile), "--json", "-")
    (criterion,) = done.json["criteria"]
    assert done.exit == 1 and (criterion["passed"], criterion["outcome"], criterion.get("value")) == (False, "not_met", None), str(done)
    assert f"{path} was not measured" in done.err, done.err
