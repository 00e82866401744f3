#!/bin/sh
# atftpd repeats a block that was lost after five seconds, and as a packet of three bytes: the transfer never ends.
#
# One would guess: a DATA packet that is not acknowledged is sent again after a second or a few, with the same data, as TFTP (RFC 1350) is
# made to survive a loss, and as dnsmasq does.
# So it is: atftpd waits for 5 s and sends three bytes, 00 03 00, that are no DATA packet, five times, and gives up. A path that loses one
# packet of a transfer makes it fail, and the retransmissions look like a broken network. dnsmasq repeats the block after two seconds or so.
#
# Takes a minute. Uses atftpd 0.8.0-3, libwrap0 7.6.q-32 and dnsmasq-base 2.90-4~deb12u2 of Debian 12, in a network namespace of its own; no
# Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download atftpd=0.8.0-3 libwrap0=7.6.q-32 dnsmasq-base=2.90-4~deb12u2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/atftpd --version && usr/sbin/dnsmasq --version | head -1 || exit 2
cat > try.py <<'END'
import os
import socket
import subprocess
import sys
import time

os.mkdir("files")
with open("files/data", "wb") as file:
    file.write(bytes(3000))
FOLDER = f"{os.getcwd()}/files"
SERVERS = {
    "atftpd": f"usr/sbin/atftpd --daemon --no-fork --user root --group root --bind-address 127.0.0.1 --port 69 {FOLDER}",
    "dnsmasq": f"usr/sbin/dnsmasq -d -C /dev/null --port=0 --enable-tftp --tftp-root={FOLDER} --listen-address=127.0.0.1 --user=root",
}


def transfer(name, command):
    """The first block as it comes first, and as it is repeated: after how many seconds, and its length; whether the file arrives."""
    server = subprocess.Popen(command.split(), stdout=open("log", "w"), stderr=subprocess.STDOUT)
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(12)
    try:
        time.sleep(1)
        client.sendto(b"\0\1data\0octet\0", ("127.0.0.1", 69))
        first = len(client.recv(2000))  # as if it were lost
        start = time.monotonic()
        packet, address = client.recvfrom(2000)
        after, again, got = time.monotonic() - start, packet, b""
        while time.monotonic() - start < 20:
            if len(packet) >= 4 and packet[:2] == b"\0\3" and int.from_bytes(packet[2:4], "big") == len(got) // 512 + 1:
                got += packet[4:]
                client.sendto(b"\0\4" + packet[2:4], address)
                if len(packet) < 516:
                    break
            packet, address = client.recvfrom(2000)
    except TimeoutError:
        pass
    finally:
        server.terminate()
        server.wait()
    print(f"{name}: the first block has {first} bytes; repeated after {after:.1f} s with {len(again)} bytes ({again[:8].hex(' ')} ...); "
          f"{len(got)} of 3000 bytes arrive")
    return after, len(again), len(got)


atftpd, dnsmasq = (transfer(*server) for server in SERVERS.items())
sys.exit(not (4 < atftpd[0] < 7 and atftpd[1:] == (3, 0) and dnsmasq[0] < 4 and dnsmasq[1:] == (516, 3000)))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
