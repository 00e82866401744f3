#!/bin/sh
# requests at once for a page that Varnish may not cache go to the server in waves: of twenty, one takes 0.2 s, others 0.4 or 0.6 s.
#
# One would guess: a response with `Cache-Control: no-store` is each client's, so twenty requests at once are twenty at the server, and each
# takes as long as the server does. Only what is cacheable is worth waiting for another one's response.
# So it is: before the first response nobody knows that it is not cacheable, so nineteen requests wait for it; then some are let
# go, each of which wakes others when it ends. With a server that takes 0.2 s the last ones have 0.6 s. Varnish remembers that for
# two minutes ("hit-for-miss"), and the second burst takes 0.2 s. So latencies of the start of a test, and of each page that was not
# requested for two minutes, are multiples of the server's.
#
# Needs root, for namespaces of its own (the program's files have fixed places), and gcc. Uses varnish 7.1.1-2+deb12u1, libvarnishapi3
# 7.1.1-2+deb12u1, libedit2 3.1-20221030-2 and libjemalloc2 5.3.0-1 of Debian 12, with a server that the script has; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download varnish=7.1.1-2+deb12u1 libvarnishapi3=7.1.1-2+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libedit2=3.1-20221030-2 libjemalloc2=5.3.0-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
mkdir state
cat > try.py <<'END'
import asyncio
import os
import subprocess
import sys
import time

CLIENTS, DELAY = 20, 0.2
seen = []


async def serve(reader, writer):
    """Answers each request after a while with a page that must not be stored."""
    try:
        while True:
            seen.append(await reader.readuntil(b"\r\n\r\n"))
            await asyncio.sleep(DELAY)
            writer.write(b"HTTP/1.1 200 OK\r\nCache-Control: no-store\r\nContent-Length: 5\r\n\r\nhello")
    except (asyncio.IncompleteReadError, asyncio.CancelledError, ConnectionError):
        writer.close()


async def get():
    """Seconds that a request takes, on a connection that is there before."""
    reader, writer = await asyncio.open_connection("127.0.0.1", 8080)
    await start.wait()
    begin = time.monotonic()
    writer.write(b"GET /page HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
    assert b" 200 OK" in await reader.read()
    return time.monotonic() - begin


async def burst(name):
    """How many of the requests, all sent at once, take one, two, or more of the server's times."""
    seen.clear()
    start.clear()
    tasks = [asyncio.create_task(get()) for _ in range(CLIENTS)]
    await asyncio.sleep(1)
    start.set()
    waves = [round(taken / DELAY) for taken in await asyncio.gather(*tasks)]
    counts = [waves.count(1), waves.count(2), sum(wave > 2 for wave in waves)]
    print(f"{name}: {CLIENTS} requests at once, {len(seen)} at the server, which takes {DELAY} s; "
          f"{counts[0]} take {DELAY} s, {counts[1]} {2 * DELAY} s, {counts[2]} longer")
    return counts


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", 8081, backlog=200)
    options = f"-F -j none -a 127.0.0.1:8080 -b 127.0.0.1:8081 -n {os.getcwd()}/state -s malloc,50m"
    varnish = subprocess.Popen(["/usr/sbin/varnishd", *options.split()], stdout=open("log", "w"), stderr=subprocess.STDOUT)
    try:
        for _ in range(300):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", 8080)
                writer.close()
                break
            except ConnectionRefusedError:
                await asyncio.sleep(0.1)
        return await burst("first burst"), await burst("second burst")
    finally:
        varnish.terminate()
        varnish.wait()
        server.close()


start = asyncio.Event()
first, second = asyncio.run(main())
sys.exit(not (first[0] <= 3 and first[1] >= 4 and first[2] >= 4 and second[0] >= 17))
END
cat > try.sh <<'END'
mount -t overlay overlay -o "lowerdir=$PWD/usr:/usr" /usr
ip link set lo up
export LD_LIBRARY_PATH="/usr/lib/varnish:/usr/lib/$(uname -m)-linux-gnu/varnish"
/usr/sbin/varnishd -V 2>&1 | head -1 || exit 2
exec python3 try.py
END
unshare -m -n sh try.sh
