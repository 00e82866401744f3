"""Packets and the programs that vary them.

A program is a list of instructions. `compile` turns each into a mapping as TRex's RPC specification names them, with offsets
as numbers.
"""

import base64
import ipaddress
import os
import random
import struct

from eagre_trex import offsets, scapy_defaults

scapy_defaults.apply()

from scapy.all import *  # noqa: E402
from scapy.all import Ether, Packet, RawPcapReader, RawPcapWriter  # noqa: E402
from trex.common.trex_exceptions import TRexArgumentError, TRexError, TRexTypeError, unsupported  # noqa: E402
from trex.utils.common import (  # noqa: E402
    int2ip,
    ip2int,
    is_integer,
    is_valid_ipv4,
    is_valid_ipv6,
    mac2str,
    mac_str_to_num,
)

SIZES = (1, 2, 4, 8)
OFFSET_MAX = 512


class CTRexVmInsFixHwCs:
    """Names of the transport headers whose checksum is completed."""

    L4_TYPE_UDP = 11
    L4_TYPE_TCP = 13
    L4_TYPE_IP = 17


def str2int(text):
    """Bytes, most significant first, as a number."""
    return int.from_bytes(text.encode("latin-1") if isinstance(text, str) else bytes(text), "big")


def int2str(value, size=4):
    """A number as bytes, most significant first."""
    return int(value).to_bytes(size, "big")


def str2bytes(text):
    """A text as bytes."""
    return text.encode("latin-1") if isinstance(text, str) else bytes(text)


def str2ip(text):
    """Four bytes as the text of an IPv4 address."""
    return str(ipaddress.IPv4Address(bytes(text)))


def ipv4_str_to_num(ipv4_buffer):
    """Four bytes as a number."""
    return struct.unpack(">I", ipv4_buffer)[0]


def is_valid_ipv4_ret(address):
    """The four bytes of an IPv4 address."""
    if isinstance(address, bytes) and len(address) == 4:
        return address
    try:
        return ipaddress.IPv4Address(address).packed
    except ValueError:
        raise TRexError(f"'{address}' is not an IPv4 address") from None


def is_valid_ipv6_ret(address):
    """The sixteen bytes of an IPv6 address."""
    if isinstance(address, bytes) and len(address) == 16:
        return address
    try:
        return ipaddress.IPv6Address(address).packed
    except ValueError:
        raise TRexError(f"'{address}' is not an IPv6 address") from None


def number(name, value):
    """The value of a variable: a number, or the text of an address."""
    if isinstance(value, bool) or value is None:
        raise TRexTypeError(name, type(value), (int, str))
    if isinstance(value, (int, float)):
        return int(value)
    try:
        return int(ipaddress.IPv4Address(value))
    except ValueError:
        pass
    try:
        return int(str(value), 0)
    except ValueError:
        raise TRexArgumentError(name, value, "numbers and IPv4 addresses") from None


def one_of(name, value, allowed):
    """The value, if it is allowed."""
    if value not in allowed:
        raise TRexArgumentError(name, value, allowed)
    return value


class CTRexVmDescBase:
    """An instruction of a program."""

    def compile(self, packet):
        """The instruction as a mapping; offsets by name are `packet`'s."""
        raise NotImplementedError

    def names(self):
        """Variables that the instruction defines."""
        return []


class STLVmFlowVar(CTRexVmDescBase):
    """A variable that counts up or down, is drawn, or goes through a list."""

    def __init__(
        self, name, init_value=None, min_value=0, max_value=255, size=4, step=1, op="inc", value_list=None,
        split_to_cores=True, next_var=None,
    ):  # fmt: skip
        self.name = str(name)
        self.size = one_of("size", size, SIZES)
        self.op = one_of("op", op, ("inc", "dec", "random"))
        self.step = number("step", step)
        self.next_var = next_var
        self.split_to_cores = bool(split_to_cores)
        self.value_list = None
        if value_list is not None:
            if not isinstance(value_list, (list, tuple)) or not value_list:
                raise TRexArgumentError("value_list", value_list, "lists of numbers or addresses")
            self.value_list = [number("value_list", value) for value in value_list]
            self.init_value = self.min_value = self.max_value = 0
            return
        self.min_value, self.max_value = number("min_value", min_value), number("max_value", max_value)
        first = self.max_value if op == "dec" else self.min_value
        self.init_value = first if init_value is None else number("init_value", init_value)
        if self.min_value > self.max_value:
            raise TRexError(f"variable '{name}': min_value {self.min_value} is above max_value {self.max_value}")
        if not self.min_value <= self.init_value <= self.max_value:
            raise TRexError(f"variable '{name}': init_value {self.init_value} is not between min_value and max_value")

    def names(self):
        return [self.name]

    def compile(self, packet):
        out = {
            "type": "flow_var", "name": self.name, "size": self.size, "op": self.op, "step": self.step,
            "split_to_cores": self.split_to_cores,
        }  # fmt: skip
        if self.value_list is not None:
            out["value_list"] = self.value_list
        else:
            out |= {"init_value": self.init_value, "min_value": self.min_value, "max_value": self.max_value}
        if self.next_var:
            out["next_var"] = self.next_var
        return out


class STLVmFlowVarRepeatableRandom(CTRexVmDescBase):
    """A variable that is drawn; after `limit` values the same come again."""

    def __init__(self, name, size=4, limit=100, seed=None, min_value=0, max_value=None, split_to_cores=True, next_var=None):
        self.name = str(name)
        self.size = one_of("size", size, SIZES)
        self.limit = number("limit", limit)
        self.seed = random.randint(1, (1 << 31) - 1) if seed is None else number("seed", seed)
        self.min_value = number("min_value", min_value)
        self.max_value = (1 << (8 * size)) - 1 if max_value is None else number("max_value", max_value)
        self.split_to_cores = bool(split_to_cores)
        self.next_var = next_var

    def names(self):
        return [self.name]

    def compile(self, packet):
        out = {
            "type": "flow_var_rand_limit", "name": self.name, "size": self.size, "limit": self.limit, "seed": self.seed,
            "min_value": self.min_value, "max_value": self.max_value, "split_to_cores": self.split_to_cores,
        }  # fmt: skip
        if self.next_var:
            out["next_var"] = self.next_var
        return out


STLVmFlowVarRepetableRandom = STLVmFlowVarRepeatableRandom


class STLVmTupleGen(CTRexVmDescBase):
    """Pairs of an address and a port: the variables NAME.ip and NAME.port."""

    def __init__(
        self, name, ip_min="0.0.0.1", ip_max="0.0.0.10", port_min=1025, port_max=65535, limit_flows=100000, flags=0
    ):
        self.name = str(name)
        self.ip_min, self.ip_max = number("ip_min", ip_min), number("ip_max", ip_max)
        self.port_min, self.port_max = number("port_min", port_min), number("port_max", port_max)
        self.limit_flows, self.flags = number("limit_flows", limit_flows), number("flags", flags)
        if self.ip_min > self.ip_max or self.port_min > self.port_max:
            raise TRexError(f"tuple '{name}': a range ends before it begins")

    def names(self):
        return [f"{self.name}.ip", f"{self.name}.port"]

    def compile(self, packet):
        return {
            "type": "tuple_flow_var", "name": self.name, "ip_min": self.ip_min, "ip_max": self.ip_max,
            "port_min": self.port_min, "port_max": self.port_max, "limit_flows": self.limit_flows, "flags": self.flags,
        }  # fmt: skip


class STLVmWrFlowVar(CTRexVmDescBase):
    """Writes a variable into the packet."""

    def __init__(self, fv_name, pkt_offset, offset_fixup=0, add_val=0, is_big=True):
        self.name, self.pkt_offset, self.fixup = str(fv_name), pkt_offset, number("offset_fixup", offset_fixup)
        self.add_val, self.is_big = number("add_val", add_val), bool(is_big)

    def compile(self, packet):
        return {
            "type": "write_flow_var", "name": self.name, "pkt_offset": offsets.resolve(packet, self.pkt_offset) + self.fixup,
            "add_value": self.add_val, "is_big_endian": self.is_big,
        }  # fmt: skip


class STLVmWrMaskFlowVar(CTRexVmDescBase):
    """Writes some bits of a variable into the packet."""

    def __init__(self, fv_name, pkt_offset, pkt_cast_size=1, mask=0xFF, shift=0, add_value=0, offset_fixup=0, is_big=True):
        self.name, self.pkt_offset, self.fixup = str(fv_name), pkt_offset, number("offset_fixup", offset_fixup)
        self.cast = one_of("pkt_cast_size", pkt_cast_size, (1, 2, 4))
        self.mask, self.shift = number("mask", mask), number("shift", shift)
        self.add_value, self.is_big = number("add_value", add_value), bool(is_big)

    def compile(self, packet):
        return {
            "type": "write_mask_flow_var", "name": self.name,
            "pkt_offset": offsets.resolve(packet, self.pkt_offset) + self.fixup, "pkt_cast_size": self.cast,
            "mask": self.mask, "shift": self.shift, "add_value": self.add_value, "is_big_endian": self.is_big,
        }  # fmt: skip


class STLVmTrimPktSize(CTRexVmDescBase):
    """Cuts the packet to a variable's value, in bytes without FCS."""

    def __init__(self, fv_name):
        self.name = str(fv_name)

    def compile(self, packet):
        return {"type": "trim_pkt_size", "name": self.name}


class STLVmFixIpv4(CTRexVmDescBase):
    """Recomputes the checksum of an IPv4 header."""

    def __init__(self, offset):
        self.offset = offset

    def compile(self, packet):
        return {"type": "fix_checksum_ipv4", "pkt_offset": offsets.resolve(packet, self.offset)}


class STLVmFixChecksumHw(CTRexVmDescBase):
    """Has the card compute the checksums of an IP header and of what it carries."""

    def __init__(self, l3_offset, l4_offset, l4_type=CTRexVmInsFixHwCs.L4_TYPE_UDP):
        kinds = (CTRexVmInsFixHwCs.L4_TYPE_UDP, CTRexVmInsFixHwCs.L4_TYPE_TCP, CTRexVmInsFixHwCs.L4_TYPE_IP)
        self.l3_offset, self.l4_offset = l3_offset, l4_offset
        self.l4_type = one_of("l4_type", l4_type, kinds)

    def compile(self, packet):
        l3, l4 = offsets.resolve(packet, self.l3_offset), offsets.resolve(packet, self.l4_offset)
        if not 14 <= l3 < l4:
            raise TRexError(f"checksums: headers at {l3} and {l4}; the IP header lies behind Ethernet and before the other")
        return {"type": "fix_checksum_hw", "l2_len": l3, "l3_len": l4 - l3, "l4_type": self.l4_type}


class STLVmFixIcmpv6(CTRexVmDescBase):
    """Recomputes the checksum of ICMPv6."""

    def __init__(self, l3_offset, l4_offset):
        self.l3_offset, self.l4_offset = l3_offset, l4_offset

    def compile(self, packet):
        l3, l4 = offsets.resolve(packet, self.l3_offset), offsets.resolve(packet, self.l4_offset)
        return {"type": "fix_checksum_icmpv6", "l2_len": l3, "l3_len": l4 - l3}


class STLScVmRaw:
    """A program as a list of instructions."""

    def __init__(self, list_of_commands=None, cache_size=None):
        self.commands = list(list_of_commands or [])
        self.cache_size = cache_size
        for command in self.commands:
            if not isinstance(command, CTRexVmDescBase):
                raise TRexTypeError("list_of_commands", type(command), CTRexVmDescBase)

    def add_cmd(self, command):
        """Adds an instruction."""
        self.commands.append(command)

    def compile(self, packet):
        """The program as a mapping.

        Raises:
            TRexError: a variable is not defined, or an offset does not exist.

        """
        defined = [name for command in self.commands for name in command.names()]
        for name in defined:
            if defined.count(name) > 1:
                raise TRexError(f"variable '{name}' is defined more than once")
        instructions = [command.compile(packet) for command in self.commands]
        for instruction in instructions:
            used = [] if instruction["type"] in ("flow_var", "flow_var_rand_limit", "tuple_flow_var") else ["name"]
            for name in (instruction[key] for key in [*used, "next_var"] if key in instruction):
                if name not in defined:
                    raise TRexError(f"variable '{name}' is not defined; defined are: {', '.join(defined) or 'none'}")
            if not 0 <= instruction.get("pkt_offset", 0) <= OFFSET_MAX:
                raise TRexError(f"offset {instruction['pkt_offset']} is not between 0 and {OFFSET_MAX}")
        out = {"instructions": instructions}
        if self.cache_size:
            out["cache"] = int(self.cache_size)
        return out


def STLIPRange(src=None, dst=None, fix_chksum=True):
    """Instructions that count IPv4 addresses up; each range is a mapping with start, end and step."""
    out = []
    for name, span in (("src", src), ("dst", dst)):
        if span:
            first, last, step = span["start"], span["end"], span["step"]
            out.append(STLVmFlowVar(name=name, min_value=first, max_value=last, size=4, op="inc", step=step))
            out.append(STLVmWrFlowVar(fv_name=name, pkt_offset=f"IP.{name}"))
    return [*out, STLVmFixIpv4(offset="IP")] if fix_chksum else out


class STLVM(STLScVmRaw):
    """A program, made instruction by instruction."""

    def __init__(self):
        super().__init__()

    def var(self, name, *args, **kwargs):
        """A variable, see `STLVmFlowVar`."""
        self.add_cmd(STLVmFlowVar(name, *args, **kwargs))

    def repeatable_random_var(self, fv_name, *args, **kwargs):
        """A variable, see `STLVmFlowVarRepeatableRandom`."""
        self.add_cmd(STLVmFlowVarRepeatableRandom(fv_name, *args, **kwargs))

    def tuple_var(self, name, *args, **kwargs):
        """A pair of variables, see `STLVmTupleGen`."""
        self.add_cmd(STLVmTupleGen(name, *args, **kwargs))

    def write(self, fv_name, pkt_offset, *args, **kwargs):
        """Writes a variable, see `STLVmWrFlowVar`."""
        self.add_cmd(STLVmWrFlowVar(fv_name, pkt_offset, *args, **kwargs))

    def write_mask(self, fv_name, pkt_offset, *args, **kwargs):
        """Writes some bits of a variable, see `STLVmWrMaskFlowVar`."""
        self.add_cmd(STLVmWrMaskFlowVar(fv_name, pkt_offset, *args, **kwargs))

    def trim(self, fv_name):
        """Cuts the packet, see `STLVmTrimPktSize`."""
        self.add_cmd(STLVmTrimPktSize(fv_name))

    def fix_chksum(self, offset="IP"):
        """Recomputes an IPv4 header's checksum."""
        self.add_cmd(STLVmFixIpv4(offset))

    def fix_chksum_hw(self, l3_offset="IP", l4_offset="UDP", l4_type=CTRexVmInsFixHwCs.L4_TYPE_UDP):
        """Has the card compute checksums, see `STLVmFixChecksumHw`."""
        self.add_cmd(STLVmFixChecksumHw(l3_offset, l4_offset, l4_type))

    def fix_chksum_icmpv6(self, l3_offset="IPv6", l4_offset="ICMPv6"):
        """Recomputes the checksum of ICMPv6."""
        self.add_cmd(STLVmFixIcmpv6(l3_offset, l4_offset))

    def set_cached(self, cache_size):
        """Makes this number of packets once and repeats them."""
        self.cache_size = cache_size


def read_capture(path):
    """Packets of a capture file: bytes and time in seconds.

    Raises:
        TRexError: the file cannot be read.

    """
    try:
        # No 'with': readers of Scapy 2.5 have none.
        reader = RawPcapReader(str(path))
        try:
            nano = getattr(reader, "nano", False)
            return [(bytes(data), _time(meta, nano)) for data, meta in reader]
        finally:
            reader.close()
    except Exception as error:
        raise TRexError(f"capture '{path}': {error}") from None


def _time(meta, nano):
    if hasattr(meta, "tsresol"):
        return ((meta.tshigh << 32) + meta.tslow) / (meta.tsresol or 1e6)
    return meta[0] + meta[1] / (1e9 if nano else 1e6)


class STLPktBuilder:
    """A packet: from Scapy, from a capture file with one packet, or bytes; and what varies in it."""

    def __init__(self, pkt=None, pkt_buffer=None, vm=None, path_relative_to_profile=False, build_raw=False, remove_fcs=True):
        self.packet, self.buffer = None, None
        self.remove_fcs = remove_fcs
        self.relative_to_profile = path_relative_to_profile
        self.vm = self._program(vm)
        if pkt is not None and pkt_buffer is not None:
            raise TRexError("a packet has either 'pkt' or 'pkt_buffer'")
        if pkt is not None:
            self.set_packet(pkt)
        elif pkt_buffer is not None:
            if not isinstance(pkt_buffer, (bytes, bytearray)):
                raise TRexTypeError("pkt_buffer", type(pkt_buffer), bytes)
            self.buffer = bytes(pkt_buffer)

    @staticmethod
    def _program(vm):
        if vm is None or isinstance(vm, (list, tuple)):
            return STLScVmRaw(vm or [])
        if not isinstance(vm, STLScVmRaw):
            raise TRexTypeError("vm", type(vm), (STLVM, STLScVmRaw, list))
        return vm

    def set_packet(self, pkt):
        """Sets the packet: Scapy's, or the name of a capture file."""
        if isinstance(pkt, Packet):
            self.packet = pkt
            return
        if not isinstance(pkt, (str, os.PathLike)):
            raise TRexTypeError("pkt", type(pkt), (Packet, str))
        path = str(pkt)
        if self.relative_to_profile:
            path = os.path.join(profile_folder(), path)
        packets = read_capture(path)
        if len(packets) != 1:
            raise TRexError(f"capture '{path}' has {len(packets)} packets; a stream's packet comes from a capture with one")
        self.buffer = packets[0][0]

    def set_pkt_as_str(self, buffer):
        """Sets the packet's bytes."""
        self.buffer = bytes(buffer)

    def add_command(self, script):
        """Sets the program."""
        self.vm = self._program(script)

    def compile(self):
        """Builds the packet and its program, as `STLStream` does."""
        self.program()

    def program(self):
        """The program as a mapping."""
        return self.vm.compile(self._headers())

    def _headers(self):
        if self.packet is not None:
            return self.packet
        return Ether(self.buffer) if self.buffer is not None else None

    def bytes(self):
        """The packet's bytes, without FCS."""
        if self.packet is not None:
            return bytes(self.packet)
        if self.buffer is None:
            raise TRexError("the packet is missing: give 'pkt' or 'pkt_buffer'")
        return self.buffer[: -self._padding() or None]

    def _padding(self):
        """Bytes behind the packet, such as an FCS in a capture: a program is for the packet without them."""
        if not self.remove_fcs or not self.vm.commands:
            return 0
        last = Ether(self.buffer).lastlayer()
        return len(last) if last.name == "Padding" else 0

    def get_pkt_len(self):
        """The packet's length, without FCS."""
        return len(self.bytes())

    def is_default_src_mac(self):
        """Whether the port's address becomes the source."""
        return not self._says("src")

    def is_default_dst_mac(self):
        """Whether the port's gateway becomes the destination."""
        return not self._says("dst")

    def _says(self, field):
        return isinstance(self.packet, Ether) and field in self.packet.fields

    def get_vm_data(self):
        """The program as a mapping."""
        return self.program()

    def dump_pkt(self, encode=True):
        """The packet as TRex's JSON has it."""
        data = self.bytes()
        return {"binary": base64.b64encode(data).decode() if encode else list(data), "meta": ""}

    def dump_as_hex(self):
        """Prints the packet's bytes."""
        print(self.bytes().hex())

    def dump_pkt_to_pcap(self, file_path):
        """Writes the packet to a capture file."""
        writer = RawPcapWriter(file_path, linktype=1)
        writer.write(self.bytes())
        writer.close()

    def to_pkt_dump(self):
        """Prints the packet's headers."""
        Ether(self.bytes()).show()

    def clone(self):
        """A copy."""
        import copy

        return copy.deepcopy(self)


CScapyTRexPktBuilder = STLPktBuilder

_folders = []


def profile_folder():
    """The folder of the profile that is being loaded; else the working directory."""
    return _folders[-1] if _folders else os.getcwd()


STLPktBuilderTrex = unsupported("STLPktBuilderTrex", "use STLPktBuilder")
