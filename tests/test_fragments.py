"""Packets that are longer than the MTU: put together when they come in fragments, cut when they are sent."""

import json
import subprocess

import pytest
from hosts import PYTHON, Host
from lab import need, pair, wait_until
from sessions import all_through, check, of

KINDS = pytest.mark.parametrize("kind", ["afpacket", "afxdp"])
FAMILIES = pytest.mark.parametrize("v6", [False, True], ids=["ipv4", "ipv6"])

# Sends datagrams of these sizes one after the other; says which came back as they were.
CLIENT = """
import json, socket, sys
address, port, sizes = json.loads(sys.argv[1])
one = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_DGRAM)
one.connect((address, port))
one.settimeout(2)
back = []
for size in sizes:
    data = bytes(number % 251 for number in range(size))
    one.send(data)
    try:
        back.append(one.recv(65535) == data)
    except TimeoutError:
        back.append(False)
print(json.dumps(back))
"""

# Answers each datagram with itself; says how long they were.
SERVER = """
import json, signal, socket, sys
one = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
one.setsockopt(socket.SOL_SOCKET, 33, 64 << 20)
one.bind(("::", 7))
lengths = []
signal.signal(signal.SIGTERM, lambda *_: (print(json.dumps(lengths), flush=True), sys.exit(0)))
print("ready", flush=True)
while True:
    data, sender = one.recvfrom(65535)
    lengths.append(len(data))
    one.sendto(data, sender)
"""


def fragments(result, port="west"):
    return result["ports"][port]["fragments"]


@KINDS
@FAMILIES
def test_a_kernel_sends_long_datagrams(lab, kind, v6):
    """Up to the longest there is, both ways: the kernel gets back what it sent."""
    host = Host(lab, offloads=True)
    process = host.serving(host.server("echo", v6, transport="udp"), kind=kind)
    sizes = [1473, 8000, 100, 30_000, 65_507]
    arguments = json.dumps([host.tester_address(v6), 7, sizes])
    assert json.loads(host.host.run(PYTHON, "-c", CLIENT, arguments)) == [True] * len(sizes)
    result = host.served(process)
    side = check(result["sessions"]["s"])["server"]
    assert side["frames"]["datagram_bytes_in"] == side["frames"]["datagram_bytes_out"] == sum(sizes), side["frames"]
    told = fragments(result)
    assert told["reassembled"] == 4 and set(told) == {"received", "reassembled"}, told
    assert side["frames"]["fragments_out"] == told["received"] > 4, (told, side["frames"])


@KINDS
@FAMILIES
def test_a_kernel_answers_long_datagrams(lab, kind, v6):
    """Clients with requests of 8 KB, and answers as long."""
    host = Host(lab, offloads=True)
    server = lab.start(PYTHON, "-c", SERVER, ns=host.host)
    assert server.stdout.readline() == "ready\n"
    app = {"echo": {"request": "8000B"}}
    done = host.run(host.client(app, v6, transport="udp", open="200/s", count=50), kind=kind)
    one = all_through(of(done), 50, 50)
    server.terminate()
    assert json.loads(server.communicate(timeout=10)[0]) == [8000] * 50
    assert fragments(done.json)["reassembled"] == 50 and one["client"]["frames"]["fragments_out"] == 300, one


@KINDS
@pytest.mark.parametrize("address", ["10.0.0.2", "2001:2::2"])
def test_long_pings_are_answered(lab, kind, address):
    """Of a kernel, as `ping -s` sends them, also with a run that has streams only."""
    need("ping")
    host = Host(lab, offloads=True)
    streams = [{"name": "idle", "from": "west", "packet": [{"ethernet": {"dst": "02:00:00:00:00:99"}}, {"ipv4": {"dst": "10.0.0.9"}}, "udp"], "rate": "10pps"}]
    profile = lab.profile(host.ports(kind), streams, load={"duration": "60s", "drain": "0s"})
    process = lab.start_eagre("run", profile, "--json", "-", ns=host.tester)
    wait_until(lambda: process.poll() is not None or host.answers("10.0.0.2"), "an answer to a ping", 20)
    for size in (4000, 65_507 if ":" not in address else 65_527 - 40):
        # One at a time: of several, ping waits for the last one only as long as the others took.
        for _ in range(3):
            wait_until(lambda size=size: "1 received" in host.host.run("ping", "-c", "1", "-W", "2", "-s", size, address, check=False), f"{size} bytes", 20)
    process.send_signal(2)
    result = lab.finish(process).json
    assert fragments(result)["reassembled"] >= 6, fragments(result)


def test_long_datagrams_between_workers_in_process(lab):
    """In-process ports, several workers: every request and answer of 3,000 bytes arrives."""
    sessions = {
        "name": "s",
        "client": {"port": "west", "addresses": "10.0.0.10..10.0.0.19"},
        "server": {"port": "east", "addresses": "10.0.0.3", "ports": 7},
        "app": {"raw": {"request": "3000B", "response": "20000B"}},
        "transport": "udp",
        "open": "500/s",
        "count": 200,
    }
    profile = lab.profile(pair(), None, sessions=[sessions], load={"duration": "10s", "drain": "500ms"})
    result = lab.eagre("run", profile, "--json", "-", "--cores", "2").result()
    one = all_through(check(result["sessions"]["s"]), 200, 200)
    assert one["retransmitted_segments"] == 0
    assert fragments(result, "east")["reassembled"] == 200 == fragments(result, "west")["reassembled"]


def test_what_is_never_complete_is_given_up_and_told(lab):
    """Fragments of many packets without their ends, and ends that overlap: bounded, counted, and nothing else suffers."""
    host = Host(lab, offloads=True)
    process = host.serving(host.server("echo", transport="udp"))
    script = """
import socket, struct, sys, time
target, own, to = sys.argv[1], socket.inet_aton(sys.argv[2]), bytes.fromhex(sys.argv[3].replace(":", ""))
link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
link.bind(("h0", 0))
def frame(number, place, body):
    head = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(body), number, place, 64, 17, 0) + own + socket.inet_aton(target)
    total = sum(struct.unpack(">10H", head))
    total = (total & 0xFFFF) + (total >> 16)
    return to + link.getsockname()[4][:6] + b"\\x08\\x00" + head[:10] + struct.pack(">H", 0xFFFF - ((total & 0xFFFF) + (total >> 16))) + head[12:] + body
for number in range(3000):
    link.send(frame(number, 0x2000, bytes(1000)))
    if number % 100 == 99:
        time.sleep(0.03)
for number in range(5000, 5005):
    time.sleep(0.1)
    link.send(frame(number, 0x2000, bytes(1000)))
    link.send(frame(number, 0x2000 | 10, bytes(800)))
    link.send(frame(number, 125, bytes(0)))
"""
    host.host.run(PYTHON, "-c", script, "10.0.0.2", host.v4, host.tester.mac("veth0"))
    arguments = json.dumps([host.tester_address(), 7, [8000]])
    assert json.loads(host.host.run(PYTHON, "-c", CLIENT, arguments)) == [True]
    told = fragments(host.served(process))
    # On a busy machine some are dropped before the tester sees them.
    assert told["reassembled"] == 1 and 1 <= told["overlapped"] <= 5 and 1 <= told["malformed"] <= 5, told
    assert 0 < told["timed_out"] <= 1024 and told["gave_way"] > 100, told
    assert told["gave_way"] + told["timed_out"] <= told["received"] - 8, told


NAMED = """
options {{ directory "{folder}"; listen-on {{ any; }}; listen-on-v6 {{ any; }}; recursion no; pid-file none;
  edns-udp-size 4096; max-udp-size 4096; dnssec-validation no; }};
controls {{ }};
zone "test" {{ type master; file "{folder}/zone"; }};
"""


@KINDS
@FAMILIES
def test_long_answers_of_bind(lab, kind, v6):
    """An answer of 3 KB over UDP is two fragments and more; 20 of 20 queries are answered."""
    need("named")
    host = Host(lab, offloads=True)
    folder = lab.folder()
    texts = "\n".join(f'long IN TXT "{number:03d}{"x" * 240}"' for number in range(12))
    (folder / "zone").write_text(f"$TTL 60\n@ IN SOA ns.test. me.test. 1 60 60 60 60\n@ IN NS ns\nns IN A 10.0.0.1\n{texts}\n")
    (folder / "named.conf").write_text(NAMED.format(folder=folder))
    server = lab.start("named", "-g", "-c", folder / "named.conf", "-n", "1", ns=host.host, stdout=subprocess.DEVNULL)
    wait_until(lambda: "running" in server.stderr.readline(), "bind", 20, 0)
    app = {"dns": {"names": "long.test", "type": "TXT", "edns": "4096B"}}
    done = host.run(host.client(app, v6, open="50/s", count=20), kind=kind)
    all_through(of(done), 20, 20)
    assert fragments(done.json)["reassembled"] == 20
