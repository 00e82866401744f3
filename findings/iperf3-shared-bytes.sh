#!/bin/sh
# With `-P 4` iperf3's `-n` and `-k` are for all streams together, while `-b` is for each: `-n 4M -b 10M` is 1 MB each, at 40 Mbit/s.
#
# One would guess: options mean one stream's share or all streams' sum, and the same for all of them; iperf 2, with the same letters, sends
# what `-n` says on each stream.
# So it is: `-n 4M -P 4` transfers 4 MiB in all, a quarter on each stream; `-k 400` writes 100 blocks on each. `-b 10M` is the rate of
# each stream: UDP with both is done in a quarter of the time that bytes by rate would be. Of iperf 2 the same line transfers 16 MiB. Compare
# a script's results of both tools by "bytes", not by the options.
#
# Needs root, for a network namespace of its own. Uses iperf3 and libiperf0 3.12-1+deb12u2, libsctp1 1.0.19+dfsg-2 and iperf
# 2.1.8+dfsg-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iperf3=3.12-1+deb12u2 libiperf0=3.12-1+deb12u2 libsctp1=1.0.19+dfsg-2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download iperf=2.1.8+dfsg-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/iperf3 --version > version || exit 2
head -n 1 version
usr/bin/iperf -v 2>&1 | grep version
cat > try.py <<'END'
import json
import subprocess
import sys
import time

MIB = 1 << 20
servers = [subprocess.Popen(command.split(), stdout=subprocess.DEVNULL) for command in ("usr/bin/iperf3 -s", "usr/bin/iperf -s")]
time.sleep(2)


def iperf3(options):
    """Bytes of each stream, all bytes and seconds."""
    run = subprocess.run(f"usr/bin/iperf3 -J -c 127.0.0.1 -P 4 {options}".split(), capture_output=True, text=True, check=True, timeout=30)
    end = json.loads(run.stdout)["end"]
    streams = [stream.get("sender", stream.get("udp"))["bytes"] for stream in end["streams"]]
    seconds = (end.get("sum_sent") or end["sum"])["seconds"]
    print(f"iperf3 -P 4 {options}: {streams} bytes, together {sum(streams):,} in {seconds:.2f} s")
    return sum(streams), seconds


try:
    bytes_tcp, _ = iperf3("-n 4M")
    blocks, _ = iperf3("-k 400 -l 1000")
    both, seconds = iperf3("-n 4M -u -b 10M")
    run = subprocess.run("usr/bin/iperf -c 127.0.0.1 -P 4 -n 4M -y C".split(), capture_output=True, text=True, check=True, timeout=30)
    older = [int(line.split(",")[7]) for line in run.stdout.splitlines() if line.split(",")[5] != "-1"]
    print(f"iperf 2 -P 4 -n 4M: {older} bytes, together {sum(older):,}")
finally:
    for server in servers:
        server.kill()
        server.wait()
sys.exit(not (bytes_tcp == 4 * MIB and blocks == 400_000 and both == 4 * MIB and 0.7 < seconds < 2.5 and sum(older) >= 16 * MIB))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
