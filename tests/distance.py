"""A long link between two interfaces: it loses nothing, and every frame arrives later.

usage: distance.py WEST EAST MS

Frames of each way are held for MS milliseconds and keep their order. Ends with its standard input.
"""

import collections
import select
import sys
import time

from forwarder import interface


def main():
    west, east = interface(sys.argv[1]), interface(sys.argv[2])
    hold = float(sys.argv[3]) / 1000
    under_way = collections.deque()
    print("ready", flush=True)
    while True:
        wait = max(0, under_way[0][0] - time.monotonic()) if under_way else None
        ready, _, _ = select.select([west, east, sys.stdin], [], [], wait)
        for end, other in ((west, east), (east, west)):
            if end in ready:
                under_way.append((time.monotonic() + hold, other, end.recv(65536)))
        while under_way and under_way[0][0] <= time.monotonic():
            _, to, frame = under_way.popleft()
            to.send(frame)
        if sys.stdin in ready and not sys.stdin.readline():
            break


if __name__ == "__main__":
    main()
