"""What makes a TCP control packet as long as its frame lies behind the IP packet; it is no data of TCP."""

import struct

import pytest
from lab import pair

SYN, RST, ACK, PSH = 0x02, 0x04, 0x10, 0x08
ETHERNET, IP, TCP = 14, 20, 20


def frames(path):
    """The frames of a pcap file."""
    data = path.read_bytes()
    assert data[:4] == b"\xd4\xc3\xb2\xa1" or data[:4] == b"\x4d\x3c\xb2\xa1", data[:4]
    at = 24
    while at < len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        yield data[at + 16 : at + 16 + length]
        at += 16 + length


def data_bytes(frame):
    """Bytes of TCP's data, by the lengths in the packet, and of what follows the IP packet; the checksum is right."""
    length = struct.unpack_from("!H", frame, ETHERNET + 2)[0]
    head = (frame[ETHERNET + IP + 12] >> 4) * 4
    packet = frame[ETHERNET : ETHERNET + length]
    pseudo = packet[12:20] + bytes([0, 6]) + struct.pack("!H", length - IP)
    summed = pseudo + packet[IP:] + b"\0" * (length % 2)
    total = sum(struct.unpack(f"!{len(summed) // 2}H", summed))
    total = (total & 0xFFFF) + (total >> 16)
    assert (total & 0xFFFF) + (total >> 16) == 0xFFFF, frame.hex()
    return length - IP - head, len(frame) - ETHERNET - length


def sent(lab, packet, size, vary=None, **more):
    """The frames of a stream."""
    stream = {"name": "s", "from": "west", "to": "east", "packet": packet, "size": size, "rate": "1kpps", **more}
    stream |= {"vary": vary} if vary else {}
    profile = lab.profile(pair(), [stream], load={"duration": "20ms"})
    file = lab.folder() / "s.pcap"
    lab.eagre("sim", profile, "--pcap", file, "--packets", 100)
    return [frame for frame in frames(file) if frame[12:14] == b"\x08\x00"]


@pytest.mark.parametrize("size", [64, 128, 1518])
@pytest.mark.parametrize("flags", [SYN, RST, SYN | ACK])
def test_control_packets_have_no_data(lab, flags, size):
    """With options, varying fields and any length; checksums are of the packet alone."""
    packet = ["ipv4", {"tcp": {"dst": 80, "flags": flags}}, {"tcp_mss": {"mss": 1460}}]
    got = sent(lab, packet, f"{size}B", {"tcp.seq": "random", "tcp.src": {"random": "1024..65535"}}, measure=False)
    assert len(got) == 20 and {len(frame) for frame in got} == {size - 4}
    assert {data_bytes(frame) for frame in got} == {(0, size - 4 - ETHERNET - IP - TCP - 4)}


def test_the_shortest_acknowledgement_has_no_data(lab):
    """Six bytes fill the frame; a longer one has data, as it always had."""
    short, long = (sent(lab, ["ipv4", {"tcp": {"flags": ACK}}], size, measure=False) for size in ("64B", "100B"))
    assert {data_bytes(frame) for frame in short} == {(0, 6)} and {data_bytes(frame) for frame in long} == {(42, 0)}


def test_what_is_given_is_data(lab):
    """A payload, a fill, and the signature of a measured packet."""
    payload = sent(lab, ["ipv4", {"tcp": {"flags": SYN}}, {"hex": "0102"}], "64B", measure=False)
    assert {data_bytes(frame) for frame in payload} == {(6, 0)}
    measured = sent(lab, ["ipv4", {"tcp": {"flags": SYN}}], "100B")
    assert {data_bytes(frame) for frame in measured} == {(42, 0)}
