"""TRex's stateful profiles: sessions with the same contents, sizes and rates."""

import base64
import itertools
import json
import os
import re
import struct
import subprocess
import sys
from pathlib import Path

import capture
import pytest
import trex
from hosts import Served, Trunk
from lab import EAGRE, REPO, call, need
from sessions import check as checked

CHECKOUT = os.environ.get("EAGRE_TREX_CHECKOUT")
SESSIONS = REPO / "examples/trex/sessions.py"
CAPTURE = REPO / "examples/conversation.pcap"
HEAD = """from trex.astf.api import *

def addresses(**options):
    return ASTFIPGen(
        dist_client=ASTFIPGenDist(ip_range=["16.0.0.1", "16.0.0.4"], **options),
        dist_server=ASTFIPGenDist(ip_range=["48.0.0.1", "48.0.0.1"], **options),
    )

def template(client, server, **options):
    return ASTFTemplate(
        client_template=ASTFTCPClientTemplate(program=client, ip_gen=addresses(), **options),
        server_template=ASTFTCPServerTemplate(program=server),
    )

def profile(*templates, **options):
    return ASTFProfile(default_ip_gen=addresses(), templates=list(templates), **options)

class P:
    def get_profile(self, tunables, **kwargs):
        c, s = ASTFProgram(), ASTFProgram()
        uc, us = ASTFProgram(stream=False), ASTFProgram(stream=False)
"""
TAIL = "\ndef register():\n    return P()\n"


@pytest.fixture
def eagre(tmp_path):
    """Runs 'eagre trex' with a separate home folder; ASTF needs no Scapy."""

    def run(*words, exit=0):
        env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": "", "EAGRE_PYTHON": sys.executable}
        return trex.done(EAGRE, "trex", *words, exit=exit, env=env, cwd=tmp_path)

    return run


@pytest.fixture
def said(tmp_path, lab):
    """The report of 'eagre trex' on a profile whose 'get_profile' ends with these lines."""

    def run(command, *lines, more=()):
        path = tmp_path / "profile.py"
        path.write_text(HEAD + "".join(f"        {line}\n" for line in lines) + TAIL)
        env = {"HOME": str(tmp_path), "EAGRE_PYTHON": sys.executable}
        return lab.eagre("trex", command, path, *more, env=env, cwd=tmp_path)

    return run


def simulated(said, *lines, more=()):
    done = said("sim", *lines, more=("-d", "1", "--json", "-", *more)).ok()
    return {name: checked(one) for name, one in done.json["sessions"].items()}


def test_the_example_sends_its_pages_and_queries(eagre, tmp_path):
    """Every session completes; bytes are the profile's, both ways, with its own option and a multiplier."""
    eagre("sim", SESSIONS, "-t", "size=5000", "-m", "2", "-d", "1", "--json", tmp_path / "r.json")
    pages, queries = json.loads((tmp_path / "r.json").read_text())["sessions"].values()
    request, head = len("GET / HTTP/1.1\r\nHost: 48.0.0.1\r\n\r\n"), len("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
    client = pages["client"]
    assert client["attempted"] == client["completed"] == 200
    assert client["tx_bytes_goodput"] == 200 * 3 * request and client["rx_bytes_goodput"] == 200 * 3 * (head + 5000)
    client = queries["client"]
    assert client["attempted"] == client["completed"] == 40
    assert client["tx_bytes_goodput"] == 40 * len("who is there?") and client["rx_bytes_goodput"] == 40 * len("somebodynobody else")


def test_the_example_runs_between_two_interfaces(lab, tmp_path):
    """On real packets: each end receives the other's data, byte for byte; tcpdump sees the request in them."""
    need("tcpdump", "tshark")
    tester = lab.netns("tester")
    lab.veth(tester, "v0", tester, "v1")
    env = {"HOME": str(tmp_path), "EAGRE_PYTHON": sys.executable}
    ports = ("--port", "0=afpacket:v0", "--port", "1=afpacket:v1")
    text = lab.eagre("trex", "convert", SESSIONS, "-d", "1", "-t", "size=3000", *ports, env=env).ok().out
    path, capture = tmp_path / "kept.yaml", tmp_path / "c.pcapng"
    path.write_text(text.replace('{device: "afpacket:v1"}', f'{{device: "afpacket:v1", capture: {{file: "{capture}"}}}}'))
    result = lab.eagre("run", path, "--json", "-", ns=tester).told
    for one in result["sessions"].values():
        assert checked(one)["completed"] == one["client"]["attempted"] == one["server"]["completed"] > 0, one
    fields = ("-T", "fields", "-e", "tcp.payload", "-e", "ip.src")
    requests = call("tshark", "-r", capture, "-Y", "tcp.dstport == 80 && tcp.len > 0", *fields).splitlines()
    assert len(requests) == 3 * result["sessions"]["t0"]["client"]["completed"], result
    assert {line.split("\t")[0] for line in requests} == {b"GET / HTTP/1.1\r\nHost: 48.0.0.1\r\n\r\n".hex()}
    assert len(set(requests)) > 50


def test_a_profile_for_clients_alone_reaches_other_servers(eagre):
    """Without the second port the servers are external: nothing of them is emulated."""
    text = eagre("convert", SESSIONS, "--port", "0=veth7,ip=16.0.0.254/24,gateway=16.0.0.253")
    lines = [line.strip() for line in text.splitlines()]
    assert "port0: {device: veth7, ip: 16.0.0.254/24, gateway: 16.0.0.253}" in lines
    assert "server: {addresses: 48.0.0.1..48.0.0.9, ports: 80}" in lines and "server:" not in lines


def test_the_simulator_sends_as_trex_does(said, tmp_path):
    """MAC addresses of TRex's simulator, TTL 127 unless the profile sets another, first ports of clients as TRex has them."""
    pcap, page = tmp_path / "sim.pcap", "c.send('GET'); c.recv(4); s.recv(3); s.send('page')"
    for setting, ttls in (("", (127, 127)), ("g.ip.ttl = 9; g.tcp.mss = 900", (9, 127)), ("g.tcp.mss = 900", (127, 127))):
        one = "return profile(template(c, s, cps=10, limit=9), default_c_glob_info=g)"
        simulated(said, page, f"g = ASTFGlobalInfo(); {setting}", one, more=("--pcap", pcap))
        frames = [frame for _, frame in capture.records(pcap)]
        from_client = [frame for frame in frames if frame[26] == 16]
        macs = {(frame[26], frame[:6].hex(), frame[6:12].hex(), frame[22]) for frame in frames}
        assert macs == {(16, "10" * 6, "18" * 6, ttls[0]), (48, "18" * 6, "10" * 6, ttls[1])}
        ports = [int.from_bytes(frame[34:36], "big") for frame in from_client if frame[47] == 2]
        first = [1024 + ((214013 * client + 2531011) & 0xFFFF) % 62976 + 1 for client in range(4)]
        assert ports == [first[flow % 4] + flow // 4 for flow in range(9)]


def test_a_capture_that_was_reset_is_closed(said, tmp_path):
    """TRex's programs end by closing, whichever end reset the captured connection."""
    records = capture.records(CAPTURE)
    talk = [((at - records[0][0]) // 1000, frame) for at, frame in records if not frame[47] & 1]
    for side, flags in itertools.product((1, 2), (0x04, 0x14)):
        last = next(frame for _, frame in reversed(talk) if frame[29] == side and len(frame) == 54)
        frames = [*talk, (talk[-1][0] + 9, last[:47] + bytes([flags]) + last[48:])]
        file, pcap = capture.save(tmp_path / "reset.pcap", frames), tmp_path / "sim.pcap"
        one = f'ASTFCapInfo(file="{file}", cps=20, limit=3)'
        [mail] = simulated(said, f"return ASTFProfile(default_ip_gen=addresses(), cap_list=[{one}])", more=("--pcap", pcap)).values()
        assert mail["completed"] == mail["attempted"] == 3
        sent = [frame for _, frame in capture.records(pcap) if frame[23] == 6]
        assert not any(frame[47] & 4 for frame in sent) and sum(frame[47] & 1 for frame in sent) == 6
        first = next(frame for frame in sent if frame[47] & 1)
        assert first[26] == 16, "the client closes first"


def test_captures_are_conversations(said):
    """The port is the capture's; shares of bytes become rates; the same bytes go both ways."""
    one = f'ASTFCapInfo(file="{CAPTURE}", cps=20, limit=5)'
    [mail] = simulated(said, f"return ASTFProfile(default_ip_gen=addresses(), cap_list=[{one}])").values()
    assert mail["attempted"] == mail["completed"] == 5
    text = said("convert", f"return ASTFProfile(default_ip_gen=addresses(), cap_list=[{one}])").ok().out
    assert "ports: 25, ip: {ttl: 127}}" in text and f"pcap: {{file: {json.dumps(str(CAPTURE))}, reset: close}}" in text, text
    shares = ", ".join(f'ASTFCapInfo(file="{CAPTURE}", l7_percent={share}, port={port})' for share, port in ((30, 1), (70, 2)))
    text = said("convert", f"return ASTFProfile(default_ip_gen=addresses(), cap_list=[{shares}])").ok().out
    assert text.count("open: 50/s") == 2, text


def test_servers_of_captures_wait_and_datagrams_are_cut(said, tmp_path):
    """`s_delay` comes before each response, and once for datagrams in a row; `udp_mtu` counts headers from Ethernet on."""
    talk = [(0, 700), (1, 300), (1, 500), (0, 40), (1, 40)]
    ends = [(bytes([10, 0, 0, 1]), 4000), (bytes([10, 0, 0, 2]), 5000)]

    def frame(number, by, size):
        (src, sport), (dst, dport) = ends[by], ends[1 - by]
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + size, number, 0, 64, 17, 0, src, dst)
        return bytes(12) + b"\x08\x00" + ip + struct.pack("!HHHH", sport, dport, 8 + size, 0) + bytes([number]) * size

    frames = [(number, frame(number, *spoken)) for number, spoken in enumerate(talk)]
    file = capture.save(tmp_path / "talk.pcap", frames)
    one = f"return ASTFProfile(default_ip_gen=addresses(), cap_list=[ASTFCapInfo(file='{file}', cps=1, limit=1, udp_mtu=542, s_delay=ASTFCmdDelay(70000))])"
    pcap = tmp_path / "sim.pcap"
    [entry] = simulated(said, one, more=("--pcap", pcap)).values()
    assert entry["completed"] == 1, entry
    sent = [(time, frame[26:30][0] == 48, len(frame) - 42) for time, frame in capture.records(pcap) if frame[23] == 17]
    assert [(by, size) for _, by, size in sent] == [(bool(by), min(size, 500)) for by, size in talk], sent
    gaps = [later[0] - before[0] for before, later in itertools.pairwise(sent)]
    assert all(abs(gap - due) < 5_000_000 for gap, due in zip(gaps, (70_000_000, 0, 0, 70_000_000), strict=True)), gaps
    tight = one.replace("udp_mtu=542", "udp_mtu=42")
    said("check", tight).refused(2, "template 0: udp_mtu 42 leaves no room")


def test_loops_in_loops(said):
    """Rounds multiply; delays stay where they are."""
    lines = (
        "c.set_var('a', 3); c.set_label('a'); c.set_var('b', 4); c.set_label('b')",
        "c.send('0123456789'); c.recv(2); c.jmp_nz('b', 'b'); c.delay(20000); c.jmp_nz('a', 'a')",
        "s.set_var('n', 12); s.set_label('n'); s.recv(10); s.send(b'\\x00\\xff'); s.jmp_nz('n', 'n')",
        "return profile(template(c, s, cps=10))",
    )
    [one] = simulated(said, *lines).values()
    assert (one["client"]["tx_bytes_goodput"], one["client"]["rx_bytes_goodput"]) == (10 * 120, 10 * 24)
    text = said("convert", *lines).ok().out
    assert text.count("times: 3") == text.count("times: 4") == text.count("times: 12") == text.count("{wait: 20ms}") == 1, text


def test_loops_for_a_time_and_other_jumps(said):
    """A loop that lasts half a second; jumps forward, and on comparisons."""
    lines = (
        "c.set_tick_var('t'); c.set_label('a'); c.send('ping '); c.recv(5); c.delay(50000); c.jmp_dp('t', 'a', 0.5)",
        "s.set_label('s'); s.recv(5); s.send('hello'); s.jmp('s')",
        "return profile(template(c, s, cps=1))",
    )
    [one] = simulated(said, *lines).values()
    sessions = one["client"]["attempted"]
    assert one["client"]["tx_bytes_goodput"] == one["client"]["rx_bytes_goodput"] == sessions * 10 * 5
    assert "for: 500ms" in said("convert", *lines).ok().out
    lines = (
        "c.set_var('n', 1); c.set_label('b'); c.add_var('n', 1); c.jmp_eq('n', 'c', 3); c.send('pong'); c.recv(4)",
        "c.set_label('c'); c.jmp_lt('n', 'b', 6)",
        "s.set_var('m', 4); s.set_label('s'); s.recv(4); s.send('pong'); s.jmp_nz('m', 's')",
        "return profile(template(c, s, cps=1))",
    )
    [one] = simulated(said, *lines).values()
    sessions = one["client"]["attempted"]
    assert (one["client"]["completed"], one["client"]["tx_bytes_goodput"]) == (sessions, sessions * 4 * 4)
    text = said("convert", *lines).ok().out
    assert "goto: {label: step" in text and "if: " in text, text


def test_sessions_that_are_open_at_the_end_go_on(said):
    """Data after the duration are sent; `--nc` does not wait for them."""
    lines = ("uc.send_msg('a b'); uc.recv_msg(2)", "us.recv_msg(1); us.delay(3000000); us.send_msg('1 2'); us.send_msg('3 4')")
    one = simulated(said, *lines, "return profile(template(uc, us, limit=5, cps=50))")["t0"]
    assert (one["attempted"], one["completed"], one["stopped"]) == (5, 5, 0), one
    text = said("convert", *lines, "return profile(template(uc, us))", more=("-d", "1", "--nc")).ok().out
    assert "load: {duration: 1s, drain: 100ms}" in text and "for:" not in text


def excepted(page, title, *more):
    """Files that a section of the page names with a reason."""
    _, _, section = page.partition(f"\n## {title}\n")
    rows = re.findall(r"^\| (`[^|]*`) \|", section.partition("\n## ")[0], re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([\w./]+)`", row)} | set(more)


@pytest.mark.long
@pytest.mark.skipif(not CHECKOUT, reason="EAGRE_TREX_CHECKOUT names no checkout of TRex")
def test_files_of_a_checkout_load_but_for_those_that_the_page_names(tmp_path):
    """All of scripts/astf, and of scripts/cap2."""

    def checks(file):
        env = {**os.environ, "HOME": str(tmp_path), "EAGRE_PYTHON": str(trex.interpreter())}
        command = [str(EAGRE), "trex", "check", str(file)]
        return subprocess.run(command, capture_output=True, timeout=120, cwd=scripts, env=env).returncode

    page, scripts = (REPO / "docs/trex.md").read_text(), Path(CHECKOUT or "/", "scripts")
    expected = {
        ".py": excepted(page, "Stateful profiles", "gtpu_topo.py", "gtpu_topo_latency.py", "udp_topo.py"),
        ".yaml": {f"{name}.yaml" for name in excepted(page, "Captures as flows (STF)")},
    }
    for suffix, files in ((".py", scripts.glob("astf/**/*.py")), (".yaml", scripts.glob("cap2/*.yaml"))):
        ends = {file.name: checks(file) for file in files}
        assert {name for name, code in ends.items() if code} == expected[suffix]


def test_who_closes(said):
    """A client that waits for the other end's close gets it."""
    [one] = simulated(said, "c.send('hello there'); c.wait_for_peer_close()", "s.recv(11)", "return profile(template(c, s))").values()
    assert one["completed"] == one["attempted"] == 1


def test_settings_are_said_or_named(said):
    """Those of a template win; what has no effect is a comment."""
    lines = (
        "c.send('x y'); s.recv(3)",
        "g = ASTFGlobalInfo(); g.tcp.mss = 1300; g.tcp.initwnd = 4; g.ip.ttl = 9; g.tcp.txbufsize = 4096; g.scheduler.rampup_sec = 2",
        "t = ASTFGlobalInfoPerTemplate(); t.tcp.mss = 600",
        "return profile(template(c, s, glob_info=t), default_c_glob_info=g)",
    )
    text = said("convert", *lines).ok().out
    assert "client: {port: port0, addresses: 16.0.0.1..16.0.0.4, ports: 1024..64000, first_port: spread, tcp: {initial_window: 4, mss: 600}, ip: {ttl: 9}}" in text, text
    assert "# tcp.txbufsize has no effect" in text and "load: {drain: 60s, ramp_up: 2s}" in text, text
    refused = said("check", "g = ASTFGlobalInfo()", "g.tcp.speed = 3")
    refused.refused(2, "'tcp' has no setting 'speed'", "profile.py")


def test_clients_and_servers_go_side_by_side_and_some_are_kept_open(said):
    """In TRex's order, unless its ranges are random; with `cont` the limit is of sessions at a time."""
    text = said("convert", "return profile(template(c, s, cps=9, limit=7, cont=True))").ok().out
    assert "order: in_step" in text and "concurrent: 7" in text and "count:" not in text
    more = ["chance = addresses(distribution='rand')", "return ASTFProfile(default_ip_gen=chance, templates=[ASTFTemplate("]
    more += ["client_template=ASTFTCPClientTemplate(program=c, ip_gen=chance), server_template=ASTFTCPServerTemplate(program=s))])"]
    text = said("convert", *more).ok().out
    assert "order: random" in text


CLIENTS = """
vlan: true
groups:
- ip_start: 16.0.0.1
  ip_end: 16.0.0.150
  initiator: {vlan: 100, dst_mac: "00:00:00:02:00:00", src_mac: "00:00:00:01:00:ff"}
  responder: {vlan: 100}
  count: 2
- ip_start: 16.0.0.151
  ip_end: 16.0.0.255
  initiator: {vlan: 101, next_hop: 11.10.0.3, src_ip: 11.10.0.11}
  responder: {vlan: 101, src_ip: 11.10.0.3}
"""


def test_groups_of_clients(eagre, lab, tmp_path):
    """Each client in its group's VLAN with its MAC address, a group of two devices has both in turn; servers reply there."""
    (tmp_path / "clients.yaml").write_text(CLIENTS)
    text = eagre("convert", SESSIONS, "--cc", tmp_path / "clients.yaml", "-d", "3")
    (tmp_path / "profile.yaml").write_text(text)
    result = lab.eagre("sim", tmp_path / "profile.yaml", "--dut", "wire", "--pcap", tmp_path / "sim.pcap", "--json", "-").json
    pages = result["sessions"]["t0"]
    # 300 sessions: 200 clients, once and a half. The first group's next hops are devices, and there are none.
    done = {name: host["completed"] for name, host in pages["client"]["hosts"].items()}
    assert done == {"group1_1": 0, "group1_2": 0, "group2": 50}, done
    assert {name: host["completed"] for name, host in pages["server"]["hosts"].items()} == {"servers100": 0, "servers101": 50}
    tags, hops = {}, {}
    for _, frame in capture.records(tmp_path / "sim.pcap"):
        # SYN without ACK, in a VLAN.
        if frame[12:14] == b"\x81\x00" and frame[16:18] == b"\x08\x00" and frame[27] == 6 and frame[51] & 0x12 == 2:
            number, vlan = frame[33], int.from_bytes(frame[14:16], "big")
            tags.setdefault(vlan, set()).add(number)
            hops.setdefault((vlan, frame[:6].hex(":"), frame[6:12].hex(":") if vlan == 100 else None), set()).add(number)
    assert tags == {100: set(range(1, 151)), 101: set(range(151, 201))}
    odd, even = ("00:00:00:02:00:00", "00:00:00:01:00:ff"), ("00:00:00:02:00:01", "00:00:00:01:01:00")
    assert hops[100, *odd] == set(range(1, 151, 2)) and hops[100, *even] == set(range(2, 151, 2)), hops.keys()
    assert len(hops) == 3, hops.keys()


@pytest.mark.parametrize("responder", ["{vlan: 100}", "{vlan: 200}", "{vlan: 200, dst_mac: '00:00:00:01:00:00'}", "{vlan: 101}"])
@pytest.mark.parametrize("initiator", ["vlan: 100", "vlan: 100, dst_mac: '00:00:00:02:00:00'"])
def test_servers_answer_in_the_vlan_of_the_client(eagre, tmp_path, initiator, responder):
    """TRex ignores the responder; in its simulator there are no devices between both ends."""
    groups = (("16.0.0.1", "16.0.0.20", initiator), ("16.0.0.21", "16.0.0.255", initiator.replace("100", "101").replace("02:", "03:")))
    lines = [f"- {{ip_start: {first}, ip_end: {last}, initiator: {{{place}}}, responder: {responder}, count: 3}}\n" for first, last, place in groups]
    (tmp_path / "clients.yaml").write_text("vlan: true\ngroups:\n" + "".join(lines))
    eagre("sim", SESSIONS, "--cc", tmp_path / "clients.yaml", "-d", "1", "--pcap", tmp_path / "sim.pcap", "--json", tmp_path / "r.json")
    for entry in json.loads((tmp_path / "r.json").read_text())["sessions"].values():
        assert entry["client"]["completed"] == entry["client"]["attempted"] > 0, entry
    tags = {(frame[30], frame[33] > 20, frame[14:16].hex()) for _, frame in capture.records(tmp_path / "sim.pcap") if frame[30] == 16}
    assert tags == {(16, False, "0064"), (16, True, "0065")}
    macs = {(frame[30], frame[:12].hex()) for _, frame in capture.records(tmp_path / "sim.pcap") if frame[14:16] == b"\0\x64" and frame[16:18] == b"\x08\0"}
    hop = "000000020000" if "dst_mac" in initiator else "10" * 6
    assert macs == {(16, hop + "18" * 6), (48, "18" * 6 + hop)}


def test_groups_of_clients_before_a_router(lab, tmp_path):
    """In two VLANs of a kernel's router, by the MAC address of one and the next hop's address in the other; its server sees all."""
    trunk = Trunk(lab)
    kernel = Served(lab, trunk.router, "kernel_server.py")
    # Room for the tag.
    trunk.tester.ip("link", "set", "veth0", "mtu", 1504)
    trunk.router.ip("address", "add", "48.0.0.1/32", "dev", "r0")
    trunk.router.ip("route", "add", "16.0.0.1/32", "dev", "r10")
    trunk.router.ip("route", "add", "16.0.0.2/31", "via", "10.0.20.9")
    end = {"vlan": 10, "dst_mac": trunk.router.mac("r10")}
    groups = [
        {"ip_start": "16.0.0.1", "ip_end": "16.0.0.1", "initiator": end, "responder": {"vlan": 10}},
        {
            "ip_start": "16.0.0.2",
            "ip_end": "16.0.0.3",
            "initiator": {"vlan": 20, "next_hop": "10.0.20.1", "src_ip": "10.0.20.9"},
            "responder": {"vlan": 20},
        },
    ]
    (tmp_path / "clients.json").write_text(json.dumps({"vlan": True, "groups": groups}))
    lines = [
        "c.send(b'hello'); c.recv(5); s.recv(5); s.send(b'hello')",
        "gen = ASTFIPGen(dist_client=ASTFIPGenDist(ip_range=['16.0.0.1', '16.0.0.3']), dist_server=ASTFIPGenDist(ip_range=['48.0.0.1', '48.0.0.1']))",
        "client = ASTFTCPClientTemplate(program=c, ip_gen=gen, cps=100, limit=30, port=7)",
        "t = ASTFTemplate(client_template=client, server_template=ASTFTCPServerTemplate(program=s, assoc=ASTFAssociationRule(port=7)))",
        "return profile(t)",
    ]
    path = tmp_path / "profile.py"
    path.write_text(HEAD + "".join(f"        {line}\n" for line in lines) + TAIL)
    env = {"HOME": str(tmp_path), "EAGRE_PYTHON": sys.executable}
    words = ("--cc", tmp_path / "clients.json", "--port", "0=afpacket:veth0", "-d", "5", "--json", "-")
    result = lab.eagre("trex", "run", path, *words, env=env, cwd=tmp_path, ns=trunk.tester).ok().json
    done = {name: host["completed"] for name, host in result["sessions"]["t0"]["client"]["hosts"].items()}
    assert done == {"group1": 10, "group2": 20}, done
    assert kernel.seen()["7"]["accepted"] == 30


@pytest.mark.parametrize(
    "old, new, reason",
    [
        ("vlan: 101, next_hop", "next_hop", "groups[1].initiator.vlan: missing"),
        ("vlan: true", "vlan: false", "groups[0].initiator.vlan: the file does not have"),
        ("16.0.0.151", "16.0.0.150", "groups[1].ip_start: 16.0.0.150 is in another group"),
        ("16.0.0.151", "16.0.0.152", "client 16.0.0.151 is in no group"),
        ("11.10.0.3,", "11.10.0,", "groups[1].initiator.next_hop: '11.10.0' is not an IPv4 address"),
        ("00:00:00:01:00:ff", "00:00:01:00:ff", "src_mac: '00:00:01:00:ff' is not a MAC address"),
        ("dst_mac", "dts_mac", "unknown key 'dts_mac'"),
        ("count: 2", "count: 0", "groups[0].count: must be at least 1"),
        (", src_ip: 11.10.0.11", "", "groups[1].initiator.src_ip: missing"),
        ("next_hop: 11.10.0.3,", "next_hop: 11.10.0.3, dst_mac: '00:00:00:02:00:00',", "groups[1].initiator: 'next_hop' and MAC addresses"),
        ("vlan: 100}", "vlan: 100, src_mac: '00:00:00:02:00:00'}", "groups[0].responder.src_mac: not supported with 'count'"),
        ("vlan: 101, src_ip: 11.10.0.3", "vlan: 100, src_ip: 11.10.0.3", "groups[1].responder: servers of one VLAN"),
        ("ip_end: 16.0.0.150", "ip_end: 16.0.0.0", "groups[0].ip_end: the range ends before it begins"),
    ],
)
def test_groups_that_cannot_be(lab, tmp_path, old, new, reason):
    assert old in CLIENTS
    (tmp_path / "clients.yaml").write_text(CLIENTS.replace(old, new))
    env = {"HOME": str(tmp_path), "EAGRE_PYTHON": sys.executable}
    lab.eagre("trex", "check", SESSIONS, "--cc", tmp_path / "clients.yaml", env=env, cwd=tmp_path).refused(2, reason)


def test_json_of_trex_itself(eagre, tmp_path):
    """The form that TRex writes, with lengths to fill up and IPv6."""
    text = base64.b64encode(b"a question").decode()
    answer = {"base": base64.b64encode(b"the answer ").decode(), "size": 70_000, "fill": base64.b64encode(b"x").decode()}
    program = [{"name": "tx", "buf_index": 0}, {"name": "rx", "min_bytes": 70_000}]
    served = [{"name": "rx", "min_bytes": 10}, {"name": "tx", "buf_index": 1}]
    span = {"distribution": "seq", "ip_offset": "1.0.0.0"}
    document = {
        "buf_list": [text, answer],
        "ip_gen_dist_list": [
            {"ip_start": "16.0.0.0", "ip_end": "16.0.0.255", "dir": "c", **span},
            {"ip_start": "48.0.0.0", "ip_end": "48.0.255.255", "dir": "s", **span},
        ],
        "program_list": [{"commands": program}, {"commands": served}],
        "c_glob_info": {"ipv6": {"enable": 1, "src_msb": "ff02::", "dst_msb": "2001:db8::"}},
        "templates": [
            {
                "client_template": {
                    "program_index": 0, "port": 80, "cps": 2.5, "cluster": {},
                    "ip_gen": {"dist_client": {"index": 0}, "dist_server": {"index": 1}},
                },
                "server_template": {"program_index": 1, "assoc": [{"port": 80}]},
            }
        ],
    }  # fmt: skip
    path = tmp_path / "x.json"
    path.write_text(json.dumps(document))
    text = eagre("convert", path)
    assert "addresses: \"fd02::1000:0..fd02::1000:ff\"" in text and "addresses: \"2001:db8::3000:0..2001:db8::3000:ffff\"" in text
    assert "open: 2.5/s" in text and "arbitrary" in text
    eagre("sim", path, "-d", "2", "--json", tmp_path / "r.json")
    one = json.loads((tmp_path / "r.json").read_text())["sessions"]["t0"]["client"]
    assert one["completed"] == one["attempted"] == 5 and one["rx_bytes_goodput"] == 5 * 70_000
    document["templates"][0]["client_template"]["program_index"] = 7
    path.write_text(json.dumps(document))
    assert eagre("check", path, exit=2) == ""


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (
            ["c.set_tick_var('t'); c.send('x y'); c.set_label('a'); c.send('a b'); c.jmp_dp('t', 'a', 3)"],
            "whose clock is not set right before it",
        ),
        (["c.set_label('a'); c.send('a b'); c.jmp_nz('n', 'a')"], "a variable that is not set"),
        (["c.send('a b'); c.jmp_nz('n', 'nowhere')"], "no label 'nowhere'"),
        (["c.send_msg('a b')"], "'send_msg' is for UDP"),
        (["return profile(template(c, us))"], "one end's program is for TCP and the other's for UDP"),
        (["uc.recv_msg(1)", "return profile(template(uc, us))"], "datagrams that the other end does not send"),
        (["return profile(template(c, s), template(c, ASTFProgram()))"], "both have servers on port 80"),
        (["return 7"], "instead of an ASTFProfile"),
        (["ASTFCapInfo(file='/none.pcap')"], "/none.pcap"),
        (["ASTFIPGenDist(ip_range=['1.2.3.4', '1.2.3.400'])"], "an IPv4 address, not '1.2.3.400'"),
    ],
)
def test_what_cannot_be_is_said(said, lines, reason):
    """One sentence; where it is of the profile's code, with its line."""
    said("check", *lines, "return profile(template(c, s))").refused(2, reason)


def test_rates_are_the_factor_alone(eagre):
    """Sessions have no packets per second."""
    assert eagre("check", SESSIONS, "-m", "5kpps", exit=2) == ""
