#!/bin/sh
# An interface that is deleted and made anew keeps its old counters in psutil: 10 packets sent are 110.
#
# One would guess: `net_io_counters` shows the kernel's counters, as `ip -s link` does; an interface that has just been made begins at 0.
# So it is: by default (`nowrap=True`) psutil takes a counter that has become smaller for one that has wrapped around, and adds what
# it had before, for as long as the process lives. A veth that sent 100 packets, was deleted, made again and has sent 10 shows 110
# packets. If the next one has sent 500 when psutil looks, it shows 600: nothing became smaller, so the 10 are not added. Whoever makes
# interfaces for each test sees totals that depend on when they were read. Use `nowrap=False` or `net_io_counters.cache_clear()`.
#
# Uses psutil 7.2.2 from PyPI, in a network namespace; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install psutil==7.2.2 || exit 2
cat > try.py <<'END'
import json
import socket
import subprocess
import sys

import psutil

LINK = """link add v0 type veth peer name v1
link set v0 up
link set v1 up
address add 192.0.2.1/24 dev v0
neigh add 192.0.2.2 lladdr 02:00:00:00:00:02 dev v0 nud permanent
"""


def ip(commands):
    """Runs commands of iproute2; JSON of the last one."""
    return subprocess.run(["ip", "-s", "-j", "-b", "-"], input=commands, text=True, capture_output=True, check=True).stdout


def sent(packets):
    """Sends packets; how many the kernel and psutil say were sent, with and without nowrap."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for _ in range(packets):
            sender.sendto(b"x" * 972, ("192.0.2.2", 9))
    kernel = json.loads(ip("link show v0\n"))[0]["stats64"]["tx"]["packets"]
    return [kernel] + [psutil.net_io_counters(pernic=True, nowrap=nowrap)["v0"].packets_sent for nowrap in (True, False)]


print("psutil", psutil.__version__)
seen = []
for packets, what in ((100, "v0"), (10, "v0 made anew"), (500, "v0 made once more")):
    if seen:
        ip("link delete v0\n")
    ip(LINK)
    seen.append(sent(packets))
    print("{}, {} packets: {} by `ip -s link`, {} by psutil, {} with nowrap=False".format(what, packets, *seen[-1]))
sys.exit(seen != [[100, 100, 100], [10, 110, 10], [500, 600, 500]])
END
cat > try.sh <<'END'
sysctl -qw net.ipv6.conf.default.disable_ipv6=1
exec venv/bin/python try.py
END
unshare -n sh try.sh
