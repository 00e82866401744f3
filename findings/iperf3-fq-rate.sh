#!/bin/sh
# iperf3's `--fq-rate 10M` holds TCP to 10 Mbit/s and does nothing to UDP: `-u -b 50M --fq-rate 10M` sends 50 Mbit/s, without a word.
#
# One would guess: both protocols are paced by the kernel, as the help text promises "fair-queuing based socket pacing", or neither is
# where no `fq` queues packets, and iperf3 complains.
# So it is: TCP paces itself in the kernel, with any queue. For UDP the kernel only writes the rate into the socket, for an `fq` at the
# interface to read; without one nothing does, and setting it is no error. With `-b 0` a test that one believes to be paced sends as fast
# as it can, and its loss is that of a flood. Use `-b` for UDP, or put `fq` at the interface (`tc qdisc replace dev … root fq`).
#
# Needs root, for a network namespace of its own. Uses iperf3 and libiperf0 3.12-1+deb12u2 and libsctp1 1.0.19+dfsg-2 of Debian 12; seen with
# Linux 6.18. No Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iperf3=3.12-1+deb12u2 libiperf0=3.12-1+deb12u2 libsctp1=1.0.19+dfsg-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
iperf3 --version > version && head -n 1 version && uname -sr || exit 2
cat > try.py <<'END'
import json
import subprocess
import sys
import time

EXPECTED = {
    "-b 50M": (45, 55),
    "-b 50M --fq-rate 10M": (8, 12),
    "-u -b 50M": (45, 55),
    "-u -b 50M --fq-rate 10M": (45, 55),
    "-u -b 10M": (9, 11),
}
server = subprocess.Popen("iperf3 -s -B 127.0.0.1 -p 5201".split(), stdout=subprocess.DEVNULL)
time.sleep(0.5)
as_described = True
for options, (least, most) in EXPECTED.items():
    command = f"iperf3 -J -c 127.0.0.1 -p 5201 -t 3 {options}"
    shown = json.loads(subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout)["end"]
    total = shown["sum" if "-u" in options else "sum_received"]
    rate = total["bits_per_second"] / 1e6
    print(f"iperf3 {options}: {rate:.1f} Mbit/s")
    as_described &= least < rate < most
server.kill()
sys.exit(not as_described)
END
cat > try.sh <<'END'
set -e
ip link set lo up
python3 try.py
END
unshare -n sh try.sh
