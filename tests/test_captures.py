"""Captures of many kinds go through replay, rewriting, flows and conversations: what is sent, and what is said of the rest.

All of a kind go through one run in virtual time, a second each; the tests look at their part of it.
"""

import struct

import pytest
from captures import CASES, REFUSED, checksum
from capture import records

SECOND = 10**9
PORTS = {"west": {"device": "ring:a", "ip": "10.9.0.1/24"}, "east": {"device": "ring:b", "ip": "10.9.0.2/24"}}
NAMES = list(CASES)


def folder_of(lab):
    folder = lab.folder()
    for name, case in CASES.items():
        (folder / f"{name}{case.suffix}").write_bytes(case.data)
    return folder


def run(lab, streams, **rest):
    """Runs streams in virtual time, the nth from second n on: the result, and what each sent."""
    for index, stream in enumerate(streams):
        stream["start_delay"] = f"{index}s"
    load = {"duration": f"{len(streams) + 1}s", "drain": "1ms"}
    profile = lab.profile(PORTS, streams, load=load, **rest)
    out = profile.parent / "sent.pcap"
    done = lab.eagre("sim", profile, "--pcap", out, "--json", "-").ok()
    sent = [[] for _ in streams]
    zero = None
    for at, data in records(out):
        zero = at if zero is None else zero
        sent[(at - zero) // SECOND].append(((at - zero) % SECOND, data))
    return done.json, dict(zip([stream["name"] for stream in streams], sent, strict=True))


def stream(folder, name, **replay):
    case = CASES[name]
    return {"name": name, "from": "west", "to": "east", "replay": {"file": str(folder / f"{name}{case.suffix}"), **case.replay, **replay}}


@pytest.fixture(scope="module")
def replayed(shared):
    folder = folder_of(shared)
    streams = [stream(folder, name) for name in NAMES]
    document, sent = run(shared, streams)
    checked = shared.eagre("check", shared.profile(PORTS, streams, load={"duration": f"{len(streams) + 1}s"})).ok()
    return document, sent, checked.out + checked.err


def test_there_are_enough():
    assert len(CASES) >= 40


@pytest.mark.parametrize("name", NAMES)
def test_a_capture_is_sent_and_what_is_not_is_counted(replayed, name):
    document, sent, said = replayed
    case = CASES[name]
    assert [data for _, data in sent[name]] == [frame.ljust(60, b"\0") for frame in case.sent]
    times = range(len(case.sent)) if case.at is None else case.at
    assert [at for at, _ in sent[name]] == [ms * 1_000_000 for ms in times]
    counts = {key: n for key, n in document["streams"][name].get("replay", {}).items() if n and key != "packets"}
    assert counts == case.counts
    own = [line for line in said.splitlines() if f"stream {name}:" in line]
    assert all(any(word in line for line in own) for word in case.warned), own
    assert bool(own) == bool(case.warned), own
    if case.counts.keys() & {"unsendable", "too_long", "cut", "segmented", "fragmented"}:
        notes = document["verdict"]["notes"]
        assert any(f"stream {name}: of " in note for note in notes), notes


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_sent_is_refused_in_words(lab, name):
    data, replay, words = REFUSED[name]
    file = lab.folder() / "in.pcap"
    file.write_bytes(data)
    one = {"name": "s", "from": "west", "to": "east", "replay": {"file": str(file), **replay}}
    lab.eagre("check", lab.profile(PORTS, [one])).refused(2, *words)


def headers(frame):
    """Where IP begins, its version, protocol, the offset of what it carries, and where that ends."""
    at = 12
    while frame[at : at + 2] in (b"\x81\0", b"\x88\xa8", b"\x91\0"):
        at += 4
    ip = at + 2
    if frame[at:ip] == b"\x08\0":
        return ip, 4, frame[ip + 9], ip + 4 * (frame[ip] & 15), ip + int.from_bytes(frame[ip + 2 : ip + 4], "big")
    if frame[at:ip] == b"\x86\xdd":
        return ip, 6, frame[ip + 6], ip + 40, ip + 40 + int.from_bytes(frame[ip + 4 : ip + 6], "big")
    return None


def addresses(frame, ip, version):
    width = 4 if version == 4 else 16
    at = ip + (12 if version == 4 else 8)
    return frame[at : at + width], frame[at + width : at + 2 * width]


def is_right(frames):
    """Whether each frame has right checksums: of IP, UDP and TCP, of fragments put together."""
    right, pieces = [], {}
    for index, frame in enumerate(frames):
        right.append(True)
        found = headers(frame)
        if found is None:
            continue
        ip, version, protocol, start, end = found
        if version == 4:
            right[index] &= checksum(frame[ip:start]) == 0
        src, dst = addresses(frame, ip, version)
        place, more, number = 0, False, None
        if version == 4:
            word = int.from_bytes(frame[ip + 6 : ip + 8], "big")
            place, more, number = (word & 0x1FFF) * 8, bool(word & 0x2000), frame[ip + 4 : ip + 6]
        elif protocol == 44:
            protocol, _, word, number = struct.unpack_from(">BBHI", frame, start)
            place, more, start = word & ~7, bool(word & 1), start + 8
        body = {place: (frame[start:end], index)}
        if place or more:
            body = pieces.setdefault((src, dst, protocol, number), {})
            body[place] = (frame[start:end], index)
            whole = b"".join(part for _, (part, _) in sorted(body.items()))
            if not any(at and not more for at in body) and len(body) < 2:
                continue
        else:
            whole = frame[start:end]
        if protocol in (6, 17) and len(whole) >= 8 and not (protocol == 17 and whole[6:8] == b"\0\0"):
            ok = checksum(src + dst + struct.pack(">II", len(whole), protocol) + whole) == 0
            for _, part in body.values():
                right[part] &= ok or len(body) > 1 and len(whole) < int.from_bytes(whole[4:6], "big")
        elif protocol == 1 and number is not None and not place and not more:
            right[index] &= checksum(whole) == 0
    return right


@pytest.fixture(scope="module")
def rewritten(shared):
    folder = folder_of(shared)
    rules = {"addresses": ["10.0.0.0/16 -> 172.16.0.0/16", "2001:db8::/32 -> fd00:1::/32"], "ports": "5000 -> 6000"}
    return run(shared, [stream(folder, name, rewrite=rules) for name in NAMES])[1]


@pytest.mark.parametrize("name", NAMES)
def test_rewriting_reaches_all_headers_and_keeps_checksums(replayed, rewritten, name):
    """Every address and port of a packet is rewritten, and a checksum is right afterwards where it was before."""
    before, after = ([data for _, data in sent[name]] for sent in (replayed[1], rewritten))
    assert len(before) == len(after)
    assert is_right(after) == is_right(before)
    for old, new in zip(before, after, strict=True):
        assert len(new) == len(old)
        for address in (b"\x0a\0\0\1", b"\x0a\0\0\2", bytes.fromhex("20010db8")):
            assert address not in new, new.hex()
    # As a part of a sequence number it stands for no port.
    port, sequence = struct.pack(">H", 5000), struct.pack(">I", 5000)
    old, new = (b"".join(frames).replace(sequence, b"") for frames in (before, after))
    assert port not in new.replace(b"R" * 99, b"") or port not in old


@pytest.fixture(scope="module")
def flowing(shared):
    folder = folder_of(shared)
    names = [name for name in NAMES if CASES[name].flows]
    flows = {"rate": "10/s", "clients": "10.1.0.1..10.1.0.9", "servers": "10.2.0.1", "limit": 2}
    six = {"clients": "fd01::1..fd01::9", "servers": "fd02::1"}
    streams = []
    for name in names:
        version = headers(CASES[name].sent[0])[1]
        streams.append(stream(folder, name, flows={**flows, **(six if version == 6 else {})}))
    return run(shared, streams)[1]


@pytest.mark.parametrize("name", [name for name in NAMES if CASES[name].flows])
def test_flows_are_made_of_a_capture(flowing, replayed, name):
    sent, once = flowing[name], replayed[1][name]
    assert len(sent) == 2 * len(once)
    ends = {frozenset(addresses(data, *headers(data)[:2])) for _, data in sent}
    assert len(ends) == 2, "two flows between different ends"
    count = [sum(is_right([data for _, data in all])) for all in (sent, once)]
    assert count[0] >= 2 * count[1]


def test_what_is_no_flow_is_refused(lab):
    folder = folder_of(lab)
    flows = {"rate": "10/s", "clients": "10.1.0.1", "servers": "10.2.0.1"}
    for name, words in (("fragments", "fragment"), ("quoted", "neither TCP nor UDP"), ("tunnel", "not directly follow its IP header")):
        lab.eagre("check", lab.profile(PORTS, [stream(folder, name, flows=flows)])).refused(2, words)


@pytest.fixture(scope="module")
def talked(shared):
    folder = folder_of(shared)
    names = [name for name in NAMES if CASES[name].said]
    sessions = []
    for index, name in enumerate(names):
        file = str(folder / f"{name}{CASES[name].suffix}")
        server = {"port": "east", "ports": 2000 + index}
        client = {"port": "west", "ports": f"{20000 + 20 * index}..{20019 + 20 * index}"}
        sessions.append({"name": name, "client": client, "server": server, "app": {"pcap": {"file": file}}, "count": 2, "open": "100/s"})
    profile = shared.profile(PORTS, [], sessions=sessions, load={"duration": "2s", "drain": "1s"})
    done = shared.eagre("sim", profile, "--json", "-").ok()
    return done.json, done.out + done.err


@pytest.mark.parametrize("name", [name for name in NAMES if CASES[name].said])
def test_conversations_have_all_bytes(talked, name):
    row = talked[0]["sessions"][name]
    client, server = row["client"], row["server"]
    assert (client["completed"], client["failed"]) == (2, {}), row
    said = CASES[name].said
    assert (server["rx_bytes_goodput"], client["rx_bytes_goodput"]) == (2 * said[0], 2 * said[1]), row


def test_what_is_in_no_conversation_is_said(lab):
    folder = folder_of(lab)
    for name, words in {
        "fragments-lost": ("1 of 2 packets", "fragments of packets that are not there whole"),
        "ng-mixed": ("1 of 3 packets", "link type 105"),
        "quoted": ("1 of 2 packets", "neither TCP nor UDP"),
    }.items():
        app = {"pcap": {"file": str(folder / f"{name}{CASES[name].suffix}")}}
        one = {"name": "s", "client": {"port": "west"}, "server": {"port": "east"}, "app": app, "open": "1/s"}
        done = lab.eagre("check", lab.profile(PORTS, [], sessions=[one])).ok()
        assert all(word in done.out + done.err for word in words), done.err
