#!/bin/sh
# arping does not see an address move to another host: after its first answer it asks that host only.
#
# One would guess: each probe is a broadcast, so the host that has the address answers, and a failover shows as a new MAC address.
# So it is: iputils' arping sends one broadcast, and after an answer unicasts to the MAC address that answered. When the address moves
# without that host's link going down, there are no more answers: an outage without an end, while all other hosts, which ask by broadcast,
# reach the new owner. A second host with the same address stays hidden, too. Use `-b`.
#
# Needs root, for network namespaces of its own. Uses iputils-arping 3:20221126-1+deb12u1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iputils-arping=3:20221126-1+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$PATH"
arping -V || exit 2
cat > try.py <<'END'
import re
import subprocess
import sys
import time

MACS = {"first": "02:00:00:00:00:01", "second": "02:00:00:00:00:02"}


def run(command):
    subprocess.run(command.split(), check=True)


hosts = {}
try:
    run("sysctl -q -w net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1")
    run("ip link add dev switch type bridge")
    run("ip link set switch up")
    for name, mac in MACS.items():
        # A namespace lives as long as its process.
        hosts[name] = subprocess.Popen(["unshare", "-n", "sh", "-c", "echo; exec sleep 60"], stdout=subprocess.PIPE)
        hosts[name].stdout.readline()
        run(f"ip link add dev {name} master switch type veth peer name eth address {mac} netns {hosts[name].pid}")
        run(f"ip link set {name} up")
        run(f"nsenter -n -t {hosts[name].pid} ip link set eth up")
    run("ip address add 192.0.2.1/24 dev switch")
    answers = {}
    for option in ("", "-b"):
        run(f"nsenter -n -t {hosts['first'].pid} ip address replace 192.0.2.2/24 dev eth")
        time.sleep(0.5)
        arping = subprocess.Popen(f"arping {option} -c 6 -I switch 192.0.2.2".split(), stdout=subprocess.PIPE, text=True)
        time.sleep(2.5)  # it sends a probe each second
        run(f"nsenter -n -t {hosts['first'].pid} ip address delete 192.0.2.2/24 dev eth")
        run(f"nsenter -n -t {hosts['second'].pid} ip address add 192.0.2.2/24 dev eth")
        output = arping.communicate()[0]
        run(f"nsenter -n -t {hosts['second'].pid} ip address delete 192.0.2.2/24 dev eth")
        macs = re.findall(r"from 192\.0\.2\.2 \[(\S+)\]", output)
        answers[option] = [macs.count(mac.upper()) for mac in MACS.values()]
        print(f"arping {option}: 6 probes, the address moves after 3: {answers[option][0]} answers of the first host, "
              f"{answers[option][1]} of the second; {output.splitlines()[-2]}")
finally:
    for host in hosts.values():
        host.kill()
        host.wait()
sys.exit(answers != {"": [3, 0], "-b": [3, 3]})
END
unshare -n python3 try.py
