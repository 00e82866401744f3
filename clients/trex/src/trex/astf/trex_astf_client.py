"""The stateful client: TRex's calls over the HTTP API of `eagre serve`.

The first port has the clients, the second the servers. A profile becomes entries of `sessions`, one for each template; their
counters come back under TRex's names.
"""

import os

from eagre_trex import SCHEMA
from eagre_trex.server import profile
from trex.astf import trex_astf_stats
from trex.astf.trex_astf_exceptions import ASTFErrorBadTG
from trex.astf.trex_astf_profile import ASTFProfile
from trex.common.trex_client import FOREVER_S, TRexClient
from trex.common.trex_exceptions import TRexError, TRexTypeError
from trex.utils.parsing_opts import decode_multiplier

ENDS = ("client", "server")
DEFAULT = "_"


class ASTFClient(TRexClient):
    """A client of a server, for sessions."""

    MODE = "ASTF"

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.document, self.duration = None, 0.0

    def acquire(self, force=False):
        """Leases all ports; `force` takes them from others, where the server allows that."""
        super().acquire(None, force)

    def release(self, force=False):
        """Gives all ports back."""
        super().release()

    def reset(self, restart=False):
        """Acquires all ports, stops traffic, forgets the profile and clears counters."""
        if self.run:
            self.stop()
        self.acquire(force=True)
        self.document = None
        self.clear_stats()

    # Profiles

    def load_profile(self, profile, tunables=None, pid_input=DEFAULT):
        """Takes a profile: a file (.py, .json) with its tunables, or an `ASTFProfile`."""
        _one_profile(pid_input)
        self._no_traffic("load a profile")
        if isinstance(profile, str):
            if not os.path.isfile(profile):
                raise TRexError(f"file '{profile}' does not exist")
            profile = ASTFProfile.load(profile, **(tunables or {}))
        if not isinstance(profile, ASTFProfile):
            raise TRexTypeError("profile", type(profile), (str, ASTFProfile))
        # The server reads no files of clients.
        self.document = profile.to_json(inline=True)

    def clear_profile(self, block=True, pid_input=DEFAULT):
        """Forgets the profile."""
        self._no_traffic("clear the profile")
        self.document = None

    def get_profiles(self, profiles_in_ports=False):
        """Names of profiles: there is one."""
        return [DEFAULT] if self.document else []

    # Traffic

    def start(
        self, mult=1, duration=-1, nc=False, block=True, latency_pps=0, ipv6=False, pid_input=DEFAULT,
        client_mask=0xFFFFFFFF, e_duration=0, t_duration=0, dump_interval=0,
    ):  # fmt: skip
        """Starts the sessions at `mult` times their rates; with `nc` open ones are not waited for at the end.

        Raises:
            TRexError: there is no profile, traffic is running, or Eagre does not support an argument.

        """
        _one_profile(pid_input)
        if latency_pps:
            raise TRexError("latency_pps is not supported; add a stream to the profile that 'eagre trex convert' prints")
        if ipv6:
            raise TRexError("ipv6=True is not supported; set ipv6.enable in the profile's ASTFGlobalInfo")
        if e_duration or t_duration or client_mask != 0xFFFFFFFF:
            raise TRexError("e_duration, t_duration and client_mask are not supported; leave them out, and call stop")
        self._no_traffic("start")
        if self.document is None:
            raise TRexError("there is no profile; call load_profile first")
        ports = self._owned(None)[:2]
        document = {"schema": SCHEMA, "mode": "astf", "source": "profile", "profile": self.document}
        used = {port: self.ports[port] for port in ports}
        more = ["--nc"] if nc else []
        text = profile(document, used, mult, duration if duration > 0 else FOREVER_S, more)
        self._begin(text, ports)
        self.mult = mult

    def stop(self, block=True, pid_input=DEFAULT, is_remove=False):
        """Stops the traffic."""
        super().stop()

    def update(self, mult, pid_input=DEFAULT):
        """Changes the rate of all sessions: a factor of the profile's rates."""
        parts = decode_multiplier(mult)
        if parts is None or parts["type"] != "raw":
            raise TRexError(f"update to '{mult}' is not supported: give a factor")
        if not self.run:
            raise TRexError("nothing is sending; call start first")
        self._scale(parts["value"] / float(self.mult))

    def wait_on_traffic(self, timeout=None, profile_id=None):
        """Waits until the duration is over and no session is open.

        Raises:
            TRexTimeoutError: not so within `timeout` seconds.

        """
        self._wait(timeout)

    # Statistics

    def _entries(self):
        """Entries of the result by template: name, whether it is TCP, and the number of its group from 1 on."""
        templates, programs = self.document["templates"], self.document["program_list"]
        for number, template in enumerate(templates):
            program = programs[template["client_template"]["program_index"]]
            yield f"t{number}", program.get("stream", True), template.get("tg_id") or 0

    def _sum(self, document):
        """Counts of the past and of this document: by port, and by template group and side."""
        traffic = {key: dict(row) for key, row in self.past.get("traffic", {}).items()}
        for row in traffic.values():
            row.update(dict.fromkeys(trex_astf_stats.GAUGES, 0))
        rows = (document or {}).get("sessions", {})
        for name, is_tcp, group in self._entries() if rows else ():
            for end in ENDS:
                counted = trex_astf_stats.side((rows.get(name) or {}).get(end) or {}, is_tcp)
                traffic[group, end] = trex_astf_stats.total([traffic.get((group, end), {}), counted])
        return super()._sum(document) | {"traffic": traffic}

    def get_stats(self, ports=None, sync_now=True, skip_zero=True, pid_input=DEFAULT, is_sum=False):
        """Counters of ports, their sum, the server's, and of sessions."""
        counted, interval = self._now()
        out = self._port_stats(ports, counted, interval)
        out["traffic"] = self._traffic(counted, interval, skip_zero)
        clients = [row.get("client") or {} for row in interval.get("sessions", {}).values()]
        opened = sum(row.get("open_per_s") or 0.0 for row in clients)
        flows = out["traffic"]["client"].get("m_active_flows", 0)
        out["global"] |= {"tx_cps": opened, "active_flows": flows, "open_flows": flows}
        return out | {"latency": {}}

    def _traffic(self, counted, interval, skip_zero=True, wanted=None):
        out, zero = {}, self.zero.get("traffic", {})
        names = [name for name, _, group in self._entries() if wanted in (None, group)] if self.document else []
        for port, end in zip(self.acquired, ENDS):
            rows = [row for key, row in counted["traffic"].items() if key[1] == end and wanted in (None, key[0])]
            before = [row for key, row in zero.items() if key[1] == end and wanted in (None, key[0])]
            values = trex_astf_stats.since(trex_astf_stats.total(rows), trex_astf_stats.total(before))
            now = [(interval.get("sessions", {}).get(name) or {}).get(end) or {} for name in names]
            at = interval.get("ports", {}).get(f"port{port}", {})
            values |= trex_astf_stats.rates(now, (at.get("tx_pps") or 0.0, at.get("rx_pps") or 0.0))
            out[end] = {name: value for name, value in values.items() if value or not skip_zero}
        return {end: out.get(end, {}) for end in ENDS}

    def get_traffic_stats(self, skip_zero=True, pid_input=DEFAULT, is_sum=False):
        """Counters of sessions: of clients and of servers."""
        return self._traffic(*self._now(), skip_zero)

    def is_traffic_stats_error(self, stats):
        """Whether counters of sessions have errors, and which, with their meaning."""
        return trex_astf_stats.errors(stats)

    def clear_traffic_stats(self, pid_input=DEFAULT, is_sum=False):
        """Counters of sessions begin at zero from now on."""
        self.zero = self.zero | {"traffic": self._now()[0]["traffic"]}

    def get_tg_names(self, pid_input=DEFAULT):
        """Names of template groups."""
        return list(self.document.get("tg_names", [])) if self.document else []

    def get_traffic_tg_stats(self, tg_names, skip_zero=True, pid_input=DEFAULT):
        """Counters of sessions by template group."""
        known = self.get_tg_names()
        names = tg_names if isinstance(tg_names, (list, tuple)) else [tg_names]
        missing = [name for name in names if name not in known]
        if missing or not names:
            raise ASTFErrorBadTG(f"template groups {missing} are not in the profile, which has {known}")
        counted, interval = self._now()
        return {name: self._traffic(counted, interval, skip_zero, known.index(name) + 1) for name in names}

    def get_latency_stats(self, skip_zero=True):
        """Nothing: `start` refuses latency packets."""
        return {}

    INSTEAD = {
        **dict.fromkeys(
            ("start_latency", "stop_latency", "update_latency"),
            "add a stream to the profile that 'eagre trex convert' prints",
        ),
        **dict.fromkeys(
            ("topo_load", "topo_clear", "topo_resolve", "topo_show", "topo_save"),
            "give ports hosts and gateways in a profile (docs/ports.md)",
        ),
        **dict.fromkeys(
            (
                "tunnels_topo_load", "tunnels_topo_clear", "tunnels_topo_show", "update_tunnel_client_record",
                "activate_tunnel", "is_tunnel_supported",
            ),
            "give sessions a tunnel in a profile (docs/sessions.md)",
        ),
        **dict.fromkeys(
            ("get_clients_info", "get_clients_info_range", "set_client_enable", "set_client_enable_range"),
            "use entries of a profile's sessions, one for each group of clients",
        ),
        **dict.fromkeys(
            ("get_ignored_macs_ips", "set_ignored_macs_ips"),
            "frames to addresses that no host has are counted and left alone",
        ),
        **dict.fromkeys(
            ("get_dynamic_traffic_stats", "is_dynamic_traffic_stats_error", "clear_dynamic_traffic_stats", "get_flow_info"),
            "use get_traffic_stats",
        ),
        "get_profiles_state": "use is_traffic_active",
        "get_traffic_distribution": "one process has all addresses",
    }  # fmt: skip


def _one_profile(name):
    if name not in (DEFAULT, "*"):
        raise TRexError(f"profile '{name}': there is one profile at a time; put its templates into one file")
