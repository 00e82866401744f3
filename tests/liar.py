"""A device under test that damages and forges test packets, and prints what it did.

usage: liar.py WEST EAST UDP-PORT

Passes everything both ways. Of the packets to UDP-PORT that come in on WEST it passes the 100th with one bit of its sequence
number flipped and the 200th with one bit of its time flipped. After the 300th, it sends a copy that claims to be 3,000,000
packets later, its UDP checksum right. When its standard input ends, it waits until nothing more comes and prints the counts.
"""

import json
import struct
import sys

from forwarder import forward, interface

# In the last 18 bytes of a minimum frame without FCS.
SEQUENCE_AT, TIME_AT = 50, 54
UDP_AT, CHECKSUM_AT = 34, 40


def flipped(frame, at, bit):
    return frame[:at] + bytes([frame[at] ^ 1 << bit]) + frame[at + 1 :]


def checksum(frame):
    """That of UDP over IPv4."""
    udp = frame[UDP_AT:60]
    covered = frame[26:34] + struct.pack("!HH", 17, len(udp)) + udp[:6] + b"\0\0" + udp[8:]
    total = sum(struct.unpack(f"!{len(covered) // 2}H", covered))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF or 0xFFFF


def ahead(frame, numbers):
    """The packet that many numbers later, as somebody would make it who knows the layout and not the key."""
    (sequence,) = struct.unpack_from("<I", frame, SEQUENCE_AT)
    forged = bytearray(frame)
    struct.pack_into("<I", forged, SEQUENCE_AT, sequence + numbers)
    struct.pack_into("!H", forged, CHECKSUM_AT, checksum(bytes(forged)))
    return bytes(forged)


class Liar:
    def __init__(self, out):
        self.out, self.seen = out, 0

    def take(self, frame):
        self.seen += 1
        if self.seen == 100:
            frame = flipped(frame, SEQUENCE_AT + 2, 5)
        if self.seen == 200:
            frame = flipped(frame, TIME_AT + 4, 0)
        self.out.send(frame)
        if self.seen == 300:
            self.out.send(ahead(frame, 3_000_000))


def main():
    west, east, udp_port = interface(sys.argv[1]), interface(sys.argv[2]), int(sys.argv[3])
    liar = Liar(east)
    forward(west, east, udp_port, liar.take)
    print(json.dumps({"seen": liar.seen}))


if __name__ == "__main__":
    main()
