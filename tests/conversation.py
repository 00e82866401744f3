"""Makes a capture of a TCP conversation for sessions to repeat."""

import struct

CLIENT, SERVER = ("192.0.2.1", 40_000), ("192.0.2.2", 7777)


def address(text):
    return bytes(int(part) for part in text.split("."))


def frame(source, target, sequence, acknowledged, flags, data=b""):
    """A segment in an Ethernet frame; nobody who reads it looks at checksums."""
    tcp = struct.pack(">HHIIBBHHH", source[1], target[1], sequence, acknowledged, 5 << 4, flags, 65_535, 0, 0) + data
    ends = address(source[0]) + address(target[0])
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 20 + len(tcp), 0, 0, 64, 6, 0) + ends
    return bytes(12) + b"\x08\x00" + ip + tcp


def write(path, turns, pause_s=0.01):
    """Writes a pcap file of a conversation: `turns` are what client and server say in turn, the client first."""
    syn, ack, fin, push = 2, 16, 1, 8
    ends, next_byte = (CLIENT, SERVER), [1001, 5001]
    frames = [
        frame(CLIENT, SERVER, 1000, 0, syn),
        frame(SERVER, CLIENT, 5000, 1001, syn | ack),
        frame(CLIENT, SERVER, 1001, 5001, ack),
    ]
    for number, data in enumerate(turns):
        who = number % 2
        for at in range(0, len(data), 1400):
            piece = data[at : at + 1400]
            frames.append(frame(ends[who], ends[1 - who], next_byte[who], next_byte[1 - who], ack | push, piece))
            next_byte[who] += len(piece)
        frames.append(frame(ends[1 - who], ends[who], next_byte[1 - who], next_byte[who], ack))
    frames.append(frame(CLIENT, SERVER, next_byte[0], next_byte[1], fin | ack))
    frames.append(frame(SERVER, CLIENT, next_byte[1], next_byte[0] + 1, fin | ack))
    frames.append(frame(CLIENT, SERVER, next_byte[0] + 1, next_byte[1] + 1, ack))
    with path.open("wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65_535, 1))
        for number, data in enumerate(frames):
            micros = int(number * pause_s * 1e6)
            file.write(struct.pack("<IIII", micros // 1_000_000, micros % 1_000_000, len(data), len(data)) + data)
