#!/bin/sh
# wrk's "timeout" errors are late answers, which have no latency; requests that are never answered are no errors at all.
#
# One would guess: `Socket errors: … timeout N` counts requests that were given up after --timeout, and a server that never
# answers gives one of them for each request.
# So it is: wrk gives up nothing. An answer that comes later than --timeout (2 s by default) is counted as a request and as a
# timeout, and left out of the latencies: if all are late, the latency is 0.00us. A request without an answer is not counted
# anywhere: a server that accepts connections and stays silent is shown with 0 requests and no errors.
#
# Uses wrk 4.1.0-3+b2 and libluajit-5.1-2 of Debian 12, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download wrk=4.1.0-3+b2 libluajit-5.1-2=2.1.0~beta3+git20220320+dfsg-4.1+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/wrk -v | grep -o '^wrk [^ ]* \[[a-z]*\]' || exit 2
python3 - <<'END'
import asyncio
import re
import sys


async def serve(reader, writer):
    """Answers each request for /late after 1.5 s, and no other one."""
    try:
        while head := await reader.readuntil(b"\r\n\r\n"):
            if b" /late " in head:
                await asyncio.sleep(1.5)
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello")
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main():
    """What wrk shows of the two paths."""
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    seen = {}
    for path in ("late", "silent"):
        command = f"usr/bin/wrk -t 1 -c 2 -d 5s --timeout 1s http://127.0.0.1:{server.sockets[0].getsockname()[1]}/{path}"
        process = await asyncio.create_subprocess_shell(command, stdout=asyncio.subprocess.PIPE)
        shown = (await process.communicate())[0].decode()
        print(f"wrk --timeout 1s of a server that answers {'after 1.5 s' if path == 'late' else 'nothing'}:")
        print(*re.findall(r"^ +(?:Latency|\d+ requests|Socket errors).*$", shown, re.MULTILINE), sep="\n")
        requests, late = re.search(r"(\d+) requests", shown)[1], re.search(r"timeout (\d+)", shown)
        seen[path] = int(requests), int(late[1]) if late else 0, "Latency     0.00us" in shown
    return seen


seen = asyncio.run(main())
requests, late, _ = seen["late"]
sys.exit(not (requests == late > 0 and seen["late"][2] and seen["silent"][:2] == (0, 0)))
END
