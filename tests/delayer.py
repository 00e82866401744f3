"""A device between two interfaces that holds some TCP segments back, and loses nothing.

usage: delayer.py WEST EAST EVERY MS

Passes everything both ways. Of the TCP segments with data that come in on WEST every EVERY-th is held for MS milliseconds,
so that others overtake it. When its standard input ends, it prints how many it passed and held.
"""

import collections
import json
import select
import sys
import time

from forwarder import interface

TCP, IPV4, IPV6 = 6, b"\x08\x00", b"\x86\xdd"
# A segment that carries data, not an acknowledgement with options.
DATA_BYTES = 500


def is_data(frame):
    protocol = {IPV4: frame[23], IPV6: frame[20]}.get(frame[12:14])
    return len(frame) > DATA_BYTES and protocol == TCP


def main():
    west, east = interface(sys.argv[1]), interface(sys.argv[2])
    every, hold = int(sys.argv[3]), float(sys.argv[4]) / 1000
    held, seen, delayed = collections.deque(), 0, 0
    print("ready", flush=True)
    while True:
        wait = max(0, held[0][0] - time.monotonic()) if held else None
        ready, _, _ = select.select([west, east, sys.stdin], [], [], wait)
        if east in ready:
            west.send(east.recv(65536))
        if west in ready:
            frame = west.recv(65536)
            seen += is_data(frame)
            if is_data(frame) and seen % every == 0:
                delayed += 1
                held.append((time.monotonic() + hold, frame))
            else:
                east.send(frame)
        while held and held[0][0] <= time.monotonic():
            east.send(held.popleft()[1])
        if sys.stdin in ready and not sys.stdin.readline():
            break
    print(json.dumps({"seen": seen, "held": delayed}))


if __name__ == "__main__":
    main()
