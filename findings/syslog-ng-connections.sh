#!/bin/sh
# syslog-ng takes ten TCP connections; what further clients send is lost, and they see no error.
#
# One would guess: a `network()` source takes some hundred connections, and one that is too many is refused.
# So it is: `max-connections()` is 10 unless it is set. An eleventh client is accepted and closed at once; its first message is sent without
# an error, and lost. So of 40 hosts that log over TCP the messages of ten arrive, and the log has a line for each of the others. A load
# generator with a connection for each of many hosts measures that limit.
#
# Uses syslog-ng-core 3.38.1-5+deb12u1 and libraries of Debian 12, on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download syslog-ng-core=3.38.1-5+deb12u1 libivykis0=0.42.4-1 libnet1=1.1.6+dfsg-3.2 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libpcre3=2:8.39-15 libwrap0=7.6.q-32 libjson-c5=0.16-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/lib/$(uname -m)-linux-gnu:$folder/usr/lib/syslog-ng"
usr/sbin/syslog-ng --version 2> /dev/null | grep -m 1 '^syslog-ng' || exit 2
python3 - <<'END'
import socket
import subprocess
import sys
import time

CLIENTS = 40


def trial(limit):
    """Messages that arrive of those that many clients send, one each, and how many of the clients see an error when they send."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with open("conf", "w") as file:
        file.write(f"""@version: 3.38
source clients {{ network(ip("127.0.0.1") port({port}) transport("tcp") {limit}); }};
destination arrived {{ file("arrived"); }};
log {{ source(clients); destination(arrived); }};
""")
    open("arrived", "w").close()
    options = "-F -e --no-caps -f conf -R state -p pid -c control --module-path usr/lib/syslog-ng/3.38"
    server = subprocess.Popen(["usr/sbin/syslog-ng", *options.split()], stdout=open("log", "w"), stderr=subprocess.STDOUT)
    try:
        for _ in range(100):
            try:
                socket.create_connection(("127.0.0.1", port)).close()
                break
            except ConnectionRefusedError:
                time.sleep(0.1)
        time.sleep(1)
        clients = [socket.create_connection(("127.0.0.1", port)) for _ in range(CLIENTS)]
        time.sleep(1)
        errors = 0
        for number, client in enumerate(clients):
            try:
                client.sendall(f"<13>Jan  1 00:00:00 host{number} app: message\n".encode())
            except OSError:
                errors += 1
        time.sleep(2)
    finally:
        server.terminate()
        server.wait()
    with open("arrived") as file:
        count = len(file.readlines())
    with open("log") as file:
        rejected = file.read().count("rejecting connection")
    print(f"{limit or 'no limit written'}: {CLIENTS} clients connected, {errors} errors when they send a message each; "
          f"{count} messages arrived, {rejected} connections rejected in the log")
    return errors, count


few, all_ = trial(""), trial("max-connections(100)")
sys.exit((few, all_) != ((0, 10), (0, CLIENTS)))
END
