#!/bin/sh
# aiohttp's total time-out of 5.1 s ends a request after anything from 5.1 to 6.1 s, and those of many clients all at once.
#
# One would guess: `ClientTimeout(total=5.1)` ends a request 5.1 s after its start, within some milliseconds, as one of 4.9 s does.
# So it is: time-outs above `ceil_threshold`, 5 s, are put off to the next whole second of the event loop's clock, to save timers. Requests
# that begin at 0, 0.2, 0.4, 0.6 and 0.8 s end at the same instant, half a second late on average, and answers within
# that time are taken. A chart of a load test shows failures in steps of a second that no server caused, and a time-out is no limit
# for a response time. Set `ceil_threshold` above the time-outs. `connect` is put off, too, `sock_read` is not.
#
# Uses aiohttp 3.14.5 from PyPI, with a server of the script on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv venv && venv/bin/pip -q install aiohttp==3.14.5 || exit 2
cat > try.py <<'END'
import asyncio
import sys
import time

import aiohttp

SETTINGS = [{"total": 4.9}, {"total": 5.1}, {"total": 5.1, "ceil_threshold": 60}, {"connect": 5.1}, {"sock_read": 5.1}]
CLIENTS = 5


async def silent(reader, writer):
    """Takes a request and never answers."""
    await reader.read()
    writer.close()


async def ended(url, settings, delay):
    """Time until a request that begins after a delay ends, and the instant of its end, in seconds."""
    await asyncio.sleep(delay)
    connector = aiohttp.TCPConnector(limit=1)
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(**settings), connector=connector) as session:
        if "connect" in settings:  # The only connection of the pool is in use.
            holder = asyncio.create_task(session.get(url, timeout=aiohttp.ClientTimeout()))
            await asyncio.sleep(0.02)
        start = time.monotonic()
        try:
            await session.get(url)
        except asyncio.TimeoutError:
            end = time.monotonic()
        if "connect" in settings:
            holder.cancel()
    return end - start, end


async def main():
    print("aiohttp", aiohttp.__version__)
    server = await asyncio.start_server(silent, "127.0.0.1", 0)
    url = "http://127.0.0.1:%d/" % server.sockets[0].getsockname()[1]
    await asyncio.sleep(1 - time.monotonic() % 1 + 0.05)
    runs = [asyncio.gather(*(ended(url, settings, i / CLIENTS) for i in range(CLIENTS))) for settings in SETTINGS]
    exact = []
    for settings, results in zip(SETTINGS, await asyncio.gather(*runs)):
        times, ends = zip(*results)
        print(f"{settings}: after {', '.join(f'{taken:.2f}' for taken in times)} s, ends {max(ends) - min(ends):.2f} s apart")
        exact.append(max(times) - min(times) < 0.2 < max(ends) - min(ends))
    sys.exit(exact != [True, False, True, False, True])


asyncio.run(main())
END
venv/bin/python try.py
