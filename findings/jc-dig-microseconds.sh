#!/bin/sh
# jc reads dig's query time without its unit: of `dig -u` 30,000 µs are 30,000 ms.
#
# One would guess: `query_time` has one unit, whichever dig prints, or the reader refuses a unit that it does not know; its documentation
# says milliseconds.
# So it is: the number is taken, and the word behind it dropped. `dig -u`, for servers whose answers take less than a millisecond, prints
# "Query time: 30123 usec", and jc says 30123; of "30 msec" it says 30. Nothing else in the result tells them apart. A limit of 10 ms
# fails for a server that answers within 11 µs.
#
# Uses jc 1.26.1 from PyPI, bind9-dnsutils and bind9-libs 1:9.18.49-1~deb12u3 and libraries of Debian 12, with a server on a loopback
# port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download bind9-dnsutils=1:9.18.49-1~deb12u3 bind9-libs=1:9.18.49-1~deb12u3 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libuv1=1.44.2-1+deb12u1 libjemalloc2=5.3.0-1 liblmdb0=0.9.24-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libmaxminddb0=1.7.1-1 libfstrm0=0.6.1-1 libprotobuf-c1=1.4.1-1+b1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libjson-c5=0.16-2 libnghttp2-14=1.52.0-1+deb12u3 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu:$folder/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/bin:$PATH"
dig -v 2>&1 || exit 2
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install jc==1.26.1 || exit 2
cat > try.py <<'END'
import re
import socket
import subprocess
import sys
import threading
import time
from importlib.metadata import version

import jc

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))


def answer():
    """Answers each query 30 ms late."""
    while True:
        query, client = server.recvfrom(4096)
        question = query[12 : query.index(b"\0", 12) + 5]
        record = b"\xc0\x0c" b"\0\1" b"\0\1" b"\0\0\0\x3c" b"\0\4" b"\xc0\0\2\1"
        time.sleep(0.03)
        server.sendto(query[:2] + b"\x81\x80" b"\0\1" b"\0\1" b"\0\0" b"\0\0" + question + record, client)


threading.Thread(target=answer, daemon=True).start()
print("jc", version("jc"))
as_described = True
for options, unit in (((), "msec"), (("-u",), "usec")):
    command = ["dig", *options, "@127.0.0.1", "-p", str(server.getsockname()[1]), "www.example.com"]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    shown = re.search(r"Query time: (\d+) (\w+)", text)
    (result,) = jc.parse("dig", text, quiet=True)
    print(f"{' '.join(command)}: {shown[0]!r}; jc: query_time {result['query_time']}, when: {result['when']}")
    as_described &= shown[2] == unit and result["query_time"] == int(shown[1]) and int(shown[1]) >= (20 if unit == "msec" else 20_000)
sys.exit(not as_described)
END
cat > try.sh <<'END'
ip link set lo up
exec venv/bin/python try.py
END
unshare -n sh try.sh
