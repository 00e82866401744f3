#!/bin/sh
# bombardier sends a request again when the connection breaks, without a word: a server that breaks off each second one gets 100 % of 2xx.
#
# One would guess: a request whose connection is closed or reset without an answer is a failure, as in other load tools.
# So it is: its HTTP library sends the request once more, on a new connection, also a POST. 100 requests, of which the server resets or
# closes each second one, are reported as 95 to 100 answers of 2xx and at most a few errors: those that broke off twice. The server has
# had almost 200. The latency is that of both tries. A test of failover or overload sees no failures. With `--http1`, which takes Go's own
# library, a GET that breaks off is an error.
#
# Uses github.com/codesenberg/bombardier v1.2.6 with Go, and a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder"
GOBIN=$folder GOFLAGS=-modcacherw go install github.com/codesenberg/bombardier@v1.2.6 2> log || { cat log >&2; exit 2; }
cat > try.py <<'END'
import asyncio
import json
import sys

ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
requests = broken = 0
reset = False


async def serve(reader, writer):
    """Answers every second request, and breaks the connection off instead of answering the others."""
    global requests, broken
    try:
        while True:
            await reader.readuntil(b"\r\n\r\n")
            requests += 1
            if requests % 2 == 0:
                broken += 1
                writer.transport.abort() if reset else writer.close()
                return
            writer.write(ANSWER)
            await writer.drain()
    except (asyncio.IncompleteReadError, ConnectionError):
        pass


async def main():
    global requests, broken, reset
    as_described = True
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    url = "http://127.0.0.1:%d/" % server.sockets[0].getsockname()[1]
    for method in ("GET", "POST"):
        for reset in (True, False):
            requests = broken = 0
            command = f"./bombardier --connections 2 --requests 100 --method {method} --print result --format json {url}"
            process = await asyncio.create_subprocess_exec(*command.split(), stdout=asyncio.subprocess.PIPE)
            result = json.loads((await process.communicate())[0])["result"]
            errors = sum(error["count"] for error in result.get("errors") or [])
            print(f"{method}, each second connection {'reset' if reset else 'closed'}: {result['req2xx']} answers of 2xx, {errors} errors; "
                  f"the server had {requests} requests and broke {broken} off")
            as_described &= result["req2xx"] + errors == 100 and errors < 15 and broken > 80 and requests > 180
    sys.exit(not as_described)


print("bombardier v1.2.6")
asyncio.run(main())
END
python3 try.py
