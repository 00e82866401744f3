"""Small helpers that profiles and scripts import."""

import ipaddress
import os
import random
import re
import string
import sys

from trex.common.trex_exceptions import TRexError


def get_current_user():
    """The user's name."""
    return os.environ.get("USER") or os.environ.get("LOGNAME") or f"uid{os.getuid()}"


def is_integer(arg):
    """Whether this is a whole number."""
    return isinstance(arg, int) and not isinstance(arg, bool)


def is_valid_ipv4(addr):
    """Whether this is the text of an IPv4 address."""
    try:
        ipaddress.IPv4Address(addr)
    except ValueError:
        return False
    return isinstance(addr, str)


def is_valid_ipv6(addr):
    """Whether this is the text of an IPv6 address."""
    try:
        ipaddress.IPv6Address(addr)
    except ValueError:
        return False
    return isinstance(addr, str)


def is_valid_mac(mac):
    """Whether this is the text of a MAC address with colons."""
    return isinstance(mac, str) and re.fullmatch(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}", mac) is not None


def mac2str(mac):
    """The six bytes of a MAC address."""
    digits = re.sub(r"[:.\-]", "", mac)
    if not re.fullmatch(r"[0-9a-fA-F]{12}", digits):
        raise TRexError(f"'{mac}' is not a MAC address; write 00:11:22:33:44:55")
    return bytes.fromhex(digits)


def mac_str_to_num(mac):
    """A MAC address (six bytes) as a number."""
    return int.from_bytes(mac if isinstance(mac, bytes) else mac2str(mac), "big")


def num_to_mac(number):
    """A number as the text of a MAC address."""
    return ":".join(f"{byte:02x}" for byte in int(number).to_bytes(6, "big"))


def ip2int(ip):
    """An IPv4 address as a number."""
    return int(ipaddress.IPv4Address(ip))


def int2ip(number):
    """A number as the text of an IPv4 address."""
    return str(ipaddress.IPv4Address(number))


def increase_mac(mac_str, val=1):
    """The MAC address `val` further."""
    return num_to_mac((mac_str_to_num(mac2str(mac_str)) + val) % (1 << 48))


def increase_ip(ip_str, val=1):
    """The IPv4 address `val` further."""
    return int2ip((ip2int(ip_str) + val) % (1 << 32))


def random_id_gen(length=8):
    """Random names, without end."""
    while True:
        yield "".join(random.choice(string.ascii_lowercase + string.digits) for _ in range(length))


def list_intersect(l1, l2):
    """Elements of both."""
    return [item for item in l1 if item in l2]


def list_difference(l1, l2):
    """Elements of the first that the second has not."""
    return [item for item in l1 if item not in l2]


def list_remove_dup(items):
    """Each element once, in order."""
    return list(dict.fromkeys(items))


def user_input(prompt=""):
    """A line from the user."""
    sys.stdout.write(prompt)
    sys.stdout.flush()
    return sys.stdin.readline().rstrip("\n")
