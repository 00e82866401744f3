"""Captures of ports, and pings from them, as service mode has them.

While a port is captured and nothing is sent, a run listens on all acquired ports; traffic runs capture themselves. So what
arrives in the moment between two runs is not captured.
"""

import re
import struct
import time

from eagre_trex.server import ENDED, Refused
from trex.common.trex_exceptions import TRexArgumentError, TRexError

LIMIT_MAX = 1_000_000
# Types of blocks, and of the option that says whether a packet was sent (pcapng, sections 4.1 to 4.3).
SECTION, PACKET, FLAGS = 0x0A0D0D0A, 6, 2
SENT = 2
LISTEN_S = 1_000_000
# How long nothing comes of a file that grows when all of it is here.
LIVE_S = 2


class Captures:
    """Service mode of STLClient."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.service, self.captures, self.next_capture = set(), {}, 1
        # The run that listens; how many packets were taken of each run and port.
        self.listening, self.taken = None, {}

    def set_service_mode(self, ports=None, enabled=True, **_):
        """Lets ports be captured. They always reply to ARP, neighbor discovery and ping, if they have an address."""
        if enabled:
            self.service |= set(self._owned(ports))
        else:
            self.service -= set(self._ports(ports, self.acquired))

    def start_capture(self, tx_ports=None, rx_ports=None, limit=1000, mode="fixed", bpf_filter="", endpoint=None, snaplen=0):
        """Begins to capture what ports send (`tx_ports`) and receive (`rx_ports`).

        `limit` is how many packets are kept: the first of them ('fixed') or the last ('cyclic').

        Raises:
            TRexError: a port is not in service mode, or sends; or its other captures have another filter.

        """
        if endpoint:
            raise TRexError("captures to an endpoint are not supported; use stop_capture or fetch_capture_packets")
        if mode not in ("fixed", "cyclic"):
            raise TRexArgumentError("mode", mode, ["fixed", "cyclic"])
        if not isinstance(limit, int) or not 0 < limit <= LIMIT_MAX:
            raise TRexArgumentError("limit", limit, f"1 to {LIMIT_MAX}")
        sent, received = (set(self._owned(ports)) if ports is not None else set() for ports in (tx_ports, rx_ports))
        if not sent | received:
            raise TRexError("start_capture needs tx_ports or rx_ports")
        outside = sorted((sent | received) - self.service)
        if outside:
            raise TRexError(f"ports {outside} are not in service mode; call set_service_mode first")
        for other in self.captures.values():
            if other["active"] and (sent | received) & other["ports"] and other["filter"] != bpf_filter:
                raise TRexError(f"capture {other['id']} of the same port has another filter: '{other['filter']}'")
        self._look()
        if self.run:
            raise TRexError("traffic is running; start captures before it")
        number, self.next_capture = self.next_capture, self.next_capture + 1
        self._unlisten()
        self.captures[number] = {
            "id": number, "sent": sent, "received": received, "ports": sent | received, "limit": limit, "mode": mode,
            "filter": bpf_filter, "snaplen": snaplen, "packets": [], "matched": 0, "active": True, "begin": time.time(),
        }  # fmt: skip
        self._listen()
        return {"id": number, "ts": self.captures[number]["begin"]}

    def stop_capture(self, capture_id, output=None):
        """Ends a capture; its packets go to `output`: a list, or the name of a pcap file."""
        capture = self._capture(capture_id)
        self._look()
        if self.run:
            self._collect(self.run, LIVE_S)
        self._unlisten()
        capture["active"] = False
        self._listen()
        self.fetch_capture_packets(capture_id, output, LIMIT_MAX)
        del self.captures[capture_id]

    def fetch_capture_packets(self, capture_id, output, pkt_count=1000):
        """Takes packets out of a capture: to a list, or to a pcap file by name."""
        capture = self._capture(capture_id)
        if output is not None and not isinstance(output, (list, str)):
            raise TRexArgumentError("output", type(output).__name__, ["a list", "the name of a file", "None"])
        if capture["active"]:
            self._collect_now()
        packets, capture["packets"] = capture["packets"][:pkt_count], capture["packets"][pkt_count:]
        if isinstance(output, list):
            output[:] = packets
        elif output is not None:
            _write(output, packets)

    def get_capture_status(self):
        """Captures by their numbers."""
        if self._captured():
            self._collect_now()
        return {number: _status(capture) for number, capture in self.captures.items()}

    def remove_all_captures(self):
        """Ends all captures."""
        for capture in self.captures.values():
            capture["active"] = False
        self._unlisten()
        self.captures = {}

    def ping_ip(self, src_port, dst_ip, pkt_size=64, count=5, interval_sec=1, vlan=None, verbose=True, **_):
        """Pings an address from a port, which needs one; returns a record for each request."""
        if not 0 < count <= 1000:
            raise TRexArgumentError("count", count, "1 to 1000")
        port = self._owned([src_port])[0]
        run = self.run or self.listening
        if not run:
            self._begin_listening()
        ping = {"port": f"port{port}", "to": str(dst_ip), "attempts": 1, "timeout_s": max(0.01, min(60, interval_sec))}
        records = []
        try:
            for number in range(count):
                begin = time.monotonic()
                answer = self.server.ask("POST", f"/runs/{(self.run or self.listening)['id']}/pings", ping)
                records.append(_record(answer))
                if verbose:
                    print(records[-1]["formatted_string"])
                if number + 1 < count:
                    time.sleep(max(0.0, interval_sec - (time.monotonic() - begin)))
        finally:
            if not run:
                self._unlisten()
        return records

    # What runs

    def _capture(self, number):
        if number not in self.captures:
            raise TRexError(f"there is no capture {number}; there are: {', '.join(map(str, self.captures)) or 'none'}")
        return self.captures[number]

    def _captured(self):
        """Keys of ports that are captured now, by port."""
        keys = {}
        for capture in self.captures.values():
            for port in capture["ports"] if capture["active"] else ():
                before = keys.get(port, (set(), "", 0))
                ways = before[0] | {way for way in ("sent", "received") if port in capture[way]}
                whole = 0 in (before[2] or capture["snaplen"], capture["snaplen"])
                keys[port] = (ways, capture["filter"], 0 if whole else max(before[2], capture["snaplen"]))
        return {port: _keys(*of) for port, of in keys.items()}

    def _with_captures(self, text):
        """A profile's text with captures of its ports."""
        for port, keys in self._captured().items():
            begin = re.compile(rf"^  port{port}: \{{", re.MULTILINE)
            text = begin.sub(lambda found, keys=keys: f"{found[0]}capture: {keys}, ", text)
        return text

    def _listen(self):
        """Listens if something is captured and nothing runs."""
        if self._captured() and not self.run and not self.listening:
            self._begin_listening()

    def _begin_listening(self):
        ports = (f"  port{port}: {{{self._words(port)}}}\n" for port in self.acquired)
        text = f"streams: []\nports:\n{''.join(ports)}load: {{duration: {LISTEN_S}s, drain: 0s}}\n"
        new = {"profile": self._with_captures(text), "lease": self.server.lease["id"], "name": "TRex client", "keep": False}
        self.listening = self.server.ask("POST", "/runs", new)

    def _words(self, port):
        device, more, _ = self.ports[port]
        keys = dict(part.partition("=")[::2] for part in more)
        return ", ".join(f'{key}: "{value}"' for key, value in {"device": device, **keys}.items())

    def _unlisten(self):
        """Ends listening; what was captured and counted is taken over."""
        if not self.listening:
            return
        run, self.listening = self.listening, None
        try:
            self.server.ask("POST", f"/runs/{run['id']}/stop")
        except Refused:
            # Its lease is gone, and so is it.
            return
        end = time.monotonic() + 30
        while self.server.ask("GET", f"/runs/{run['id']}")["state"] not in ENDED and time.monotonic() < end:
            time.sleep(0.02)
        self.past = self._sum(self.server.ask("GET", f"/runs/{run['id']}/result"))
        self._collect(run)

    def _collect_now(self):
        """Takes what has been captured until now."""
        self._look()
        if self.run:
            self._collect(self.run, LIVE_S)
        elif self.listening:
            self._unlisten()
            self._listen()

    def _collect(self, run, quiet_s=None):
        """Hands out packets of a run's captures that were not taken yet; of an active one, packets written by now."""
        found = []
        for port in run.get("captures") or self.server.ask("GET", f"/runs/{run['id']}")["captures"]:
            number = int(port.removeprefix("port"))
            packets = _packets(self.server.read(f"/runs/{run['id']}/captures/{port}", quiet_s))
            before = self.taken.get((run["id"], number), 0)
            self.taken[run["id"], number] = max(before, len(packets))
            found += [(at, number, is_sent, data) for at, is_sent, data in packets[before:]]
        for at, port, is_sent, data in sorted(found):
            for capture in self.captures.values():
                if capture["active"] and port in capture["sent" if is_sent else "received"]:
                    _take(capture, at, port, is_sent, data)


def _keys(ways, filter_, snaplen):
    direction = "both" if len(ways) == 2 else "tx" if "sent" in ways else "rx"
    keys = ["file: capture.pcapng", f"direction: {direction}"]
    if filter_:
        keys.append('filter: "' + filter_.replace("\\", "\\\\").replace('"', '\\"') + '"')
    if snaplen:
        keys.append(f"snap_length: {snaplen}B")
    return "{" + ", ".join(keys) + "}"


def _take(capture, at, port, is_sent, data):
    capture["matched"] += 1
    packets = capture["packets"]
    if len(packets) >= capture["limit"]:
        if capture["mode"] == "fixed":
            return
        del packets[0]
    index = capture["matched"] - 1
    packets.append({"binary": data, "origin": "TX" if is_sent else "RX", "port": port, "ts": at, "index": index})


def _status(capture):
    return {
        "id": capture["id"], "state": "ACTIVE" if capture["active"] else "STOPPED", "mode": capture["mode"],
        "limit": capture["limit"], "count": len(capture["packets"]), "matched": capture["matched"],
        "bytes": sum(len(packet["binary"]) for packet in capture["packets"]),
        "filter": {"tx": sorted(capture["sent"]), "rx": sorted(capture["received"]), "bpf": capture["filter"]},
    }  # fmt: skip


def _packets(data):
    """Packets of a pcapng file that may still grow: time in seconds, whether it was sent, its bytes."""
    packets, at = [], 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if length < 12 or at + length > len(data):
            break
        if kind == PACKET:
            high, low, kept = struct.unpack_from("<III", data, at + 12)
            begin = at + 28
            options = begin + (kept + 3) // 4 * 4
            seconds, is_sent = ((high << 32) + low) / 1e9, _is_sent(data, options, at + length - 4)
            packets.append((seconds, is_sent, data[begin : begin + kept]))
        at += length
    return packets


def _is_sent(data, at, end):
    while at + 4 <= end:
        kind, length = struct.unpack_from("<HH", data, at)
        if kind == FLAGS and length == 4:
            return struct.unpack_from("<I", data, at + 4)[0] & 3 == SENT
        if not kind:
            break
        at += 4 + (length + 3) // 4 * 4
    return False


def _write(path, packets):
    """Writes a pcap file with nanoseconds."""
    with open(path, "wb") as file:
        file.write(struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 65535, 1))
        for packet in packets:
            seconds, data = int(packet["ts"]), packet["binary"]
            file.write(struct.pack("<IIII", seconds, int((packet["ts"] - seconds) * 1e9), len(data), len(data)) + data)


def _record(answer):
    if answer["answered"]:
        rtt = answer["rtt_ns"] / 1e6
        text = f"Reply from {answer['to']}: time={rtt:.2f}ms"
        return {"formatted_string": text, "rtt": rtt, "status": "success", "src_ip": answer["to"]}
    text = f"Request timed out: {answer['reason']}" if answer.get("reason") else "Request timed out."
    return {"formatted_string": text, "status": "timeout"}
