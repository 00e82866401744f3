#!/bin/sh
# snmpd's interface counters stand still for three seconds at a time, under steady traffic.
#
# One would guess: ifOutOctets is the kernel's counter at the time of the request.
# So it is: snmpd reads the interfaces every three seconds and answers from that table in between. Polled each second, a steady
# rate looks like 0, 0, and three times itself; a poll at the end of a test may lack its last three seconds.
#
# Needs root, for a network namespace of its own. Uses snmpd, snmp and libsnmp 5.9.3+dfsg-2+deb12u1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in snmpd snmp libsnmp40 libsnmp-base; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=5.9.3+dfsg-2+deb12u1" || exit 2
done
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/snmpd -v > version && usr/bin/snmpget --version 2>> version || exit 2
grep -m 1 NET-SNMP version
printf 'rocommunity public\nagentaddress udp:127.0.0.1:1161\n' > snmpd.conf
cat > try.py <<'END'
import socket
import subprocess
import sys
import threading
import time

stop = threading.Event()
index = socket.if_nametoindex("near")


def send():
    """One frame of 1,000 bytes each 10 ms."""
    sender = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    sender.bind(("near", 0))
    while not stop.wait(0.01):
        sender.send(bytes(12) + b"\x88\xb5" + bytes(986))


def polled():
    """ifOutOctets of snmpd and the kernel's own counter."""
    command = f"usr/bin/snmpget -v 2c -c public -O qv 127.0.0.1:1161 1.3.6.1.2.1.2.2.1.16.{index}"
    (line,) = [line.split() for line in open("/proc/net/dev") if line.strip().startswith("near:")]
    return int(subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout), int(line[9])


threading.Thread(target=send).start()
seen = []
for _ in range(13):
    seen.append(polled())
    time.sleep(1)
stop.set()
steps = [[after - before for before, after in zip(column, column[1:])] for column in zip(*seen)]
print("bytes a second, by snmpd:", *steps[0])
print("bytes a second, by the kernel:", *steps[1])
sys.exit(not (steps[0].count(0) >= 6 and 0 not in steps[1]))
END
cat > try.sh <<'END'
ip link set lo up
ip link add name near type veth peer name far
for end in near far; do ip link set $end up; done
usr/sbin/snmpd -f -C -c snmpd.conf -Lf snmpd.log -p snmpd.pid &
daemon=$!
sleep 3
python3 try.py && code=0 || code=$?
kill $daemon
wait $daemon || true
exit $code
END
unshare -n sh try.sh
