"""A switch that changes the VLAN priority: forwards between two interfaces.

usage: remarker.py WEST EAST PRIORITY

Every third frame with a VLAN tag that comes in on WEST goes out of EAST with PRIORITY, and every fifth without the tag, unless it
is due for both. All others pass as they are, both ways. Says `ready`; ends with its standard input.
"""

import select
import socket
import struct
import sys

ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 3, 263, 8, 23, 33
VLAN_VALID, TAG = 1 << 4, 0x8100


def interface(name):
    side = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    for level, option, value in ((SOL_PACKET, PACKET_IGNORE_OUTGOING, 1), (SOL_PACKET, PACKET_AUXDATA, 1), (socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)):
        side.setsockopt(level, option, value)
    side.bind((name, 0))
    return side


def whole(side):
    """A frame with its tag, which the kernel tells beside it."""
    frame, told, *_ = side.recvmsg(65536, 256)
    for level, kind, data in told:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci, _ = struct.unpack("IIIHHHH", data[:20])
            if status & VLAN_VALID:
                return frame[:12] + struct.pack("!HH", TAG, tci) + frame[12:]
    return frame


def main(west, east, priority):
    sides = [interface(west), interface(east)]
    seen = 0
    print("ready", flush=True)
    while True:
        readable, *_ = select.select([*sides, sys.stdin], [], [])
        if sys.stdin in readable:
            return
        for side in readable:
            frame = whole(side)
            out = sides[1] if side is sides[0] else sides[0]
            if side is sides[0] and struct.unpack_from("!H", frame, 12)[0] == TAG:
                seen += 1
                if seen % 3 == 0:
                    tci = struct.unpack_from("!H", frame, 14)[0]
                    frame = frame[:14] + struct.pack("!H", tci & 0x1FFF | int(priority) << 13) + frame[16:]
                elif seen % 5 == 0:
                    frame = frame[:12] + frame[16:]
            out.send(frame)


main(*sys.argv[1:])
