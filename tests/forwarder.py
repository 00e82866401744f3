"""A device under test with known faults: forwards between two interfaces and prints what it dropped, repeated and held back.

usage: forwarder.py WEST EAST UDP-PORT

Passes everything both ways, but of the packets to UDP-PORT that come in on WEST it drops every 10th, sends every 7th
twice, and lets three others overtake every 13th; one that is due for several of these has the first. When its standard
input ends, it waits until nothing more comes and prints the counts as JSON.
"""

import json
import select
import socket
import struct
import sys

ETH_P_ALL, SOL_PACKET, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 3, 263, 23, 33
OVERTAKEN_BY = 3
QUIET_S = 0.3


def interface(name):
    side = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    side.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    side.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    side.bind((name, 0))
    return side


def is_test_packet(frame, udp_port):
    """Ethernet, IPv4 without options, UDP."""
    return frame[12:14] == b"\x08\x00" and frame[23] == 17 and struct.unpack_from("!H", frame, 36)[0] == udp_port


class Spoiler:
    def __init__(self, out):
        self.out = out
        self.seen = self.dropped = self.duplicated = self.late = self.distance_max = 0
        self.newest = -1
        # Held packets: number, bytes, how many have overtaken it.
        self.held = []

    def take(self, frame):
        number = self.seen
        self.seen += 1
        count = number + 1
        if count % 10 == 0:
            self.dropped += 1
        elif count % 7 == 0:
            self.duplicated += 1
            self.send(number, frame)
            self.out.send(frame)
            self.overtake()
        elif count % 13 == 0:
            self.held.append([number, frame, 0])
        else:
            self.send(number, frame)
            self.overtake()

    def send(self, number, frame):
        self.out.send(frame)
        if number < self.newest:
            self.late += 1
            self.distance_max = max(self.distance_max, self.newest + 1 - number)
        self.newest = max(self.newest, number)

    def overtake(self):
        for waiting in self.held:
            waiting[2] += 1
        while self.held and self.held[0][2] >= OVERTAKEN_BY:
            number, frame, _ = self.held.pop(0)
            self.send(number, frame)

    def flush(self):
        for number, frame, _ in self.held:
            self.send(number, frame)
        self.held = []


def forward(west, east, udp_port, take, idle=lambda: None):
    """Passes everything both ways until standard input ends and nothing more comes.

    `take` gets the packets to `udp_port` that come in on WEST; `idle` is called when nothing came for a while.
    """
    ending = False
    print("ready", flush=True)
    while True:
        sources = [west, east] if ending else [west, east, sys.stdin]
        ready, _, _ = select.select(sources, [], [], QUIET_S)
        if not ready:
            idle()
            if ending:
                return
        if east in ready:
            west.send(east.recv(65536))
        if west in ready:
            frame = west.recv(65536)
            if is_test_packet(frame, udp_port):
                take(frame)
            else:
                east.send(frame)
        if sys.stdin in ready and not sys.stdin.readline():
            ending = True


def main():
    west, east, udp_port = interface(sys.argv[1]), interface(sys.argv[2]), int(sys.argv[3])
    spoiler = Spoiler(east)
    forward(west, east, udp_port, spoiler.take, spoiler.flush)
    fields = ("seen", "dropped", "duplicated", "late", "distance_max")
    print(json.dumps({field: getattr(spoiler, field) for field in fields}))


if __name__ == "__main__":
    main()
