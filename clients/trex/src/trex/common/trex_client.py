"""Common parts of clients of all modes: connection, leased ports, one run at a time, counters of ports.

All ports that are acquired are in each run, so that ports that do not send receive. Counters are the server's, summed over
runs, less their values at the last `clear_stats`.
"""

import contextlib
import time

from eagre_trex.server import ENDED, Refused, Server
from trex.common.trex_exceptions import TRexError, TRexTimeoutError, unsupported
from trex.common.trex_logger import ScreenLogger

FOREVER_S = 1_000_000
COUNTERS = {"opackets": "tx_packets", "ipackets": "rx_packets", "obytes": "tx_bytes", "ibytes": "rx_bytes"}
RATES = {"tx_pps": "tx_pps", "rx_pps": "rx_pps", "tx_bps_L1": "tx_bps_l1", "rx_bps_L1": "rx_bps_l1"}
API = "use the HTTP API (docs/api.md) or the package eagre (docs/python.md)"


class TRexClient:
    """A client of a server."""

    MODE, INSTEAD = "", {}

    def __init__(
        self, username=None, server="localhost", sync_port=4501, async_port=4500, verbose_level="error", logger=None,
        sync_timeout=None, async_timeout=None,
    ):  # fmt: skip
        from trex.utils.common import get_current_user

        self.logger = logger or ScreenLogger(verbose_level)
        self.server = Server(server, username or get_current_user())
        self.ports, self.acquired = {}, []
        self.run, self.active, self.connected = None, [], False
        self.past, self.zero, self.warnings, self.events = {}, {}, [], []

    def __enter__(self):
        self.connect()
        return self

    def __exit__(self, *_):
        self.disconnect()

    # Connection and ports

    def connect(self):
        """Connects; nothing is leased yet."""
        self.version = self.server.ask("GET", "/version")
        self.ports = dict(enumerate(self.server.ports()))
        self.connected = True

    def disconnect(self, stop_traffic=True, release_ports=True):
        """Stops what runs and releases all ports."""
        if not self.connected:
            return
        with contextlib.suppress(TRexError):
            if stop_traffic:
                self.stop()
            self._unlisten()
            if release_ports:
                self.server.give_back()
        self.acquired, self.connected = [], False

    def is_connected(self):
        """Whether `connect` went well."""
        return self.connected

    def acquire(self, ports=None, force=False, sync_streams=True):
        """Leases ports; `force` takes them from others, where the server allows that."""
        wanted = sorted({*self.acquired, *self._ports(ports, range(len(self.ports)))})
        if wanted != self.acquired or not self.server.lease:
            self._no_traffic("acquire ports")
            self.server.take([self.ports[port][0] for port in wanted], force)
            self.acquired = wanted

    def release(self, ports=None):
        """Gives ports back."""
        gone = self._ports(ports, self.acquired)
        self._no_traffic("release ports")
        self.acquired = [port for port in self.acquired if port not in gone]
        self.server.take([self.ports[port][0] for port in self.acquired], False)

    def get_all_ports(self):
        """Numbers of all ports."""
        return list(self.ports)

    def get_port_count(self):
        """Number of ports."""
        return len(self.ports)

    def get_acquired_ports(self):
        """Numbers of leased ports."""
        return list(self.acquired)

    def get_active_ports(self, owned=True):
        """Numbers of ports that send."""
        self._look()
        return list(self.active)

    def get_port_attr(self, port):
        """Attributes of a port; with an address it is in TRex's layer-3 mode."""
        number = self._ports([port], [])[0]
        device, _, known = self.ports[number]
        address, gateway = self._address(number)
        speed = (known.get("speed_bps") or 0) / 1e9
        state = "TRANSMITTING" if number in self.active else "IDLE"
        return {
            "index": number, "description": device, "driver": known.get("driver"), "speed": speed, "supp_speeds": [],
            "link": "UP" if known.get("up") else "DOWN", "status": state, "prom": "on", "mult": "off",
            "owner": self.server.holder if number in self.acquired else None, "src_ipv4": address or "-",
            "dest": gateway or "-", "layer_mode": "IPv4" if address else "Ethernet",
        }  # fmt: skip

    def _address(self, port):
        """The first IPv4 address of a port and its gateway, each None if EAGRE_TREX_PORTS has none."""
        keys = dict(part.partition("=")[::2] for part in self.ports[port][1])
        address = keys.get("ip", "").partition("/")[0]
        return (address if address and ":" not in address else None), keys.get("gateway")

    def get_port_info(self, ports=None):
        """Attributes of ports."""
        return [self.get_port_attr(port) for port in self._ports(ports, self.ports)]

    def set_port_attr(self, ports=None, **attributes):
        """Promiscuous mode is always on; other attributes are the operator's."""
        other = {name for name, value in attributes.items() if value is not None} - {"promiscuous", "multicast"}
        if other:
            raise TRexError(f"attribute '{min(other)}' of a port is not set by clients: use 'ip link' on the server")

    def get_server_version(self):
        """Versions."""
        return {"version": self.version["version"], "mode": self.MODE}

    def get_server_system_info(self):
        """Facts about the server. Its workers are not bound to ports; scripts divide by these numbers."""
        return {
            "hostname": self.server.url, "port_count": len(self.ports), "core_type": "", "dp_core_count": 1,
            "dp_core_count_per_port": 1,
        }  # fmt: skip

    def get_connection_info(self):
        """The user, the server and the ports of this client."""
        return {"username": self.server.holder, "server": self.server.url}

    def set_timeout(self, timeout_sec):
        """Responses of the server may take a minute at most."""

    def _ports(self, ports, default):
        if ports is None:
            ports = default
        ports = ports if isinstance(ports, (list, tuple, range, dict, set)) else [ports]
        out = []
        for port in ports:
            number = str(port)
            if not number.isdigit() or int(number) not in self.ports:
                known = ", ".join(map(str, self.ports)) or "none; connect first"
                raise TRexError(f"there is no port {port}; ports are: {known}")
            out.append(int(number))
        return out

    def _owned(self, ports):
        ports = self._ports(ports, self.acquired)
        missing = [port for port in ports if port not in self.acquired]
        if missing or not ports:
            raise TRexError(f"ports {missing or 'to use'} are not acquired; call acquire or reset first")
        return ports

    # Traffic

    def _begin(self, text, ports):
        """Starts a run of a profile's text, in which these ports send."""
        new = {"profile": text, "lease": self.server.lease["id"], "name": "TRex client"}
        self.run = self.server.ask("POST", "/runs", new)
        self.active = list(ports)

    def stop(self):
        """Stops the traffic."""
        if not self.run:
            return
        with contextlib.suppress(Refused):
            self.server.ask("POST", f"/runs/{self.run['id']}/stop")
        self._wait(30)

    def _scale(self, scale, stream=None):
        which = {"stream": stream} if stream else {}
        self.server.ask("POST", f"/runs/{self.run['id']}/rate", {"scale": scale} | which)

    def wait_on_traffic(self, ports=None, timeout=None, rx_delay_ms=None):
        """Waits until all bursts have been sent or the duration is over, and late packets have been waited for.

        Raises:
            TRexTimeoutError: not so within `timeout` seconds.

        """
        self._wait(timeout)

    def is_traffic_active(self, ports=None):
        """Whether ports send."""
        self._look()
        return bool(set(self.active) & set(self._ports(ports, self.acquired)))

    def _wait(self, timeout, is_enough=lambda: False):
        end = None if timeout is None else time.monotonic() + timeout
        while self.run:
            self._look()
            if is_enough():
                return
            if self.run and end is not None and time.monotonic() > end:
                raise TRexTimeoutError(timeout)
            if self.run:
                time.sleep(0.05)

    def _look(self):
        """Looks whether the run has ended; then its counters are added to the past."""
        if not self.run:
            return
        state = self.server.ask("GET", f"/runs/{self.run['id']}")
        if state["state"] not in ENDED:
            return
        run, self.run, self.active = self.run, None, []
        if state["state"] == "failed":
            raise TRexError(f"the run failed: {state['reason']}")
        self.past = self._sum(self.server.ask("GET", f"/runs/{run['id']}/result"))
        self._collect(run)
        self._listen()

    def _no_traffic(self, what):
        self._look()
        if self.run:
            raise TRexError(f"traffic is running; stop it to {what}")
        self._unlisten()

    # What clients with captures do between runs

    def _listen(self):
        """Listens on ports while nothing runs."""

    def _unlisten(self):
        """Ends listening."""

    def _collect(self, run):
        """Takes over what an ended run has captured."""

    # Statistics

    def _sum(self, document):
        """Counts of the past and of this document, by port."""
        ports = {}
        for number in self.ports:
            now = document["ports"].get(f"port{number}", {}) if document else {}
            before = self.past.get("ports", {}).get(number, {})
            ports[number] = {name: before.get(name, 0) + now.get(field, 0) for name, field in COUNTERS.items()}
            ports[number]["ierrors"] = before.get("ierrors", 0) + sum((now.get("rx_errors") or {}).values())
            ports[number]["oerrors"] = before.get("oerrors", 0) + sum((now.get("tx_errors") or {}).values())
            ports[number]["unsent"] = before.get("unsent", 0) + (now.get("tx_unsent") or 0)
        return {"ports": ports}

    def _now(self):
        """Everything counted, and the last interval of what runs."""
        self._look()
        if not self.run:
            return self.past or self._sum(None), {}
        snapshot = self.server.ask("GET", f"/runs/{self.run['id']}/snapshot")
        return self._sum(snapshot["total"]), (snapshot.get("interval") or {}) | {"workers": snapshot.get("workers")}

    def _port_stats(self, ports, counted, interval):
        """Counters and rates of ports, their sum, and the server's."""
        out, rates, unsent = {}, interval.get("ports", {}), 0
        self._ports(ports, ())
        # As on TRex all ports are in it, whatever is asked for; one that is not acquired has counted nothing.
        for number in self.ports:
            zero = self.zero.get("ports", {}).get(number, {})
            row = {name: value - zero.get(name, 0) for name, value in counted["ports"][number].items()}
            unsent += max(0, row.pop("unsent"))
            now = rates.get(f"port{number}", {})
            row |= {name: now.get(field) or 0.0 for name, field in RATES.items()}
            # Layer 2 is layer 1 without 20 bytes a packet.
            row |= {f"{way}_bps": max(0.0, row[f"{way}_bps_L1"] - 160 * row[f"{way}_pps"]) for way in ("tx", "rx")}
            speed = self.server.speed_bps(self.ports[number][2])
            row |= {f"{way}_util": 100 * row[f"{way}_bps_L1"] / speed if speed else 0.0 for way in ("tx", "rx")}
            out[number] = row
        out["total"] = {name: sum(out[number][name] for number in out) for name in next(iter(out.values()), {})}
        total = out["total"]
        # TRex counts packets that its queue did not take; here they are those that were due and not sent.
        out["global"] = {
            "tx_bps": total.get("tx_bps", 0), "tx_pps": total.get("tx_pps", 0), "tx_cps": 0.0,
            "rx_bps": total.get("rx_bps", 0), "rx_pps": total.get("rx_pps", 0),
            "rx_drop_bps": max(0.0, total.get("tx_bps", 0) - total.get("rx_bps", 0)), "cpu_util": _busy(interval),
            "rx_cpu_util": 0.0, "bw_per_core": 0.0, "queue_full": unsent, "active_flows": 0, "open_flows": 0,
        }  # fmt: skip
        return out

    def clear_stats(self, ports=None, clear_global=True, clear_flow_stats=True, clear_latency_stats=True, clear_xstats=True):
        """Counters begin at zero from now on."""
        self.zero, _ = self._now()

    # Events and what else scripts call

    def get_warnings(self):
        """Warnings; there are none."""
        return list(self.warnings)

    def get_events(self, ev_type_filter=None):
        """Events since `clear_events`: profiles that were sent."""
        self._look()
        return list(self.events)

    def pop_event(self):
        """The oldest event, which is forgotten then; None if there is none."""
        self._look()
        return self.events.pop(0) if self.events else None

    def clear_events(self):
        """Forgets all events."""
        self.events = []

    def set_verbose(self, level):
        """Verbosity of messages."""
        self.logger.set_verbose(level)

    def set_service_mode(self, ports=None, enabled=True, **_):
        """Ports with an address always reply to ARP, neighbor discovery and ping."""

    def __getattr__(self, name):
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self.INSTEAD or name.endswith("_line"):
            return unsupported(f"{type(self).__name__}.{name}", self.INSTEAD.get(name, API))
        raise AttributeError(f"{type(self).__name__} has no attribute '{name}'")


def _busy(interval):
    """Load of the workers, percent."""
    shares = [worker.get("busy_ratio") or 0.0 for worker in interval.get("workers") or []]
    return 100 * sum(shares) / len(shares) if shares else 0.0
