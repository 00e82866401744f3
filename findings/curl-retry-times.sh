#!/bin/sh
# curl's `time_total` is that of the last try: a download that needed three tries and 2 s took some milliseconds.
#
# One would guess: with `--retry` time_total is the time of the whole transfer, as it is with redirects, whose times are added up.
# So it is: each try begins anew: the times, also time_connect and time_starttransfer, are those of the last one, without the tries before
# and the waits between them. A monitor that writes time_total while it retries shows a fast server where users wait. `num_retries` is
# the only sign (from curl 8.9 on); measure around curl. Of a redirect that takes a second time_total has the second.
#
# Uses curl and libcurl4 7.88.1-10+deb12u15 of Debian 12, on loopback; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download curl=7.88.1-10+deb12u15 libcurl4=7.88.1-10+deb12u15 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/curl -q --version | head -n 1 || exit 2
cat > try.py <<'END'
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = 0

    def do_GET(self):
        type(self).requests += 1
        status, location = 200, None
        if self.path == "/busy" and self.requests < 3:
            status = 503
        if self.path == "/moved":
            time.sleep(1)
            status, location = 302, "/here"
        self.send_response(status)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()


def fetched(path, *options):
    """The status, curl's time and the time on the clock."""
    url = f"http://127.0.0.1:{server.server_port}{path}"
    start = time.monotonic()
    command = ["usr/bin/curl", "-q", "-s", "--noproxy", "*", "-w", "%{http_code} %{time_total}\n", *options, url]
    *_, last = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    taken = time.monotonic() - start
    status, shown = last.split()
    print(f"{path} {' '.join(options)}: {status}, time_total {shown} s; on the clock {taken:.2f} s")
    return status, float(shown), taken


busy = fetched("/busy", "--retry", "3", "--retry-delay", "1")
moved = fetched("/moved", "-L")
sys.exit(not (busy[0] == "200" and busy[1] < 0.5 and busy[2] > 2 and moved[0] == "200" and moved[1] > 0.99))
END
python3 try.py
