"""Texts of sessions against servers nobody here wrote: what is expected is compared, what is sent in turn goes on."""

import json
import subprocess

import pytest
from hosts import PYTHON, TESTS, Host
from sessions import all_failed, all_through, check, of

FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])


class Answers:
    """What a port of the host answers, by port; port 80 keeps paths."""

    def __init__(self, host, texts=None):
        texts = {port: text.encode("latin-1").hex() for port, text in (texts or {}).items()}
        command = [PYTHON, TESTS / "text_server.py", json.dumps(texts)]
        self.process = host.lab.start(*command, ns=host.host, stderr=subprocess.DEVNULL)
        assert self.process.stdout.readline().strip() == "ready"

    def paths(self):
        self.process.terminate()
        return json.loads(self.process.communicate(timeout=20)[0])["paths"]


def expecting(expected, reply="QUIT\r\n"):
    return {"program": {"client": [{"send": reply}, {"expect": expected}]}}


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
@pytest.mark.parametrize("transport", ["tcp", "udp"])
def test_an_expected_text_is_compared(lab, transport, kind, v6):
    """`-ERR` is as long as `+OK` with its end: it fails, with what came; the right text passes, and so does hex."""
    host = Host(lab, offloads=True)
    Answers(host, {110: "-ERR\n", 111: "+OK\r\n", 112: "\x00\xff\x80"})
    load = {"open": "500/s", "count": 20, "transport": transport}
    cases = [
        ("wrong", 110, "+OK\r\n", False), ("right", 111, "+OK\r\n", True),
        ("hex", 112, {"hex": "00 ff 80"}, True), ("otherhex", 112, {"hex": "00 ff 81"}, False),
        # What stands before a number that the other end can't know is compared, and any number is taken.
        ("known", 111, "+OK{0..9}\n", True), ("before", 111, "+KO{0..9}\n", False),
    ]  # fmt: skip
    entries = [host.client(expecting(text), v6, port, name=name, **load) for name, port, text, _ in cases]
    done = host.run(*entries, kind=kind)
    for name, _, _, passes in cases:
        one = check(done.json["sessions"][name])
        if passes:
            all_through(one, 20)
        else:
            all_failed(one, 20, wrong_content=20)
    assert done.json["sessions"]["wrong"]["client"]["failure_details"] == {
        r"expected '+OK\r\n', received '-ERR\n'": 20
    }


@pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
@FAMILIES
def test_texts_in_turn_go_on_from_session_to_session(lab, kind, v6):
    """100 sessions of 20 requests ask for 2,000 paths, one after the other, and not for one again."""
    host = Host(lab, offloads=True)
    server = Answers(host)
    app = {"http": {"path": "/item/{1..100000}", "requests": 20}}
    one = of(host.run(host.client(app, v6, 80, open="500/s", count=100), kind=kind))
    all_through(one, 100, 2000)
    assert sorted(int(path.removeprefix("/item/")) for path in server.paths()) == list(range(1, 2001))


def test_texts_of_endless_sessions_are_spread(lab):
    """Sessions without an end begin far from each other: few of the paths of 20 sessions are the same."""
    host = Host(lab, offloads=True)
    server = Answers(host)
    app = {"http": {"path": "/item/{1..100000}", "requests": "endless", "think": "5ms"}}
    entry = host.client(app, False, 80, open="200/s", count=20)
    done = host.run(entry, duration="1s")
    assert check(done.json["sessions"]["s"])["failed"] == {}
    paths = server.paths()
    assert len(paths) > 300 and len(set(paths)) > 0.9 * len(paths), (len(paths), len(set(paths)))
