#!/bin/sh
# dnsdist's average latencies begin at zero: ten answers of 100 ms each have an average of 9.7 ms, of 1.0 ms or of 0.1 ms.
#
# One would guess: `latency-avg100` is the mean of the last hundred answers, or of those there were, so 100 ms here; and `responses` counts
# the answers given.
# So it is: each average moves by a hundredth (a thousandth, …) towards the newest latency, and begins with 0 µs. It is close to the
# truth after some three hundred (3,000, 30,000) queries, and `latency-avg1000000` never in a test. `latency-sum` by `latency-count` is the
# mean. And `responses` are those of the servers behind: 90 answers from dnsdist's own cache are queries without a response.
#
# Uses dnsdist 1.7.3-2 and libraries of Debian 12, on loopback ports; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download dnsdist=1.7.3-2 libh2o-evloop0.13=2.2.5+dfsg2-7 libsnmp40=5.9.3+dfsg-2+deb12u1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libluajit-5.1-2=2.1.0~beta3+git20220320+dfsg-4.1+deb12u1 libcdb1=0.78+b1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libfstrm0=0.6.1-1 liblmdb0=0.9.24-1 libre2-9=20220601+dfsg-1+b1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libwslay1=1.1.1-3+b1 libedit2=3.1-20221030-2 libwrap0=7.6.q-32 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libnghttp2-14=1.52.0-1+deb12u3 libsodium23=1.0.18-1+deb12u1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/lib/$(uname -m)-linux-gnu"
usr/bin/dnsdist --version > version || exit 2
head -n 1 version
cat > try.py <<'END'
import re
import socket
import struct
import subprocess
import sys
import threading
import time

DELAY = 0.1


def free(kind):
    probe = socket.socket(socket.AF_INET, kind)
    probe.bind(("127.0.0.1", 0))
    return probe.getsockname()[1]


server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
port, control = free(socket.SOCK_DGRAM), free(socket.SOCK_STREAM)


def serve():
    """Answers each query with an address, after a tenth of a second."""
    while True:
        query, client = server.recvfrom(2000)
        time.sleep(DELAY)
        end = query.index(0, 12) + 5
        record = b"\xc0\x0c" + struct.pack("!HHIH", 1, 1, 3600, 4) + bytes([10, 0, 0, 1])
        server.sendto(query[:2] + b"\x81\x80" + struct.pack("!4H", 1, 1, 0, 0) + query[12:end] + record, client)


def ask(number):
    """Asks for a name; True if there is an answer."""
    client = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    client.settimeout(2)
    name = f"n{number}".encode()
    question = bytes([len(name)]) + name + b"\x07example\0" + struct.pack("!HH", 1, 1)
    client.sendto(struct.pack("!6H", number, 0x100, 1, 0, 0, 0) + question, ("127.0.0.1", port))
    try:
        return len(client.recv(2000)) > 0
    except (TimeoutError, ConnectionRefusedError):
        return False


with open("dnsdist.conf", "w") as file:
    file.write(f"""
newServer({{address="127.0.0.1:{server.getsockname()[1]}", healthCheckMode="up"}})
setLocal("127.0.0.1:{port}")
setSecurityPollSuffix("")
getPool(""):setCache(newPacketCache(1000))
setKey("MXNeLFWHUe4363BBKrY06cAsH8NWNb+Se2eXU5+Bb74=")
controlSocket("127.0.0.1:{control}")
""")
command = ["usr/bin/dnsdist", "-C", "dnsdist.conf"]


def statistics():
    shown = subprocess.run([*command, "-c", "-e", "dumpStats()"], capture_output=True, text=True, check=True).stdout
    return {name: float(value) for name, value in re.findall(r"([a-z][\w-]+)\s+(\d[\d.]*)", shown)}


threading.Thread(target=serve, daemon=True).start()
balancer = subprocess.Popen([*command, "--supervised"], stdout=open("log", "w"), stderr=subprocess.STDOUT)
try:
    for _ in range(200):  # until its control socket is there
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", control)) == 0:
                break
        time.sleep(0.1)
    answers = sum(ask(number) for number in range(10))
    slow = statistics()
    answers += sum(ask(number % 10) for number in range(90))
    cached = statistics()
finally:
    balancer.terminate()
    balancer.wait()
mean = slow["latency-sum"] / slow["latency-count"]
averages = [slow[f"latency-avg{number}"] / 1000 for number in (100, 1000, 10000)]
print(f"{int(slow['queries'])} queries of 100 ms: mean {mean:.0f} ms; latency-avg100, -avg1000 and -avg10000 in ms: {averages}")
print(f"90 more, from its cache: {answers} answers to a client, queries {int(cached['queries'])}, responses {int(cached['responses'])}")
sys.exit(not (
    mean >= 100 and averages[0] < mean / 5 and averages[1] < mean / 50
    and (answers, cached["queries"], cached["responses"]) == (100, 100, 10)
))
END
python3 try.py
