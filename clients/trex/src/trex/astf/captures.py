"""Captures for ASTF: whether one is TCP or UDP, the server's port, and the data of both ends."""

import struct

from trex.astf.trex_astf_exceptions import ASTFError

# Most bytes of a file, and of a packet in it.
FILE_MAX = 256 << 20
PACKET_MAX = 1 << 18
# Pauses between datagrams of one end that TRex keeps, µs.
PAUSE_MIN, PAUSE_MAX = 50, 700_000


class Capture:
    """One conversation in a capture file."""

    _known = {}

    @classmethod
    def of(cls, path):
        """The capture in a file; each is read once."""
        if path not in cls._known:
            cls._known[path] = cls(path)
        return cls._known[path]

    def __init__(self, path):
        self.path = path
        self.is_tcp, self.port, self.payload = True, 0, 0
        # Messages: whether the client sends it, its bytes, and when, µs.
        self.messages = []
        # Packets of the conversation: whether the client sends it, when, µs, and its bytes. How many packets are others'.
        self.frames, self.others = [], 0
        try:
            with open(path, "rb") as file:
                data = file.read(FILE_MAX + 1)
        except OSError as error:
            raise ASTFError(f"capture '{path}': {error.strerror}") from None
        if len(data) > FILE_MAX:
            raise ASTFError(f"capture '{path}' is larger than {FILE_MAX} bytes")
        flow, expected = None, {}
        for at, packet in self._packets(data):
            found = _transport(packet)
            if found is None:
                self.others += 1
                continue
            protocol, source, target, payload, flags, sequence = found
            # The client speaks first; a SYN with ACK is the server's.
            if flow is None:
                flow = (protocol, source, target) if flags & 0x12 != 0x12 else (protocol, target, source)
                self.is_tcp, self.port = protocol == 6, flow[2][1]
            if (protocol, frozenset((source, target))) == (flow[0], frozenset(flow[1:])):
                self.payload += len(payload)
                is_client = source == flow[1]
                self.frames.append((is_client, at, packet))
                if protocol == 6:
                    payload = self._in_order(expected, is_client, sequence + (flags >> 1 & 1), payload)
                if payload or protocol == 17:
                    self.messages.append((is_client, payload, at))
            else:
                self.others += 1
        if flow is None:
            raise ASTFError(f"capture '{path}' has no TCP or UDP packets")

    def _in_order(self, expected, end, sequence, payload):
        """The data that a segment adds to its end's earlier data."""
        if not payload:
            return payload
        seen = (expected.get(end, sequence) - sequence) & 0xFFFFFFFF
        if seen >= 1 << 31:
            # Reported when it is needed: a profile that Eagre translates leaves the capture to the program.
            self.broken = f"capture '{self.path}' misses a segment, or has one out of order"
        expected[end] = (sequence + max(seen, len(payload))) & 0xFFFFFFFF
        return payload[seen:]

    broken = None

    def commands(self, side):
        """The steps of one end: over TCP the data in turn, over UDP each datagram and pauses between datagrams of one end.

        Raises:
            ASTFError: a segment is missing.

        """
        if self.broken:
            raise ASTFError(self.broken)
        steps, own, before, last = [], side == "c", None, 0
        for is_client, data, at in self.messages:
            mine = is_client == own
            if self.is_tcp:
                if before == is_client and mine:
                    steps[-1]["buf"] += data
                elif before == is_client:
                    steps[-1]["min_bytes"] += len(data)
                else:
                    steps.append({"name": "tx", "buf": bytearray(data)} if mine else {"name": "rx", "min_bytes": len(data)})
            else:
                pause = at - last if before == is_client else 0
                if mine and pause > PAUSE_MIN:
                    steps.append({"name": "delay", "usec": min(pause, PAUSE_MAX)})
                steps.append({"name": "tx_msg", "buf": data} if mine else {"name": "rx_msg", "min_pkts": 1})
            before, last = is_client, at
        return steps

    def _packets(self, data):
        magic = data[:4]
        orders = {b"\xd4\xc3\xb2\xa1": "<", b"\x4d\x3c\xb2\xa1": "<", b"\xa1\xb2\xc3\xd4": ">", b"\xa1\xb2\x3c\x4d": ">"}
        if magic not in orders or len(data) < 24:
            raise ASTFError(f"capture '{self.path}' is not a pcap file")
        order, fraction = orders[magic], 1000 if magic in (b"\x4d\x3c\xb2\xa1", b"\xa1\xb2\x3c\x4d") else 1
        if struct.unpack_from(f"{order}I", data, 20)[0] & 0xFFFF != 1:
            raise ASTFError(f"capture '{self.path}' is not of Ethernet")
        at = 24
        while at + 16 <= len(data):
            seconds, part, length = struct.unpack_from(f"{order}III", data, at)
            if length > PACKET_MAX or at + 16 + length > len(data):
                raise ASTFError(f"capture '{self.path}' is cut or damaged at byte {at}")
            yield seconds * 1_000_000 + part / fraction, data[at + 16 : at + 16 + length]
            at += 16 + length


def _transport(packet):
    """Protocol, ends, payload, TCP's flags and sequence number of a packet; None if it is neither TCP nor UDP."""
    at = 12
    while packet[at : at + 2] in (b"\x81\x00", b"\x88\xa8"):
        at += 4
    kind, ip = packet[at : at + 2], packet[at + 2 :]
    if kind == b"\x08\x00" and len(ip) >= 20:
        header, end, protocol, places = (ip[0] & 15) * 4, int.from_bytes(ip[2:4], "big"), ip[9], (12, 16, 20)
    elif kind == b"\x86\xdd" and len(ip) >= 40:
        header, end, protocol, places = 40, 40 + int.from_bytes(ip[4:6], "big"), ip[6], (8, 24, 40)
    else:
        return None
    segment = ip[header:end]
    least = {6: 20, 17: 8}.get(protocol)
    if least is None or len(segment) < least:
        return None
    # Both ends may have the same port.
    addresses = (ip[places[0] : places[1]], ip[places[1] : places[2]])
    source, target = zip(addresses, struct.unpack_from("!HH", segment))
    if protocol == 17:
        return protocol, source, target, segment[8:], 0, 0
    own = (segment[12] >> 4) * 4
    return protocol, source, target, segment[own:], segment[13], int.from_bytes(segment[4:8], "big")
