#!/bin/sh
# `ab -n 100 -t 1` sends more than 100 requests, `ab -t 1 -n 100` sends 100: the later option wins.
#
# One would guess: a number and a time limit end the test at what comes first, in whatever order they are written.
# So it is: `-t` sets the number of requests to 50,000, and `-n` before it is forgotten without a word. Behind it `-n` counts. And `-t 60`
# alone ends after 50,000 requests, which a fast server has answered in a few seconds, not after a minute. Write `-n` last.
#
# Uses apache2-utils 2.4.71-1~deb12u1, libapr1 1.7.2-3+deb12u1 and libaprutil1 1.6.3-1+deb12u1 of Debian 12, with a server on a
# loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download apache2-utils=2.4.71-1~deb12u1 libapr1=1.7.2-3+deb12u1 libaprutil1=1.6.3-1+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/ab -V | head -1 || exit 2
python3 - <<'END'
import re
import socket
import subprocess
import sys
from threading import Thread

ANSWER = b"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello"


def serve(listener, counts):
    while True:
        client, _ = listener.accept()
        with client:
            try:
                if client.recv(4096):
                    client.sendall(ANSWER)
                    counts[0] += 1
            except OSError:
                pass


listener, counts = socket.create_server(("127.0.0.1", 0), backlog=64), [0]
Thread(target=serve, args=(listener, counts), daemon=True).start()
seen = []
for options in ("-n 100 -t 3", "-t 3 -n 100"):
    counts[0] = 0
    command = f"usr/bin/ab -q {options} http://127.0.0.1:{listener.getsockname()[1]}/"
    output = subprocess.run(command.split(), capture_output=True, text=True).stdout
    seen.append(int(re.search(r"Complete requests:\s+(\d+)", output)[1]))
    print(f"ab {options}: {seen[-1]} requests complete, the server has seen {counts[0]}")
sys.exit(not (seen[0] > 101 and seen[1] == 100))
END
