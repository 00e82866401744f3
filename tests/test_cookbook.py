"""What docs/cookbook.md says, holds: every profile in it loads and sends, and does what its entry claims.

So do the profiles in docs/sessions.md; what is no whole profile there is the keys of an entry under 'sessions'. The
commands of both are run by test_docs, like those of every page.
"""

import ipaddress
import json
import re
from collections import Counter
from itertools import pairwise

import pytest
import yaml
from lab import REPO
from test_docs import FENCE
from test_wire import assert_valid, decode

PAGE = REPO / "docs/cookbook.md"
ENTRY = re.compile(r"^### (?P<title>.*)\n(?P<body>(?:(?!^##).*\n?)*)", re.MULTILINE)
ENTRIES = {found["title"]: found["body"] for found in ENTRY.finditer(PAGE.read_text())}


def blocks(body, language):
    """The fenced blocks of an entry that are written in a language."""
    return [found["text"] for found in FENCE.finditer(body) if found["language"] == language]


PROFILES = {title: blocks(body, "yaml")[0] for title, body in ENTRIES.items() if blocks(body, "yaml")}


SESSIONS_PAGE = REPO / "docs/sessions.md"
SESSIONS = [text for text in blocks("\n" + SESSIONS_PAGE.read_text(), "yaml")]
# What an entry has that only some of its keys are shown of.
ENTRY_PORTS = {
    "west": {"device": "ring:a", "ip": "10.0.0.1/24", "speed": "10Gbps"},
    "east": {"device": "ring:b", "ip": "10.0.0.2/24", "speed": "10Gbps"},
}
SHOWN = {"name": "shown", "client": {"port": "west"}, "server": {"port": "east"}, "app": "echo", "open": "50/s"}


def whole(text):
    """A profile, made whole if only the keys of an entry are given."""
    keys = yaml.safe_load(text)
    return text if "ports" in keys else json.dumps({"ports": ENTRY_PORTS, "sessions": [{**SHOWN, **keys}]})


@pytest.fixture
def written(lab):
    """Writes the profile of an entry to where its files are found."""

    def write(text):
        folder = lab.folder()
        (folder / "examples").symlink_to(REPO / "examples")
        (folder / "profile.yaml").write_text(text)
        return folder / "profile.yaml"

    return write


def test_every_entry_has_an_answer():
    """A whole profile, or commands."""
    assert len(ENTRIES) >= 28
    for title, body in ENTRIES.items():
        answers = blocks(body, "yaml"), blocks(body, "sh")
        assert sorted(map(len, answers)) == [0, 1], title
    for title, text in PROFILES.items():
        assert {"ports", "streams"} <= set(yaml.safe_load(text)), f"no whole profile: {title}"


@pytest.mark.parametrize("title", PROFILES)
def test_profiles_load_and_send(lab, written, title):
    """As they stand, with a good result."""
    profile = written(PROFILES[title])
    lab.eagre("check", profile).ok()
    result = lab.eagre("sim", profile, "--duration", "100ms", "--seed", "1", "--json", "-").result()
    assert result["verdict"]["valid"], result["verdict"]
    assert all(one["tx"] > 0 for one in result["streams"].values()), json.dumps(result["streams"], indent=1)
    assert sum(port["tx_packets"] for port in result["ports"].values()) > 0


def test_the_tour_of_sessions_has_profiles():
    """As many as there are things to show."""
    assert len(SESSIONS) >= 10


@pytest.mark.parametrize("text", SESSIONS, ids=range(len(SESSIONS)))
def test_profiles_of_sessions_load(written, lab, text):
    """Without a word of complaint."""
    done = lab.eagre("check", written(whole(text))).ok()
    assert "OK: " in done.out and not done.err, done.err


@pytest.mark.parametrize("text", SESSIONS, ids=range(len(SESSIONS)))
def test_profiles_of_sessions_run(written, lab, text):
    """All of them establish sessions, and none fails."""
    result = lab.eagre("sim", written(whole(text)), "--duration", "500ms", "--seed", "1", "--json", "-").result()
    assert result["verdict"]["valid"], result["verdict"]
    for one in result["sessions"].values():
        assert one["established"] > 0 and one["failed_ratio"] == 0, json.dumps(one, indent=1)


def addresses(first, count):
    return [str(ipaddress.ip_address(first) + i) for i in range(count)]


def numbers(frames, field):
    return [int(frame[field]) for frame in frames]


def inc(frames):
    assert [frame["ip.src"] for frame in frames[:1025]] == [*addresses("10.1.0.0", 1024), "10.1.0.0"]


def dec(frames):
    assert numbers(frames, "udp.srcport")[:102] == [*range(5000, 3999, -10), 5000]


def random(frames):
    sources = {frame["ip.src"] for frame in frames}
    assert all(source.startswith("16.") for source in sources)
    assert len(sources) > 0.99 * len(frames), "of 16.7 million hardly one comes twice"


def value_list(frames):
    assert numbers(frames, "udp.dstport")[:6] == [53, 80, 123, 443, 53, 80]


def limited(frames):
    assert len({frame["ip.src"] for frame in frames}) == 100


def tuples(frames):
    seen = [(frame["ip.src"], frame["udp.srcport"]) for frame in frames]
    assert set(seen[:1000]) == {(a, str(port)) for a in addresses("16.0.0.1", 20) for port in range(1025, 1075)}
    assert seen[1000:2000] == seen[:1000]


def linked(frames):
    assert all(int(frame["udp.dstport"]) == int(frame["udp.srcport"]) + 1000 for frame in frames)


def masked(frames):
    sources = {frame["ip.src"] for frame in frames}
    assert len(sources) == 256 and all(re.fullmatch(r"10\.20\.\d+\.77", source) for source in sources)


def raw(frames):
    assert numbers(frames, "udp.srcport")[:17] == [*range(0x2000, 0x2010), 0x2000]
    assert [int(frame["data.data"][:8], 16) for frame in frames[:300]] == [*range(300)]


def wrong(frames):
    assert {frame["ip.checksum"] for frame in frames} == {"0xdead"}
    assert {frame["ip.checksum.status"] for frame in frames} == {"0"}


def mix(frames):
    lengths = Counter(int(frame["frame.len"]) + 4 for frame in frames if frame["udp.dstport"] == "10")
    sent = lengths.total()
    for length, share in {64: 0.5, 576: 0.3, 1500: 0.2}.items():
        assert abs(lengths[length] / sent - share) < 0.01, lengths


def sweep(frames):
    lengths = [*range(64, 1473, 64)]
    assert [int(frame["frame.len"]) + 4 for frame in frames[: len(lengths) * 2]] == lengths * 2


def single(frames):
    assert len(frames) == 1000


def multi(frames):
    times = [float(frame["frame.time_epoch"]) for frame in frames]
    assert len(frames) == 500
    assert all(abs(later - sooner - 1e-3) < 1e-6 for sooner, later in pairwise(times[::100]))
    assert times[99] - times[0] < 100e-6


def chain(frames):
    lengths = [int(frame["frame.len"]) + 4 for frame in frames]
    assert lengths == ([64] * 100 + [1518] * 50) * 3


def gaps(frames):
    times = [int(frame["frame.time_epoch"].replace(".", "")) for frame in frames]
    assert [later - sooner for sooner, later in pairwise(times)][:6] == [10_000, 20_000, 70_000] * 2


def vlans(frames):
    assert numbers(frames, "vlan.id")[:101] == [*range(100, 200), 100]


def qinq(frames):
    seen = [(int(frame["ieee8021ad.id"]), int(frame["vlan.id"])) for frame in frames]
    assert seen[:100] == [(outer, inner) for outer in range(100, 110) for inner in range(1, 11)]


def mpls(frames):
    assert [frame["mpls.label"] for frame in frames[:50]] == [f"16,{label}" for label in range(1000, 1050)]
    assert {frame["mpls.bottom"] for frame in frames} <= {"0,1", "False,True"}


def sequence(frames):
    rows = [(frame["ip.src"], frame["udp.dstport"], int(frame["frame.len"]) + 4) for frame in frames[:6]]
    assert rows == [("10.1.0.1", "53", 64), ("10.2.0.1", "123", 128), ("10.3.0.1", "4500", 256)] * 2


def flows(frames):
    assert [frame["ip.src"] for frame in frames[:1000]] == [a for a in addresses("10.1.0.0", 100) for _ in range(10)]


def rewritten(frames):
    for frame in frames:
        assert {frame["ip.src"].rpartition(".")[0], frame["ip.dst"].rpartition(".")[0]} == {"10.1.0", "10.2.0"}
        assert "5353" in (frame["udp.srcport"], frame["udp.dstport"]) and frame["vlan.id"] == "7"


def right(frames):
    assert len({frame["ip.src"] for frame in frames}) == 256
    assert {int(frame["ip.ttl"]) for frame in frames} == {*range(2, 65)}


CLAIMS = {
    "STLVmFlowVar with op": inc,
    'op="dec"': dec,
    'op="random"': random,
    "value_list": value_list,
    "RepeatableRandom": limited,
    "STLVmTupleGen": tuples,
    "move together": linked,
    "STLVmWrMaskFlowVar": masked,
    "pkt_offset": raw,
    "STLVmFixIpv4": right,
    "wrong checksum": wrong,
    "imix_weights": mix,
    "(sweep)": sweep,
    "STLTXSingleBurst": single,
    "STLTXMultiBurst": multi,
    "action_count": chain,
    "custom gaps": gaps,
    "enable 0 vlan": vlans,
    "QinQ": qinq,
    "MPLS": mpls,
    "sequence mode": sequence,
    "FLOW_SEQ": flows,
    "(rewriting)": rewritten,
}
FIELDS = (
    "frame.time_epoch ip.src ip.dst ip.ttl ip.checksum udp.srcport udp.dstport "
    "vlan.id ieee8021ad.id mpls.label mpls.bottom data.data"
).split()


@pytest.mark.parametrize("claim", CLAIMS)
def test_entries_do_what_they_claim(lab, written, claim):
    """Seen by tshark, in what would be sent."""
    [title] = [title for title in PROFILES if claim in title]
    capture = lab.folder() / "sent.pcap"
    profile = written(PROFILES[title])
    lab.eagre("sim", profile, "--duration", "100ms", "--seed", "1", "--pcap", capture).ok()
    frames = [frame for frame in decode(capture, *FIELDS) if "arp" not in frame["frame.protocols"]]
    if claim != "wrong checksum":
        assert_valid(frames)
    CLAIMS[claim](frames)
