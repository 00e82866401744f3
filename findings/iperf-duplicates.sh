#!/bin/sh
# iperf3 and iperf 2 take a datagram that comes twice for a lost one found: 10 % lost and 10 % doubled is a loss of 0 %.
#
# One would guess: a loss of "0/500" says that each of 500 datagrams came.
# So it is: the receiver adds to the loss where numbers skip, and takes one off for each datagram that comes behind its turn, as a late
# one would. A duplicate does so, too. With each tenth datagram lost and as many others doubled both tools report no loss, and all bytes.
# iperf 2 says beside it how many came out of order; iperf3's client says nothing. Compare with what the receiver's network card counts,
# or use a tester that counts duplicates apart.
#
# Uses iperf3 and libiperf0 3.12-1+deb12u2, libsctp1 1.0.19+dfsg-2 and iperf 2.1.8+dfsg-1 of Debian 12, with a relay between their two
# ends that loses and doubles; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iperf3=3.12-1+deb12u2 libiperf0=3.12-1+deb12u2 libsctp1=1.0.19+dfsg-2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download iperf=2.1.8+dfsg-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
iperf3 --version > version || exit 2
iperf --version >> version 2>&1 || grep -q 'iperf version' version || exit 2
grep -oE 'iperf (3|version 2)[.0-9]*' version
cat > try.py <<'END'
import contextlib
import json
import re
import select
import socket
import subprocess
import sys
import threading
import time

LENGTH = 1000


class Relay:
    """Passes TCP connections and datagrams of a port on to the next one; loses datagrams, and sends others twice."""

    def __init__(self, port):
        self.datagrams = self.lost = self.doubled = 0
        self.front = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.back = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.front.bind(("127.0.0.1", port))
        self.back.connect(("127.0.0.1", port + 1))
        threading.Thread(target=self.pass_datagrams, daemon=True).start()
        threading.Thread(target=self.pass_connections, args=(port,), daemon=True).start()

    def pass_datagrams(self):
        client = None
        while True:
            for ready in select.select([self.front, self.back], [], [])[0]:
                if ready is self.back:
                    self.front.sendto(ready.recv(65536), client)
                    continue
                data, client = ready.recvfrom(65536)
                copies = 1
                if len(data) == LENGTH:
                    self.datagrams += 1
                    copies = {5: 0, 8: 2}.get(self.datagrams % 10, 1)
                    self.lost += copies == 0
                    self.doubled += copies == 2
                for _ in range(copies):
                    with contextlib.suppress(ConnectionRefusedError):  # the server has its report out, and has gone
                        self.back.send(data)

    def pass_connections(self, port):
        listener = socket.create_server(("127.0.0.1", port))
        while True:
            near = listener.accept()[0]
            far = socket.create_connection(("127.0.0.1", port + 1))
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self.pass_bytes, args=ends, daemon=True).start()

    @staticmethod
    def pass_bytes(source, target):
        while data := source.recv(65536):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)


def run(command):
    return subprocess.run(command.split(), capture_output=True, text=True, check=True).stdout


relay = Relay(5301)
server = subprocess.Popen("iperf3 -s -1 -p 5302".split(), stdout=subprocess.DEVNULL)
time.sleep(1)
end = json.loads(run(f"iperf3 -c 127.0.0.1 -p 5301 -u -b 1M -l {LENGTH} -t 4 -J"))["end"]
server.wait()
three = end["sum_received"]
print(f"iperf3: {three['lost_packets']}/{three['packets']} lost, {three['lost_percent']} %; the relay lost "
      f"{relay.lost} of {relay.datagrams} and doubled {relay.doubled}")
as_described = three["lost_packets"] <= 1 and relay.lost > 40 and relay.doubled > 40

relay = Relay(5401)
server = subprocess.Popen("iperf -s -u -p 5402".split(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
time.sleep(1)
try:
    output = run(f"iperf -c 127.0.0.1 -p 5401 -u -b 1m -l {LENGTH} -t 4")
finally:
    server.kill()
    server.wait()
report = re.search(r"(\d+)/(\d+) +\(([\d.]+)%\)", output)
behind = re.search(r"(\d+) datagrams received out-of-order", output)
print(f"iperf 2: {report[0]} lost; {behind[0]}; the relay lost {relay.lost} of {relay.datagrams} and doubled {relay.doubled}")
as_described &= int(report[1]) <= 1 and relay.lost > 40 and relay.doubled > 40 and int(behind[1]) > 40
sys.stdout.flush()
sys.exit(not as_described)
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py
END
unshare -n sh try.sh
