#!/bin/sh
# strongSwan answers five initiators of one address at a time: the fourth has to return a cookie, and from the sixth on there is no answer.
#
# One would guess: cookies come when hundreds of half-open IKE_SAs wait, and with the cookie returned an initiator is answered; a responder
# takes as many peers behind one address as its memory allows.
# So it is: of ten initiators of one address that have sent an IKE_SA_INIT each and no IKE_AUTH yet, three are answered at once, the
# fourth and fifth after a cookie, and the others get no answer to their cookie. The log of charon has the reason: "per-IP half-open
# IKE_SA limit of 5 reached". A test with many tunnels from one address looks like loss. Give each initiator an address, or set
# `charon.block_threshold` and `charon.cookie_threshold_ip` to 1000: then all ten are answered at once.
#
# Needs root, for namespaces of its own. Uses strongswan-charon, strongswan-libcharon, libstrongswan and strongswan-swanctl 5.9.8-5+deb12u6
# and iproute2 6.1.0-3 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
for package in strongswan-charon strongswan-libcharon libstrongswan strongswan-swanctl; do
    apt-get -qq -o APT::Sandbox::User=root download "$package=5.9.8-5+deb12u6" || exit 2
done
apt-get -qq -o APT::Sandbox::User=root download iproute2=6.1.0-3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/bin:$folder/sbin:$folder/usr/sbin:$PATH" LD_LIBRARY_PATH="$folder/usr/lib/ipsec"
cat > charon.conf <<END
charon {
    load = random nonce hmac sha1 sha2 aes gmp kernel-netlink socket-default vici kdf
    install_routes = no
    plugins { vici { socket = unix:///run/charon.vici } }
    filelog { file { path = $folder/log
        default = 1
        flush_line = yes } }
}
swanctl { load = random }
END
sed '1a block_threshold = 1000\ncookie_threshold_ip = 1000' charon.conf > charon-1000.conf
export STRONGSWAN_CONF="$folder/charon.conf"
usr/lib/ipsec/charon --version || exit 2
cat > swanctl.conf <<'END'
connections { lab { version = 2
    local_addrs = 10.0.0.1
    proposals = aes128-sha256-modp2048
    local { auth = psk
        id = gateway }
    remote { auth = psk }
    children { all { esp_proposals = aes128-sha256 } } } }
secrets { ike-lab { secret = "lab" } }
END
cat > try.py <<'END'
import os
import socket
import struct
import sys

SA, KEY_EXCHANGE, NONCE, NOTIFY, COOKIE = 33, 34, 40, 41, 16390
# The group of 2,048 bits of RFC 3526 by its formula: 2^2048 - 2^1984 - 1 + 2^64 * (floor(2^1918 pi) + 124476).
BITS = 2048


def arctangent(inverse, one):
    """arctan(1 / inverse) by its series, in units of 1 / one."""
    total, power, number, sign = 0, one // inverse, 1, 1
    while power:
        total += sign * (power // number)
        power //= inverse * inverse
        number, sign = number + 2, -sign
    return total


def prime():
    guard = 64
    one = 1 << (BITS - 130 + guard)
    pi = 4 * (4 * arctangent(5, one) - arctangent(239, one)) >> guard
    return (1 << BITS) - (1 << BITS - 64) - 1 + (1 << 64) * (pi + 124476)


PRIME = prime()


def payload(following, body):
    return struct.pack("!BBH", following, 0, 4 + len(body)) + body


def request():
    """The SPI and the payloads of an IKE_SA_INIT with one proposal: AES-CBC 128, SHA-256 and the group of 2,048 bits."""
    transforms = b""
    for kind, number, attribute in ((1, 12, b"\x80\x0e\0\x80"), (2, 5, b""), (3, 12, b""), (4, 14, b"")):
        transforms += struct.pack("!BBHBBH", 0 if kind == 4 else 3, 0, 8 + len(attribute), kind, 0, number) + attribute
    proposal = struct.pack("!BBHBBBB", 0, 0, 8 + len(transforms), 1, 1, 0, 4) + transforms
    key = pow(2, int.from_bytes(os.urandom(32), "big"), PRIME).to_bytes(BITS // 8, "big")
    body = payload(KEY_EXCHANGE, proposal) + payload(NONCE, struct.pack("!HH", 14, 0) + key) + payload(0, os.urandom(32))
    return os.urandom(8), body


def packet(spi, first, body):
    return spi + bytes(8) + struct.pack("!BBBBII", first, 0x20, 34, 8, 0, 28 + len(body)) + body


def answer(data):
    client.sendto(data, ("10.0.0.1", 500))
    try:
        return client.recv(2000)
    except TimeoutError:
        return b""


client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
client.bind(("10.0.0.2", 0))
client.settimeout(1)
seen = []
for number in range(1, 11):
    spi, body = request()
    got, asked = answer(packet(spi, SA, body)), False
    if got[16:17] == bytes([NOTIFY]) and got[34:36] == struct.pack("!H", COOKIE):
        asked = True
        (length,) = struct.unpack("!H", got[30:32])
        cookie = payload(SA, struct.pack("!BBH", 0, 0, COOKIE) + got[36 : 28 + length])
        got = answer(packet(spi, NOTIFY, cookie + body))
    seen.append((asked, got[16:17] == bytes([SA])))
    print(f"initiator {number}:", "a cookie is asked for," if asked else "no cookie,", "answered" if seen[-1][1] else "not answered")
sys.exit(seen != ([(False, True)] * 10 if "1000" in sys.argv else [(False, True)] * 3 + [(True, True)] * 2 + [(True, False)] * 5))
END
cat > try.sh <<'END'
set -eu
# charon looks for its plugins in /usr/lib/ipsec.
mount -t overlay overlay -o "lowerdir=$1/usr/lib:/usr/lib" /usr/lib
mount -t tmpfs none /run
ip netns add peers
ip link add near type veth peer name far netns peers
ip address add 10.0.0.1/24 dev near
ip link set near up
ip link set lo up
ip -n peers address add 10.0.0.2/24 dev far
ip -n peers link set far up
initiators() {
    usr/lib/ipsec/charon > out 2>&1 &
    daemon=$!
    trap 'kill $daemon; wait $daemon || true' EXIT
    sleep 3
    swanctl --load-all --file swanctl.conf -u unix:///run/charon.vici > loaded 2>&1
    ip netns exec peers python3 try.py "$@" && code=0 || code=$?
    kill $daemon
    wait $daemon || true
    trap - EXIT
    return $code
}
initiators
grep -m 1 -o 'per-IP half-open.*' log
echo "block_threshold and cookie_threshold_ip 1000:"
export STRONGSWAN_CONF="$PWD/charon-1000.conf"
initiators 1000
END
unshare -nm sh try.sh "$folder"
