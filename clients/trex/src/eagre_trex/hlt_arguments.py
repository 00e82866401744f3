"""Arguments of Cisco's HLTAPI for streams: names, defaults, and how texts become values."""

import ipaddress
import re
import sys

from trex.common.trex_exceptions import TRexArgumentError, TRexError
from trex.utils.common import mac2str


def _defaults(text):
    """Reads 'name=value' words; a value without quotes is a number or None."""
    words = (word.partition("=") for word in text.split())
    return {name: _value(value) for name, _, value in words}


def _value(text):
    if text == "None":
        return None
    if text in ("True", "False"):
        return text == "True"
    return int(text) if re.fullmatch(r"-?\d+", text) else text


def _varying(prefixes, **defaults):
    words = {"mode": "fixed", "step": 1, "count": 1} | defaults
    return {f"{prefix}_{key}": value for prefix in prefixes for key, value in words.items()}


TRAFFIC_CONFIG = {
    **_defaults(
        """mode=None split_by_cores=split load_profile=None consistent_random=False ignore_macs=False
        disable_flow_stats=False flow_stats_id=None port_handle=None port_handle2=None bidirectional=False
        transmit_mode=continuous rate_pps=None rate_bps=None rate_percent=10 stream_id=None name=None direction=0
        pkts_per_burst=1 burst_loop_count=1 inter_burst_gap=12 length_mode=fixed
        l3_imix1_size=64 l3_imix1_ratio=7 l3_imix2_size=570 l3_imix2_ratio=4
        l3_imix3_size=1518 l3_imix3_ratio=1 l3_imix4_size=9230 l3_imix4_ratio=0
        frame_size=64 frame_size_min=64 frame_size_max=64 frame_size_step=1 l2_encap=ethernet_ii
        mac_src=00:00:01:00:00:01 mac_dst=00:00:00:00:00:00 mac_src2=00:00:01:00:00:01 mac_dst2=00:00:00:00:00:00
        vlan_user_priority=1 vlan_id=0 vlan_cfi=1 vlan_protocol_tag_id=None
        l3_protocol=None l3_length=None l3_length_min=110 l3_length_max=238 l3_length_step=1
        ip_precedence=0 ip_tos_field=0 ip_mbz=0 ip_delay=0 ip_throughput=0 ip_reliability=0 ip_cost=0 ip_reserved=0
        ip_dscp=0 ip_cu=0 ip_id=0 ip_fragment_offset=0 ip_ttl=64 ip_checksum=None
        ip_src_addr=0.0.0.0 ip_dst_addr=192.0.0.1
        ipv6_traffic_class=0 ipv6_flow_label=0 ipv6_length=None ipv6_next_header=None ipv6_hop_limit=64
        ipv6_src_addr=fe80:0:0:0:0:0:0:12 ipv6_dst_addr=fe80:0:0:0:0:0:0:22 l4_protocol=None
        tcp_src_port=1024 tcp_dst_port=80 tcp_seq_num=1 tcp_ack_num=1 tcp_data_offset=5 tcp_fin_flag=0 tcp_syn_flag=0
        tcp_rst_flag=0 tcp_psh_flag=0 tcp_ack_flag=0 tcp_urg_flag=0 tcp_window=4069 tcp_checksum=None tcp_urgent_ptr=0
        udp_src_port=1024 udp_dst_port=80 udp_length=None"""
    ),
    **_varying(["mac_src", "mac_dst", "mac_src2", "mac_dst2", "vlan_priority", "vlan_id", "ip_src", "ip_dst"]),
    **_varying(["ipv6_src", "ipv6_dst"]),
    **_varying(["tcp_src_port", "tcp_dst_port", "udp_src_port", "udp_dst_port"], mode="increment"),
}
# Names that mean the same.
ALIASES = {"pg_id": "flow_stats_id"}
LISTS = (
    "vlan_id", "vlan_id_mode", "vlan_id_step", "vlan_id_count", "vlan_user_priority", "vlan_priority_mode",
    "vlan_priority_step", "vlan_priority_count", "vlan_cfi", "vlan_protocol_tag_id",
)  # fmt: skip
TEXTS = ("name", "stream_id", "load_profile", "mode", "port_handle", "port_handle2")


def is_true(value):
    """Whether an argument is a yes."""
    return value in (True, 1, "True", "true", "1", "yes", "on", "enabled")


def merge(given):
    """The defaults with the given values; an unknown name is reported and left out."""
    out = dict(TRAFFIC_CONFIG)
    for name, value in given.items():
        name = ALIASES.get(name, name)
        if name not in out:
            print(f"warning: HLTAPI argument '{name}' is not known and has no effect", file=sys.stderr)
        elif value is not None:
            out[name] = value if name in LISTS or name in TEXTS else _plain(value)
    return out


def _plain(value):
    """A text that is a whole number as a number."""
    return int(value) if isinstance(value, str) and re.fullmatch(r"-?\d+", value) else value


def swap_direction(given, merged):
    """Arguments for the other direction: addresses swapped, the second pair of MAC addresses."""
    out = dict(given)
    parts = ("", "_mode", "_step", "_count")
    for one, other in (("mac_src", "mac_src2"), ("mac_dst", "mac_dst2")):
        out.update({one + part: merged[other + part] for part in parts})
    for family in ("ip", "ipv6"):
        for one, other in (("src", "dst"), ("dst", "src")):
            for part in ("addr", "mode", "step", "count"):
                out[f"{family}_{one}_{part}"] = merged[f"{family}_{other}_{part}"]
    return out


def mac(value):
    """A MAC address as text with colons; dots and dashes are read, too."""
    data = value if isinstance(value, bytes) else mac2str(str(value))
    return ":".join(f"{byte:02x}" for byte in data)


def whole(name, value):
    """A number: of digits, or the low 32 bits of an address."""
    if isinstance(value, int):
        return value
    text = str(value).strip()
    try:
        return int(text, 0)
    except ValueError:
        pass
    for read in (lambda: int(ipaddress.IPv4Address(text)), lambda: int(ipaddress.IPv6Address(text)) & 0xFFFFFFFF,
                 lambda: int.from_bytes(mac2str(text)[2:], "big")):  # fmt: skip
        try:
            return read()
        except (ValueError, TRexError):
            continue
    raise TRexArgumentError(name, value, "numbers and addresses")


def per_tag(name, value, tags, convert=lambda item: item):
    """A value for each VLAN tag: of a list, or of a text with blanks; those that are missing have the default."""
    items = value if isinstance(value, (list, tuple)) else str(value).strip("{}").split() if value is not None else []
    items = [convert(item) for item in items[:tags]]
    return items + [TRAFFIC_CONFIG[name]] * (tags - len(items))


def count_tags(given):
    """Number of VLAN tags in the arguments."""
    lists = (value for name, value in given.items() if name.startswith("vlan_") and value is not None)
    return max(
        (len(item) if isinstance(item, (list, tuple)) else len(str(item).strip("{}").split()) for item in lists), default=0
    )


# Three ways to say the byte 'type of service': (argument, shift).
TOS = (
    (("ip_precedence", 5), ("ip_tos_field", 1), ("ip_mbz", 0)),
    (("ip_precedence", 5), ("ip_delay", 4), ("ip_throughput", 3), ("ip_reliability", 2), ("ip_cost", 1), ("ip_reserved", 0)),
    (("ip_dscp", 2), ("ip_cu", 0)),
)


def type_of_service(given, merged):
    """The byte, from the one form that has all given values."""
    said = {name for way in TOS for name, _ in way if given.get(name) is not None}
    ways = [way for way in TOS if said <= {name for name, _ in way}]
    if not ways:
        raise TRexError(f"{', '.join(sorted(said))} do not go together: use precedence and TOS, single bits, or DSCP")
    value = sum(int(merged[name]) << shift for name, shift in ways[0])
    if not 0 <= value <= 255:
        raise TRexArgumentError("type of service", value, "numbers from 0 to 255")
    return value
