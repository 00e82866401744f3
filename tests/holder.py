"""A device between two interfaces that passes everything, each frame a set time after it came.

usage: holder.py WEST EAST MS

When its standard input has a line `drop` or `pass`, frames that come in on WEST from then on are dropped, or passed again. It ends with
its standard input, and prints how many frames that came in on WEST it passed and dropped.
"""

import collections
import json
import select
import sys
import time

from forwarder import interface


def main():
    west, east = interface(sys.argv[1]), interface(sys.argv[2])
    hold = float(sys.argv[3]) / 1000
    held, drops, passed, dropped = collections.deque(), False, 0, 0
    print("ready", flush=True)
    while True:
        wait = max(0, held[0][0] - time.monotonic()) if held else None
        ready, _, _ = select.select([west, east, sys.stdin], [], [], wait)
        now = time.monotonic()
        for side, other in ((west, east), (east, west)):
            if side in ready:
                frame = side.recv(65536)
                if side is west and drops:
                    dropped += 1
                else:
                    passed += side is west
                    held.append((now + hold, other, frame))
        while held and held[0][0] <= time.monotonic():
            _, other, frame = held.popleft()
            other.send(frame)
        if sys.stdin in ready:
            line = sys.stdin.readline()
            if not line:
                break
            drops = line.strip() == "drop"
            print(line.strip(), flush=True)
    print(json.dumps({"passed": passed, "dropped": dropped}))


if __name__ == "__main__":
    main()
