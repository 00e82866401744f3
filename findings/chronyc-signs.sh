#!/bin/sh
# chronyc shows one measurement with two signs: a server whose clock is 5 s ahead has an offset of -5 s in `sources` and of +5 s in
# `ntpdata`.
#
# One would guess: "offset" means the same in all reports of a program: with NTP (RFC 5905) that of the server's clock against ours,
# positive if the server is ahead.
# So it is: `chronyc ntpdata` has it this way, +5. In `chronyc sources`, and in its CSV, it is how far our clock is ahead: -5. `chronyd
# -Q` says "System clock wrong by 5 seconds", with the sign of ntpdata. Whoever corrects one-way delays between two hosts by the figure of
# the wrong report doubles the clocks' error instead of removing it.
#
# Needs root, for a network namespace of its own. Uses chrony 4.3-2+deb12u3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download chrony=4.3-2+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$folder/usr/sbin:$PATH"
chronyc --version && chronyd --version || exit 2
mkdir -m 700 run
cat > chrony.conf <<END
server 127.0.0.1 iburst noselect
bindcmdaddress $folder/run/command
pidfile $folder/run/pid
END
cat > try.py <<'END'
import os
import re
import socket
import struct
import subprocess
import sys
import threading
import time

AHEAD = 5  # seconds that the server's clock is ahead
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 123))


def stamp(seconds):
    return struct.pack("!II", int(seconds) + 2208988800, int(seconds % 1 * 2**32))


def serve():
    """Answers NTP requests (RFC 5905, section 7.3)."""
    while True:
        request, client = server.recvfrom(1000)
        now = time.time() + AHEAD
        fixed = struct.pack("!BBbbII4s", 0x24, 1, 6, -20, 0, 1, b"TEST")
        server.sendto(fixed + stamp(now - 1) + request[40:48] + stamp(now) + stamp(time.time() + AHEAD), client)


threading.Thread(target=serve, daemon=True).start()


def report(command):
    return subprocess.run(["chronyc", "-h", os.path.abspath("run/command"), *command.split()], capture_output=True, text=True).stdout


once = subprocess.run(
    ["chronyd", "-u", "root", "-Q", "-t", "20", "-f", "/dev/null", "server 127.0.0.1 iburst"], capture_output=True, text=True
)
wrong = re.search(r"System clock wrong by (\S+) seconds", once.stdout + once.stderr)
# -x: it does not touch the clock.
daemon = subprocess.Popen("chronyd -x -d -u root -f chrony.conf".split(), stdout=open("log", "w"), stderr=subprocess.STDOUT)
try:
    for _ in range(40):
        time.sleep(0.5)
        by_ntpdata = re.search(r"^Offset +: (\S+) seconds", report("ntpdata"), re.MULTILINE)
        if by_ntpdata and float(by_ntpdata[1]):
            break
    lines = report("sources")
    by_sources = float(report("-c sources").split(",")[7])
finally:
    daemon.terminate()
    daemon.wait()
print(f"the server's clock is {AHEAD} s ahead")
print("chronyc ntpdata:", by_ntpdata[0])
print("chronyc sources:", lines.splitlines()[-1])
print("chronyc -c sources:", by_sources)
print("chronyd -Q:", wrong[0] if wrong else once.stderr)
sys.exit([round(float(by_ntpdata[1])), round(by_sources), round(float(wrong[1]))] != [AHEAD, -AHEAD, AHEAD])
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
