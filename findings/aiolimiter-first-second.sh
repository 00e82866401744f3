#!/bin/sh
# aiolimiter's AsyncLimiter(100, 1) lets 200 calls through in its first second: a hundred at once, and then a hundred a second.
#
# One would guess: a limiter of 100 a second lets at most 100 through in any second, and paces them.
# So it is: the first number is the capacity of a leaky bucket, which is empty when the limiter is made. The first hundred calls go out
# without a pause, and the others one each 10 ms while the bucket leaks. A load generator that is paced by it begins with a burst, and has
# twice its rate in the first second; after each pause of a second it does so again. AsyncLimiter(1, 0.01) has the same rate without it.
#
# Uses aiolimiter 1.3.0 from PyPI; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install aiolimiter==1.3.0 || exit 2
"$folder/venv/bin/python" - <<'END'
import asyncio
import sys
import time
from importlib.metadata import version

from aiolimiter import AsyncLimiter


async def through(limiter):
    """Numbers of calls that a limiter lets through in its first 10 ms, and in its first second."""
    start, times = time.monotonic(), []
    while True:
        await limiter.acquire()
        times.append(time.monotonic() - start)
        if times[-1] > 1:
            return sum(at < 0.01 for at in times), len(times) - 1


async def main():
    seen = []
    for capacity, period in ((100, 1), (1, 0.01)):
        seen.append(await through(AsyncLimiter(capacity, period)))
        print(f"AsyncLimiter({capacity}, {period}): {seen[-1][0]} calls in the first 10 ms, {seen[-1][1]} in the first second")
    (burst, first), (spaced, second) = seen
    return burst >= 90 and first > 170 and spaced <= 3 and second <= 102


print("aiolimiter", version("aiolimiter"))
sys.exit(not asyncio.run(main()))
END
