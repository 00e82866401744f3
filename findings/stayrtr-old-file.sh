#!/bin/sh
# stayrtr serves nothing from a file that is older than a day, and goes on running: routers get "No Data Available".
#
# One would guess: a file of payloads that was made for a test, or saved from the last week, is served as it is, maybe with a warning.
# So it is: if the "buildtime" in the file is more than 24 hours ago, the server starts, listens and answers each router with the error
# "No Data Available", so all routes are "not found" and no policy applies. Its log has a line. The same test passes on the day it is
# written and fails two days later. `-checktime=false` serves the file.
#
# Needs root, for a network namespace of its own. Uses stayrtr 0.5.1-2+b1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download stayrtr=0.5.1-2+b1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
usr/bin/stayrtr -h > help 2>&1; grep -q checktime help || exit 2
cat > try.py <<'END'
import datetime
import json
import socket
import struct
import subprocess
import sys
import time

ROAS = [{"asn": "AS64500", "prefix": f"198.51.{number}.0/24", "maxLength": 24, "ta": "test"} for number in range(10)]
print("stayrtr 0.5.1")


def answer():
    """Counts of what a router gets for a Reset Query: prefixes and errors, and the text of an error."""
    while True:
        try:
            router = socket.create_connection(("127.0.0.1", 8282))
            break
        except ConnectionRefusedError:
            time.sleep(0.1)
    router.settimeout(3)
    router.sendall(struct.pack("!BBHI", 1, 2, 0, 8))
    counts, text, stream = {4: 0, 10: 0}, "", router.makefile("rb")
    while header := stream.read(8):
        kind, length = header[1], struct.unpack("!I", header[4:])[0]
        body = stream.read(length - 8)
        counts[kind] = counts.get(kind, 0) + 1
        if kind == 10:
            text = body[-18:].rstrip(b"\0").decode(errors="replace")
        if kind in (7, 10):
            break
    return counts[4], counts[10], text


seen = []
for hours, options in ((1, []), (25, []), (25, ["-checktime=false"])):
    built = datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(hours=hours)
    with open("vrps.json", "w") as file:
        json.dump({"metadata": {"buildtime": built.strftime("%Y-%m-%dT%H:%M:%SZ")}, "roas": ROAS}, file)
    with open("log", "w") as log:
        server = subprocess.Popen(["usr/bin/stayrtr", "-cache", "vrps.json", "-bind", "127.0.0.1:8282", *options], stderr=log)
        try:
            seen.append(answer())
        finally:
            running = server.poll() is None
            server.terminate()
            server.wait()
    print(f"file of {hours} h ago {' '.join(options)}: running {running}; prefixes, errors:", *seen[-1])
sys.exit(not ([found[:2] for found in seen] == [(10, 0), (0, 1), (10, 0)] and running))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
