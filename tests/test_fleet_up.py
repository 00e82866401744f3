"""`eagre fleet`: a NATS server with keys, TLS and permissions from one command, and machines that join by the line it prints.

Network namespaces are the machines: the controller with the NATS server, and two with a port each, which a cable connects.
"""

import contextlib
import os
import re
import socket
import subprocess
import time

import pytest
import yaml
from broker import newer, program
from lab import BAD_INPUT, EAGRE, REFUSED, REPO, call, need, wait_until
from server import Server, inside

LINE = re.compile(r"^EAGRE_JOIN='(tls://(\w+):SU\w+@[\w.]+:4222#[\w-]+)' eagre agent --ports (\S+)$", re.MULTILINE)
AGENT_UNIT, FLEET_UNIT = (REPO / f"packaging/systemd/eagre-{name}.service" for name in ("agent", "fleet"))


class Place:
    """A machine with a fleet's NATS server, and two others."""

    def __init__(self, lab, server=None):
        need("ip")
        self.nats = server or program()
        self.lab, self.hub, self.state = lab, lab.netns("hub"), lab.folder() / "fleet"
        self.hub.ip("link", "add", "br0", "type", "bridge")
        self.hub.ip("address", "add", "10.77.0.1/24", "dev", "br0")
        self.hub.ip("link", "set", "br0", "up")
        self.far = [lab.netns(f"far{number}") for number in (1, 2)]
        for number, far in enumerate(self.far, 1):
            lab.veth(self.hub, f"h{number}", far, "ctl0")
            self.hub.ip("link", "set", f"h{number}", "master", "br0")
            far.ip("address", "add", f"10.77.0.1{number}/24", "dev", "ctl0")

    def fleet(self, *words):
        """Runs `eagre fleet` on the controller's machine."""
        if words[0] == "up" and "--nats-server" not in words and self.nats != program():
            words = (*words, "--nats-server", self.nats)
        return self.lab.eagre("fleet", *words, "--state", self.state, ns=self.hub)

    def status(self):
        """Agents by name."""
        status = self.fleet("status", "--json").ok().told
        return {agent["name"]: agent for agent in status["agents"]}, status

    def paste(self, line, namespace):
        """Runs a printed line in a shell, as somebody would who got it in a message."""
        env = {"PATH": f"{EAGRE.parent}:{os.environ['PATH']}"}
        return self.lab.start("sh", "-c", f"export {line.replace(' eagre', '; exec eagre')}", ns=namespace, env=env)

    def speak_plainly(self):
        """Speaks to the server without TLS."""
        with inside(self.far[0]), socket.create_connection(("10.77.0.1", 4222), 5) as plain:
            plain.recv(4096)
            plain.sendall(b'CONNECT {"verbose":false}\r\nPING\r\n')
            with contextlib.suppress(OSError):
                plain.recv(4096)

    def close(self):
        """Stops the server, which outlives its command."""
        self.fleet("down").ok()


@pytest.fixture
def place(lab, request):
    """A fleet that is not up yet; with the NATS server that the test names."""
    made = Place(lab, getattr(request, "param", program)())
    yield made
    made.close()


BOTH = pytest.mark.parametrize("place", [program, newer], ids=["debian", "newer"], indirect=True)


@BOTH
def test_one_line_makes_a_machine_an_agent(place):
    """Up, two agents by their lines, a run between them that later agents do not disturb, status, withdrawal, down."""
    lab = place.lab
    lab.veth(place.far[0], "veth0", place.far[1], "veth0")
    place.fleet("status").refused(REFUSED, "start one: eagre fleet up")
    up = place.fleet("up", "--listen", "10.77.0.1:4222", "--ports", "veth0").ok().out
    (first,) = LINE.finditer(up)
    assert first[2] == "a1" and first[3] == "veth0" and f"eagre serve --join {place.state}/controller.env" in up, up
    # Once more: nothing is made again, nothing starts again.
    again = place.fleet("up").ok().out
    assert re.search(r"process (\d+)", up)[1] == re.search(r"process (\d+)", again)[1] and not LINE.search(again), again
    (second,) = LINE.finditer(place.fleet("add", "a2").ok().out)
    assert second[3] == "PORTS" and place.fleet("add", "a2").ok().out == second[0] + "\n"
    for path in place.state.rglob("*"):
        assert path.stat().st_mode & 0o077 == 0 or path.name in ("ca.pem", "server.pem", "nats.log", "nats.pid") or "store" in path.parts, path
    agents = [place.paste(first[0], place.far[0])]
    agents.append(lab.start_eagre("agent", "--join", place.state / "agents/a2.env", "--ports", "veth0", ns=place.far[1]))
    server = Server(lab, "--join", place.state / "controller.env", ns=place.hub)
    for port in ("a1/veth0", "a2/veth0"):
        wait_until(lambda: port in [listed["name"] for listed in server.get("/api/v1/ports")], port, 20)
    # Its process of a run does not get the key.
    ports = {f"p{n}": {"device": f"a{n}/afpacket:veth0", "ip": f"10.0.0.{n}/24"} for n in (1, 2)}
    streams = [{"name": "one", "from": "p1", "to": "p2", "packet": [{"ipv4": {"dst": "10.0.0.2"}}, "udp"], "size": "128B", "rate": "1kpps"}]
    run = server.start(profile={"ports": ports, "streams": streams, "load": {"duration": "60s"}}, name="night shift")
    server.sends(run, 100)
    (process,) = [pid for pid in place.far[0].pids() if b"\0--name\0" in open(f"/proc/{pid}/cmdline", "rb").read()]
    assert b"EAGRE_JOIN" not in open(f"/proc/{process}/environ", "rb").read()
    text = server.ask("GET", "/metrics").body.decode()
    for line in ('eagre_agent_up{agent="a1"} 1', 'eagre_agent_ports{agent="a2"} 1', r'eagre_agent_info{agent="a1",version="[^"]+",clock="\w+"} 1'):
        assert re.search(f"^{line}", text, re.MULTILINE), text
    assert re.search(rf'^eagre_port_tx_packets_total{{run="{run["id"]}",port="p1",agent="a1"}} \d', text, re.MULTILINE), text
    place.fleet("add", "a3", "a4").ok()
    shown = wait_until(lambda: (shown := place.status())[0]["a2"]["runs"] and shown, "the run in the status")
    found, status = shown
    assert sorted(found) == ["a1", "a2", "a3", "a4"] and not found["a3"]["connected"]
    assert found["a1"]["ports"][0]["name"] == "veth0" and found["a1"]["ports"][0]["up"] and found["a1"]["clock"]["method"] == "shared"
    assert found["a1"]["version"] in lab.eagre("--version").ok().out and found["a1"]["runs"][0]["ports"] == ["veth0"]
    assert [lease["port"] for lease in status["leases"]] == ["a1/veth0", "a2/veth0"] and status["leases"][0]["holder"], status
    text = place.fleet("status").ok().out
    assert re.search(r"^  a1 .*shared.*veth0", text, re.MULTILINE) and re.search(r"^  a3 .*not connected", text, re.MULTILINE), text
    sent = server.sends(run, 1)
    server.sends(run, 1000)
    assert server.ask("POST", f"/api/v1/runs/{run['id']}/stop").status in (200, 202, 204), sent
    assert server.ended(run, 60)["state"] == "stopped"
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    assert result["streams"]["one"]["lost"] == 0 and result["streams"]["one"]["rx"] > 1000, result["streams"]
    # The key of a2 is withdrawn: it is out, and can't come back.
    assert "withdrawn" in place.fleet("remove", "a2").ok().out
    wait_until(lambda: not place.status()[0].get("a2", {"connected": False})["connected"], "the end of a2")
    wait_until(lambda: 'eagre_agent_up{agent="a2"} 0' in server.ask("GET", "/metrics").body.decode(), "a2 as lost")
    lab.eagre("agent", "--ports", "veth0", ns=place.far[1], env={"EAGRE_JOIN": second[1]}).refused(REFUSED, "eagre fleet add NAME")
    assert agents[0].poll() is None


@BOTH
def test_an_agent_reports_what_becomes_of_it(place):
    """A port that is not there, and a key that was withdrawn; nothing when it is stopped."""
    lab = place.lab
    up = place.fleet("up", "--listen", "10.77.0.1:4222", "--ports", "ring:a,typo0", "a1", "a2", "a2").ok().out
    lines = {line[2]: line[0] for line in LINE.finditer(up)}
    assert sorted(lines) == ["a1", "a2"] and up.count(lines["a2"]) == 1, up
    agents = {name: place.paste(line, far) for (name, line), far in zip(lines.items(), place.far, strict=True)}

    def both():
        found = place.status()[0]
        return all(agent["connected"] for agent in found.values()) and found

    found = wait_until(both, "two agents", 20)
    assert [(port["name"], port["up"]) for port in found["a1"]["ports"]] == [("ring:a", True), ("typo0", False)], found
    stopped = agents.pop("a1")
    stopped.terminate()
    done = lab.finish(stopped, 20)
    assert done.exit == 0 and done.err.splitlines() == [
        "eagre: agent: there is no interface 'typo0' here; runs with it are refused until there is"
    ], str(done)
    place.fleet("remove", "a2").ok()
    wait_until(lambda: "a2" not in place.status()[0], "no a2")
    time.sleep(1)
    agents["a2"].terminate()
    done = lab.finish(agents["a2"], 20)
    assert "the NATS server refuses the key of 'a2'; for a new one: eagre fleet add a2" in done.err, str(done)
    file = place.state / "fleet.json"
    text = file.read_text()
    file.write_text("broken")
    place.fleet("status").refused(REFUSED, "fleet.json")
    file.write_text(text)


@BOTH
def test_a_line_is_good_for_one_agent_and_one_server(place):
    """Another name, a damaged line, another authority, no TLS: refused with the reason, and no key is printed."""
    lab = place.lab
    place.fleet("up", "--listen", "10.77.0.1:4222").ok()
    line = LINE.search(place.fleet("add", "a1").ok().out)[1]
    other = lab.folder()
    lab.eagre("fleet", "up", "--listen", "127.0.0.1:4222", "--state", other / "fleet", ns=place.far[0]).ok()
    try:
        strange = LINE.search(lab.eagre("fleet", "add", "a1", "--state", other / "fleet", ns=place.far[0]).ok().out)[1]
    finally:
        lab.eagre("fleet", "down", "--state", other / "fleet", ns=place.far[0]).ok()
    server = Server(lab, "--join", place.state / "controller.env", ns=place.hub)
    cases = [
        (line.replace("SU", "SX"), [], BAD_INPUT, "EAGRE_JOIN: the key of 'a1' is damaged"),
        (line[:40], [], BAD_INPUT, "expected the line that 'eagre fleet add NAME' prints"),
        (line, ["--name", "a2"], BAD_INPUT, "eagre fleet add a2"),
        (line.replace("a1:", "a2:"), [], REFUSED, "nats"),
        (line.split("#")[0] + "#" + strange.split("#")[1], [], REFUSED, "certificate"),
        (strange.replace("127.0.0.1", "10.77.0.1").split("#")[0] + "#" + line.split("#")[1], [], REFUSED, "eagre fleet add NAME"),
    ]
    for text, more, code, reason in cases:
        refused = lab.eagre("agent", "--ports", "ring:a", *more, ns=place.far[0], env={"EAGRE_JOIN": text}, timeout=90)
        refused.refused(code, reason)
        assert "SU" not in refused.err, refused
    lab.eagre("agent", "--nats", "nats://10.77.0.1:4222", "--ports", "ring:a", ns=place.far[0]).refused(REFUSED, "tls")
    # The controller has them in its audit log, with the member whose key it was, if that is known.
    place.speak_plainly()
    reasons = "authentication error", "does not look like a TLS handshake", "Subscription Violation"

    def audited():
        entries = [entry for entry in server.get("/api/v1/audit") if entry["what"].startswith("NATS")]
        return all(any(reason in entry["detail"] for entry in entries) for reason in reasons) and entries

    entries = wait_until(audited, "refusals in the audit log", 20)
    found = {(entry["who"], entry["status"], entry["what"][: len("NATS subscribe _INBOX.a2")]) for entry in entries}
    assert {("a1", 403, "NATS subscribe _INBOX.a2"), ("-", 401, "NATS connect")} <= found, entries
    assert all(entry["from"].startswith("10.77.0.11:") for entry in entries), entries
    lab.eagre("serve", "--join", "/no/such.env", ns=place.far[0]).refused(BAD_INPUT, "join: /no/such.env")


def test_errors_name_their_remedy(place):
    """No nats-server, its package's own one on the port, no address, names that can't be."""
    lab = place.lab
    place.fleet("up", "--nats-server", "/no/such").refused(BAD_INPUT, "/no/such: no such program")
    hidden = f"mount --bind /dev/null {program()}; exec {EAGRE} fleet up --state {place.state}"
    done = lab.finish(lab.start("unshare", "--mount", "--propagation", "private", "sh", "-c", hidden, ns=place.hub))
    done.refused(REFUSED, "apt install nats-server", "--nats-server")
    assert not place.state.exists()
    place.fleet("up").refused(REFUSED, "no default route", "--address")
    holder = lab.start(program(), "-a", "10.77.0.1", "-p", "4222", ns=place.hub, stderr=subprocess.DEVNULL)
    wait_until(lambda: "4222" in place.hub.run("ss", "-ltn"), "another server")
    place.fleet("up", "--listen", "10.77.0.1:4222").refused(REFUSED, "address already in use", "systemctl disable --now nats-server")
    holder.kill()
    holder.wait()
    place.fleet("up", "--listen", "10.77.0.1:4222", "a/b").refused(BAD_INPUT, "'a/b': expected at most 32 letters")
    place.fleet("up", "--listen", "10.77.0.1:4222", "--address", "10.77.0.1,nats.example").ok()
    place.fleet("up", "--listen", "10.77.0.1:4223").refused(REFUSED, "eagre fleet down")
    place.fleet("remove", "a9").refused(BAD_INPUT, "no agent 'a9'; there are a1")


def test_units_are_sound(program, lab):
    """systemd reads the units of agents and of the NATS server without a word; they are shut off well; their commands are ones."""
    need("systemd-analyze")
    for unit, most in ((AGENT_UNIT, 4.0), (FLEET_UNIT, 2.0)):
        text = unit.read_text()
        copy = lab.folder() / unit.name
        copy.write_text(text.replace("ExecStart=/usr/bin/eagre", f"ExecStart={program}"))
        done = subprocess.run(["systemd-analyze", "verify", "--man=no", copy], capture_output=True, text=True, timeout=30)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")
        report = call("systemd-analyze", "security", "--offline=true", copy)
        exposure = re.search(rf"Overall exposure level for {re.escape(unit.name)}: ([0-9.]+)", report)
        assert exposure and float(exposure[1]) <= most, report
        (command,) = re.findall(r"^ExecStart=/usr/bin/eagre (.*)", text, re.MULTILINE)
        accepted(lab, command.split())


def accepted(lab, words):
    """The program knows a command's options."""
    words = [re.sub(r"\$\{?\(?\w+\)?\}?", "x", word) for word in words]
    command = [word for word in words if not word.startswith("-")][: 2 if words[0] == "fleet" else 1]
    known = lab.eagre(*command, "--help").ok().out
    assert all(word in known for word in words if word.startswith("--")), words


def test_recipes_start_agents(lab):
    """SLURM's script is a script, the cluster's and containerlab's files name the same image and the rights of the unit, and commands that are there."""
    script = REPO / "packaging/slurm/agents.sbatch"
    call("bash", "-n", script)
    assert os.access(script, os.X_OK)
    (command,) = re.findall(r"exec eagre (agent [^']*)'", script.read_text())
    accepted(lab, command.replace('"', "").split())
    cluster = yaml.safe_load((REPO / "packaging/kubernetes/agents.yaml").read_text())
    assert cluster["kind"] == "DaemonSet"
    pod = cluster["spec"]["template"]
    assert cluster["spec"]["selector"]["matchLabels"].items() <= pod["metadata"]["labels"].items()
    (container,) = pod["spec"]["containers"]
    accepted(lab, container["args"])
    assert {mount["name"] for mount in container["volumeMounts"]} == {volume["name"] for volume in pod["spec"]["volumes"]}
    granted = re.search(r"^AmbientCapabilities=(.*)", AGENT_UNIT.read_text(), re.MULTILINE)[1].split()
    assert {f"CAP_{name}" for name in container["securityContext"]["capabilities"]["add"]} == set(granted)
    topology = yaml.safe_load((REPO / "packaging/containerlab/fleet.clab.yml").read_text())["topology"]
    assert topology["kinds"]["linux"]["image"] == container["image"]
    agents = {name: node for name, node in topology["nodes"].items() if "env-files" in node}
    assert sorted(agents) == ["east", "west"]
    for name, node in agents.items():
        assert node["env-files"] == [f"{name}.env"]
        (command,) = re.findall(r"eagre (agent [^>]*) >", node["exec"][0])
        accepted(lab, command.split())
        assert any(end == f"{name}:veth0" for link in topology["links"] for end in link["endpoints"])
