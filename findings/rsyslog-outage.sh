#!/bin/sh
# rsyslog that finds its server gone drops messages for 30 s, though the server is back after two: of a message each half second some 60 are
# missing.
#
# One would guess: messages over TCP wait for the server, or a new connection is tried with the next message, and an outage of two seconds
# costs what came in it.
# So it is: when a connection cannot be opened the action is suspended for `action.resumeInterval`, 30 s, and since
# `action.resumeRetryCount` is 0 and there is no queue messages in that time are discarded. Without a message in the outage nothing
# happens: the next one opens a new connection. A failover test counts 60 lost messages for an outage of 2 s, and
# none if none was sent in it. Set `action.resumeRetryCount="-1"`, `action.resumeInterval="1"` and a queue.
#
# Needs root, for a network namespace of its own. Uses rsyslog 8.2302.0-1+deb12u2, libestr0 0.1.11-1 and libfastjson4 1.2304.0-1 of Debian
# 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download rsyslog=8.2302.0-1+deb12u2 libestr0=0.1.11-1 libfastjson4=1.2304.0-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
libraries="$folder/usr/lib/$(uname -m)-linux-gnu"
export LD_LIBRARY_PATH="$libraries"
usr/sbin/rsyslogd -v > version || exit 2
head -n 1 version
cat > rsyslog.conf <<END
global(workDirectory="$folder")
module(load="imudp")
input(type="imudp" port="5140" address="127.0.0.1")
*.* action(type="omfwd" target="127.0.0.1" port="5141" protocol="tcp")
END
cat > try.py <<'END'
import re
import socket
import subprocess
import sys
import threading
import time

EACH, OUTAGE = 0.5, (2, 4)
received = {}


class Server:
    """A log server that can be stopped: it notes when the message of each number came."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 5141))
        self.streams = []
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                stream, _ = self.listener.accept()
            except OSError:
                return
            self.streams.append(stream)
            threading.Thread(target=self.read, args=(stream,), daemon=True).start()

    def read(self, stream):
        while data := stream.recv(65536):
            for number in re.findall(rb"number (\d+)", data):
                received.setdefault(int(number), time.monotonic() - start)

    def stop(self):
        for end in (self.listener, *self.streams):
            end.shutdown(socket.SHUT_RDWR)
            end.close()


start = time.monotonic()
server = Server()
with open("log", "w") as log:
    command = ["usr/sbin/rsyslogd", "-n", "-f", "rsyslog.conf", "-i", "none", "-M", sys.argv[1]]
    client = subprocess.Popen(command, stdout=log, stderr=log)
time.sleep(2)
start, sender, stopped = time.monotonic(), socket.socket(socket.AF_INET, socket.SOCK_DGRAM), False
try:
    for number in range(90):
        time.sleep(max(0, start + EACH * number - time.monotonic()))
        now = time.monotonic() - start
        if not stopped and OUTAGE[0] <= now < OUTAGE[1]:
            server.stop()
            stopped = True
        elif stopped is True and now >= OUTAGE[1]:
            server, stopped = Server(), None
        sender.sendto(b"<13>test: number %d" % number, ("127.0.0.1", 5140))
    time.sleep(2)
finally:
    client.terminate()
    client.wait()
lost = [number for number in range(90) if number not in received]
late = max(at - EACH * number for number, at in received.items())
print(f"90 messages, one each {EACH} s; no server from {OUTAGE[0]} to {OUTAGE[1]} s")
print(f"{len(lost)} are lost, those from {EACH * lost[0]} s to {EACH * lost[-1]} s")
print(f"the others are at most {late:.1f} s late")
sys.exit(not (55 <= len(lost) <= 64 and lost[-1] - lost[0] < 66 and late < 1))
END
cat > try.sh <<END
ip link set lo up
exec python3 try.py "$libraries/rsyslog"
END
unshare -n sh try.sh
