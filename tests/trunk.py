"""A VLAN switch in user space, for kernels without VLANs: connects a trunk with an interface for each VLAN.

usage: trunk.py TRUNK VLAN=INTERFACE ...

What comes on the trunk with a VLAN's tag goes out of its interface without, and the other way round; VLAN 0 is no tag. Says
`ready`; when its standard input ends, it prints as JSON how many frames of each type and source came on the trunk in each
VLAN.
"""

import json
import select
import socket
import struct
import sys

ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 3, 263, 8, 23, 33
VLAN_VALID, TAG = 1 << 4, 0x8100


def interface(name):
    side = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    side.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    side.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    side.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    side.bind((name, 0))
    return side


def received(side):
    """A frame without its outer tag, and the VLAN of that; the kernel tells the tag beside the frame."""
    frame, told, *_ = side.recvmsg(65536, 256)
    for level, kind, data in told:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci, _ = struct.unpack("IIIHHHH", data[:20])
            if status & VLAN_VALID:
                return frame, tci & 0xFFF
    if struct.unpack_from("!H", frame, 12)[0] == TAG:
        return frame[:12] + frame[16:], struct.unpack_from("!H", frame, 14)[0] & 0xFFF
    return frame, 0


def main(trunk, *vlans):
    trunk = interface(trunk)
    sides = {int(vlan): interface(name) for vlan, name in (word.split("=") for word in vlans)}
    seen = {}
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([sys.stdin, trunk, *sides.values()], [], [])
        if trunk in ready:
            frame, vlan = received(trunk)
            key = (vlan, struct.unpack_from("!H", frame, 12)[0], frame[6:12].hex(":"))
            seen[key] = seen.get(key, 0) + 1
            if vlan in sides:
                sides[vlan].send(frame)
        for vlan, side in sides.items():
            if side in ready:
                frame, _ = received(side)
                tag = struct.pack("!HH", TAG, vlan) if vlan else b""
                trunk.send(frame[:12] + tag + frame[12:])
        if sys.stdin in ready and not sys.stdin.readline():
            break
    print(json.dumps([[*key, count] for key, count in seen.items()]))


main(*sys.argv[1:])
