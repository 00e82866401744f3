"""STF: TRex's captures as templates of flows (YAML with `cap_info`).

Each template is a capture and how its flows are made: flows per second, addresses, times. The program uses them; here are
the file's content and the captures it names.

Not here: plugins, which change texts of payloads, and conversations of more than one flow.
"""

import ipaddress
import os

from trex.astf.captures import Capture
from trex.common.trex_exceptions import TRexError

TTL_MAX = 128


def is_stf(path):
    """Whether a file is of STF."""
    if not str(path).endswith((".yaml", ".yml")):
        return False
    with open(path, "rb") as file:
        return b"cap_info" in file.read(1 << 20)


def load(path, to_ipv6=False):
    """The templates, and the duration in seconds. With `to_ipv6` packets of IPv4 become IPv6.

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
    templates, errors = [], []
    for number, template in enumerate(document["cap_info"]):
        try:
            templates.append(_template(document, template, os.path.dirname(os.path.abspath(path)), to_ipv6))
        except (TRexError, KeyError, TypeError, ValueError) as error:
            reason = f"the key {error} is missing" if isinstance(error, KeyError) else error
            errors.append(f"template {number}: {reason}")
    if errors:
        raise TRexError(f"profile '{path}': " + "\n".join(errors))
    return templates, float(document.get("duration") or 0) or None


def _template(document, template, folder, to_ipv6):
    """The parts of a template that the program needs."""
    for key in ("plugin_id", "dyn_pyload"):
        if template.get(key):
            raise TRexError(f"'{key}' is not supported: payloads are sent as captured")
    capture = Capture.of(_file(template["name"], folder))
    if capture.others or not capture.frames:
        raise TRexError(f"capture '{capture.path}' has more than one flow")
    rate, weight, limit = float(template["cps"]), int(template.get("w") or 1), template.get("limit")
    if rate <= 0 or weight < 1:
        raise TRexError("'cps' must be above 0, and 'w' 1 or more")
    headers = [_header(frame) for _, _, frame in capture.frames]
    was_ipv6 = headers[0][0] == 6
    clients, servers = _pools(document, template, was_ipv6 or to_ipv6, was_ipv6)
    vlan = document.get("vlan") or {}
    times = _times(document, template)
    return {
        "capture": capture.path, "cps": rate, "per_pair": weight, "limit": int(limit) if limit else None,
        "clients": clients, "servers": servers, "times": times, "span_us": _span(capture.frames, times),
        "is_ipv6": was_ipv6 or to_ipv6, "to_ipv6": to_ipv6 and not was_ipv6,
        "vlans": [int(vlan[key]) for key in ("vlan0", "vlan1")] if vlan.get("enable") else None,
        "is_udp": not capture.is_tcp,
        "ttls": sorted({ttl for _, ttl, _ in headers if ttl > TTL_MAX}),
        "ecns": sorted({tos & 3 for _, _, tos in headers if tos & 1}),
    }  # fmt: skip


def _file(name, folder):
    """A capture: as TRex has it relative to the working directory, else beside the file or one folder up."""
    for start in ("", folder, os.path.dirname(folder)):
        path = os.path.join(start, name)
        if os.path.isfile(path):
            return os.path.abspath(path)
    raise TRexError(f"capture '{name}' does not exist")


def _times(document, template):
    """Times between packets of a flow, us: the template's, or the capture's, of which short ones are replaced."""
    if not document.get("cap_ipg"):
        return {"ipg": float(template["ipg"]), "rtt": float(template["rtt"])}
    least = document.get("cap_ipg_min")
    if least is None:
        return {}
    return {"shortest": float(least), "short_gap": float(document.get("cap_override_ipg") or 0)}


def _span(frames, times):
    """From the first packet of a flow to its last, us."""
    span = 0
    for (before, start, _), (is_client, at, _) in zip(frames, frames[1:]):
        gap = max(at - start, 0)
        if "ipg" in times:
            gap = times["ipg" if before == is_client else "rtt"]
        elif gap < times.get("shortest", 0):
            gap = times["short_gap"]
        span += gap
    return span


def _pools(document, template, is_ipv6, needs_prefix):
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
    pools = [[ipaddress.IPv4Address(address) for address in side] for side in (clients, servers)]
    if is_ipv6:
        # The upper 96 bits are the file's; without, the addresses are those that IPv6 has for IPv4's.
        prefixes = [_prefix(document.get(key), needs_prefix) for key in ("src_ipv6", "dst_ipv6")]
        pools = [[ipaddress.IPv6Address(prefix | int(address)) for address in side] for prefix, side in zip(prefixes, pools)]
    return [[str(address) for address in side] for side in pools]


def _prefix(words, is_needed):
    """Upper 96 bits of addresses, in their place."""
    if not words and not is_needed:
        return 0
    if not words:
        raise TRexError("a capture of IPv6 needs 'src_ipv6' and 'dst_ipv6'")
    if len(words) != 6:
        raise TRexError("'src_ipv6' and 'dst_ipv6' have six 16-bit numbers")
    return int.from_bytes(b"".join(int(word).to_bytes(2, "big") for word in words), "big") << 32


def _header(frame):
    """Version, time to live and type of service of a packet's IP header."""
    l2 = 12
    while frame[l2 : l2 + 2] in (b"\x81\x00", b"\x88\xa8"):
        l2 += 4
    ip = frame[l2 + 2 :]
    if frame[l2 : l2 + 2] == b"\x86\xdd":
        return 6, ip[7], (ip[0] << 4 | ip[1] >> 4) & 0xFF
    return 4, ip[8], ip[1]
