"""Cisco's HLTAPI: sessions, traffic and its statistics as calls that return dictionaries.

Each has `status`: 1, or 0 with the reason as `log`. A stream's handle is the number of its packet group, so every stream is
counted unless `disable_flow_stats` is set.
"""

import functools
import sys
import time

from eagre_trex import hlt_arguments as arguments
from trex.common.trex_exceptions import TRexArgumentError, TRexError
from trex.stl.trex_stl_client import STLClient
from trex.stl.trex_stl_hlt_streams import STLHltStream
from trex.stl.trex_stl_streams import STLProfile

CONNECT = {
    "device": "localhost", "trex_rpc_port": None, "trex_pub_port": None, "trex_timeout_sec": None, "port_list": None,
    "username": None, "reset": True, "break_locks": False,
}  # fmt: skip
CLEANUP = {"maintain_lock": False, "port_list": None, "port_handle": None}
CONTROL = {"action": None, "port_handle": None}
STATS = {"mode": "aggregate", "port_handle": None}
# Their names of TRex's counters, for 'tx' with 'tx_…' and 'o…', for 'rx' with 'rx_…' and 'i…'.
AGGREGATE = {
    "pkt_bit_rate": "{way}_bps", "pkt_byte_count": "{side}bytes", "pkt_count": "{side}packets", "pkt_rate": "{way}_pps",
    "total_pkt_bytes": "{side}bytes", "total_pkt_rate": "{way}_pps", "total_pkts": "{side}packets",
}  # fmt: skip
GROUP = {
    "total_pkts": "pkts", "total_pkt_bytes": "bytes", "total_pkts_bytes": "bytes", "total_pkt_bit_rate": "bps",
    "total_pkt_rate": "pps",
}  # fmt: skip


def _call(what):
    """Turns a method's errors into the dictionary."""

    def wrap(method):
        @functools.wraps(method)
        def called(self, *args, **kwargs):
            try:
                return {"status": 1, "log": None} | (method(self, *args, **kwargs) or {})
            except TRexError as error:
                return {"status": 0, "log": f"{what}: {error}"}

        return called

    return wrap


def _merged(defaults, given):
    """Arguments with defaults; texts of True and False as such."""
    texts = {"True": True, "true": True, "False": False, "false": False}
    unknown = [name for name in given if name not in defaults]
    if unknown:
        print(f"warning: HLTAPI arguments {unknown} are not known and have no effect", file=sys.stderr)
    said = {name: value for name, value in given.items() if name in defaults and value is not None}
    return defaults | {name: texts.get(value, value) if isinstance(value, str) else value for name, value in said.items()}


def _numbers(ports):
    """Ports of a handle: a number, a text of numbers, a list."""
    ports = ports.split() if isinstance(ports, str) else ports if isinstance(ports, (list, tuple)) else [ports]
    try:
        return [int(port) for port in ports]
    except (TypeError, ValueError):
        raise TRexArgumentError("port_handle", ports, "numbers of ports") from None


def _handles(stream_id):
    """Handles of streams: a number, a list, or a text such as '2, 4-13'."""
    if isinstance(stream_id, (list, tuple)):
        return [handle for item in stream_id for handle in _handles(item)]
    out = []
    for part in str(stream_id).split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdigit() or (dash and not last.isdigit()):
            raise TRexArgumentError("stream_id", stream_id, "numbers, lists and ranges such as '2, 4-13'")
        out.extend(range(int(first), int(last or first) + 1))
    return out


class CTRexHltApi:
    """A session with a server."""

    def __init__(self, verbose="error"):
        self.verbose = verbose
        self.trex_client = None
        # By port and handle: numbers of streams, and the arguments they were made of.
        self.made, self.last = {}, 0

    @property
    def _client(self):
        if self.trex_client is None:
            raise TRexError("connect first")
        return self.trex_client

    @_call("connect")
    def connect(self, **given):
        """Connects and leases ports; `break_locks` takes them from others, `reset` clears them."""
        said = _merged(CONNECT, given)
        client = STLClient(said["username"], said["device"], verbose_level=self.verbose)
        client.connect()
        ports = client.get_all_ports() if said["port_list"] is None else _numbers(said["port_list"])
        try:
            client.acquire(ports, force=said["break_locks"])
            if said["reset"]:
                client.reset(ports)
        except TRexError:
            client.disconnect()
            raise
        self.trex_client, self.made = client, {port: {} for port in ports}
        return {"port_handle": {port: port for port in ports}}

    @_call("cleanup_session")
    def cleanup_session(self, **given):
        """Stops traffic, removes streams and releases ports; with `maintain_lock` it only disconnects."""
        said, client = _merged(CLEANUP, given), self._client
        if not said["maintain_lock"]:
            ports = said["port_list"] or said["port_handle"] or "all"
            ports = client.get_acquired_ports() if ports == "all" else _numbers(ports)
            client.stop(ports)
            client.remove_all_streams(ports)
            client.release(ports)
        client.disconnect(stop_traffic=False, release_ports=False)
        self.trex_client = None

    @_call("interface_config")
    def interface_config(self, port_handle, mode="config"):
        """Not supported: ports get addresses from the operator."""
        raise TRexError("not supported; give ports addresses in EAGRE_TREX_PORTS")

    @_call("traffic_config")
    def traffic_config(self, **given):
        """Makes, changes or removes streams of ports."""
        modes = {"create": self._create, "modify": self._modify, "remove": self._remove, "reset": self._reset}
        mode = given.get("mode")
        if mode not in modes:
            raise TRexArgumentError("mode", mode, tuple(modes))
        return modes[mode](_numbers(given.get("port_handle")), given)

    def _reset(self, ports, given=None):
        self._client.remove_all_streams(ports)
        for port in ports:
            self.made[port] = {}

    def _remove(self, ports, given):
        handles = given.get("stream_id")
        if handles is None:
            raise TRexError("stream_id must name the streams to remove")
        if handles == "all":
            return self._reset(ports)
        for port in ports:
            for handle in _handles(handles):
                self._forget(port, handle)
        return None

    def _forget(self, port, handle):
        if handle not in self.made.get(port, {}):
            raise TRexError(f"port {port} has no stream {handle}")
        self._client.remove_streams(self.made[port].pop(handle)[0], port)

    def _modify(self, ports, given):
        """The stream with the arguments it had and the new ones, under the same handle."""
        handle = given.get("stream_id")
        if handle is None:
            raise TRexError("stream_id must name the stream to modify")
        for port in ports:
            before = self.made.get(port, {}).get(handle)
            if before is None or before[1] is None:
                raise TRexError(f"port {port} has no stream {handle} that was made of arguments")
            self._forget(port, handle)
            said = before[1] | {name: value for name, value in given.items() if name not in ("mode", "stream_id")}
            self._add([port], said | {"flow_stats_id": handle})

    def _create(self, ports, given):
        if not arguments.is_true(given.get("bidirectional", False)):
            return {"stream_id": self._add(ports, given)}
        given = {name: value for name, value in given.items() if name != "bidirectional"}
        peers = _numbers(given.pop("port_handle2", None))
        if len(ports) != 1 or len(peers) != 1:
            raise TRexError("bidirectional: give port_handle and port_handle2, one port each")
        back = given | {"direction": 1 - int(given.get("direction", 0)), "flow_stats_id": None}
        return {"stream_id": {ports[0]: self._add(ports, given), peers[0]: self._add(peers, back)}}

    def _add(self, ports, given):
        """Adds a stream to ports; its handle."""
        handle = given.get("flow_stats_id") or given.get("pg_id") or self._free_handle()
        profile = given.get("load_profile")
        if profile:
            streams = STLProfile.load_py(profile, direction=int(given.get("direction", 0))).get_streams()
        else:
            own = ("mode", "stream_id", "port_handle", "port_handle2", "pg_id", "flow_stats_id", "bidirectional")
            said = {name: value for name, value in given.items() if name not in own}
            streams = STLHltStream(**said, flow_stats_id=handle)
        for port in ports:
            ids = self._client.add_streams(streams, port)
            ids = ids if isinstance(ids, list) else [ids]
            self.made.setdefault(port, {})[handle] = (ids, None if profile else dict(given))
        return handle

    def _free_handle(self):
        used = {handle for made in self.made.values() for handle in made}
        self.last = next(number for number in range(self.last + 1, 1 << 16) if number not in used)
        return self.last

    @_call("traffic_control")
    def traffic_control(self, **given):
        """Starts or stops; `stopped`: whether nothing is being sent."""
        said, client = _merged(CONTROL, given), self._client
        ports = None if said["port_handle"] is None else _numbers(said["port_handle"])
        actions = {
            "run": lambda: client.start(ports), "stop": lambda: client.stop(ports),
            "sync_run": lambda: (client.clear_stats(ports), client.start(ports)),
            "clear_stats": lambda: client.clear_stats(ports), "poll": lambda: None,
            "reset": lambda: (client.reset(ports), self._reset(ports or client.get_acquired_ports())),
        }  # fmt: skip
        if said["action"] not in actions:
            raise TRexArgumentError("action", said["action"], tuple(actions))
        actions[said["action"]]()
        return {"stopped": not client.is_traffic_active(ports)}

    @_call("traffic_stats")
    def traffic_stats(self, **given):
        """Counters of ports ('aggregate'), of streams ('streams'), or both ('all')."""
        said, client = _merged(STATS, given), self._client
        if said["mode"] not in ("aggregate", "streams", "all"):
            raise TRexArgumentError("mode", said["mode"], ("aggregate", "streams", "all"))
        ports = client.get_acquired_ports() if said["port_handle"] is None else _numbers(said["port_handle"])
        stats = client.get_stats(ports)
        out = {port: {} for port in ports}
        for port in ports:
            if said["mode"] != "streams":
                out[port]["aggregate"] = {way: _aggregate(stats[port], way) for way in ("tx", "rx")}
            if said["mode"] != "aggregate":
                speed = client.server.speed_bps(client.ports[port][2])
                groups = {pg: row for pg, row in stats["flow_stats"].items() if isinstance(pg, int)}
                out[port]["stream"] = {
                    pg: {way: _group(row, way, port, speed) for way in ("tx", "rx")} for pg, row in groups.items()
                }
        return out

    @_call("wait_on_traffic")
    def wait_on_traffic(self, port_handle=None, timeout=None):
        """Waits until nothing is sent any more."""
        self._client.wait_on_traffic(port_handle, timeout)


def _aggregate(row, way):
    side = {"tx": "o", "rx": "i"}[way]
    return {name: row[field.format(way=way, side=side)] for name, field in AGGREGATE.items()}


def _group(row, way, port, speed):
    out = {name: row[f"{way}_{unit}"][port] for name, unit in GROUP.items()}
    return out | {"line_rate_percentage": 100 * row[f"{way}_bps_l1"][port] / speed if speed else 0}


def error(err=None):
    """Ends the script with a text."""
    print(f"[ERR] {err or 'unknown error'}".replace("[ERR] [ERR]", "[ERR]"))
    sys.exit(1)


def check_res(res):
    """The dictionary; ends the script if a call failed."""
    if res["status"] == 0:
        error(f"Encountered error:\n{res['log']}")
    return res


def print_brief_stats(res):
    """Prints packets sent and received by port."""
    ports = [port for port in res if isinstance(port, int)]
    print("   " + "".join(f"{f'Port{port}':>15}" for port in ports))
    for way in ("tx", "rx"):
        print(f"{way.upper()}:" + "".join(f"{res[port]['aggregate'][way]['total_pkts']:>15}" for port in ports))


def wait_with_progress(seconds):
    """Waits, with a dot each second."""
    for _ in range(seconds):
        time.sleep(1)
        print(".", end="", flush=True)
    print()
