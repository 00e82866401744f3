#!/bin/sh
# nginx, HTTP/2 without TLS: with `sendfile on`, as packages set it, each response to one request at a time takes 40 ms.
#
# One would guess: `tcp_nodelay on` is the default, so small responses leave at once, as they do in HTTP/1.1.
# So it is: the header leaves in a segment of its own, and the file by sendfile waits, as Nagle's rule has it, until that segment
# is acknowledged, which a client that awaits data does only after its kernel's delay. Some 22 responses a second of a static file
# come on a connection with one stream; with `sendfile off` some thousands. HTTP/1.1 is not concerned: its header
# is held back for the file. Load testers show the 40 ms as the server's latency.
#
# Needs root, for a network namespace of its own. Uses nginx 1.22.1-9+deb12u11
# and h2load of nghttp2-client 1.52.0-1+deb12u3, both of Debian 12; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
packages="nginx=1.22.1-9+deb12u11 nghttp2-client=1.52.0-1+deb12u3 libnghttp2-14=1.52.0-1+deb12u3 libev4 libjansson4 libc-ares2"
apt-get -qq -o APT::Sandbox::User=root download $packages || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/sbin/nginx -v 2>&1 | tee version
grep -q 'nginx/1\.22\.1' version || exit 2
usr/bin/h2load --version | head -n 1
head -c 1024 /dev/zero > file
for switch in on off; do
    cat > $switch.conf <<END
daemon off; master_process off; pid $folder/pid; error_log $folder/errors;
events {}
http {
  access_log off; sendfile $switch;
  client_body_temp_path $folder/t1; proxy_temp_path $folder/t2; fastcgi_temp_path $folder/t3;
  uwsgi_temp_path $folder/t4; scgi_temp_path $folder/t5;
  server { listen 127.0.0.1:80 http2; root $folder; }
}
END
done
cat > try.sh <<'END'
ip link set lo up
for switch in on off; do
    usr/sbin/nginx -e errors -c "$PWD/$switch.conf" &
    sleep 1
    usr/bin/h2load -n 50 -c 1 -m 1 http://127.0.0.1/file > $switch.log
    kill $!
    wait $! || true
    echo "sendfile $switch: $(grep '^finished in' $switch.log)"
done
END
unshare -n sh try.sh
rate() { sed -n 's/^finished in [^,]*, \([0-9]*\).* req\/s.*/\1/p' "$1.log"; }
on=$(rate on) off=$(rate off)
[ "$on" -lt 60 ] && [ "$off" -gt 200 ]
