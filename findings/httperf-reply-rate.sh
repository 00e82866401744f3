#!/bin/sh
# httperf shows a reply rate of 0.0 for each test shorter than five seconds, and leaves the last seconds out of longer ones.
#
# One would guess: `Reply rate [replies/s]: avg` is the number of replies by the time of the test, like `Request rate` above it.
# So it is: the reply rate is sampled every five seconds, and min, avg and max are those of the samples. A test of four seconds
# with all replies there has "min 0.0 avg 0.0 max 0.0 (0 samples)". What comes after the last sample does not count.
#
# Uses httperf 0.9.0-9+b2 of Debian 12, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download httperf=0.9.0-9+b2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/httperf --version 2> version.err > version || exit 2
grep -o 'httperf-[0-9.]*' version
python3 - <<'END'
import asyncio
import contextlib
import re
import sys


async def serve(reader, writer):
    """Answers one request."""
    with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 5\r\n\r\nhello")
        await writer.drain()
    writer.close()


async def main():
    """Replies, average reply rate and samples of a short and a longer test at 20 requests/s."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    seen = {}
    for connections in (60, 140):
        process = await asyncio.create_subprocess_exec(
            *f"usr/bin/httperf --server 127.0.0.1 --port {server.sockets[0].getsockname()[1]}".split(),
            *f"--rate 20 --num-conns {connections}".split(),
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        )  # fmt: skip
        shown = (await process.communicate())[0].decode()
        print(f"httperf --rate 20 --num-conns {connections}:")
        print(*re.findall(r"^(?:Total|Request rate|Reply rate).*$", shown, re.MULTILINE), sep="\n")
        rate = re.search(r"Reply rate .* avg ([\d.]+) .*\((\d+) samples\)", shown)
        seen[connections] = int(re.search(r"replies (\d+)", shown)[1]), float(rate[1]), int(rate[2])
    return seen


seen = asyncio.run(main())
sys.exit(not (seen[60] == (60, 0.0, 0) and seen[140][0] == 140 and seen[140][2] == 1))
END
