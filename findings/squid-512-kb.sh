#!/bin/sh
# Squid caches objects of up to 512 KiB: of ten requests for a file of 600 kB all ten reach the server, though `maximum_object_size` is
# 4 MB.
#
# One would guess: what is cacheable and smaller than `maximum_object_size` (4 MB unless set) is fetched once.
# So it is: without a `cache_dir`, which the default configuration does not have, the cache is memory only, and its limit is
# `maximum_object_size_in_memory`, 512 KB. A file of 500,000 bytes is fetched once for ten requests, one of 600,000 bytes and one of
# 3 MB ten times each, with ten times TCP_MISS in the log. A test of a cache with large objects is one of the server behind it: set
# `maximum_object_size_in_memory`.
#
# Needs root, for a network namespace of its own. Uses squid and squid-common 5.7-2+deb12u6 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download squid=5.7-2+deb12u6 squid-common=5.7-2+deb12u6 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/sbin/squid -v > version && getent passwd proxy > user || exit 2
head -n 1 version
chmod 711 .
install -d -o proxy state
# Squid wants a folder of error pages, and takes its own texts where one is missing.
mkdir errors
cat > squid.conf <<END
http_port 127.0.0.1:3128
http_access allow all
pid_filename none
shutdown_lifetime 1 seconds
access_log stdio:$folder/state/access.log
cache_log $folder/state/cache.log
coredump_dir $folder/state
mime_table $folder/usr/share/squid/mime.conf
icon_directory $folder/usr/share/squid/icons
error_directory $folder/errors
unlinkd_program $folder/usr/lib/squid/unlinkd
logfile_daemon $folder/usr/lib/squid/log_file_daemon
pinger_enable off
END
cat > try.py <<'END'
import collections
import http.client
import http.server
import os
import subprocess
import sys
import threading
import time

SIZES, REQUESTS = (100_000, 500_000, 600_000, 3_000_000), 10
fetched = collections.Counter()


class Server(http.server.BaseHTTPRequestHandler):
    """Serves a path /N with N bytes, fresh for ten minutes."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        size = int(self.path[1:])
        fetched[size] += 1
        self.send_response(200)
        self.send_header("Content-Length", str(size))
        self.send_header("Cache-Control", "max-age=600")
        self.end_headers()
        self.wfile.write(bytes(size))

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 8000), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
with open("log", "w") as log:
    squid = subprocess.Popen(["usr/sbin/squid", "-N", "-f", "squid.conf"], stdout=log, stderr=log)
try:
    time.sleep(5)
    for size in SIZES:
        for _ in range(REQUESTS):
            proxy = http.client.HTTPConnection("127.0.0.1", 3128)
            proxy.request("GET", f"http://127.0.0.1:8000/{size}")
            assert len(proxy.getresponse().read()) == size
            proxy.close()
            time.sleep(0.1)
finally:
    squid.terminate()
    squid.wait()
missed = collections.Counter()
with open("state/access.log") as log:
    for line in log:
        fields = line.split()
        missed[int(fields[6].rpartition("/")[2])] += fields[3] == "TCP_MISS/200"
for size in SIZES:
    print(f"{REQUESTS} requests for {size} bytes, one after another: {fetched[size]} at the server, {missed[size]} TCP_MISS in the log")
seen = [(fetched[size], missed[size]) for size in SIZES]
sys.exit(seen != [(1, 1), (1, 1), (REQUESTS, REQUESTS), (REQUESTS, REQUESTS)])
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
