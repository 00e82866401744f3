#!/bin/sh
# nginx with `limit_req rate=100r/s` refuses a third or more of a client's 90 requests a second, with gaps of 9 and 13 ms in turn.
#
# One would guess: a limit of 100 requests a second refuses what exceeds 100 in a second, and a client with 90 is below it.
# So it is: without `burst` the limit is a gap: a request less than 10 ms after the last allowed one is refused. Gaps of 9 and 13 ms are
# 90 requests a second, and a request after 9 is refused; gaps that are meant to be even, at 90/s, are refused as often as a timer or the
# network makes them shorter, so two runs differ. With `burst=5 nodelay` none or hardly any is refused, as at gaps of 20 ms without it. A
# search for the highest rate without errors measures the jitter of its client.
#
# Needs root, for a network namespace of its own. Uses nginx 1.22.1-9+deb12u11 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download nginx=1.22.1-9+deb12u11 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/sbin/nginx -v || exit 2
cat > try.py <<'END'
import http.client
import os
import subprocess
import sys
import time

REQUESTS, PORT = 300, 8080
CONFIGURATION = f"""
daemon off;
pid nginx.pid;
user root;
worker_processes 1;
events {{ worker_connections 512; }}
http {{
    access_log off;
    keepalive_requests 100000;
    client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi; scgi_temp_path scgi;
    limit_req_zone $binary_remote_addr zone=plain:1m rate=100r/s;
    limit_req_zone $binary_remote_addr zone=burst:1m rate=100r/s;
    server {{
        listen 127.0.0.1:{PORT};
        root {os.getcwd()};
        location /plain {{ limit_req zone=plain; }}
        location /burst {{ limit_req zone=burst burst=5 nodelay; }}
    }}
}}
"""
for name in ("plain", "burst"):
    with open(name, "w") as file:
        file.write("hello\n")
with open("conf", "w") as file:
    file.write(CONFIGURATION)


def refused(path, *gaps):
    """Requests refused of a client that sends with gaps, in milliseconds, in turn, one after another on a connection."""
    client = http.client.HTTPConnection("127.0.0.1", PORT)
    count = 0
    start = due = time.monotonic()
    for number in range(REQUESTS):
        time.sleep(max(0, due - time.monotonic()))
        due += gaps[number % len(gaps)] / 1000
        client.request("GET", path)
        response = client.getresponse()
        response.read()
        count += response.status == 503
    took = time.monotonic() - start
    print(f"{path} with gaps of {gaps} ms, {(REQUESTS - 1) / took:.1f} requests/s: {count} of {REQUESTS} refused")
    return count


nginx = subprocess.Popen(["usr/sbin/nginx", "-p", os.getcwd(), "-e", "errors", "-c", "conf"])
try:
    time.sleep(1)
    seen = refused("/plain", 20), refused("/plain", 9, 13), refused("/burst", 9, 13)
finally:
    nginx.terminate()
    nginx.wait()
sys.exit(not (seen[0] < 10 and seen[1] > 75 and seen[2] < 10))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
