#!/bin/sh
# lighttpd answers eight HTTP/2 requests of a connection at a time, whatever a test asks for.
#
# One would guess: a hundred streams or more, as RFC 9113 (section 6.5.2) recommends and nginx, Apache, Caddy and Node.js have it.
# So it is: lighttpd announces SETTINGS_MAX_CONCURRENT_STREAMS of 8. With an answer that takes 0.5 s, 32 requests over one connection with
# up to 32 streams take 2 s instead of 0.5 s: eight at a time. There is no setting for it. Use more connections.
#
# Uses lighttpd 1.4.69-1, libnettle8 3.8.1-2, libxxhash0 0.8.1-1, nghttp2-client 1.52.0-1+deb12u3, libnghttp2-14 1.52.0-1+deb12u3,
# libjemalloc2 5.3.0-1 and libev4 1:4.33-1 of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download lighttpd=1.4.69-1 libnettle8=3.8.1-2 libxxhash0=0.8.1-1 || exit 2
apt-get -qq -o APT::Sandbox::User=root download nghttp2-client=1.52.0-1+deb12u3 libnghttp2-14=1.52.0-1+deb12u3 || exit 2
apt-get -qq -o APT::Sandbox::User=root download libjemalloc2=5.3.0-1 libev4=1:4.33-1 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu" PATH="$folder/usr/sbin:$folder/usr/bin:$PATH"
lighttpd -v > version && h2load --version >> version || exit 2
grep -oE 'lighttpd/[0-9.]*|nghttp2/[0-9.]*' version
mkdir www
cat > www/slow.sh <<'END'
sleep 0.5
printf 'Content-Type: text/plain\r\n\r\nslow\n'
END
cat > lighttpd.conf <<END
server.modules = ("mod_cgi")
server.document-root = "$folder/www"
server.bind = "127.0.0.1"
server.port = 8080
cgi.assign = (".sh" => "/bin/sh")
END
cat > try.py <<'END'
import re
import subprocess
import sys
import time

server = subprocess.Popen(["lighttpd", "-D", "-m", sys.argv[1], "-f", "lighttpd.conf"], stderr=open("log", "w"))
time.sleep(1)
try:
    asked = subprocess.run("nghttp -nv http://127.0.0.1:8080/slow.sh".split(), capture_output=True, text=True).stdout
    received = asked[asked.index("recv SETTINGS"):]
    announced = int(re.search(r"MAX_CONCURRENT_STREAMS\(0x03\):(\d+)", received)[1])
    took = {}
    for clients in (1, 8):
        load = f"h2load -n 32 -c {clients} -m {32 // clients} http://127.0.0.1:8080/slow.sh"
        output = subprocess.run(load.split(), capture_output=True, text=True).stdout
        seconds, unit, rate = re.search(r"finished in ([\d.]+)(m?s), ([\d.]+) req/s", output).groups()
        took[clients] = float(seconds) / (1000 if unit == "ms" else 1)
        done = re.search(r"\d+ succeeded", output)[0]
        print(f"{clients} connections with up to {32 // clients} streams each: {done}, {took[clients]:.2f} s, {rate} requests/s")
finally:
    server.terminate()
    server.wait()
print("announced: SETTINGS_MAX_CONCURRENT_STREAMS", announced)
sys.exit(not (announced == 8 and took[1] > 1.9 and took[8] < took[1] * 0.7))
END
cat > try.sh <<'END'
ip link set lo up
exec python3 try.py "$1"
END
unshare -n sh try.sh "$folder/usr/lib/lighttpd"
