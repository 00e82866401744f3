"""Settings of TCP, IP and the scheduler for all clients or servers of a profile or of one template."""

from trex.astf.trex_astf_exceptions import ASTFError

# Names of each section, with the type of the value.
GLOBAL = {
    "scheduler": {"rampup_sec": int, "accurate": int},
    "ipv6": {"src_msb": str, "dst_msb": str, "enable": int},
    "ip": {"tos": int, "ttl": int, "dont_use_inbound_mac": int},
    "tcp": {
        "mss": int, "initwnd": int, "rxbufsize": int, "txbufsize": int, "rexmtthresh": int, "do_rfc1323": int,
        "do_sack": int, "keepinit": int, "keepidle": int, "keepintvl": int, "blackhole": int, "delay_ack_msec": int,
        "no_delay": int, "no_delay_counter": int, "reass_maxqlen": int, "cc_algo": int, "do_ecn": int,
    },
}  # fmt: skip
TEMPLATE = {
    "ipv6": GLOBAL["ipv6"],
    "ip": {"tos": int, "ttl": int},
    "tcp": dict.fromkeys(("initwnd", "mss", "no_delay", "no_delay_counter", "rxbufsize", "txbufsize"), int),
}


class _Section:
    def __init__(self, name, fields):
        self.__dict__.update(_name=name, _fields=fields, _values={})

    def __setattr__(self, name, value):
        wanted = self._fields.get(name)
        if wanted is None:
            raise AttributeError(f"'{self._name}' has no setting '{name}'; it has {', '.join(self._fields)}")
        if wanted is int and not isinstance(value, (int, bool)):
            raise ASTFError(f"{self._name}.{name} is a number, not {value!r}")
        self._values[name] = int(value) if wanted is int else str(value)

    def __getattr__(self, name):
        if name in self._values:
            return self._values[name]
        raise AttributeError(f"'{self._name}' has no setting '{name}'; it has {', '.join(self._fields)}")


class _Settings:
    def __init__(self, sections):
        self.__dict__.update({name: _Section(name, fields) for name, fields in sections.items()})

    def __setattr__(self, name, value):
        raise AttributeError(f"no section '{name}'; set one of {', '.join(self.__dict__)}")

    def to_json(self):
        """Settings, by section."""
        return {name: dict(section._values) for name, section in self.__dict__.items() if section._values}


class ASTFGlobalInfo(_Settings):
    """Settings of all clients or of all servers."""

    def __init__(self):
        super().__init__(GLOBAL)


class ASTFGlobalInfoPerTemplate(_Settings):
    """Settings of the clients or servers of one template."""

    def __init__(self):
        super().__init__(TEMPLATE)
