"""Tunnels around sessions: not supported; the names raise errors."""

from trex.common.trex_exceptions import unsupported

TunnelsTopo = unsupported(
    "TunnelsTopo", "sessions have no tunnels yet; streams have (docs/reference.md, headers gtpu and vxlan)"
)
