"""Errors of ASTF profiles."""

from trex.common.trex_exceptions import TRexError


class ASTFError(TRexError):
    """An error in a profile."""


class ASTFErrorBadParamCombination(ASTFError):
    """Two arguments exclude each other."""

    def __init__(self, where, name1, name2):
        super().__init__(f"{where}: '{name1}' and '{name2}' exclude each other")


class ASTFErrorMissingParam(ASTFError):
    """One of several arguments is needed."""

    def __init__(self, where, *names):
        super().__init__(f"{where}: give {' or '.join(repr(name) for name in names)}")


class ASTFErrorWrongType(ASTFError):
    """An argument has the wrong type."""

    def __init__(self, where, name, wanted):
        super().__init__(f"{where}: argument '{name}' must be {wanted}")


class ASTFErrorBadTG(ASTFError):
    """A template group is not in the profile."""
