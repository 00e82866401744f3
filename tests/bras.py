"""A small access concentrator for tests: PPPoE and PPP as Scapy's layers read and write them, packets routed by the kernel.

    bras.py DEVICE [OPTIONS AS JSON]

What subscribers send in their sessions goes to the TUN interface `subscribers`, and what the kernel routes there to their sessions.
It takes commands as lines on standard input, and answers `state` with a line of JSON:

    state | padt | terminate TEXT | mute | unmute

The user `u7` has the password of the option `password`, where {n} is 7, and gets the address of that place in `pool`.
"""

import contextlib
import errno
import fcntl
import hashlib
import ipaddress
import json
import logging
import os
import select
import socket
import struct
import sys
import time

logging.getLogger("scapy").setLevel(logging.ERROR)
from scapy.layers.l2 import Dot1Q, Ether  # noqa: E402
from scapy.layers.ppp import (  # noqa: E402
    PPP,
    PPP_CHAP,
    PPP_CHAP_ChallengeResponse,
    PPP_IPCP,
    PPP_IPCP_Option_IPAddress,
    PPP_LCP_Auth_Protocol_Option,
    PPP_LCP_Configure,
    PPP_LCP_Echo,
    PPP_LCP_Magic_Number_Option,
    PPP_LCP_MRU_Option,
    PPP_LCP_Terminate,
    PPP_PAP_Request,
    PPP_PAP_Response,
    PPPoE,
    PPPoED,
    PPPoED_Tags,
    PPPoETag,
)

LCP, PAP, CHAP, IPCP = 0xC021, 0xC023, 0xC223, 0x8021
PADI, PADO, PADR, PADS, PADT = 0x09, 0x07, 0x19, 0x65, 0xA7
SERVICE, AC_NAME, HOST_UNIQ, COOKIE, SERVICE_ERROR = 0x101, 0x102, 0x103, 0x104, 0x201
REQUEST, ACK, NAK, REJECT, TERMINATE, TERMINATE_ACK = range(1, 7)
ECHO, ECHO_REPLY = 9, 10
AUXDATA, SOL_PACKET, ETH_P_ALL, VLAN_VALID = 8, 263, 3, 1 << 4
RCVBUFFORCE, TUNSETIFF, TUN, NO_PI = 33, 0x400454CA, 1, 0x1000
DEFAULTS = {
    "auth": "pap",
    "password": "p{n}",
    "pool": "100.64.0.0/16",
    "own": "100.64.255.254",
    "dns": ["9.9.9.9", "8.8.8.8"],
    "name": "bras",
    "services": [""],
    "refused": [],
    "retry": 1.0,
}


class Session:
    def __init__(self, number, mac, service, vlan):
        self.number, self.mac, self.service, self.vlan = number, mac, service, vlan
        self.user, self.ip, self.challenge = None, None, None
        self.let_in = self.refused = False
        # Of LCP and IPCP: whether each side's request was agreed to.
        self.theirs, self.ours, self.asked_at = {}, {}, {}
        self.id = 0
        self.sent, self.received, self.foreign = 0, 0, 0

    def is_open(self, protocol):
        return self.theirs.get(protocol) and self.ours.get(protocol)


class Bras:
    def __init__(self, device, options):
        self.options = {**DEFAULTS, **options}
        self.pool = ipaddress.ip_network(self.options["pool"])
        self.wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_P_ALL))
        self.wire.setsockopt(SOL_PACKET, AUXDATA, 1)
        self.wire.setsockopt(socket.SOL_SOCKET, RCVBUFFORCE, 64 << 20)
        self.wire.bind((device, 0))
        self.mac = self.wire.getsockname()[4]
        self.tun = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
        fcntl.ioctl(self.tun, TUNSETIFF, struct.pack("16sH14x", b"subscribers", TUN | NO_PI))
        for command in (
            f"address add {self.options['own']}/32 dev subscribers",
            "link set subscribers up mtu 1492 txqueuelen 10000",
            f"route add {self.pool} dev subscribers",
        ):
            assert os.system("ip " + command) == 0, command
        self.sessions, self.ended, self.by_ip, self.next = {}, {}, {}, 1
        self.counts = dict.fromkeys(("padi", "padr", "padt", "bad_cookie", "refused", "echoes", "echo_replies", "terminates"), 0)
        self.muted = False

    # The wire.

    def receive(self):
        frame, ancillary, _, address = self.wire.recvmsg(65535, 512)
        if address[2] == socket.PACKET_OUTGOING:
            return
        vlan = None
        for level, kind, data in ancillary:
            if (level, kind) == (SOL_PACKET, AUXDATA):
                status, *_, tci, _ = struct.unpack("IIIHHHH", data)
                vlan = tci & 0xFFF if status & VLAN_VALID else None
        kind = frame[12:14]
        if kind == b"\x88\x64":
            self.in_session(frame, vlan)
        elif kind == b"\x88\x63":
            self.discover(Ether(frame), vlan)

    def send(self, packet, vlan):
        if vlan is not None:
            packet = packet.copy()
            inner = packet.payload
            packet.remove_payload()
            packet = packet / Dot1Q(vlan=vlan, type=packet.type) / inner
            packet.type = 0x8100
        self.put(bytes(packet))

    def put(self, frame):
        """Sends a frame; it is lost if the kernel has no room for it, as on any wire."""
        try:
            self.wire.send(frame)
        except OSError as error:
            if error.errno != errno.ENOBUFS:
                raise

    # Discovery.

    def cookie(self, mac):
        return hashlib.sha256(b"secret" + mac.encode()).digest()[:16]

    def discover(self, frame, vlan):
        packet = frame[PPPoED]
        tags = {tag.tag_type: bytes(tag.tag_value) for tag in packet[PPPoED_Tags].tag_list} if packet.len else {}
        service = tags.get(SERVICE, b"").decode()
        answer = [PPPoETag(tag_type=SERVICE, tag_value=service), PPPoETag(tag_type=HOST_UNIQ, tag_value=tags.get(HOST_UNIQ, b""))]
        number = 0
        if packet.code == PADI:
            self.counts["padi"] += 1
            if self.options.get("silent"):
                return
            code = PADO
            answer.append(PPPoETag(tag_type=AC_NAME, tag_value=self.options["name"]))
            answer.append(PPPoETag(tag_type=COOKIE, tag_value=self.cookie(frame.src)))
        elif packet.code == PADR:
            self.counts["padr"] += 1
            code = PADS
            if tags.get(COOKIE) != self.cookie(frame.src):
                self.counts["bad_cookie"] += 1
                return
            if service not in self.options["services"]:
                answer.append(PPPoETag(tag_type=SERVICE_ERROR, tag_value=f"no service {service}"))
            else:
                number, self.next = self.next, self.next + 1
                self.sessions[number] = Session(number, frame.src, service, vlan)
        elif packet.code == PADT:
            self.counts["padt"] += 1
            self.forget(packet.sessionid)
            return
        else:
            return
        head = Ether(src=self.mac_text(), dst=frame.src, type=0x8863)
        self.send(head / PPPoED(code=code, sessionid=number) / PPPoED_Tags(tag_list=answer), vlan)
        if number:
            self.advance(self.sessions[number])

    def mac_text(self):
        return ":".join(f"{byte:02x}" for byte in self.mac)

    def forget(self, number):
        session = self.sessions.pop(number, None)
        if session is None:
            return
        self.ended[number] = session
        if self.by_ip.get(session.ip) is session:
            del self.by_ip[session.ip]

    def padt(self):
        for number, session in list(self.sessions.items()):
            head = Ether(src=self.mac_text(), dst=session.mac, type=0x8863)
            self.send(head / PPPoED(code=PADT, sessionid=number), session.vlan)
            self.forget(number)

    # PPP.

    def say(self, session, protocol, packet):
        head = Ether(src=self.mac_text(), dst=session.mac, type=0x8864)
        self.send(head / PPPoE(sessionid=session.number) / PPP(proto=protocol) / packet, session.vlan)

    def in_session(self, frame, vlan):
        number, length, protocol = struct.unpack_from("!HHH", frame, 16)
        session = self.sessions.get(number)
        source = ":".join(f"{byte:02x}" for byte in frame[6:12])
        if not session or session.mac != source or session.vlan != vlan or frame[:6] != self.mac:
            return
        if protocol == 0x0021:
            packet = frame[22 : 20 + length]
            if session.ip is None or ipaddress.ip_address(packet[12:16]) != session.ip:
                session.foreign += 1
                return
            session.received += 1
            with contextlib.suppress(BlockingIOError):
                os.write(self.tun, packet)
            return
        packet = Ether(frame)[PPP].payload
        if protocol == LCP:
            self.hear_lcp(session, packet)
        elif protocol == PAP and PPP_PAP_Request in packet:
            said = packet[PPP_PAP_Request]
            user, password = said.username.decode(), said.password.decode()
            self.judge(session, user, password == self.password(user))
            code, text = (2, "welcome") if session.let_in else (3, "wrong password")
            self.say(session, PAP, PPP_PAP_Response(code=code, id=said.id, message=text))
        elif protocol == CHAP and packet.code == 2 and session.challenge:
            said = packet[PPP_CHAP_ChallengeResponse]
            user = said.optional_name.decode()
            secret = bytes([said.id]) + self.password(user).encode() + session.challenge
            self.judge(session, user, bytes(said.value) == hashlib.md5(secret).digest())
            code, text = (3, b"welcome") if session.let_in else (4, b"wrong password")
            self.say(session, CHAP, PPP_CHAP(code=code, id=said.id, data=text))
        elif protocol == IPCP:
            self.hear_ipcp(session, packet)
        self.advance(session)

    def password(self, user):
        return self.options["password"].replace("{n}", user.lstrip("u"))

    def judge(self, session, user, is_right):
        is_right = is_right and user not in self.options["refused"]
        session.let_in, session.refused = is_right, not is_right
        self.counts["refused"] += not is_right
        if is_right:
            session.user = user

    def hear_lcp(self, session, packet):
        if packet.code == REQUEST:
            if session.is_open(LCP):
                session.theirs, session.ours, session.asked_at = {}, {}, {}
                session.let_in, session.challenge = False, None
            kinds = {option.type: option for option in packet.options}
            assert set(kinds) <= {1, 5} and kinds[1].max_recv_unit <= 1492, packet.show(dump=True)
            session.theirs[LCP] = True
            self.say(session, LCP, PPP_LCP_Configure(code=ACK, id=packet.id, options=packet.options))
        elif packet.code == ACK and packet.id == session.id:
            session.ours[LCP] = True
        elif packet.code == NAK:
            wanted = next(option for option in packet.options if option.type == 3)
            self.options["auth"] = "chap" if wanted.auth_protocol == CHAP else "pap"
            session.asked_at.pop(LCP, None)
        elif packet.code == REJECT:
            # It insists.
            session.refused = True
        elif packet.code == ECHO:
            self.counts["echoes"] += 1
            if not self.muted:
                self.say(session, LCP, PPP_LCP_Echo(code=ECHO_REPLY, id=packet.id, magic_number=session.number, data=packet.data))
        elif packet.code == ECHO_REPLY:
            self.counts["echo_replies"] += bytes(packet.data) == b"tide"
        elif packet.code == TERMINATE:
            self.counts["terminates"] += 1
            self.say(session, LCP, PPP_LCP_Terminate(code=TERMINATE_ACK, id=packet.id))

    def hear_ipcp(self, session, packet):
        if not session.let_in:
            return
        if packet.code == REQUEST:
            session.ip = self.pool[int(session.user.lstrip("u")) + 1] if session.user else self.pool[session.number]
            right = {3: str(session.ip), 129: self.options["dns"][0], 131: self.options["dns"][1]}
            wrong = [option for option in packet.options if option.data != right[option.type]]
            for option in wrong:
                option.data = right[option.type]
            session.theirs[IPCP] = not wrong
            code = NAK if wrong else ACK
            self.say(session, IPCP, PPP_IPCP(code=code, id=packet.id, options=wrong or packet.options))
        elif packet.code == ACK and packet.id == session.id:
            session.ours[IPCP] = True
        if session.is_open(IPCP):
            self.by_ip[session.ip] = session
            echo = PPP_LCP_Echo(code=ECHO, id=77, magic_number=session.number, data=b"tide")
            self.say(session, LCP, echo)

    def advance(self, session):
        """Asks for what is missing, again if nobody answered."""
        if not session.ours.get(LCP):
            options = [PPP_LCP_MRU_Option(max_recv_unit=1492), PPP_LCP_Magic_Number_Option(magic_number=session.number)]
            if self.options["auth"] == "pap":
                options.append(PPP_LCP_Auth_Protocol_Option(auth_protocol=PAP))
            elif self.options["auth"] == "chap":
                options.append(PPP_LCP_Auth_Protocol_Option(auth_protocol=CHAP, algorithm=5))
            self.ask(session, LCP, lambda number: PPP_LCP_Configure(code=REQUEST, id=number, options=options))
        if not session.is_open(LCP):
            return
        if self.options["auth"] is None:
            session.let_in = True
        if not session.let_in:
            if self.options["auth"] == "chap" and not session.refused:
                session.challenge = session.challenge or os.urandom(16)
                value = {"value": session.challenge, "optional_name": b"bras"}
                self.ask(session, CHAP, lambda number: PPP_CHAP_ChallengeResponse(code=1, id=number, **value))
            return
        if not session.ours.get(IPCP):
            options = [PPP_IPCP_Option_IPAddress(data=self.options["own"])]
            self.ask(session, IPCP, lambda number: PPP_IPCP(code=REQUEST, id=number, options=options))

    def ask(self, session, protocol, packet):
        now = time.monotonic()
        if now - session.asked_at.get(protocol, 0) < self.options["retry"]:
            return
        session.asked_at[protocol] = now
        session.id = session.id % 255 + 1
        self.say(session, protocol, packet(session.id))

    # What the kernel routes to subscribers.

    def route(self):
        for _ in range(256):
            try:
                packet = os.read(self.tun, 65535)
            except BlockingIOError:
                return
            session = self.by_ip.get(ipaddress.ip_address(packet[16:20])) if packet[0] >> 4 == 4 else None
            if session is None:
                continue
            session.sent += 1
            head = bytes.fromhex(session.mac.replace(":", "")) + self.mac
            if session.vlan is not None:
                head += struct.pack("!HH", 0x8100, session.vlan)
            self.put(head + struct.pack("!HBBHHH", 0x8864, 0x11, 0, session.number, len(packet) + 2, 0x21) + packet)

    def state(self):
        def of(session):
            ip = str(session.ip) if session.is_open(IPCP) else None
            keys = ("mac", "user", "vlan", "service", "sent", "received", "foreign")
            return {"ip": ip, **{key: getattr(session, key) for key in keys}}

        both = {"sessions": self.sessions, "ended": self.ended}
        return {**self.counts, **{name: {n: of(one) for n, one in some.items()} for name, some in both.items()}}

    def command(self, line):
        word, _, text = line.strip().partition(" ")
        if word == "padt":
            self.padt()
        elif word == "terminate":
            for session in self.sessions.values():
                self.say(session, LCP, PPP_LCP_Terminate(code=TERMINATE, id=99, data=text.encode()))
        elif word in ("mute", "unmute"):
            self.muted = word == "mute"
        print(json.dumps(self.state()), flush=True)

    def run(self):
        print("ready", flush=True)
        ticked, inputs = time.monotonic(), [self.wire, self.tun, sys.stdin]
        while True:
            ready, _, _ = select.select(inputs, [], [], self.options["retry"] / 4)
            if self.wire in ready:
                self.receive()
            if self.tun in ready:
                self.route()
            if sys.stdin in ready:
                if line := sys.stdin.readline():
                    self.command(line)
                else:
                    inputs.remove(sys.stdin)
            if time.monotonic() - ticked > self.options["retry"] / 4:
                ticked = time.monotonic()
                for session in list(self.sessions.values()):
                    self.advance(session)


if __name__ == "__main__":
    Bras(sys.argv[1], json.loads(sys.argv[2]) if len(sys.argv) > 2 else {}).run()
