"""A device under test that damages payloads, and prints what it did.

usage: mangler.py WEST EAST UDP-PORT EVERY KIND...

Passes everything both ways. Of the packets to UDP-PORT that come in on WEST, one of EVERY is damaged, by each KIND in turn:
`bit` (one, anywhere behind the headers), `burst`, `scattered`, `shifted`, `other_packet`, `truncated` or `signature`. Checksums stay as
they are. When its standard input ends, it waits until nothing more comes and prints as JSON how many packets had each kind, and the place
in the payload of each flipped `bit`, bytes.
"""

import json
import random
import sys
from collections import Counter

from forwarder import forward, interface

PAYLOAD, SIGNATURE = 42, 18


def flipped(frame, at, bits):
    return frame[:at] + bytes([frame[at] ^ bits]) + frame[at + 1 :]


class Mangler:
    def __init__(self, out, every, kinds):
        self.out, self.every, self.kinds = out, every, kinds
        self.random = random.Random(1)
        self.seen, self.did, self.places, self.last = 0, Counter(), [], b""

    def take(self, frame):
        self.seen += 1
        if self.seen % self.every == 0:
            kind = self.kinds[self.seen // self.every % len(self.kinds)]
            self.did[kind] += 1
            self.out.send(getattr(self, kind)(frame))
        else:
            self.out.send(frame)
        self.last = frame

    def bit(self, frame):
        at = self.random.randrange(PAYLOAD, len(frame))
        self.places.append(at - PAYLOAD)
        return flipped(frame, at, 1 << self.random.randrange(8))

    def burst(self, frame):
        at = self.random.randrange(PAYLOAD, len(frame) - SIGNATURE - 3)
        return flipped(flipped(frame, at, 0x11), at + 2, 0x80)

    def scattered(self, frame):
        at = self.random.randrange(PAYLOAD, len(frame) - SIGNATURE - 100)
        return flipped(flipped(frame, at, 1), at + 99, 1)

    def shifted(self, frame):
        """Five bytes of the payload leave their place, and come in further behind."""
        at, behind = PAYLOAD + 20, len(frame) - SIGNATURE - 20
        return frame[:at] + frame[at + 5 : behind] + frame[at : at + 5] + frame[behind:]

    def other_packet(self, frame):
        """A part of the packet before, as a buffer that was not written would give."""
        at, end = PAYLOAD + 30, len(frame) - SIGNATURE - 30
        return frame[:at] + self.last[at:end] + frame[end:]

    def truncated(self, frame):
        return frame[: len(frame) * 2 // 3]

    def signature(self, frame):
        """Two bits of the sequence number."""
        return flipped(flipped(frame, len(frame) - 10, 1), len(frame) - 8, 4)


def main():
    west, east, udp_port = interface(sys.argv[1]), interface(sys.argv[2]), int(sys.argv[3])
    mangler = Mangler(east, int(sys.argv[4]), sys.argv[5:])
    forward(west, east, udp_port, mangler.take)
    print(json.dumps({"seen": mangler.seen, "did": mangler.did, "places": mangler.places}))


if __name__ == "__main__":
    main()
