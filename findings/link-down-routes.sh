#!/bin/sh
# An interface that is set down and up again has lost its IPv6 addresses and all static routes, and kept its IPv4 address; one whose
# cable is pulled and plugged in again loses nothing.
#
# One would guess: a link that flaps is as before when it is up again, and both ways to make it flap do the same.
# So it is: `ip link set ... down` removes the routes of both families that go out there, and the global IPv6 addresses; `up` brings back
# the IPv4 address's own route only. Loss of the carrier, as from setting the other end down, leaves addresses and routes.
# A failover test that sets the device's port down and up again measures a path that never comes back, and IPv6 that is gone while
# IPv4's neighbors still answer. Set the tester's end down, or `net.ipv6.conf.*.keep_addr_on_down=1`, which keeps the addresses.
#
# Needs root, for a network namespace of its own. Uses the running kernel (Linux 6.18 when this was written) and iproute2 6.1.0-3 of Debian
# 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/sbin:$folder/bin:$PATH"
echo Linux "$(uname -r)"
cat > try.py <<'END'
import subprocess
import sys
import time


def ip(command):
    return subprocess.run(["ip", *command.split()], capture_output=True, text=True, check=True).stdout


ADDRESSES, ROUTES = ("10.0.0.1/24", "2001:db8::1/64"), ("10.1.0.0/16", "2001:db8:1::/64")


def left(when):
    """Which of the addresses and static routes are there."""
    addresses, routes = ip("address show dev near"), ip("-4 route") + ip("-6 route")
    kept = [address for address in ADDRESSES if address in addresses] + [route for route in ROUTES if route in routes]
    print(f"{when}:", *kept)
    return kept


def flap(end):
    """Set up anew, then set an end down and up again."""
    ip("link add near type veth peer name far")
    for name in ("far", "near"):
        ip(f"link set {name} up")
    ip("address add 10.0.0.1/24 dev near")
    ip("address add 2001:db8::1/64 dev near nodad")
    time.sleep(1)
    ip("route add 10.1.0.0/16 via 10.0.0.2")
    ip("-6 route add 2001:db8:1::/64 via 2001:db8::2")
    before = left("before")
    ip(f"link set {end} down")
    time.sleep(1)
    ip(f"link set {end} up")
    time.sleep(1)
    after = left(f"{end} end set down and up")
    ip("link del near")
    return before, after


carrier, administrative = flap("far"), flap("near")
every = [*ADDRESSES, *ROUTES]
sys.exit((carrier, administrative) != ((every, every), (every, ["10.0.0.1/24"])))
END
unshare -n python3 try.py
