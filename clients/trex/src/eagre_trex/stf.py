"""STF: TRex's captures as templates of flows (YAML with `cap_info`), as streams: one for each packet of a capture.

A flow's packets leave at their own offsets from its start, clients' from port 0 and servers' from port 1, so a packet of all
flows is a stream at the template's rate. Each flow has the next client, server and client's port; checksums are right, UDP's
is 0.

Not here: plugins, which change texts of payloads, and conversations of more than one flow.
"""

import base64
import ipaddress
import os

from trex.astf.captures import Capture
from trex.common.trex_exceptions import TRexError

# When the first flow begins, µs.
BEGIN = 10_000
PORTS = (1024, 65535)
SHORTEST, TTL_MAX = 60, 128
# Packets of all templates: each is a stream.
PACKETS_MAX = 20_000


def is_stf(path):
    """Whether a file is of STF."""
    if not str(path).endswith((".yaml", ".yml")):
        return False
    with open(path, "rb") as file:
        return b"cap_info" in file.read(1 << 20)


def load(path, ports):
    """Streams of each port, and the duration in seconds.

    Raises:
        TRexError: the file is wrong, or has what Eagre does not do.

    """
    try:
        import yaml
    except ImportError:
        raise TRexError("PyYAML is missing, which reads STF: pip install pyyaml, or apt install python3-yaml") from None
    try:
        with open(path) as file:
            document = yaml.safe_load(file)
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise TRexError(f"profile '{path}': {error}") from None
    document = document[0] if isinstance(document, list) and document else document
    if not isinstance(document, dict) or not isinstance(document.get("cap_info"), list):
        raise TRexError(f"profile '{path}': 'cap_info' is not a list of templates")
    streams, errors = {port: [] for port in ports}, []
    for number, template in enumerate(document["cap_info"]):
        try:
            for port, stream in _template(document, template, f"t{number}", os.path.dirname(os.path.abspath(path))):
                if port in streams:
                    streams[port].append(stream)
        except (TRexError, KeyError, TypeError, ValueError) as error:
            reason = f"the key {error} is missing" if isinstance(error, KeyError) else error
            errors.append(f"template {number}: {reason}")
    if sum(map(len, streams.values())) > PACKETS_MAX:
        errors.append(f"its captures have more than {PACKETS_MAX} packets")
    if errors:
        raise TRexError(f"profile '{path}': " + "\n".join(errors))
    return {str(port): own for port, own in streams.items()}, float(document.get("duration") or 0) or None


def _template(document, template, name, folder):
    """The streams of a template, each with its port."""
    for key in ("plugin_id", "dyn_pyload"):
        if template.get(key):
            raise TRexError(f"'{key}' is not supported: payloads are sent as captured")
    # Prefixes for IPv6 (src_ipv6, dst_ipv6) are for TRex's option --ipv6 alone.
    if (document.get("vlan") or {}).get("enable"):
        raise TRexError("'vlan' is not supported; use 'push_vlan' of a stream with 'replay'")
    capture = Capture.of(_file(template["name"], folder))
    if capture.others or not capture.frames:
        raise TRexError(f"capture '{capture.path}' has more than one flow")
    clients, servers = _pools(document, template)
    rate, weight, limit = float(template["cps"]), int(template.get("w") or 1), template.get("limit")
    if rate <= 0 or weight < 1:
        raise TRexError("'cps' must be above 0, and 'w' 1 or more")
    at, before, when = BEGIN, None, None
    for index, (is_client, stamp, frame) in enumerate(capture.frames):
        if before is not None:
            at += _gap(document, template, stamp - when, is_client != before)
        before, when = is_client, stamp
        data, l2 = _frame(frame)
        mode = {"type": "continuous", "rate": {"type": "pps", "value": rate}}
        if limit:
            mode |= {"type": "single_burst", "total_pkts": int(limit)}
        program = _program(data, l2, is_client, clients, servers, weight)
        stream = {
            "enabled": True, "self_start": True, "isg": float(at), "flags": 0, "mode": mode,
            "flow_stats": {"enabled": False}, "packet": {"binary": base64.b64encode(data).decode(), "meta": ""},
            "vm": {"instructions": program, "cache": 0},
        }  # fmt: skip
        yield (0 if is_client else 1), {"name": f"{name}-{index}", "stream": stream}


def _file(name, folder):
    """A capture: as TRex has it relative to the working directory, else beside the file or one folder up."""
    for start in ("", folder, os.path.dirname(folder)):
        path = os.path.join(start, name)
        if os.path.isfile(path):
            return os.path.abspath(path)
    raise TRexError(f"capture '{name}' does not exist")


def _gap(document, template, captured, turns):
    """Time to the next packet, µs."""
    if not document.get("cap_ipg"):
        return float(template["rtt" if turns else "ipg"])
    least = document.get("cap_ipg_min")
    return float(document.get("cap_override_ipg") or 0) if least is not None and captured < float(least) else captured


def _pools(document, template):
    """First and last address of clients, and of servers."""
    generator = document.get("generator") or {}

    def pool(side, key):
        named = template.get(f"{side}_pool")
        if named is not None:
            rows = [row for row in generator.get(f"generator_{side}s") or [] if row.get("name") == named]
            if not rows:
                raise TRexError(f"there is no pool '{named}'")
            return rows[0]["ip_start"], rows[0]["ip_end"]
        return generator[f"{key}_start"], generator[f"{key}_end"]

    clients = pool("client", "clients")
    one = template.get("server_addr") if template.get("one_app_server") else None
    servers = (one, one) if one else pool("server", "servers")
    return [tuple(int(ipaddress.IPv4Address(address)) for address in side) for side in (clients, servers)]


def _frame(frame):
    """A packet as it is sent before addresses are written, and the offset of its IP header."""
    l2 = 12
    while frame[l2 : l2 + 2] in (b"\x81\x00", b"\x88\xa8"):
        l2 += 4
    data, l3 = bytearray(frame), l2 + 2
    if data[l2:l3] != b"\x08\x00":
        raise TRexError("captures of IPv6 are not supported")
    del data[l3 + int.from_bytes(data[l3 + 2 : l3 + 4], "big") :]
    data[l3 + 1] &= 0xFE
    data[l3 + 8] = min(data[l3 + 8], TTL_MAX)
    l4 = l3 + (data[l3] & 15) * 4
    if data[l3 + 9] == 17:
        data[l4 + 6 : l4 + 8] = bytes(2)
    data.extend(bytes(max(0, SHORTEST - len(data))))
    return bytes(data), l3


def _program(data, l3, is_client, clients, servers, weight):
    """Instructions that write the addresses and the client's port of flow after flow."""
    l4 = l3 + (data[l3] & 15) * 4
    places = {"client": l3 + (12 if is_client else 16), "server": l3 + (16 if is_client else 12)}
    out, writes = [], []
    for name, (first, last) in (("client", clients), ("server", servers)):
        if weight > 1:
            # As many flows have one pair: an odometer's lowest digit.
            out.append(_variable(f"{name}_w", 2, 0, weight - 1, name))
        out.append(_variable(name, 4, first, last))
        writes.append({"type": "write_flow_var", "name": name, "pkt_offset": places[name], "is_big_endian": True})
    out.append(_variable("port", 2, *PORTS))
    place = l4 if is_client else l4 + 2
    writes.append({"type": "write_flow_var", "name": "port", "pkt_offset": place, "is_big_endian": True})
    if data[l3 + 9] == 6:
        fix = {"type": "fix_checksum_hw", "l2_len": l3, "l3_len": l4 - l3, "l4_type": 13}
    else:
        fix = {"type": "fix_checksum_ipv4", "pkt_offset": l3}
    return [*out, *writes, fix]


def _variable(name, size, first, last, following=None):
    out = {
        "type": "flow_var", "name": name, "size": size, "op": "inc", "init_value": first, "min_value": first,
        "max_value": last, "step": 1,
    }  # fmt: skip
    return out | ({"next_var": following} if following else {})
