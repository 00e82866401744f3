"""`/metrics`: what docs/metrics.md promises, read by promtool and by a real Prometheus, queried as the dashboard does."""

import json
import re
import urllib.error
import urllib.parse
import urllib.request

import pytest
import yaml
from lab import REPO, call, need, wait_until
from server import Server, rings

PROMETHEUS = REPO / "packaging/prometheus"
DASHBOARD = json.loads((REPO / "packaging/grafana/eagre.json").read_text())
OPEN_METRICS = "application/openmetrics-text; version=1.0.0"


def profile(streams=3, duration="120s"):
    """Streams and sessions at the same time."""
    document = rings(rate="2kpps", duration=duration, streams=streams)
    document["sessions"] = [
        {
            "name": "web",
            "client": {"port": "west", "addresses": "10.0.0.20..10.0.0.29"},
            "server": {"port": "east", "addresses": "10.0.0.120"},
            "app": {"http": {"response": "1KB"}},
            "open": "50/s",
        }
    ]
    return document


@pytest.fixture(scope="module")
def server(shared):
    return Server(shared)


@pytest.fixture(scope="module")
def run(server):
    """A run that goes on while it is looked at."""
    run = server.start(profile=profile(), name="measured")
    server.sends(run, 5_000)
    return run


def scrape(server, query="", accept="text/plain"):
    answer = server.ask("GET", f"/metrics{query}", headers={"Accept": accept})
    assert answer.status == 200, answer
    return answer.body.decode()


def samples(text):
    """All samples: {(name, labels): value}."""
    found = re.findall(r"^(\w+)(?:\{(.*)\})? (\S+)$", text, re.MULTILINE)
    return {(name, frozenset(re.findall(r'(\w+)="([^"]*)"', labels))): float(value) for name, labels, value in found}


def value(text, metric, /, **labels):
    """The one sample with these labels."""
    found = [v for (n, have), v in samples(text).items() if n == metric and set(labels.items()) <= have]
    assert len(found) == 1, (metric, labels, found)
    return found[0]


def test_promtool_has_nothing_to_say(server, run):
    """Names, types, help texts and units follow the rules."""
    need("promtool")
    assert call("promtool", "check", "metrics", input=scrape(server)) == ""


def test_both_formats_say_the_same(server, run):
    """OpenMetrics for who asks for it, the older text for others; the same families."""
    answer = server.ask("GET", "/metrics", headers={"Accept": OPEN_METRICS})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    text = answer.body.decode()
    assert text.endswith("# EOF\n") and "# TYPE eagre_port_tx_packets counter" in text
    plain = scrape(server)
    assert "# TYPE eagre_port_tx_packets_total counter" in plain and "# EOF" not in plain
    assert {name for name, _ in samples(text)} == {name for name, _ in samples(plain)}


def test_the_document_lists_every_metric(server, run):
    """docs/metrics.md has the names, types and meanings that are served, and no others."""
    text = scrape(server)
    kinds = dict(re.findall(r"^# TYPE (\w+) (\w+)$", text, re.MULTILINE))
    helps = dict(re.findall(r"^# HELP (\w+) (.*)$", text, re.MULTILINE))
    served = {(name, kinds[name], helps[name]) for name in kinds}
    page = (REPO / "docs/metrics.md").read_text()
    rows = re.findall(r"^\| `(eagre_\w+)` \| (counter|gauge|histogram) \| ([^|]*) \| ([^|]+) \|$", page, re.MULTILINE)
    assert {(name, kind, text.strip()) for name, kind, _, text in rows} == served
    labels = {}
    for name, have in samples(text):
        family = re.sub("_(bucket|sum|count)$", "", name) if name not in kinds else name
        labels.setdefault(family, set()).update(label for label, _ in have if label != "le")
    documented = {name: set(re.findall(r"`(\w+)`", words)) for name, _, words, _ in rows}
    assert {name: documented[name] for name in labels} == labels


def test_figures_are_those_of_the_run(server, run):
    """Counters lie between the snapshots before and after."""
    path = f"/api/v1/runs/{run['id']}/snapshot"
    before, text, after = server.get(path), scrape(server), server.get(path)
    for port in ("west", "east"):
        for field, name in (("tx_packets", "eagre_port_tx_packets_total"), ("rx_bytes", "eagre_port_rx_bytes_total")):
            seen = value(text, name, run=run["id"], port=port)
            assert before["total"]["ports"][port][field] <= seen <= after["total"]["ports"][port][field]
    for stream in ("s0", "s2"):
        seen = value(text, "eagre_stream_tx_packets_total", run=run["id"], stream=stream)
        assert before["total"]["streams"][stream]["tx"] <= seen <= after["total"]["streams"][stream]["tx"]
        latency = value(text, "eagre_stream_latency_seconds", run=run["id"], stream=stream, statistic="p50")
        near = after["total"]["streams"][stream]["latency_ns"]["p50"] / 1e9
        assert near / 3 < latency < near * 3
    assert value(text, "eagre_run_state", run=run["id"], state="running") == 1
    assert value(text, "eagre_runs", state="running") == 1
    assert value(text, "eagre_leases") == 1
    assert value(text, "eagre_run_info", run=run["id"], name="measured", holder="local") == 1
    assert value(text, "eagre_sessions_established_total", run=run["id"], sessions="web") > 0


def test_latency_is_a_histogram(server, run):
    """Classic buckets that agree with the run's percentiles, in both text formats."""
    for accept in ("text/plain", OPEN_METRICS):
        text = scrape(server, accept=accept)
        found = {dict(labels)["le"]: count for (name, labels), count in samples(text).items() if name == "eagre_latency_seconds_bucket"}
        bounds = sorted(found, key=lambda bound: float("inf") if bound == "+Inf" else float(bound))
        assert len(bounds) == 25 and bounds[-1] == "+Inf"
        counts = [found[bound] for bound in bounds]
        assert counts == sorted(counts) and counts[-1] == value(text, "eagre_latency_seconds_count", run=run["id"]) > 5_000
        mean = value(text, "eagre_latency_seconds_sum", run=run["id"]) / counts[-1]
        assert 0 < mean < 1
        # All of it is the tester's own: half of the packets take no longer than half a second, however busy the machine is.
        assert counts[bounds.index("0.5")] > counts[-1] / 2


def test_a_scrape_as_protobuf_has_native_histograms(server, run, lab):
    """A real Prometheus that keeps native histograms takes a quantile of one from all its buckets; and all else as before."""
    prometheus = Prometheus(lab, server.url.removeprefix("http://"), options=["--enable-feature=native-histograms"])
    asked = f'histogram_quantile(0.5, eagre_latency_seconds{{run="{run["id"]}"}})'
    (found,) = wait_until(lambda: prometheus.query(asked), "a quantile of a native histogram", 20, 0.3)
    assert not prometheus.query("eagre_latency_seconds_bucket"), "it has taken the classic buckets"
    streams = server.get(f"/api/v1/runs/{run['id']}/snapshot")["total"]["streams"].values()
    medians = [stream["latency_ns"]["p50"] / 1e9 for stream in streams]
    assert min(medians) / 1.2 < float(found["value"][1]) < max(medians) * 1.2, (found, medians)
    (count,) = prometheus.query(f'histogram_count(eagre_latency_seconds{{run="{run["id"]}"}})')
    assert float(count["value"][1]) > 5_000
    assert prometheus.query("eagre_port_tx_packets_total") and prometheus.query('eagre_run_state{state="running"} == 1')
    (up,) = prometheus.query("up")
    assert up["value"][1] == "1"


def test_many_streams_are_summed(server, run):
    """Beyond the limit there is one series for all others, and one that says how many they are."""
    text = scrape(server, "?streams=1")
    assert value(text, "eagre_streams_summed", run=run["id"]) == 2
    names = {dict(labels)["stream"] for name, labels in samples(text) if name == "eagre_stream_tx_packets_total"}
    assert names == {"s0", "(others)"}
    one = value(text, "eagre_stream_tx_packets_total", run=run["id"], stream="s0")
    others = value(text, "eagre_stream_tx_packets_total", run=run["id"], stream="(others)")
    assert others == pytest.approx(2 * one, rel=0.05)
    assert value(scrape(server), "eagre_streams_summed", run=run["id"]) == 0


def test_metrics_are_for_those_who_may_look(lab):
    """A token is needed where tokens are; any role will do."""
    tokens = lab.folder() / "tokens.yaml"
    tokens.write_text("- {name: eye, role: watch, token: 0123456789abcdef}\n")
    guarded = Server(lab, "--tokens", tokens)
    assert guarded.ask("GET", "/metrics").status == 401
    assert guarded.ask("GET", "/metrics", token="0123456789abcdef").status == 200


def test_promtool_accepts_configuration_and_rules():
    """The files beside the package are valid, and every rule asks for metrics that exist."""
    need("promtool")
    call("promtool", "check", "config", PROMETHEUS / "prometheus.yml")
    page = (REPO / "docs/metrics.md").read_text()
    groups = yaml.safe_load((PROMETHEUS / "rules.yml").read_text())["groups"]
    expressions = [rule["expr"] for group in groups for rule in group["rules"]]
    for name in set(re.findall(r"(?<![\w:])eagre_\w+", "\n".join(expressions))):
        assert f"`{name}`" in page, name


class Prometheus:
    """A real one that scrapes servers twice a second."""

    def __init__(self, lab, *targets, options=()):
        need("prometheus")
        self.folder = lab.folder()
        config = yaml.safe_load((PROMETHEUS / "prometheus.yml").read_text())
        config["global"] = {"scrape_interval": "500ms", "evaluation_interval": "500ms"}
        config["rule_files"] = [str(PROMETHEUS / "rules.yml")]
        config["scrape_configs"][0]["static_configs"] = [{"targets": list(targets)}]
        (self.folder / "prometheus.yml").write_text(json.dumps(config))
        self.log = self.folder / "log"
        self.process = lab.start(
            "prometheus",
            f"--config.file={self.folder}/prometheus.yml",
            f"--storage.tsdb.path={self.folder}/data",
            "--web.listen-address=127.0.0.1:0",
            *options,
            stderr=self.log.open("w"),
        )
        self.address = wait_until(self._listens, "Prometheus", 30, 0.1)
        wait_until(self._is_ready, "Prometheus to be ready", 30, 0.1)

    def _listens(self):
        assert self.process.poll() is None, self.log.read_text()
        found = re.search(r'msg="Listening on" address=(\S+)', self.log.read_text())
        return found and found[1]

    def _is_ready(self):
        try:
            with urllib.request.urlopen(f"http://{self.address}/-/ready", timeout=10) as answer:
                return answer.status == 200
        except urllib.error.HTTPError:
            return False

    def query(self, expression):
        """What an expression is now."""
        url = f"http://{self.address}/api/v1/query?{urllib.parse.urlencode({'query': expression})}"
        with urllib.request.urlopen(url, timeout=10) as answer:
            return json.load(answer)["data"]["result"]


def expressions():
    """Everything the dashboard asks: panels and annotations."""
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel.get("targets", [])]
    return panels + [annotation["expr"] for annotation in DASHBOARD["annotations"]["list"]]


def test_a_dashboards_every_question_has_an_answer(server, run, lab):
    """Prometheus scrapes a run and, on another server, a campaign; each expression of the Grafana file returns data."""
    other = Server(lab)
    target, second = (each.url.removeprefix("http://") for each in (server, other))
    prometheus = Prometheus(lab, target, second)
    wait_until(lambda: prometheus.query(f'count_over_time(up{{instance="{target}"}}[1m]) > 6'), "scrapes", 30, 0.3)
    assert [series["value"][1] for series in prometheus.query("up")] == ["1", "1"]
    (state,) = prometheus.query('eagre_run_state{state="running"} == 1')
    assert state["metric"]["run"] == run["id"]
    document = rings(rate="1kpps")
    document["ports"]["west"]["speed"] = document["ports"]["east"]["speed"] = "10Mbps"
    new = {"method": "rfc2544", "profile": document, "quick": True, "trial_s": 5, "sizes": ["64B"]}
    assert other.ask("POST", "/api/v1/campaigns", new).status == 201

    def ask(expression, instance=target):
        asked = expression.replace("$instance", instance).replace("$run", ".*").replace("$__rate_interval", "10s")
        assert "$" not in asked, asked
        return prometheus.query(asked)

    # The campaign has begun just now, the run before the first scrape.
    of_the_other = ("eagre_campaign_progress_ratio", "(eagre_run_state")
    for expression in expressions():
        instance = second if expression.startswith(of_the_other) else target
        wait_until(lambda: ask(expression, instance), f"an answer to {expression}", 10, 0.3)  # noqa: B023
    rate = ask('sum(rate(eagre_port_tx_packets_total{run=~"$run",port="west"}[$__rate_interval]))')
    assert float(rate[0]["value"][1]) > 1_000
    wait_until(lambda: prometheus.query("run:eagre_loss:ratio"), "the rules", 15, 0.3)


def test_an_ended_run_is_seen_for_a_while(lab):
    """Its last figures are those of the result; what it does no more is not said."""
    server = Server(lab)
    run = server.start(profile=profile(duration="500ms"))
    server.ended(run)
    result, text = server.get(f"/api/v1/runs/{run['id']}/result"), scrape(server)
    for stream, found in result["streams"].items():
        assert value(text, "eagre_stream_rx_packets_total", run=run["id"], stream=stream) == found["rx"]
        assert value(text, "eagre_stream_lost_packets", run=run["id"], stream=stream) == found["lost"]
    assert value(text, "eagre_run_valid", run=run["id"]) == result["verdict"]["valid"]
    assert value(text, "eagre_run_state", run=run["id"], state="done") == 1
    assert "eagre_worker_busy_ratio{" not in text and "eagre_run_latency_seconds{" not in text
