"""A broadband network gateway's side of subscriber VLANs, for kernels without VLANs: all tags of a subscriber's frames are taken off, and
put on what goes back to it.

usage: access.py TRUNK INTERFACE

A subscriber is a hardware address in the VLANs of its first frame; a frame of it in others is dropped. Says `ready`; when its standard input
ends, it prints as JSON the VLANs of each subscriber with the types of the tags, its frames, and how many frames were dropped.
"""

import json
import select
import socket
import struct
import sys

ETH_P_ALL, SOL_PACKET, PACKET_AUXDATA, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 3, 263, 8, 23, 33
VLAN_VALID, TYPE_VALID = 1 << 4, 1 << 6
TAGS = (0x8100, 0x88A8, 0x9100)


def interface(name):
    side = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
    side.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
    side.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    side.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
    side.bind((name, 0))
    return side


def received(side):
    """A frame without its tags, and these as types and identifiers; the kernel gives the outermost beside the frame."""
    frame, beside, *_ = side.recvmsg(65536, 256)
    tags = []
    for level, kind, data in beside:
        if (level, kind) == (SOL_PACKET, PACKET_AUXDATA):
            status, _, _, _, _, tci, tpid = struct.unpack("IIIHHHH", data[:20])
            if status & VLAN_VALID:
                tags.append((tpid if status & TYPE_VALID else 0x8100, tci & 0xFFF))
    while (kind := struct.unpack_from("!H", frame, 12)[0]) in TAGS:
        tags.append((kind, struct.unpack_from("!H", frame, 14)[0] & 0xFFF))
        frame = frame[:12] + frame[16:]
    return frame, tuple(tags)


def tagged(frame, tags):
    return frame[:12] + b"".join(struct.pack("!HH", *tag) for tag in tags) + frame[12:]


def main():
    trunk, inner = interface(sys.argv[1]), interface(sys.argv[2])
    subscribers, frames, dropped = {}, {}, 0
    print("ready", flush=True)
    while True:
        ready, _, _ = select.select([sys.stdin, trunk, inner], [], [])
        if trunk in ready:
            frame, tags = received(trunk)
            mac = frame[6:12]
            if tags and subscribers.setdefault(mac, tags) == tags:
                frames[mac] = frames.get(mac, 0) + 1
                inner.send(frame)
            else:
                dropped += 1
        if inner in ready:
            frame, _ = received(inner)
            to = frame[:6]
            if to in subscribers:
                trunk.send(tagged(frame, subscribers[to]))
            elif to[0] & 1:
                for tags in set(subscribers.values()):
                    trunk.send(tagged(frame, tags))
        if sys.stdin in ready and not sys.stdin.readline():
            break
    rows = {mac.hex(":"): {"tags": tags, "frames": frames.get(mac, 0)} for mac, tags in subscribers.items()}
    print(json.dumps({"subscribers": rows, "dropped": dropped}))


main()
