#!/bin/sh
# irtt's losses by direction count duplicates as received: with replies doubled its downstream loss is a number of 20 digits.
#
# One would guess: the loss of each direction and of the round trip go together, and duplicates, which irtt counts, are in none of them.
# So it is: the round trip's loss is right, the directions' are computed from all packets that came. Of replies of which a tenth is lost
# and a tenth comes twice, 10 % are lost, 0 % upstream and 0 % downstream; where nothing is lost and replies come twice, the negative loss
# is taken for a number without a sign. The JSON has 18446744073709552000 for `downstream_loss_percent` of 100 packets, so
# that a check of its maximum fails for a duplicate alone. Use `packet_loss_percent`, and the directions only where `duplicates` is 0.
#
# Uses irtt 0.9.0-2+b24 of Debian 12, with a relay of the script on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download irtt=0.9.0-2+b24 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export PATH="$folder/usr/bin:$PATH"
irtt version | head -n 1 || exit 2
cat > try.py <<'END'
import json
import socket
import subprocess
import sys
import threading
import time

PLANS = {  # copies of the reply of a number
    "each once": lambda number: 1,
    "a tenth lost, a tenth twice": lambda number: {4: 0, 5: 2}.get(number % 10, 1),
    "each twice": lambda number: 2,
}


def free_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


def relay(near, far, copies):
    """Forwards datagrams of one client, and the server's replies as often as planned; the first ones, of the set-up, once."""
    client = []

    def back():
        number = 0
        while reply := far.recv(2000):
            for _ in range(copies(number) if number > 1 else 1):
                near.sendto(reply, client[0])
            number += 1

    threading.Thread(target=back, daemon=True).start()
    while True:
        datagram, sender = near.recvfrom(2000)
        client[:] = [sender]
        far.send(datagram)


def trial(server, copies):
    """Statistics of 100 packets, one each 20 ms."""
    near, far = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
    near.bind(("127.0.0.1", 0))
    far.connect(("127.0.0.1", server))
    threading.Thread(target=relay, args=(near, far, copies), daemon=True).start()
    command = f"irtt client -Q -i 20ms -d 2s --wait=1s -o - 127.0.0.1:{near.getsockname()[1]}"
    shown = subprocess.run(command.split(), capture_output=True, text=True, check=True, timeout=30).stdout
    return json.loads(shown)["stats"]


port = free_port()
server = subprocess.Popen(["irtt", "server", "-b", f"127.0.0.1:{port}"], stdout=subprocess.DEVNULL)
time.sleep(0.5)
seen = []
try:
    for name, copies in PLANS.items():
        stats = trial(port, copies)
        seen.append([stats[f"{kind}_loss_percent"] for kind in ("packet", "upstream", "downstream")])
        print(f"replies {name}: duplicates {stats['duplicates']}, loss {seen[-1][0]:.0f} %, up {seen[-1][1]:.0f} %, down {seen[-1][2]:.0f} %")
finally:
    server.terminate()
    server.wait()
once, mixed, twice = seen
sys.exit(not (once == [0, 0, 0] and 5 < mixed[0] < 20 and mixed[2] < 3 and sum(mixed[1:]) < mixed[0] - 4 and twice[0] < 20 and twice[2] > 1e18))
END
python3 try.py
