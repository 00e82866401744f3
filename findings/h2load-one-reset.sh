#!/bin/sh
# One connection that is reset makes h2load report all requests it had left for it as failed: one reset of 100 is 20 or 50 % of errors.
#
# One would guess: a request whose connection breaks is one failure, and h2load connects again for the others, as wrk, ab and hey do.
# So it is: with `-n` each client has its part of the requests, and a client whose connection breaks ends. What it has not sent counts as
# "failed" and "errored" like what was lost: `-n 100 -c 2` with one reset after nine answers reports 30 to 50 errors, of which one was
# sent. "started" minus "done" is the number of requests that got no answer. The rate of errors is a matter of `-c`, not of the server.
#
# Uses nghttp2-client and libnghttp2-14 1.52.0-1+deb12u3, libjemalloc2 5.3.0-1 and libev4 1:4.33-1 of Debian 12, with a server on a
# loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nghttp2-client=1.52.0-1+deb12u3 libnghttp2-14=1.52.0-1+deb12u3 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libjemalloc2=5.3.0-1 libev4=1:4.33-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
h2load --version || exit 2
cat > try.py <<'END'
import asyncio
import re
import sys

requests = resets = 0


async def serve(reader, writer):
    """Answers each request after 5 ms, but resets the connection of the tenth."""
    global requests, resets
    try:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            requests += 1
            if requests == 10:
                resets += 1
                writer.transport.abort()
                return
            await asyncio.sleep(0.005)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass


async def main():
    global requests, resets
    as_described = True
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = "http://127.0.0.1:%d/" % server.sockets[0].getsockname()[1]
    for clients in (2, 5):
        requests = resets = 0
        command = f"h2load --h1 -n 100 -c {clients} {url}"
        process = await asyncio.create_subprocess_exec(*command.split(), stdout=asyncio.subprocess.PIPE)
        output = (await process.communicate())[0].decode()
        line = re.search(r"requests: (\d+) total, (\d+) started, (\d+) done, (\d+) succeeded, (\d+) failed, (\d+) errored.*", output)
        total, started, done, succeeded, failed, errored = map(int, line.groups())
        print(f"-n 100 -c {clients}, {resets} connection reset: {line[0]}; the server had {requests}")
        as_described &= (started - done, requests, resets) == (1, started, 1) and failed == errored == 100 - done > 50 / clients
    sys.exit(not as_described)


asyncio.run(main())
END
python3 try.py
