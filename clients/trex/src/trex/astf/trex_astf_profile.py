"""ASTF profiles: templates of sessions, what their ends do, and which addresses they have."""

import base64
import inspect
import ipaddress
import json
import os

from eagre_trex.profiles import Helped, arguments, registered, told, words_of
from trex.astf.captures import Capture
from trex.astf.trex_astf_exceptions import ASTFError, ASTFErrorBadParamCombination, ASTFErrorMissingParam, ASTFErrorWrongType
from trex.astf.trex_astf_global_info import ASTFGlobalInfo, ASTFGlobalInfoPerTemplate

COMPARISONS = ("lt", "gt", "eq", "ge", "le", "ne")


def _typed(where, name, value, kind, wanted, optional=False):
    if not (optional and value is None) and not isinstance(value, kind):
        raise ASTFErrorWrongType(where, name, wanted)
    return value


def _bytes(where, name, value):
    _typed(where, name, value, (bytes, str), "a text or bytes")
    return value.encode("ascii", "surrogateescape") if isinstance(value, str) else value


def _beside_the_profile(file):
    """A capture's path; relative ones are relative to the profile that names them."""
    if os.path.isabs(file):
        return file
    own = os.path.dirname(os.path.abspath(__file__))
    for frame in inspect.stack():
        folder = os.path.dirname(os.path.abspath(frame.filename))
        if folder != own and os.path.exists(os.path.join(folder, file)):
            return os.path.normpath(os.path.join(folder, file))
    return os.path.abspath(file)


class ASTFCmd:
    """A step of a program."""

    def __init__(self, **fields):
        self.fields = fields


class ASTFCmdDelay(ASTFCmd):
    """Waits."""

    def __init__(self, usec):
        super().__init__(name="delay", usec=_typed("ASTFCmdDelay", "usec", usec, (int, float), "a number"))


class ASTFCmdDelayRnd(ASTFCmd):
    """Waits for a random time."""

    def __init__(self, min_usec, max_usec):
        for name, value in (("min_usec", min_usec), ("max_usec", max_usec)):
            _typed("ASTFCmdDelayRnd", name, value, (int, float), "a number")
        if min_usec > max_usec:
            raise ASTFError(f"ASTFCmdDelayRnd: min_usec {min_usec} is above max_usec {max_usec}")
        super().__init__(name="delay_rnd", min_usec=min_usec, max_usec=max_usec)


class ASTFProgram:
    """Behaviour of one end of a session: steps, or its side of a captured conversation."""

    def __init__(self, file=None, side="c", commands=None, stream=True, s_delay=None, udp_mtu=None, addon=None):
        where = "ASTFProgram"
        _typed(where, "file", file, str, "a file name", optional=True)
        _typed(where, "s_delay", s_delay, (ASTFCmdDelay, ASTFCmdDelayRnd), "a delay", optional=True)
        if addon is not None:
            raise ASTFError("ASTFProgram: 'addon' is not supported by Eagre; write the steps of the program")
        if side not in ("c", "s"):
            raise ASTFError(f"ASTFProgram: side is 'c' or 's', not {side!r}")
        if file is not None and commands is not None:
            raise ASTFErrorBadParamCombination(where, "file", "commands")
        self.side, self.s_delay, self.udp_mtu = side, s_delay, udp_mtu
        self.capture = None if file is None else Capture.of(_beside_the_profile(file))
        self.stream = stream if self.capture is None else self.capture.is_tcp
        commands = [commands] if isinstance(commands, ASTFCmd) else commands or []
        self.commands = [dict(command.fields) for command in commands]
        self.labels = {}
        self.variables = []

    def _add(self, name, **fields):
        if self.capture is not None:
            raise ASTFError("ASTFProgram: a program made of a capture takes no further steps")
        self.commands.append({"name": name, **fields})

    def _tcp(self, name):
        if not self.stream:
            raise ASTFError(f"ASTFProgram: '{name}' is for TCP; use the one for messages with stream=False")

    def _udp(self, name):
        if self.stream:
            raise ASTFError(f"ASTFProgram: '{name}' is for UDP; make the program with stream=False")

    def _payload(self, name, buf, size, fill):
        where = f"ASTFProgram.{name}"
        buf = _bytes(where, "buf", buf)
        if size is not None and size < len(buf):
            raise ASTFError(f"{where}: size {size} is below the {len(buf)} bytes given")
        filler = None if fill is None else _bytes(where, "fill", fill)
        return {"buf": buf} if size is None else {"buf": buf, "size": size, "fill": filler or b"\x20"}

    def _variable(self, name):
        if name not in self.variables:
            self.variables.append(name)
        return name

    def send(self, buf, size=None, fill=None):
        """Sends data; waits until it is acknowledged unless sending was made not to block."""
        self._tcp("send")
        self._add("tx", **self._payload("send", buf, size, fill))

    def send_chunk(self, buf, chunk_size, delay_usec):
        """Sends data in pieces with pauses."""
        self._tcp("send_chunk")
        buf = _bytes("ASTFProgram.send_chunk", "buf", buf)
        if chunk_size < 1:
            raise ASTFError("ASTFProgram.send_chunk: pieces have one byte at least")
        for at in range(0, len(buf), chunk_size):
            if at:
                self.delay(delay_usec)
            self.send(buf[at : at + chunk_size])

    def recv(self, bytes, clear=False):
        """Waits for this number of bytes, beyond earlier waits."""
        self._tcp("recv")
        self._add("rx", min_bytes=_typed("ASTFProgram.recv", "bytes", bytes, int, "a number"), clear=clear)

    def send_msg(self, buf, size=None, fill=None):
        """Sends a datagram."""
        self._udp("send_msg")
        self._add("tx_msg", **self._payload("send_msg", buf, size, fill))

    def recv_msg(self, pkts, clear=False):
        """Waits for this number of datagrams, beyond earlier waits."""
        self._udp("recv_msg")
        self._add("rx_msg", min_pkts=_typed("ASTFProgram.recv_msg", "pkts", pkts, int, "a number"), clear=clear)

    def set_send_blocking(self, block):
        """Whether sending waits for the acknowledgement."""
        self._tcp("set_send_blocking")
        self._add("tx_mode", flags=0 if block else 1)

    def set_keepalive_msg(self, msec, rx_mode=False):
        """Longest silence of a flow of datagrams."""
        self._udp("set_keepalive_msg")
        self._add("keepalive", msec=msec, rx_mode=rx_mode)

    def close_msg(self):
        """Ends a flow of datagrams."""
        self._udp("close_msg")
        self._add("close_msg")

    def delay(self, usec):
        """Waits."""
        self._add(**ASTFCmdDelay(usec).fields)

    def delay_rand(self, min_usec, max_usec):
        """Waits for a random time."""
        self._add(**ASTFCmdDelayRnd(min_usec, max_usec).fields)

    def reset(self):
        """Resets the connection."""
        self._add("reset")

    def wait_for_peer_close(self):
        """Does not close; waits until the other end does."""
        self._add("nc")

    def connect(self):
        """Waits until the connection is established."""
        self._add("connect")

    def accept(self):
        """Waits until the connection is established, at the server."""
        self._add("connect")

    def set_label(self, label):
        """Names the next step."""
        if label in self.labels:
            raise ASTFError(f"ASTFProgram: label '{label}' is set twice")
        self.labels[label] = len(self.commands)

    def set_var(self, var_id, val):
        """Sets a variable."""
        self._add("set_var", id=self._variable(var_id), val=val)

    def add_var(self, var_id, val):
        """Adds to a variable."""
        self._add("add_var", id=self._variable(var_id), val=val)

    def set_tick_var(self, var_id):
        """Takes the time."""
        self._add("set_tick_var", id=self._variable(var_id))

    def add_tick_var(self, var_id, duration):
        """Moves a time that was taken."""
        self._add("add_tick_var", id=self._variable(var_id), duration=duration)

    def add_stats(self, stats_id, val):
        """Adds to a counter."""
        self._add("add_stats", stats=stats_id, val=val)

    def add_tick_stats(self, stats_id, var_id):
        """Adds the time since it was taken to a counter."""
        self._add("add_tick_stats", stats=stats_id, id=self._variable(var_id))

    def jmp(self, label):
        """Goes on at a label."""
        self._add("jmp", label=label)

    def jmp_nz(self, var_id, label):
        """Decrements a variable and jumps to a label unless it is zero."""
        self._add("jmp_nz", id=self._variable(var_id), label=label)

    def jmp_dp(self, var_id, label, duration):
        """Jumps to a label while less than this number of seconds has passed since a time was taken."""
        self._add("jmp_dp", id=self._variable(var_id), label=label, duration=duration)

    def set_next_template(self, tg_name):
        """Which template's session follows."""
        self._add("set_template", tg=tg_name)

    def exec_template(self, tg_name):
        """Begins a session of a template."""
        self._add("exec_template", tg=tg_name)


def _compare(operator):
    def jump(self, var_id, label, cmp_val):
        self._add("jmp_cmp", op=operator, id=self._variable(var_id), label=label, val=cmp_val)

    jump.__name__ = f"jmp_{operator}"
    jump.__doc__ = f"Goes on at a label if a variable is '{operator}' a value."
    return jump


for _operator in COMPARISONS:
    setattr(ASTFProgram, f"jmp_{_operator}", _compare(_operator))


def _address(where, name, text):
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        raise ASTFErrorWrongType(where, name, f"an IPv4 address, not {text!r}") from None


class ASTFIPGenDist:
    """A range of addresses and the order in which they are taken."""

    def __init__(self, ip_range, distribution="seq", per_core_distribution=None):
        where = "ASTFIPGenDist"
        if not isinstance(ip_range, (list, tuple)) or len(ip_range) != 2:
            raise ASTFErrorWrongType(where, "ip_range", "a pair of addresses")
        if distribution not in ("seq", "rand"):
            raise ASTFError(f"{where}: distribution is 'seq' or 'rand', not {distribution!r}")
        self.start, self.end = (_address(where, "ip_range", text) for text in ip_range)
        if ipaddress.IPv4Address(self.start) > ipaddress.IPv4Address(self.end):
            raise ASTFError(f"{where}: the range {self.start} to {self.end} ends before it begins")
        self.distribution = distribution
        self.per_core_distribution = per_core_distribution

    def overlaps(self, other):
        """Whether both have an address."""
        mine, theirs = ([ipaddress.IPv4Address(ip) for ip in (one.start, one.end)] for one in (self, other))
        return mine[0] <= theirs[1] and theirs[0] <= mine[1]


class ASTFIPGenGlobal:
    """Addition of each further pair of ports to the addresses."""

    def __init__(self, ip_offset="1.0.0.0", ip_offset_server=None):
        self.client = _address("ASTFIPGenGlobal", "ip_offset", ip_offset)
        self.server = _address("ASTFIPGenGlobal", "ip_offset_server", ip_offset_server or ip_offset)


class ASTFIPGen:
    """Addresses of clients and servers."""

    def __init__(self, dist_client, dist_server, glob=None):
        self.client = _typed("ASTFIPGen", "dist_client", dist_client, ASTFIPGenDist, "an ASTFIPGenDist")
        self.server = _typed("ASTFIPGen", "dist_server", dist_server, ASTFIPGenDist, "an ASTFIPGenDist")
        self.glob = (
            _typed("ASTFIPGen", "glob", glob, ASTFIPGenGlobal, "an ASTFIPGenGlobal", optional=True) or ASTFIPGenGlobal()
        )


class ASTFCluster:
    """Nothing to set."""


class ASTFAssociationRule:
    """Servers that a template's sessions reach: a port, and addresses if not all."""

    def __init__(self, port=80, ip_start=None, ip_end=None, l7_map=None, assoc_id=None):
        if l7_map is not None:
            raise ASTFError("ASTFAssociationRule: 'l7_map' is not supported by Eagre; use templates on separate ports")
        if (ip_start is None) != (ip_end is None):
            raise ASTFErrorMissingParam("ASTFAssociationRule", "ip_start and ip_end")
        self.port, self.assoc_id = port, assoc_id
        self.ip_start = ip_start and _address("ASTFAssociationRule", "ip_start", ip_start)
        self.ip_end = ip_end and _address("ASTFAssociationRule", "ip_end", ip_end)

    def to_json(self):
        """As TRex's JSON profiles have it."""
        addresses = {"ip_start": self.ip_start, "ip_end": self.ip_end} if self.ip_start else {}
        return {"port": self.port, **addresses}


class ASTFAssociation:
    """Rules."""

    def __init__(self, rules=None):
        rules = rules if rules is not None else ASTFAssociationRule()
        self.rules = [rules] if isinstance(rules, ASTFAssociationRule) else list(rules)


class ASTFTCPClientTemplate:
    """Clients of a template."""

    def __init__(self, ip_gen, program, cluster=None, port=80, cps=1, glob_info=None, limit=None, cont=None, core_base=None):
        where = "ASTFTCPClientTemplate"
        self.ip_gen = _typed(where, "ip_gen", ip_gen, ASTFIPGen, "an ASTFIPGen")
        self.program = _typed(where, "program", program, ASTFProgram, "an ASTFProgram")
        self.glob_info = _typed(where, "glob_info", glob_info, ASTFGlobalInfoPerTemplate, "settings", optional=True)
        self.port, self.cps, self.limit, self.cont = port, cps, limit, cont


class ASTFTCPServerTemplate:
    """Servers of a template."""

    def __init__(self, program, assoc=None, glob_info=None):
        where = "ASTFTCPServerTemplate"
        self.program = _typed(where, "program", program, ASTFProgram, "an ASTFProgram")
        self.glob_info = _typed(where, "glob_info", glob_info, ASTFGlobalInfoPerTemplate, "settings", optional=True)
        self.assoc = assoc if isinstance(assoc, ASTFAssociation) else ASTFAssociation(assoc)
        self.is_default = assoc is None


class ASTFTemplate:
    """Clients and servers that belong together."""

    def __init__(self, client_template=None, server_template=None, tg_name=None):
        where = "ASTFTemplate"
        self.client = _typed(where, "client_template", client_template, ASTFTCPClientTemplate, "an ASTFTCPClientTemplate")
        self.server = _typed(where, "server_template", server_template, ASTFTCPServerTemplate, "an ASTFTCPServerTemplate")
        self.tg_name = _group(where, tg_name)
        if self.client.program.stream != self.server.program.stream:
            raise ASTFError("ASTFTemplate: one end's program is for TCP and the other's for UDP")

    @property
    def port(self):
        """The servers' port: by default the one that clients go to."""
        return self.client.port if self.server.is_default else self.server.assoc.rules[0].port


def _group(where, name):
    if name is not None and not (isinstance(name, str) and 0 < len(name) <= 20):
        raise ASTFErrorWrongType(where, "tg_name", "a text of at most 20 characters")
    return name


class ASTFCapInfo:
    """A captured conversation as a template."""

    def __init__(
        self, file=None, cps=None, assoc=None, ip_gen=None, port=None, l7_percent=None, s_glob_info=None, c_glob_info=None,
        limit=None, s_delay=None, udp_mtu=None, cont=None, tg_name=None,
    ):  # fmt: skip
        where = "ASTFCapInfo"
        _typed(where, "file", file, str, "a file name")
        if cps is not None and l7_percent is not None:
            raise ASTFErrorBadParamCombination(where, "cps", "l7_percent")
        if assoc is not None and port is not None:
            raise ASTFErrorBadParamCombination(where, "assoc", "port")
        self.file, self.cps, self.l7_percent = _beside_the_profile(file), cps, l7_percent
        self.ip_gen = _typed(where, "ip_gen", ip_gen, ASTFIPGen, "an ASTFIPGen", optional=True)
        self.capture = Capture.of(self.file)
        self.s_delay, self.udp_mtu = s_delay, udp_mtu
        self.limit, self.cont, self.tg_name = limit, cont, _group(where, tg_name)
        self.c_glob_info, self.s_glob_info = c_glob_info, s_glob_info
        rule = assoc if assoc is not None else ASTFAssociationRule(port=self.capture.port if port is None else port)
        self.assoc = rule if isinstance(rule, ASTFAssociation) else ASTFAssociation(rule)

    def template(self, default, cps):
        """The template it stands for."""
        ip_gen = self.ip_gen or default
        if ip_gen is None:
            raise ASTFErrorMissingParam("ASTFCapInfo", "ip_gen", "the profile's default_ip_gen")
        options = {"s_delay": self.s_delay, "udp_mtu": self.udp_mtu}
        client = ASTFTCPClientTemplate(
            ip_gen, ASTFProgram(self.file, "c", **options), port=self.assoc.rules[0].port, cps=cps,
            glob_info=self.c_glob_info, limit=self.limit, cont=self.cont,
        )  # fmt: skip
        server = ASTFTCPServerTemplate(ASTFProgram(self.file, "s", **options), self.assoc, self.s_glob_info)
        return ASTFTemplate(client, server, self.tg_name)


class ASTFProfile:
    """All templates."""

    def __init__(
        self, default_ip_gen, default_c_glob_info=None, default_s_glob_info=None, templates=None, cap_list=None,
        s_delay=None, udp_mtu=None,
    ):  # fmt: skip
        where = "ASTFProfile"
        _typed(where, "default_ip_gen", default_ip_gen, ASTFIPGen, "an ASTFIPGen")
        self.c_glob_info = _typed(
            where, "default_c_glob_info", default_c_glob_info, ASTFGlobalInfo, "settings", optional=True
        )
        self.s_glob_info = _typed(
            where, "default_s_glob_info", default_s_glob_info, ASTFGlobalInfo, "settings", optional=True
        )
        templates = [templates] if isinstance(templates, ASTFTemplate) else list(templates or [])
        captures = [cap_list] if isinstance(cap_list, ASTFCapInfo) else list(cap_list or [])
        if not templates and not captures:
            raise ASTFErrorMissingParam(where, "templates", "cap_list")
        for capture in captures:
            capture.s_delay = capture.s_delay or s_delay
            capture.udp_mtu = capture.udp_mtu or udp_mtu
        rates = zip(captures, _rates(captures))
        self.templates = templates + [capture.template(default_ip_gen, cps) for capture, cps in rates]
        self._refuse_shared_servers()

    def _refuse_shared_servers(self):
        seen = {}
        for number, template in enumerate(self.templates):
            port, servers = template.port, template.client.ip_gen.server
            for other, range_, server in seen.setdefault(port, []):
                if range_.overlaps(servers) and server is not template.server:
                    raise ASTFError(
                        f"ASTFProfile: templates {other} and {number} both have servers on port {port} of the same "
                        "addresses; give one of them another port"
                    )
            seen[port].append((number, servers, template.server))

    @classmethod
    def load_py(cls, path, words=(), **tunables):
        """The profile of a Python file; None if it has printed its own help.

        Raises:
            TRexError: the file is missing, or its code failed.

        """
        words = list(words) or words_of(tunables)
        try:
            with told(path, words), registered(path) as registrant:
                if not hasattr(registrant, "get_profile"):
                    raise ASTFError(f"profile '{path}' has no 'get_profile'")
                given = arguments(registrant.get_profile, {"tunables": words}, tunables)
                profile = registrant.get_profile(**given)
        except Helped:
            return None
        if not isinstance(profile, cls):
            raise ASTFError(f"profile '{path}': get_profile returned {profile!r} instead of an ASTFProfile")
        return profile

    @classmethod
    def load(cls, path, **tunables):
        """The profile of a file: .py with its tunables, or .json as TRex writes it."""
        if not path.endswith(".json"):
            return cls.load_py(path, **tunables)
        try:
            with open(path) as file:
                document = json.load(file)
        except (OSError, ValueError) as error:
            raise ASTFError(f"profile '{path}': {error}") from None
        if not isinstance(document, dict) or "templates" not in document or "program_list" not in document:
            raise ASTFError(f"profile '{path}' is not one of ASTF: it has no 'templates' or no 'program_list'")
        profile = cls.__new__(cls)
        profile.document = document
        return profile

    document = None

    def to_json(self, inline=False):
        """As TRex's JSON profiles are, but with captures by name; with `inline` by content."""
        if self.document is not None:
            return self.document
        tables = _Tables(inline)
        templates = [tables.template(template) for template in self.templates]
        settings = {"c_glob_info": self.c_glob_info, "s_glob_info": self.s_glob_info}
        return {
            "buf_list": tables.buffers,
            "ip_gen_dist_list": tables.ranges,
            "program_list": tables.programs,
            "templates": templates,
            "tg_names": tables.groups,
            **{name: value.to_json() for name, value in settings.items() if value is not None},
        }


def _rates(captures):
    """Sessions per second of each capture."""
    shares = [capture.l7_percent is not None for capture in captures]
    if not any(shares):
        return [1 if capture.cps is None else capture.cps for capture in captures]
    if not all(shares):
        raise ASTFError("ASTFProfile: give 'l7_percent' for all captures, or for none")
    if sum(capture.l7_percent for capture in captures) != 100:
        raise ASTFError("ASTFProfile: the 'l7_percent' of all captures must add up to 100")
    total = sum(capture.capture.payload for capture in captures)
    return [100 * capture.capture.payload / total for capture in captures]


class _Tables:
    """Objects that templates refer to by number."""

    def __init__(self, inline):
        self.buffers, self.ranges, self.programs, self.groups = [], [], [], []
        self.inline = inline
        self._objects = {}

    def _index(self, table, entry):
        if entry not in table:
            table.append(entry)
        return table.index(entry)

    def _buffer(self, payload):
        text = base64.b64encode(payload["buf"]).decode()
        if "size" not in payload:
            return self._index(self.buffers, text)
        fill = base64.b64encode(payload["fill"]).decode()
        return self._index(self.buffers, {"base": text, "size": payload["size"], "fill": fill})

    def _range(self, addresses, side, offset):
        entry = {
            "ip_start": addresses.start, "ip_end": addresses.end, "distribution": addresses.distribution, "dir": side,
            "ip_offset": offset,
        }  # fmt: skip
        return {"index": self._index(self.ranges, entry)}

    def _program(self, program, side):
        known = self._objects.get(id(program))
        if known is not None:
            return known
        entry = {"stream": program.stream}
        if program.capture is not None and self.inline:
            entry["commands"] = [self._command(program, command) for command in program.capture.commands(side)]
        elif program.capture is not None:
            entry |= {"capture": program.capture.path, "side": side}
        else:
            entry["commands"] = [self._command(program, command) for command in program.commands]
        if program.s_delay is not None:
            entry["s_delay"] = program.s_delay.fields
        if program.udp_mtu is not None:
            entry["udp_mtu"] = program.udp_mtu
        self._objects[id(program)] = self._index(self.programs, entry)
        return self._objects[id(program)]

    def _command(self, program, command):
        out = {key: value for key, value in command.items() if key not in ("buf", "size", "fill", "label")}
        if "buf" in command:
            out["buf_index"] = self._buffer(command)
        if "label" in command:
            if command["label"] not in program.labels:
                raise ASTFError(f"ASTFProgram: no label '{command['label']}'")
            # As TRex: how many steps to go on from here.
            out["offset"] = program.labels[command["label"]] - program.commands.index(command)
        if "id" in command:
            out["id"] = program.variables.index(command["id"])
        return out

    def template(self, template):
        client, server = template.client, template.server
        ip_gen = client.ip_gen
        ends = {
            "client_template": {
                "program_index": self._program(client.program, "c"),
                "port": template.port,
                "cps": client.cps,
                "ip_gen": {
                    "dist_client": self._range(ip_gen.client, "c", ip_gen.glob.client),
                    "dist_server": self._range(ip_gen.server, "s", ip_gen.glob.server),
                },
                "cluster": {},
            },
            "server_template": {
                "program_index": self._program(server.program, "s"),
                "assoc": [{"port": template.port}] if server.is_default else [rule.to_json() for rule in server.assoc.rules],
            },
        }
        for end, of in (("client_template", client), ("server_template", server)):
            if of.glob_info is not None:
                ends[end]["glob_info"] = of.glob_info.to_json()
        for name in ("limit", "cont"):
            if getattr(client, name) is not None:
                ends["client_template"][name] = getattr(client, name)
        if template.tg_name is not None:
            ends["tg_id"] = self._index(self.groups, template.tg_name) + 1
        return ends


ASTFUDPClientTemplate, ASTFUDPServerTemplate = ASTFTCPClientTemplate, ASTFTCPServerTemplate
__all__ = [
    "ASTFAssociation", "ASTFAssociationRule", "ASTFCapInfo", "ASTFCluster", "ASTFCmd", "ASTFCmdDelay", "ASTFCmdDelayRnd",
    "ASTFGlobalInfo", "ASTFGlobalInfoPerTemplate", "ASTFIPGen", "ASTFIPGenDist", "ASTFIPGenGlobal", "ASTFProfile",
    "ASTFProgram", "ASTFTCPClientTemplate", "ASTFTCPServerTemplate", "ASTFTemplate", "ASTFUDPClientTemplate",
    "ASTFUDPServerTemplate",
]  # fmt: skip
