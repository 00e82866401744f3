"""TRex's Python API on Eagre: what profiles say becomes one document, whatever the machine, Python or Scapy."""

import base64
import json
import shutil
import struct
import zipfile

import pytest
import trex
from lab import EAGRE, REPO

FLOWS = REPO / "examples/trex/flows.py"
HEAD = "from trex_stl_lib.api import *\nfrom trex.stl.trex_stl_hltapi import STLHltStream\n"


@pytest.fixture(scope="module")
def python():
    """Python with the newest Scapy."""
    return trex.interpreter()


@pytest.fixture
def streams(python, lab):
    """Loads a profile whose 'get_streams' returns an expression; the streams of port 0."""

    def load(expression, *options, before="", exit=0):
        path = lab.folder() / "profile.py"
        text = f"{HEAD}{before}\nclass P:\n    def get_streams(self, **kwargs):\n        return {expression}\n"
        path.write_text(f"{text}\ndef register():\n    return P()\n")
        document = trex.load(python, path, *options, exit=exit)
        return document["error"] if exit else document["ports"]["0"]

    return load


def frame(stream):
    return base64.b64decode(stream["stream"]["packet"]["binary"])


def instructions(stream):
    return stream["stream"]["vm"]["instructions"]


def test_a_profile_becomes_a_document(python):
    """Both directions, with tunables as TRex's console and as its newer profiles take them."""
    document = trex.load(python, FLOWS, "--ports", "0,1", "-t", "fsize=128,pps=5")
    assert document["schema"] == "eagre.trex/1"
    there, back = document["ports"]["0"][0], document["ports"]["1"][0]
    assert len(frame(there)) == 124
    assert frame(there)[26:34] == bytes([16, 0, 0, 1, 48, 0, 0, 1])
    assert frame(back)[26:34] == bytes([48, 0, 0, 1, 16, 0, 0, 1])
    assert there["stream"]["mode"] == {"type": "continuous", "rate": {"type": "pps", "value": 5.0}}
    client, write, fix = instructions(there)
    assert (client["min_value"], client["max_value"], client["init_value"]) == (0x10000001, 0x100000FE, 0x10000001)
    assert (write["pkt_offset"], fix["pkt_offset"]) == (26, 14)
    assert instructions(back)[1]["pkt_offset"] == 30


def test_documents_do_not_depend_on_scapy_or_python(python):
    """The oldest Scapy that is supported and the newest; and addresses that a packet leaves out are not the machine's."""
    old = trex.interpreter("2.5.0")
    documents = [trex.load(which, FLOWS, "--ports", "0,1")["ports"] for which in (python, old)]
    assert documents[0] == documents[1]


def test_what_a_packet_leaves_out_is_constant(streams):
    """MAC and IP addresses, in ARP and IPv6, too."""
    (stream,) = streams("STLStream(packet=STLPktBuilder(pkt=Ether()/IP()/UDP()))")
    assert frame(stream)[:12].hex() == "000000010000" + "000000020000"
    assert frame(stream)[26:34] == bytes([16, 0, 0, 1, 48, 0, 0, 1])
    (stream,) = streams("STLStream(packet=STLPktBuilder(pkt=Ether()/IPv6()/UDP()))")
    assert frame(stream)[22:38] == bytes(15) + b"\2"
    (stream,) = streams("STLStream(packet=STLPktBuilder(pkt=Ether()/ARP(pdst='1.2.3.4')))")
    assert frame(stream)[22:42].hex() == "000000020000" + "10000001" + "000000000000" + "01020304"


@pytest.mark.parametrize(
    ("packet", "place", "offset"),
    [
        ("Ether()/IP()/UDP()", "IP.src", 26),
        ("Ether()/IP()/UDP()", "UDP.dport", 36),
        ("Ether()/IP()/UDP()", "Ethernet.dst", 0),
        ("Ether()/IP()/UDP()", "IP.frag", 20),
        ("Ether()/IP(options=IPOption(b'\\x94\\x04\\x00\\x00'))/UDP()", "UDP.sport", 38),
        ("Ether()/Dot1Q()/Dot1Q()/IP()", "802|1Q:1.vlan", 18),
        ("Ether()/IP()/IP()/UDP()", "IP:1.dst", 50),
        ("Ether()/IPv6()/TCP()", "TCP.chksum", 70),
        ("Ether()/IP()/UDP()", "7", None),
    ],
)
def test_offsets_by_name(streams, packet, place, offset):
    """A field's place follows from the packet."""
    vm = f"STLScVmRaw([STLVmFlowVar('v', size=1), STLVmWrFlowVar('v', {place!r})])"
    stream = f"STLStream(packet=STLPktBuilder(pkt={packet}, vm={vm}))"
    if offset is None:
        assert "the packet has no such header" in streams(stream, exit=2)
    else:
        assert instructions(streams(stream)[0])[1]["pkt_offset"] == offset


def test_hltapi(streams):
    """Lengths with FCS, ranges, tags, and lengths that share a rate."""
    (stream,) = streams(
        "STLHltStream(l3_protocol='ipv4', l4_protocol='udp', frame_size=100, rate_pps='7', vlan_id='5 6',"
        " ip_src_addr='10.0.0.1', ip_src_mode='decrement', ip_src_count=4, ip_src_step='0.0.1.0', consistent_random=1)"
    )
    data = frame(stream)
    assert len(data) == 96
    assert data[12:22].hex() == "8100300581003006" + "0800"
    variable, write, _ = instructions(stream)
    assert (variable["op"], variable["init_value"], variable["step"]) == ("dec", 0x300, 0x100)
    assert write["add_value"] == 0x0A000001 - 0x300
    assert stream["stream"]["random_seed"] == 1
    rates = [item["stream"]["mode"]["rate"]["value"] for item in streams("STLHltStream(length_mode='imix', rate_pps=24)")]
    assert rates == [14, 8, 2]


def test_a_capture_becomes_a_chain(streams, lab):
    """Gaps as captured, speeded up; the last packet names the first."""
    path = lab.folder() / "two.pcap"
    packet = bytes(60)
    records = [struct.pack("<IIII", 1, micros, 60, 60) + packet for micros in (0, 500)]
    path.write_bytes(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1) + b"".join(records))
    first, second = streams(f"STLProfile.load_pcap({str(path)!r}, speedup=2, loop_count=3).get_streams()")
    assert (first["stream"]["isg"], second["stream"]["isg"]) == (0, pytest.approx(250, abs=0.01))
    assert (first["next"], second["next"], second["stream"]["action_count"]) == ("2", "1", 3)
    assert (first["stream"]["self_start"], second["stream"]["self_start"]) == (True, False)


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("STLStream(mode=STLTXCont(pps=1, percentage=2))", "give one of them"),
        ("STLStream(packet=STLPktBuilder(pkt='/nowhere.pcap'))", "/nowhere.pcap"),
        ("STLStream(next='other', mode=STLTXSingleBurst())", "names 'other' as next, which is no stream"),
        ("STLStream(packet=STLPktBuilder(pkt=Ether(), vm=[STLVmTrimPktSize('x')]))", "variable 'x' is not defined"),
        ("STLProfile().dump_to_code()", "eagre trex convert"),
        ("1 / 0", "ZeroDivisionError"),
    ],
)
def test_errors_name_the_place(streams, expression, reason):
    """The reason, and the profile's line."""
    error = streams(expression, exit=2)
    assert reason in error
    assert "profile.py" in error


def test_what_a_profile_prints_is_not_in_the_document(streams):
    """Its prints go elsewhere."""
    assert len(streams("[print('hello'), STLStream()][1:]")) == 1


def test_what_is_missing_is_refused_with_a_replacement(python):
    """One clear error instead of a missing name."""
    code = "from trex.astf.api import *\ntry:\n    ASTFTopology()\nexcept TRexError as e:\n    print(e)\n"
    assert "docs/ports.md" in trex.done(python, "-c", code, env={"PYTHONPATH": str(trex.SOURCE)})


def test_captures_become_programs(python):
    """What the ends of a conversation say in turn, each byte once, whatever its segments."""
    code = f"""
from trex.astf.captures import Capture
import json
for side in "cs":
    steps = Capture.of({str(REPO / "examples/conversation.pcap")!r}).commands(side)
    print(json.dumps([[step["name"], len(step.get("buf", "")) or step.get("min_bytes")] for step in steps]))
"""
    client, server = map(json.loads, trex.done(python, "-c", code, env={"PYTHONPATH": str(trex.SOURCE)}).splitlines())
    other = {"tx": "rx", "rx": "tx"}
    assert [[other[name], size] for name, size in client] == server
    assert len(client) > 4 and all(one[0] != two[0] for one, two in zip(client, client[1:]))
    assert sum(size for _, size in client) > 100


@pytest.fixture
def eagre(python, tmp_path):
    """Runs 'eagre trex' with a home folder of its own."""

    def run(*words, exit=0):
        env = {"HOME": str(tmp_path), "XDG_CACHE_HOME": "", "EAGRE_PYTHON": str(python)}
        return trex.done(EAGRE, "trex", *words, exit=exit, env=env, cwd=tmp_path)

    return run


def test_a_profile_is_converted(eagre):
    """Both directions, the port's own options, a multiplier; nothing of the Python is left."""
    text = eagre("convert", FLOWS, "-t", "fsize=68", "-m", "5kpps", "-d", "3", "--port", "0=tap:x,ip=10.0.0.2/24", "--port", "1")
    lines = [line.strip() for line in text.splitlines()]
    assert "port0: {device: \"tap:x\", ip: 10.0.0.2/24}" in lines
    assert "port1: {device: veth1}" in lines
    assert lines.count("rate: 5000pps") == 2
    assert "- {ipv4: {src: 16.0.0.1, dst: 48.0.0.1, id: 1}}" in lines
    assert "ipv4.src: {from: 16.0.0.1, to: 16.0.0.254}" in lines
    assert lines.index("ipv4.src: {from: 16.0.0.1, to: 16.0.0.254}") < lines.index("ipv4.dst: {from: 16.0.0.1, to: 16.0.0.254}")
    assert lines.count("size: 68B") == lines.count("measure: false") == 2
    assert "load: {duration: 3s}" in lines


def test_modules_are_unpacked_for_their_user_alone(eagre, tmp_path):
    """Others can neither read nor replace them."""
    eagre("convert", FLOWS)
    (folder,) = (tmp_path / ".cache/eagre").iterdir()
    assert {path.stat().st_mode & 0o777 for path in [folder, *folder.rglob("*")] if path.is_dir()} == {0o700}
    assert {str(path.relative_to(folder)) for path in folder.rglob("*.py")} == {
        str(path.relative_to(trex.SOURCE)) for path in trex.SOURCE.rglob("*.py")
    }


def test_errors_of_a_profile_name_its_line(eagre, lab, tmp_path, python):
    """Of its code, and of what Eagre cannot send."""
    path = tmp_path / "bad.py"
    path.write_text(f"{HEAD}\ndef register():\n    return 1 / 0\n")
    said = lab.eagre("trex", "check", path, env={"HOME": str(tmp_path), "EAGRE_PYTHON": str(python)})
    assert (said.exit, "division by zero" in said.err, f"{path}:5" in said.err) == (2, True, True), said
    streams = [{"name": "S", "stream": {"packet": {"binary": "AAAA"}, "mode": {"type": "continuous", "rate": {"type": "pps", "value": 1}}}}]
    (tmp_path / "bad.json").write_text(json.dumps(streams))
    said = lab.eagre("trex", "check", tmp_path / "bad.json")
    assert (said.exit, "port 0, stream 'S': packet.binary: not an Ethernet frame" in said.err) == (2, True), said


def test_style(python, tmp_path):
    """ruff has nothing to say."""
    ruff = python.parent / "ruff"
    trex.done(ruff, "check", "--no-cache", trex.CLIENT)
    trex.done(ruff, "format", "--no-cache", "--check", trex.CLIENT)


def test_the_wheel_has_the_modules(python, tmp_path):
    """All of them, and nothing else; its name is not TRex's."""
    source = tmp_path / "source"
    shutil.copytree(trex.CLIENT, source, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    build = [*trex.PIP, "--python", python, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", tmp_path, source]
    trex.done(*build)
    (wheel,) = tmp_path.glob("eagre_trex-*.whl")
    names = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    assert names == {str(path.relative_to(trex.SOURCE)) for path in trex.SOURCE.rglob("*.py")}
