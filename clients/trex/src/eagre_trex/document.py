"""The document `eagre.trex/1`: streams of each port as TRex's RPC has them, sessions, or flow templates, in an envelope."""

import platform

from eagre_trex import SCHEMA, stf
from trex.common.trex_exceptions import TRexError


def load(path, ports, direction=None, words=None, tunables=None, to_ipv6=False):
    """The document of a profile for each of the ports. With `to_ipv6` templates of flows become IPv6.

    Raises:
        TRexError: the profile cannot be loaded.

    """
    if _is_stateful(path):
        return _sessions(path, words, tunables)
    if stf.is_stf(path):
        templates, duration = stf.load(path, to_ipv6)
        return {**_head("stf", path, None), "templates": templates, "duration_s": duration}
    from trex.stl.trex_stl_streams import STLProfile

    streams = {}
    for port in ports:
        side = port % 2 if direction is None else direction
        options = {"tunables": words} if words else dict(tunables or {})
        profile = STLProfile.load(path, direction=side, port_id=port, **options)
        if profile is None:
            return None
        streams[str(port)] = [stream.to_json() for stream in _checked(profile, path)]
    return envelope(path, streams, tunables or words)


def _is_stateful(path):
    """Whether a file is a profile of ASTF: it imports that API."""
    if not str(path).endswith(".py"):
        return False
    with open(path, "rb") as file:
        text = file.read()
    return b"trex.astf" in text and b"def get_streams" not in text


def _sessions(path, words, tunables):
    """The document of a stateful profile, which needs no Scapy."""
    from trex.astf.trex_astf_profile import ASTFProfile

    profile = ASTFProfile.load_py(path, words or (), **(tunables or {}))
    if profile is None:
        return None
    return {**_head("astf", path, tunables or words), "profile": profile.to_json()}


def _head(mode, source, tunables):
    return {
        "schema": SCHEMA, "mode": mode, "source": str(source), "tunables": tunables or {},
        "python": platform.python_version(),
    }  # fmt: skip


def envelope(source, streams, tunables=None):
    """The document around streams by port."""
    from scapy import VERSION

    return {**_head("stl", source, tunables), "scapy": VERSION, "ports": streams}


def _checked(profile, path):
    from trex.stl.trex_stl_streams import STLStream

    names = [stream.name for stream in profile.streams if stream.name is not None]
    for stream in profile.streams:
        if not isinstance(stream, STLStream):
            raise TRexError(f"profile '{path}': {stream!r} is not a stream")
        if stream.next is not None and stream.next not in names:
            raise TRexError(f"profile '{path}': stream '{stream.name}' names '{stream.next}' as next, which is no stream")
        if stream.name is not None and names.count(stream.name) > 1:
            raise TRexError(f"profile '{path}': two streams have the name '{stream.name}'")
    return profile.streams
