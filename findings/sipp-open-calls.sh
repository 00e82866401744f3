#!/bin/sh
# sipp stops calling when 30 calls are open: at `-r 10` and with a server that does not answer, it calls for three seconds.
#
# One would guess: `-r 10 -m 60` starts ten calls a second until there are 60, whether they are answered or not; a limit of open calls is
# set by `-l`, or a message says that it was reached.
# So it is: without `-l` there may be three seconds' worth of calls at a time. Beyond, sipp waits for one to end, and says nothing; the
# statistics show a lower call rate. With a server that rings for ten seconds before it answers, a rate of 10 is one of 3. Set `-l`.
#
# Takes a quarter of a minute. Uses sip-tester 1:3.6.1-1+b2, libgsl27 and libgslcblas0 2.7.1+dfsg-5+deb12u1 of Debian 12, with a silent
# server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download sip-tester=1:3.6.1-1+b2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libgsl27=2.7.1+dfsg-5+deb12u1 libgslcblas0=2.7.1+dfsg-5+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/sipp -v | grep SIPp || exit 2
python3 - <<'END'
import re
import socket
import subprocess
import sys
import time

RATE, CALLS = 10, 60


def calls(*options):
    """Calls that sipp starts until it has started all, or nothing new comes for some seconds."""
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.bind(("127.0.0.1", 0))
    server.settimeout(5)
    command = ["usr/bin/sipp", "-sn", "uac", f"127.0.0.1:{server.getsockname()[1]}", "-i", "127.0.0.1", "-nostdin"]
    sipp = subprocess.Popen([*command, "-r", str(RATE), "-m", str(CALLS), *options], stdout=open("log", "w"), stderr=subprocess.STDOUT)
    seen, last = set(), time.monotonic()
    while len(seen) < CALLS and time.monotonic() - last < 6:
        try:
            call = re.search(rb"Call-ID: (\S+)", server.recv(4096), re.IGNORECASE)[1]
        except TimeoutError:
            break
        if call not in seen:
            seen.add(call)
            last = time.monotonic()
    sipp.terminate()
    sipp.wait()
    return len(seen)


seen = calls(), calls("-l", "1000")
print(f"-r {RATE} -m {CALLS}, no answers: {seen[0]} calls, and with -l 1000 {seen[1]}")
sys.exit(seen != (3 * RATE, CALLS))
END
