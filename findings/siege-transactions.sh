#!/bin/sh
# siege counts a page's pictures as transactions of the test, and answers of 404 in an availability of 100 %.
#
# One would guess: `-c 1 -r 10` makes ten requests to the URL, and the availability is the part of them that succeeded.
# So it is: siege reads HTML pages and requests their style sheets, scripts and pictures, too: ten rounds of a page with four of them are
# 50 transactions, at the rate and with the mean response time of all. `--no-parser` switches that off. An answer of 404 is no success
# ("successful_transactions" 0), but no failure either: availability 100.00, failed_transactions 0. An answer of 503 is one.
#
# Uses siege 4.0.7-1+b1 of Debian 12, and servers on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download siege=4.0.7-1+b1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
HOME=$folder usr/bin/siege --version > version 2>&1 || exit 2
grep -m 1 SIEGE version
cat > try.py <<'END'
import http.server
import json
import os
import subprocess
import sys
import threading

HEAD = b'<html><head><link rel="stylesheet" href="a.css"></head>'
PAGE = HEAD + b'<body><img src="b.png"><img src="c.png"><script src="d.js"></script></body></html>'


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        code = {"/missing": 404, "/broken": 503}.get(self.path, 200)
        body = PAGE if self.path == "/" else b"x"
        self.send_response(code)
        self.send_header("Content-Type", "text/html" if self.path == "/" else "text/plain")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
seen = {}
for path in ("/", "/plain", "/missing", "/broken"):
    command = f"usr/bin/siege -c 1 -r 10 -b --json-output http://127.0.0.1:{server.server_port}{path}"
    output = subprocess.run(command.split(), capture_output=True, text=True, env=os.environ | {"HOME": os.getcwd()}).stdout
    result = json.loads(output[output.index("{"):])
    seen[path] = tuple(result[name] for name in ("transactions", "availability", "successful_transactions", "failed_transactions"))
    print("-c 1 -r 10 of {}: {} transactions, availability {} %, {} successful, {} failed".format(path, *seen[path]))
as_described = seen["/"] == (50, 100, 50, 0) and seen["/plain"] == (10, 100, 10, 0) and seen["/missing"] == (10, 100, 0, 0)
sys.stdout.flush()
sys.exit(not (as_described and seen["/broken"][1] < 100))
END
python3 try.py
