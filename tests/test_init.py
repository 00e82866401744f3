"""`eagre init`: profiles to start from are good as they are written, and nothing is overwritten."""

import json
import re

import pytest
from lab import EAGRE, REPO, call

KINDS = re.findall(r"^  (\S+) ", call(EAGRE, "init"), re.MULTILINE)


def test_kinds_are_listed():
    """Routers, firewalls, web servers at least; each with what it is for."""
    assert {"router", "router6", "firewall", "web", "sessions", "pppoe"} <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_profile_is_good(eagre, tmp_path, kind):
    """Once it has devices that are here; what is printed names the file."""
    path = tmp_path / "mine.yaml"
    ports = len(re.findall("device: ", call(EAGRE, "init", kind, "-")))
    devices = [word for number in range(ports) for word in ("--port", f"ring:{number}")]
    said = eagre("init", kind, path, *devices, "--schema").ok().out
    assert f"eagre check {path}\n" in said and re.search(rf"^  eagre (run|bench [a-z]+) {path}$", said, re.MULTILINE), said
    eagre("check", path).ok()
    assert path.read_text().startswith("# yaml-language-server: $schema=eagre.schema.json\n#")
    assert json.loads((tmp_path / "eagre.schema.json").read_text())["title"], "no schema"
    assert all(f'device: "ring:{number}"' in path.read_text() for number in range(ports))


def test_a_profile_for_a_router_runs(lab, eagre):
    """Between the interfaces and addresses that the tour has."""
    router = lab.router()
    path = lab.folder() / "router.yaml"
    eagre("init", "router", path, "--port", "veth0", "--port", "veth1").ok()
    result = lab.eagre("run", path, "--for", "1", "--rate", "1kpps", "--json", "-", ns=router.tester).json
    assert all(one["tx"] == 1000 for one in result["streams"].values()), result["streams"]


def test_a_file_that_is_there_stays(eagre, tmp_path):
    """A kind that is not known, too many devices, a file that exists: nothing is written."""
    path = tmp_path / "router.yaml"
    path.write_text("mine")
    eagre("init", "router", cwd=tmp_path).refused(2, "router.yaml: is there already")
    assert path.read_text() == "mine"
    eagre("init", "roter", cwd=tmp_path).refused(2, "unknown kind 'roter'; did you mean 'router'?")
    eagre("init", "web", "--port", "a", "--port", "b", cwd=tmp_path).refused(2, "2 devices given; the profile has ports for 1")
    assert sorted(tmp_path.iterdir()) == [path]
    assert (REPO / "examples/router-ipv4.yaml").read_text() == eagre("init", "router", "-").ok().out
