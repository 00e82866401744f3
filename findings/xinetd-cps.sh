#!/bin/sh
# xinetd closes a service for ten seconds when a 51st connection comes within a second.
#
# One would guess: without a limit in its configuration xinetd serves each connection that comes, and a test of 200 a second finds how
# fast it starts programs.
# So it is: `cps = 50 10` holds unless it is set. The connection after 50 in a second is closed without a byte, and the port refuses all
# others for ten seconds: at 100 connections a second 50 of 300 are served. It looks like a server that crashed and came back.
#
# Takes half a minute. Uses xinetd 1:2.3.15.3-1+b1, libwrap0 7.6.q-32 and libtirpc3 1.3.3+ds-1 of Debian 12, with a service on a loopback
# port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download xinetd=1:2.3.15.3-1+b1 libwrap0=7.6.q-32 libtirpc3=1.3.3+ds-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/xinetd -version 2>&1 | head -1 || exit 2
python3 - <<'END'
import socket
import subprocess
import sys
import time

CLIENTS = 300


def served(port):
    """Whether a connection gets the program's line; None if it is refused."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
            return client.recv(100) == b"hello\n"
    except ConnectionRefusedError:
        return None
    except OSError:
        return False


def trial(limit):
    """How many of the clients, 10 ms apart, are served and refused; after how many seconds the next one is served."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with open("xinetd.conf", "w") as file:
        file.write(f"""service try
{{
 type = UNLISTED
 socket_type = stream
 protocol = tcp
 bind = 127.0.0.1
 port = {port}
 wait = no
 user = root
 server = /bin/echo
 server_args = hello
 {limit}
}}
""")
    xinetd = subprocess.Popen(["usr/sbin/xinetd", "-dontfork", "-f", "xinetd.conf", "-pidfile", "pid"], stderr=subprocess.DEVNULL)
    try:
        time.sleep(1)
        results, closed = [], None
        for _ in range(CLIENTS):
            results.append(served(port))
            if not results[-1] and closed is None:
                closed = time.monotonic()
            time.sleep(0.01)
        while closed and not served(port) and time.monotonic() - closed < 30:
            time.sleep(0.1)
        again = time.monotonic() - closed if closed else 0
    finally:
        xinetd.terminate()
        xinetd.wait()
    print(f"{limit or 'no limit written'}: of {CLIENTS} connections {results.count(True)} served, {results.count(False)} closed, "
          f"{results.count(None)} refused; served again after {again:.1f} s")
    return results.count(True), again


few, more = trial(""), trial("cps = 1000 1")
sys.exit(not (few[0] <= 100 and 8 < few[1] < 13 and more == (CLIENTS, 0)))
END
