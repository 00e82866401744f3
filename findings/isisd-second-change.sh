#!/bin/sh
# FRR's isisd tells its neighbors of a second change up to 30 s after the first: that is the default of its `lsp-gen-interval`.
#
# One would guess: each change of a link or metric is in a new LSP within milliseconds, or, if they are many, within a second or five.
# So it is: the first change is, if no LSP was made in the last 30 s. All that comes after it waits until those are over, and is sent at
# once then. Here a metric changes twice within five seconds: the database has the first after 0.1 s and the second after 29 s. At the
# start the first LSP has no addresses yet, and the next one, with them, comes half a minute later. A test of convergence that fails a
# link and mends it, or that begins soon after the start, measures this timer. Set `lsp-gen-interval 1`.
#
# Needs root, for namespaces of its own. Takes a minute and a half. Uses frr 8.4.4-1.1~deb12u2, libyang2 2.1.30-2, libjson-c5 0.16-2 and
# libcap2 1:2.66-4+deb12u2+b2 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download frr=8.4.4-1.1~deb12u2 libyang2=2.1.30-2 libjson-c5=0.16-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/usr/lib/$(uname -m)-linux-gnu/frr"
cat > isisd.conf <<END
interface near
 ip router isis test
 isis network point-to-point
interface stub
 ip router isis test
 isis passive
router isis test
 net 49.0001.0000.0000.0001.00
 is-type level-2-only
 metric-style wide
END
: > zebra.conf
cat > try.py <<'END'
import os
import re
import subprocess
import sys
import time

folder = os.getcwd()
FRR = f"-z {folder}/run/zebra.sock --vty_socket {folder}/run -P 0 -u frr -g frr"


def ask(*commands):
    given = [word for command in commands for word in ("-c", command)]
    return subprocess.run(["usr/bin/vtysh", "--vty_socket", f"{folder}/run", *given], capture_output=True, text=True).stdout


def metric():
    """The metric of the stub network in the router's own LSP, or None."""
    found = re.search(r"10\.1\.0\.0/24 \(Metric: (\d+)\)", ask("show isis database detail"))
    return found and int(found[1])


def seconds_until(value, limit=60):
    start = time.monotonic()
    while metric() != value and time.monotonic() - start < limit:
        time.sleep(0.05)
    return time.monotonic() - start


log = open("log", "w")
daemons = []
try:
    for name in ("zebra", "isisd"):
        command = f"usr/lib/frr/{name} -f {folder}/{name}.conf -i {folder}/run/{name}.pid {FRR}"
        daemons.append(subprocess.Popen(command.split(), stdout=log, stderr=log))
        time.sleep(1)
    first = seconds_until(10)
    print(f"the first LSP with addresses: {first:.1f} s after the start of isisd")
    time.sleep(32)
    took = []
    for value in (100, 200):
        ask("configure terminal", "interface stub", f"isis metric {value}")
        took.append(seconds_until(value))
        print(f"metric {value}: in the LSP after {took[-1]:.1f} s")
        time.sleep(1)
finally:
    for daemon in daemons:
        daemon.terminate()
        daemon.wait()
sys.exit(not (20 < first < 40 and took[0] < 3 and 20 < took[1] < 40))
END
cat > try.sh <<'END'
set -eu
(echo frr:x:64999:64999::/nonexistent:/usr/sbin/nologin; cat /etc/passwd) > passwd
(echo frr:x:64999:; echo frrvty:x:64998:frr; cat /etc/group) > group
mount --bind passwd /etc/passwd
mount --bind group /etc/group
mount -t tmpfs none /run
mkdir run /run/frr
chown -R 64999:64999 . run /run/frr
chmod 755 .
ip link set lo up
for pair in "near far" "stub stub-end"; do
    set -- $pair
    ip link add "$1" type veth peer name "$2"
    ip link set "$1" up
    ip link set "$2" up
done
ip address add 10.0.0.1/24 dev near
ip address add 10.1.0.1/24 dev stub
python3 try.py
END
usr/lib/frr/isisd --version > version 2> log || exit 2
head -n 1 version
unshare -nm sh try.sh
