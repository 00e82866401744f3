"""Work of others on a core: busy loops that come and go.

usage: hog.py CORE SEED

One to three processes are busy for 2 to 100 ms at a time, for a share of the time between 1 and 40% each, as the seed says.
"""

import os
import random
import sys
import time

from lab import die_with_parent

BUSY_S = (0.002, 0.1)


def loop(chance, share):
    while True:
        busy = chance.uniform(*BUSY_S)
        time.sleep(chance.uniform(0, 2) * busy * (1 - share) / share)
        end = time.monotonic() + busy
        while time.monotonic() < end:
            pass


def main():
    core, seed = int(sys.argv[1]), sys.argv[2]
    os.sched_setaffinity(0, {core})
    chance = random.Random(seed)
    processes, share = chance.randrange(1, 4), 0.01 * 40 ** chance.random()
    for number in range(1, processes):
        if os.fork() == 0:
            die_with_parent()
            loop(random.Random(f"{seed}/{number}"), share)
    loop(random.Random(f"{seed}/0"), share)


if __name__ == "__main__":
    main()
