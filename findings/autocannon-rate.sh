#!/bin/sh
# autocannon's `-R 100` sends a second's requests as fast as it can, and then nothing for the rest of the second.
#
# One would guess: 100 requests a second leave every 10 ms or so, as `overallRate` and the correction for coordinated omission suggest.
# So it is: each connection sends its part of a second one response after another, without a pause, and waits for the next second. With
# ten connections a server that needs 1 ms has 100 requests within some 100 ms and is idle for 900 ms; the latencies are those of ten
# requests at a time, at full load, at any rate. Of 300 gaps between requests more than 250 are shorter than 5 ms, and two or three are as
# long as the rest of a second. bombardier spaces its requests.
#
# Uses autocannon 8.0.0 from npm with Node.js, and a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm init -y > init.log && npm install --silent autocannon@8.0.0 || exit 2
cat > try.py <<'END'
import asyncio
import json
import sys
import time

RATE, CONNECTIONS, SECONDS = 100, 10, 4
times = []


async def serve(reader, writer):
    """Answers each request after 1 ms, one at a time for each connection."""
    try:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            times.append(time.monotonic())
            await asyncio.sleep(0.001)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = "http://127.0.0.1:%d/" % server.sockets[0].getsockname()[1]
    command = f"node node_modules/autocannon/autocannon.js -j -R {RATE} -c {CONNECTIONS} -d {SECONDS} {url}"
    process = await asyncio.create_subprocess_exec(*command.split(), stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL)
    result = json.loads((await process.communicate())[0])
    gaps = [(later - earlier) * 1000 for earlier, later in zip(times, times[1:])]
    short, long = sum(gap < 5 for gap in gaps), [f"{gap:.0f}" for gap in gaps if gap > 300]
    print(f"autocannon 8.0.0 -R {RATE} -c {CONNECTIONS} -d {SECONDS}: {len(times)} requests, {result['requests']['average']} a second; "
          f"{short} gaps shorter than 5 ms; longer than 300 ms: {' '.join(long) or 'none'}")
    sys.exit(not (short > 0.8 * len(gaps) and len(long) >= SECONDS - 2))


asyncio.run(main())
END
python3 try.py
