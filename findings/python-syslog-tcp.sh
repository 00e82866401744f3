#!/bin/sh
# Python's SysLogHandler over TCP ends messages with a zero byte, and rsyslog waits for a newline: five messages are one, when the
# connection ends.
#
# One would guess: the handler writes what syslog servers read over TCP: a message to a line, or with its length in front (RFC 6587).
# So it is: `append_nul` is on by default, also with SOCK_STREAM, and nothing else separates messages. rsyslog shows nothing while the
# program runs; when it closes the connection one message is logged, with "#000<12>" between the texts.
# Over UDP the five messages are five. A test of logging over TCP sees no message in time and one at the end. Set `append_nul` to False
# and end each message with a newline.
#
# Needs root, for a network namespace of its own. Uses Python 3.11 with rsyslog 8.2302.0-1+deb12u2, libestr0 0.1.11-1 and libfastjson4
# 1.2304.0-1 of Debian 12; no Eagre.
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
python3 --version
cat > rsyslog.conf <<END
global(workDirectory="$folder")
module(load="imtcp")
module(load="imudp")
input(type="imtcp" port="5140" address="127.0.0.1")
input(type="imudp" port="5140" address="127.0.0.1")
template(name="text" type="string" string="%programname%:%msg%\n")
*.* action(type="omfile" file="$folder/messages" template="text")
END
: > messages
cat > try.py <<'END'
import logging
import logging.handlers
import socket
import subprocess
import sys
import time

modules = sys.argv[1]
with open("log", "w") as log:
    command = ["usr/sbin/rsyslogd", "-n", "-f", "rsyslog.conf", "-i", "none", "-M", modules]
    server = subprocess.Popen(command, stdout=log, stderr=log)
time.sleep(2)


def logged(name):
    time.sleep(1)
    return [line for line in open("messages").read().splitlines() if name in line]


seen = {}
try:
    for name, kind in (("tcp", socket.SOCK_STREAM), ("udp", socket.SOCK_DGRAM)):
        handler = logging.handlers.SysLogHandler(("127.0.0.1", 5140), socktype=kind)
        logger = logging.getLogger(name)
        logger.addHandler(handler)
        for number in range(5):
            logger.warning("%s: message %d", name, number)
            time.sleep(0.1)
        during = len(logged(name))
        handler.close()
        after = logged(name)
        seen[name] = during, len(after)
        print(f"five messages over {name}: {during} while the connection is open, {len(after)} after its end:", *after, sep="\n    ")
finally:
    server.terminate()
    server.wait()
sys.exit(seen != {"tcp": (0, 1), "udp": (5, 5)})
END
cat > try.sh <<END
ip link set lo up
exec python3 try.py "$libraries/rsyslog"
END
unshare -n sh try.sh
