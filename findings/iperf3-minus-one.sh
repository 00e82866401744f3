#!/bin/sh
# iperf3: what its results call 18446744073709551615, or 1.8446744073709552e+19, is -1: "not known".
#
# One would guess: numbers in the JSON that client and server exchange are counts, written as whole numbers.
# So it is: a receiver sets `sender_has_retransmits` and each stream's `retransmits` to -1 in an unsigned field, and writes the
# largest number of 64 bits; read once and written again, as in `--debug` output, it has become a float. A reader for signed integers refuses the
# first form, one for integers the second, and one that adds up retransmits of all streams gets 10^19 segments.
#
# Uses iperf3 3.12-1+deb12u2, libiperf0 and libsctp1 of Debian 12 over loopback; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
apt-get -qq -o APT::Sandbox::User=root download iperf3=3.12-1+deb12u2 libiperf0=3.12-1+deb12u2 libsctp1=1.0.19+dfsg-2 || exit 2
for package in *.deb; do dpkg -x "$package" .; done
export LD_LIBRARY_PATH="$folder/usr/lib/$(uname -m)-linux-gnu"
usr/bin/iperf3 --version > version || exit 2
head -n 1 version
cat > try.sh <<'END'
ip link set lo up
usr/bin/iperf3 --server --one-off > server.log &
sleep 1
usr/bin/iperf3 --client 127.0.0.1 --reverse --bytes 1M --debug > client.log
wait
END
unshare -n sh try.sh
# The client receives; send_results is what it writes, and get_results what it read of the server, which sent.
sed -n '/^send_results/,/^}/p' client.log | tr -d '\n\t' | grep -o '"sender_has_retransmits":[^,]*' | tee sent
cat > try.sh <<'END'
ip link set lo up
usr/bin/iperf3 --server --one-off --debug > server.log &
sleep 1
usr/bin/iperf3 --client 127.0.0.1 --bytes 1M --debug > client.log
wait
END
unshare -n sh try.sh
sed -n '/^get_results/,/^}/p' client.log | tr -d '\n\t' | grep -o '"retransmits":[^,]*' | tee got
grep -q 18446744073709551615 sent && grep -q '1.8446744073709552e+19' got
