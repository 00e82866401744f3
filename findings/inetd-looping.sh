#!/bin/sh
# inetd ends a service for ten minutes when the 256th connection within a minute comes.
#
# One would guess: inetd starts a program for each connection, as slowly as it may; a test of 400 short connections in four seconds has
# 400 of them served, or some refused for a moment.
# So it is: 256 connections in a minute are a loop for inetd. The service is terminated for ten minutes: clients are still accepted for a while,
# by the queue of the socket, and closed without a byte. Only a message in the log says so. A service is written as `nowait.5000` for more.
#
# Uses openbsd-inetd 0.20221205-2~deb12u1, libevent-2.1-7 2.1.12-stable-8+deb12u1, libwrap0 7.6.q-32 and libtirpc3 1.3.3+ds-1 of Debian 12,
# with a service on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download openbsd-inetd=0.20221205-2~deb12u1 libevent-2.1-7=2.1.12-stable-8+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libwrap0=7.6.q-32 libtirpc3=1.3.3+ds-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
echo openbsd-inetd 0.20221205-2~deb12u1
python3 - <<'END'
import socket
import subprocess
import sys
import time

CLIENTS = 400


def served(port):
    """Whether a connection gets the program's line."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            return client.recv(100) == b"hello\n"
    except OSError:
        return False


def trial(wait):
    """How many of the clients, 5 ms apart, are served with a service that is written so."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with open("inetd.conf", "w") as file:
        file.write(f"127.0.0.1:{port} stream tcp {wait} root /bin/echo echo hello\n")
    inetd = subprocess.Popen(["usr/sbin/inetd", "-i", "inetd.conf"], stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        count = 0
        for _ in range(CLIENTS):
            count += served(port)
            time.sleep(0.005)
        time.sleep(5)
        later = served(port)
    finally:
        inetd.terminate()
        inetd.wait()
    print(f"{wait}: {count} of {CLIENTS} connections served, and five seconds later {'one' if later else 'none'}")
    return count, later


few, more = trial("nowait"), trial("nowait.5000")
sys.exit(not (250 <= few[0] <= 256 and not few[1] and more == (CLIENTS, True)))
END
