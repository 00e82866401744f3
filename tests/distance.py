"""A long link between two interfaces: every frame arrives later, and some of them do not if it is told to lose them.

usage: distance.py WEST EAST MS [LOST]

Frames of each way are held for MS milliseconds and keep their order; LOST percent of them are lost, always the same ones. Ends with its
standard input, and prints how many it lost.
"""

import collections
import random
import select
import sys
import time

from forwarder import interface


def main():
    west, east = interface(sys.argv[1]), interface(sys.argv[2])
    hold = float(sys.argv[3]) / 1000
    lost = float(sys.argv[4]) / 100 if len(sys.argv) > 4 else 0
    draw = random.Random(1)
    under_way = collections.deque()
    gone = 0
    print("ready", flush=True)
    while True:
        wait = max(0, under_way[0][0] - time.monotonic()) if under_way else None
        ready, _, _ = select.select([west, east, sys.stdin], [], [], wait)
        for end, other in ((west, east), (east, west)):
            if end in ready:
                frame = end.recv(65536)
                if draw.random() >= lost:
                    under_way.append((time.monotonic() + hold, other, frame))
                else:
                    gone += 1
        while under_way and under_way[0][0] <= time.monotonic():
            _, to, frame = under_way.popleft()
            to.send(frame)
        if sys.stdin in ready and not sys.stdin.readline():
            break
    print(gone, flush=True)


if __name__ == "__main__":
    main()
