#!/bin/sh
# The rate of `openssl s_time` is per second of its own processor time: 20 handshakes a second are "1500 connections/user sec".
#
# One would guess: "N connections in T s; R connections/user sec" is the rate of TLS handshakes with the server.
# So it is: T is the time that the client itself was on a processor, without the time it waited for the server. A server that takes 50 ms
# for each connection gets some 20 a second, and the line says hundreds or thousands; the slower the server, the less changes. The rate of
# the test follows from the second line, "N connections in S real seconds", with S in whole seconds and counted up: a test of 3 s has 4.
#
# Uses openssl 3.0.22-1~deb12u2 and libssl3 3.0.22-1~deb12u2 of Debian 12, with a server and a relay on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download openssl=3.0.22-1~deb12u2 libssl3=3.0.22-1~deb12u2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
openssl version || exit 2
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=test 2> log
cat > try.py <<'END'
import re
import socket
import subprocess
import sys
import threading
import time

DELAY = 0.05
TLS, FRONT = 4433, 4434


def pass_bytes(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def relay(listener):
    """Passes connections on to the server, each 50 ms late."""
    while True:
        near = listener.accept()[0]
        time.sleep(DELAY)
        far = socket.create_connection(("127.0.0.1", TLS))
        for ends in ((near, far), (far, near)):
            threading.Thread(target=pass_bytes, args=ends, daemon=True).start()


listener = socket.create_server(("127.0.0.1", FRONT))
threading.Thread(target=relay, args=(listener,), daemon=True).start()
command = f"openssl s_server -accept {TLS} -cert cert.pem -key key.pem -quiet"
server = subprocess.Popen(command.split(), stdin=subprocess.DEVNULL, stdout=open("out", "w"), stderr=subprocess.STDOUT)
time.sleep(1)
try:
    start = time.monotonic()
    output = subprocess.run(f"openssl s_time -connect 127.0.0.1:{FRONT} -new -time 3".split(), capture_output=True, text=True).stdout
    took = time.monotonic() - start
finally:
    server.terminate()
    server.wait()
shown = re.search(r"(\d+) connections in ([\d.]+)s; ([\d.]+) connections/user sec", output)
real = re.search(r"\d+ connections in \d+ real seconds", output)
rate = int(shown[1]) / took
print(f"{shown[0]}; {real[0]}; the test took {took:.2f} s, which is {rate:.1f} connections a second")
sys.exit(not (0 < rate <= 1 / DELAY and float(shown[3]) > 10 * rate))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
