#!/bin/sh
# httping counts an answer of 503 as "ok", unless it is to show the status: then all of them have failed.
#
# One would guess: a ping of a web server that only answers 503 either fails, as the server does not serve, or is ok, as something answered;
# and an option that shows more does not change the count.
# So it is: five answers of 503 are "5 connects, 5 ok, 0.00% failed" with exit code 0. With `-s`, "show statuscodes", the same are "0 ok,
# 100.00% failed", with exit code 127. The round trips are those of the error pages in both.
#
# Needs root, for a network namespace of its own. Uses httping 2.5-5.2+b1, libfftw3-double3 3.3.10-1 and the libraries below of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download httping=2.5-5.2+b1 libfftw3-double3=3.3.10-1 libgomp1=12.2.0-14+deb12u1 libtinfo6=6.4-4 libncursesw6=6.4-4 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/lib/$(uname -m)-linux-gnu"
usr/bin/httping -V 2>&1 | head -1 || exit 2
cat > try.py <<'END'
import http.server
import re
import subprocess
import sys
import threading


class Overloaded(http.server.BaseHTTPRequestHandler):
    def do_HEAD(self):
        self.send_response(503)
        self.end_headers()

    def log_message(self, *_):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Overloaded)
threading.Thread(target=server.serve_forever, daemon=True).start()
seen = []
for options in ("", "-s"):
    command = f"usr/bin/httping -c 5 -i 0.1 {options} http://127.0.0.1:{server.server_address[1]}/"
    run = subprocess.run(command.split(), capture_output=True, text=True)
    line = next(line for line in run.stdout.splitlines() if "connects," in line)
    print(f"httping {options}: {line}; exit code {run.returncode}")
    seen.append((int(re.search(r"(\d+) ok", line)[1]), run.returncode))
sys.exit(seen != [(5, 0), (0, 127)])
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
