"""Where a header or a field of a Scapy packet lies: 'IP.src', 'IP:1.src', '802|1Q:0.vlan', 'UDP'.

Computed from the packet alone: a header's length is that of its bytes without its payload's, and a field begins where the
fields before it end. A field of some bits begins at the first byte of its run of bits.
"""

from trex.common.trex_exceptions import TRexError


def headers(packet):
    """Each header with its offset, from the outermost inwards."""
    offset = 0
    while packet is not None and packet.__class__.__name__ != "NoPayload":
        yield offset, packet
        offset += len(bytes(packet)) - len(bytes(packet.payload))
        packet = packet.payload


def _named(header, name):
    return name in (header.name, header.__class__.__name__)


def field_offset(header, name):
    """Offset of a field in its header, or None."""
    written, run = b"", 0
    for field in header.fields_desc:
        # A run of bits is a tuple: the bytes before it come first.
        if not isinstance(written, tuple):
            run = len(written)
        if field.name == name:
            return run
        written = field.addfield(header, written, header.getfieldval(field.name))
    return None


def resolve(packet, text):
    """Offset in bytes of a header or field of the packet.

    Raises:
        TRexError: the packet has no such header or field.

    """
    if isinstance(text, int):
        return text
    path, _, field = str(text).strip().partition(".")
    name, _, number = path.partition(":")
    name = name.replace("|", ".")
    if packet is None:
        raise TRexError(f"offset '{text}': there is no packet yet")
    found = [(offset, header) for offset, header in headers(packet) if _named(header, name)]
    if number and not number.isdigit():
        raise TRexError(f"offset '{text}': '{number}' is not a number")
    index = int(number or 0)
    if index >= len(found):
        names = ", ".join(header.name for _, header in headers(packet))
        raise TRexError(f"offset '{text}': the packet has no such header; it has {names}")
    offset, header = found[index]
    if not field:
        return offset
    within = field_offset(header, field)
    if within is None:
        names = ", ".join(item.name for item in header.fields_desc)
        raise TRexError(f"offset '{text}': {name} has no field '{field}'; it has {names}")
    return offset + within
