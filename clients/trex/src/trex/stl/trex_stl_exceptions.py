"""Errors of the stateless API."""

from trex.common.trex_exceptions import (
    TRexArgumentError,
    TRexConsoleError,
    TRexError,
    TRexTimeoutError,
    TRexTypeError,
)

STLError = TRexError
STLArgumentError = TRexArgumentError
STLTypeError = TRexTypeError
STLTimeoutError = TRexTimeoutError
CTRexPacketBuildException = TRexError

__all__ = [
    "CTRexPacketBuildException", "STLArgumentError", "STLError", "STLTimeoutError", "STLTypeError", "TRexArgumentError",
    "TRexConsoleError", "TRexError", "TRexTimeoutError", "TRexTypeError",
]  # fmt: skip
