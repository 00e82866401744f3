#!/bin/sh
# An accounting request that pyrad repeats is another one with the same identifier: a server takes it for new, or drops what is new in it.
#
# One would guess: a client repeats a request without an answer as it was, so that the server knows it for a duplicate, or gives it a new
# identifier if it changes it, as RFC 2866, section 4.1, demands.
# So it is: the first repetition gets an Acct-Delay-Time of the time-out, the next one of twice that, with another authenticator and the
# old identifier. Servers that compare authenticators, too, count three requests of a session; those that go by the identifier take the
# later ones for what they have had. Repeated access requests are the same bytes. On a lossy path there are more accounting
# requests than sessions. Set `retries = 1`, and repeat in the script.
#
# Uses pyrad 2.4 from PyPI, with a silent server on a loopback port; no Eagre.
set -eu
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv "$folder/venv" && "$folder/venv/bin/pip" -q install pyrad==2.4 || exit 2
cat > dictionary <<'END'
ATTRIBUTE User-Name 1 string
ATTRIBUTE Acct-Status-Type 40 integer
ATTRIBUTE Acct-Delay-Time 41 integer
ATTRIBUTE Acct-Session-Id 44 string
END
cat > try.py <<'END'
import socket
import sys
from importlib.metadata import version

from pyrad.client import Client, Timeout
from pyrad.dictionary import Dictionary

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 0))
server.setblocking(False)
port = server.getsockname()[1]


def sent(make):
    """Identifier, authenticator and attributes of each packet of a request that is never answered."""
    client = Client(server="127.0.0.1", authport=port, acctport=port, secret=b"secret", dict=Dictionary("dictionary"))
    client.timeout, client.retries = 1, 3
    try:
        client.SendPacket(make(client))
    except Timeout:
        packets = [server.recv(4096) for _ in range(3)]
        return [(packet[1], packet[4:20].hex(), packet[20:].hex()) for packet in packets]


def accounting(client):
    """The start of a session."""
    request = client.CreateAcctPacket(User_Name="user", Acct_Session_Id="1")
    request["Acct-Status-Type"] = 1
    return request


print("pyrad", version("pyrad"))
account, access = sent(accounting), sent(lambda client: client.CreateAuthPacket(User_Name="user"))
for name, packets in (("accounting", account), ("access", access)):
    for identifier, authenticator, attributes in packets:
        print(f"{name}: identifier {identifier}, authenticator {authenticator[:8]}…, attributes {attributes}")
identifiers, authenticators, attributes = map(set, zip(*account))
delays = [packet[2].partition("2906")[2] for packet in account]
print("Acct-Delay-Time:", delays)
as_described = len(identifiers) == 1 and len(authenticators) == len(attributes) == 3 and len(set(access)) == 1
sys.exit(not (as_described and delays == ["", "00000001", "00000002"]))
END
cat > try.sh <<'END'
ip link set lo up
exec venv/bin/python try.py
END
unshare -n sh try.sh
