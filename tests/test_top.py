"""`eagre top` in a real terminal (tmux) beside a real server."""

import re
import time
from pathlib import Path

import pytest
from lab import EAGRE, call, need, wait_until
from server import Server, rings

SENT = r"west +([\d.]+ [kM]?)"
# Set by tmux for what begins a colour; bold, dim and reversed text are none.
COLOUR = re.compile(r"\x1b\[[0-9;]*\b(?:3[0-7]|9[0-7]|38;[25])[0-9;]*m")


class Terminal:
    """A program in a terminal of its own, and what it shows."""

    def __init__(self, lab, *command, columns=120, lines=32, env=None):
        need("tmux")
        self.tmux = ["tmux", "-f", "/dev/null", "-S", lab.folder() / "tmux"]
        settings = [word for name, value in (env or {}).items() for word in ("-e", f"{name}={value}")]
        words = ["new-session", "-d", "-s", "top", "-x", columns, "-y", lines, *settings, *command]
        # In the foreground, so that it ends with the test if nothing else ends it.
        self.server = lab.start(*self.tmux, "-D")
        wait_until(lambda: call(*self.tmux, *words, check=False) == "" and self.alive(), "tmux", 10, 0.1)

    def alive(self):
        return "top" in call(*self.tmux, "list-sessions", check=False)

    def screen(self, colours=False):
        """What is seen; colours as escapes."""
        return call(*self.tmux, "capture-pane", "-p", "-t", "top", *(["-e"] if colours else []))

    def shows(self, pattern, timeout=15):
        """Waits until a pattern is seen."""
        try:
            return wait_until(lambda: re.search(pattern, self.screen()), f"'{pattern}'", timeout, 0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}; seen:\n{self.screen()}") from None

    def figure(self, pattern, value, within=0.3, timeout=20):
        """Waits until a pattern is seen whose group is about a value; a busy machine makes rates of an instant uneven."""

        def near():
            seen = re.search(pattern, self.screen())
            if not seen:
                return False
            number, _, prefix = seen[1].partition(" ")
            return abs(float(number) * {"": 1, "k": 1e3, "M": 1e6}[prefix.strip()] - value) <= within * value

        try:
            wait_until(near, f"'{pattern}' about {value}", timeout, 0.1)
        except AssertionError as error:
            raise AssertionError(f"{error}; seen:\n{self.screen()}") from None

    def keys(self, *keys):
        call(*self.tmux, "send-keys", "-t", "top", *keys)

    def resize(self, columns, lines):
        call(*self.tmux, "resize-window", "-t", "top", "-x", columns, "-y", lines)

    def gone(self):
        wait_until(lambda: not self.alive(), "the program's end", 10, 0.1)


def rate(server, run):
    """Packets a second over a short while."""
    path = f"/api/v1/runs/{run['id']}/snapshot"
    first = server.get(path)
    time.sleep(0.5)
    second = wait_until(lambda: (look := server.get(path))["at_s"] > first["at_s"] and look, "a newer look", 10)
    sent = [look["total"]["ports"]["west"]["tx_packets"] for look in (first, second)]
    return (sent[1] - sent[0]) / (second["at_s"] - first["at_s"])


@pytest.fixture(scope="module")
def common(shared):
    return Server(shared)


@pytest.fixture
def server(common):
    """A server on which nothing runs, before and after."""
    yield common
    for kind in ("runs", "campaigns"):
        for entry in common.get(f"/api/v1/{kind}"):
            if entry["ended"] is None:
                common.ask("POST", f"/api/v1/{kind}/{entry['id']}/stop")
    wait_until(lambda: not common.get("/api/v1/leases"), "the ports", 20, 0.1)


@pytest.mark.unsteady("a busy machine makes rates of an instant uneven")
def test_a_run_is_watched_changed_and_stopped(server, lab):
    """Rates are those of the run; keys pause, change and stop it; the program ends and leaves the terminal."""
    run = server.start(profile=rings(rate="20kpps", duration="60s", streams=3), name="watched")
    server.sends(run)
    top = Terminal(lab, EAGRE, "top", server.url)
    top.shows(rf"watched \({run['id']}\): running")
    # 3 streams of 20 kpps from west, all of which arrives at east.
    top.figure(SENT, 60_000)
    top.figure(r"east +0 pps +0 bps +([\d.]+ k)", 60_000)
    assert re.search(r"latency +p50 \S+ [nµ]s", top.screen()) and re.search(r"worker on core \d+ \d+% busy", top.screen())
    assert re.search(r"streams by loss: 1–3 of 3", top.screen())
    top.figure(r"s1 +([\d.]+ k)pps +[\d.]+ kpps +[\d,]+ +\d+ +[\d.]+%", 20_000)

    top.keys("p")
    top.shows(r"watched \(.*\): running, paused")
    wait_until(lambda: rate(server, run) == 0, "the pause")
    top.shows(r"west +0 pps +0 bps")
    top.keys("p")
    top.figure(SENT, 60_000)
    top.keys("+")
    top.shows(r"at 110% of the profile's rate")
    wait_until(lambda: rate(server, run) == pytest.approx(66_000, rel=0.1), "110%")

    top.keys("/", "s", "2", "Enter")
    top.shows(r"streams by loss, filter 's2': 1–1 of 1")
    top.keys("Escape")
    top.shows(r"streams by loss: 1–3 of 3")
    top.keys("n")
    top.shows(r"streams by name: 1–3 of 3")
    top.keys("?")
    top.shows(r"10% faster, slower")
    top.keys("x", "s")
    top.shows(r"Stop watched")
    top.keys("n")
    assert server.run(run)["state"] == "running"
    top.keys("s", "y")
    assert server.ended(run)["state"] == "stopped"
    top.shows(r"watched \(.*\): stopped")
    # The last figures are those of the result.
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    top.shows(rf"s0 .* {result['streams']['s0']['tx']:,} +{result['streams']['s0']['lost']:,} ")
    top.keys("q")
    top.gone()


def test_sizes_and_colours(server, lab):
    """The picture follows the terminal's size; NO_COLOR means none."""
    run = server.start(profile=rings(duration="60s", streams=40), name="sized")
    server.sends(run)
    plain = Terminal(lab, EAGRE, "top", server.url, "--run", run["id"], env={"NO_COLOR": "1"})
    plain.shows(r"streams by loss: 1–\d+ of 40")
    rows = len(re.findall(r"^ +s\d+ ", plain.screen(), re.MULTILINE))
    assert 10 <= rows < 40
    plain.resize(100, 60)
    plain.shows(r"streams by loss: 1–40 of 40")
    plain.resize(60, 12)
    wait_until(lambda: len(plain.screen().splitlines()) == 12, "the smaller terminal")
    plain.shows("sized")
    plain.resize(120, 32)
    plain.shows(rf"1–{rows} of 40")
    plain.keys("NPage")
    plain.shows(rf"streams by loss: {rows + 1}–")
    assert not COLOUR.search(plain.screen(colours=True))
    coloured = Terminal(lab, EAGRE, "top", server.url)
    coloured.shows("sized")
    assert COLOUR.search(coloured.screen(colours=True))
    for terminal in (plain, coloured):
        terminal.keys("C-c")
        terminal.gone()


def test_a_server_that_comes_back(lab):
    """While it is away that is said; afterwards there are figures again."""
    server = Server(lab)
    run = server.start(profile=rings(duration="60s"), name="before")
    server.sends(run)
    top = Terminal(lab, EAGRE, "top", server.url)
    top.shows(r"before \(.*\): running")
    server.process.kill()
    server.process.wait(10)
    top.shows(r"not connected: ")
    again = Server(lab, "--listen", f"127.0.0.1:{server.address.port}", folder=server.folder)
    top.shows(r"before \(.*\): interrupted")
    again.start(profile=rings(duration="60s"), name="after")
    top.shows(r"after \(.*\): running")
    top.figure(SENT, 20_000)
    top.keys("Right")
    top.shows(r"before \(.*\): interrupted")
    top.keys("Left")
    top.shows(r"after \(.*\): running")
    top.keys("q")
    top.gone()


def test_a_campaign_is_followed(server, lab):
    """Its progress, and the figures of the trial that runs; it can be stopped like a run."""
    profile = rings(rate="10kpps", duration="1s")
    profile["ports"]["west"]["speed"] = profile["ports"]["east"]["speed"] = "20Mbps"
    new = {"method": "rfc2544", "profile": profile, "quick": True, "trial_s": 2, "sizes": ["64B"]}
    answer = server.ask("POST", "/api/v1/campaigns", new)
    assert answer.status == 201, answer
    campaign = answer.json()
    top = Terminal(lab, EAGRE, "top", server.url)
    top.shows(rf"rfc2544 .*\({campaign['id']}\): running")
    top.shows(r"\d+ trials done, \d+ left")
    top.shows(r"west +[\d.]+ [kM]")
    top.keys("p")
    top.shows("cannot change the rate: the campaign's method sets it")
    top.keys("s", "y")
    top.shows(rf"\({campaign['id']}\): stopped", 30)
    top.keys("q")
    top.gone()


def test_a_snapshot_on_a_pipe(server, eagre):
    """One look at what runs, or ran last, and exit code 0."""
    run = server.start(profile=rings(rate="20kpps", duration="2s"), name="piped")
    server.sends(run)
    during = eagre("top", server.url).ok().out
    assert f"piped ({run['id']}): running" in during
    assert re.search(SENT, during), during
    server.ended(run)
    after = eagre("top", server.url, "--once", "--run", run["id"]).ok().out
    assert f"piped ({run['id']}): done" in after
    found = server.get(f"/api/v1/runs/{run['id']}/result")["streams"]["s0"]
    assert re.search(rf"s0 .* {found['tx']:,} +{found['lost']:,} +[\d.]+%", after), after


def test_what_is_wrong_is_said(server, lab, eagre):
    """Nobody there, nobody known, no such run."""
    eagre("top", "http://127.0.0.1:9").refused(3, "127.0.0.1:9", "refused")
    eagre("top", "gopher://x").refused(2, "http://")
    eagre("top", server.url, "--run", "nothing").refused(2, "--run", "nothing")
    tokens = lab.folder() / "tokens.yaml"
    tokens.write_text("- {name: eve, role: watch, token: 0123456789abcdef}\n")
    guarded = Server(lab, "--tokens", tokens)
    eagre("top", guarded.url).refused(2, "--token")
    eagre("top", guarded.url, "--token", "wrong-wrong-wrong").refused(2, "--token")
    assert "no runs" in eagre("top", guarded.url, env={"EAGRE_TOKEN": "0123456789abcdef"}).ok().out


def test_an_encrypted_server(lab, eagre):
    """Its certificate is trusted if its file is given, or if everybody is trusted; else not."""
    server = Server(lab, "--tls")
    certificate = re.search(r"certificate in (.*)", server.log.read_text())[1]
    eagre("top", server.url).refused(3, "certificate")
    assert "no runs" in eagre("top", server.url, "--ca", certificate).ok().out
    assert "no runs" in eagre("top", server.url, "--insecure").ok().out


def test_it_ends_with_its_terminal(server, lab):
    """A terminal that is closed leaves no process that spins."""
    top = Terminal(lab, EAGRE, "top", server.url)
    top.shows("eagre|Eagre")
    pid = int(call(*top.tmux, "display-message", "-p", "-t", "top", "#{pane_pid}"))
    call(*top.tmux, "kill-server")
    wait_until(lambda: not Path(f"/proc/{pid}").exists(), "the end", 10, 0.1)
