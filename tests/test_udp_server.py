"""Servers on UDP and clients that do not wait: every request that arrives is answered, whatever port it comes from."""

import json
import re
import time

import pytest
from hosts import PYTHON, Host
from lab import need
from sessions import check

KINDS = ["afpacket", "afxdp"]
FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])
DNS = {"dns": {"names": "a.test", "rules": [{"suffix": "test", "answers": ["198.18.0.1"], "ttl": "60s"}]}}

# Sends all requests from one socket at once; says how many different answers came, and how often each.
CLIENT = """
import json, socket, sys
address, port, requests = json.loads(sys.argv[1])
one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
one.connect((address, port))
one.settimeout(5)
for request in requests:
    one.send(bytes.fromhex(request))
answers = []
try:
    while len(answers) < 2 * len(requests):
        answers.append(one.recv(4096).hex())
        if len(answers) == len(requests):
            one.settimeout(1)
except TimeoutError:
    pass
print(json.dumps(answers))
"""


def asked(host, v6, port, requests):
    arguments = json.dumps([host.tester_address(v6), port, [request.hex() for request in requests]])
    return [bytes.fromhex(answer) for answer in json.loads(host.host.run(PYTHON, "-c", CLIENT, arguments))]


def query(number):
    """A query for a.test, A."""
    return number.to_bytes(2, "big") + bytes.fromhex("010000010000000000000161047465737400 00010001".replace(" ", ""))


@FAMILIES
@pytest.mark.parametrize("kind", KINDS)
def test_queries_that_come_together_are_all_answered(lab, kind, v6):
    """50 queries in one burst from one port: 50 answers, each to its query, and 50 sessions."""
    host = Host(lab, offloads=True)
    serving = host.serving(host.server(DNS, v6), kind=kind)
    answers = asked(host, v6, 53, [query(number) for number in range(50)])
    assert sorted(int.from_bytes(answer[:2], "big") for answer in answers) == list(range(50))
    one = check(host.served(serving)["sessions"]["s"])
    assert (one["attempted"], one["transactions"], one["completed"], one["failed"]) == (50, 50, 50, {}), one


@pytest.mark.unsteady("on a busy machine datagrams come late or are dropped")
@pytest.mark.parametrize("wait", ["0ms", "5ms"])
def test_datagrams_that_come_while_a_session_is_at_work_begin_the_next(lab, wait):
    """A session that answers one datagram, at once or later; those that wait meanwhile are not lost with it."""
    host = Host(lab, offloads=True)
    steps = [{"expect": {"bytes": "8B"}}, {"wait": wait}, {"send": "answered {session}"}]
    program = {"program": {"client": [{"send": "ask"}], "server": steps if wait != "0ms" else steps[::2]}}
    serving = host.serving(host.server(program, server={"ports": 7000}, transport="udp"))
    answers = asked(host, False, 7000, [f"ask {number:4}".encode() for number in range(50)])
    assert sorted(answers) == sorted(f"answered {number}".encode() for number in range(50))
    one = check(host.served(serving)["sessions"]["s"])
    assert (one["attempted"], one["completed"], one["transactions"]) == (50, 50, 50), one


def test_datagrams_beyond_what_can_wait_are_counted(lab):
    """400 at once for a session that takes its time: what is not answered is counted."""
    host = Host(lab, offloads=True)
    steps = [{"expect": {"bytes": "8B"}}, {"wait": "15ms"}, {"send": "answer"}]
    program = {"program": {"client": [{"send": "ask"}], "server": steps}}
    serving = host.serving(host.server(program, server={"ports": 7000}, transport="udp"))
    asked(host, False, 7000, [f"ask {number:4}".encode() for number in range(400)])
    time.sleep(0.2)
    server = check(host.served(serving)["sessions"]["s"])["server"]
    dropped = sum(count for text, count in server["failure_details"].items() if "dropped" in text)
    frames = server["frames"]
    assert dropped > 100 and frames["datagrams_in"] == 400, server
    assert server["attempted"] + dropped <= 400


@pytest.mark.unsteady("a loaded machine drops packets before the tester sees them")
@FAMILIES
@pytest.mark.parametrize("kind", KINDS)
def test_dnsperf_loses_nothing(lab, kind, v6):
    """dnsperf keeps 100 queries on their way from one port."""
    need("dnsperf")
    host = Host(lab, offloads=True)
    serving = host.serving(host.server(DNS, v6), kind=kind)
    names = lab.folder() / "names"
    names.write_text("".join(f"host{number}.test A\n" for number in range(100)))
    said = host.host.run(
        "dnsperf", "-s", host.tester_address(v6), "-d", names, "-c", "1", "-q", "100", "-Q", "5000", "-l", "2", "-t", "2"
    )
    numbers = {name: int(count) for name, count in re.findall(r"Queries (sent|completed|lost): +(\d+)", said)}
    assert numbers["lost"] == 0 and numbers["sent"] == numbers["completed"] > 2000, said
    one = check(host.served(serving)["sessions"]["s"])
    assert (one["transactions"], one["failed"]) == (numbers["sent"], {}), one
