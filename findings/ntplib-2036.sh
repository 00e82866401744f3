#!/bin/sh
# ntplib takes a server's time after 7 February 2036 for one of 1900: a clock of November 2040 is 122 years behind.
#
# One would guess: NTP's seconds wrap around in 2036, and clients choose the era next to their own clock, as RFC 5905 says, so a test with a
# clock that is set ahead shows an offset of 14 years.
# So it is: ntplib subtracts 70 years from the number as it is. The offset of a server in 2040 is -3,853,4xx,xxx s, and its time one of
# 1904. Go's beevik/ntp sees +14 years. Whoever tests devices for 2036 with ntplib finds the fault in each of them.
#
# Uses ntplib 0.4.0 from PyPI and github.com/beevik/ntp v1.6.0 with Go, with a server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install ntplib==0.4.0 || exit 2
go mod init try 2> log || exit 2
go get github.com/beevik/ntp@v1.6.0 2> log || { cat log >&2; exit 2; }
cat > main.go <<'END'
package main

import (
	"fmt"
	"os"

	"github.com/beevik/ntp"
)

func main() {
	response, err := ntp.Query(os.Args[1])
	if err != nil {
		panic(err)
	}
	fmt.Println(response.ClockOffset.Seconds())
}
END
go mod tidy 2> log && go build -o client . || { cat log >&2; exit 2; }
cat > try.py <<'END'
import socket
import struct
import subprocess
import sys
import threading
import time
from importlib.metadata import version

import ntplib

DAY = 86_400
TO_1900 = 2_208_988_800
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
port = server.getsockname()[1]
ahead = 0


def stamp(seconds):
    """An NTP time stamp: 32 bits of seconds since 1900, which wrap around in 2036."""
    return struct.pack("!II", (int(seconds) + TO_1900) % 2**32, int(seconds % 1 * 2**32))


def serve():
    while True:
        request, client = server.recvfrom(100)
        now = time.time() + ahead
        head = struct.pack("!BBbbIII", 0x24, 2, 6, -20, 100, 100, 0x0A000001)
        server.sendto(head + stamp(now - 10) + request[40:48] + stamp(now) * 2, client)


threading.Thread(target=serve, daemon=True).start()
print("ntplib", version("ntplib"), "and beevik/ntp 1.6.0")
seen = {}
for ahead in (100, 14 * 365 * DAY):
    answer = ntplib.NTPClient().request("127.0.0.1", port=port, version=4)
    go = float(subprocess.run(["./client", f"127.0.0.1:{port}"], capture_output=True, text=True, check=True).stdout)
    seen[ahead] = round(answer.offset), round(go)
    print(f"a clock {ahead:,} s ahead: ntplib {answer.offset:,.0f} s, its time {time.ctime(answer.tx_time)}; beevik/ntp {go:,.0f} s")
wrong = 14 * 365 * DAY - 2**32
sys.exit(any(abs(a - b) > 2 for a, b in zip((*seen[100], *seen[14 * 365 * DAY]), (100, 100, wrong, 14 * 365 * DAY))))
END
venv/bin/python try.py
