#!/bin/sh
# Python's http.server answers 23 requests a second on a connection that is kept alive, and 1,000 with a setting of one line.
#
# One would guess: on loopback a small file takes a millisecond, and the more so when a connection is kept.
# So it is: header and body are written apart, and the server's sockets keep Nagle's algorithm: the body waits until the client has
# acknowledged the header, which Linux puts off by 40 ms. So `python3 -m http.server -p HTTP/1.1`, a handy server to test a path or a load
# generator, takes 44 ms for each request but the first, on any path and with an idle processor. With HTTP/1.0, the default, the server
# closes, which sends the rest at once. A handler with `wbufsize = -1` or with `disable_nagle_algorithm = True` has no such delay.
#
# Uses python3.11-minimal, libpython3.11-minimal and libpython3.11-stdlib 3.11.2-6+deb12u9 of Debian 12, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download python3.11-minimal=3.11.2-6+deb12u9 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libpython3.11-minimal=3.11.2-6+deb12u9 libpython3.11-stdlib=3.11.2-6+deb12u9 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PYTHONHOME="$folder/usr"
usr/bin/python3.11 --version || exit 2
mkdir files
echo hello > files/hello
cat > try.py <<'END'
import functools
import http.client
import http.server
import statistics
import sys
import threading
import time

REQUESTS = 50


def trial(**attributes):
    """Requests a second on one connection, and the median time of a request in ms."""
    handler = type("Handler", (http.server.SimpleHTTPRequestHandler,), {"log_message": lambda *_: None, **attributes})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(handler, directory="files"))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    client = http.client.HTTPConnection("127.0.0.1", server.server_port)
    times = []
    for _ in range(REQUESTS):
        start = time.monotonic()
        client.request("GET", "/hello")
        assert client.getresponse().read() == b"hello\n"
        times.append(time.monotonic() - start)
    client.close()
    server.shutdown()
    rate, median = REQUESTS / sum(times), statistics.median(times) * 1000
    print(f"{attributes}: {rate:.0f} requests/s on a connection, a request takes {median:.1f} ms")
    return median


kept = trial(protocol_version="HTTP/1.1")
closed = trial(protocol_version="HTTP/1.0")
quick = trial(protocol_version="HTTP/1.1", disable_nagle_algorithm=True)
sys.exit(not (35 < kept < 80 and closed < 20 and quick < 20))
END
usr/bin/python3.11 try.py
