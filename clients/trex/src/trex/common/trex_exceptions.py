"""Errors of TRex's API. Each names the fault and, if something is not supported, a replacement."""

import traceback


class TRexError(Exception):
    """An error of the API, with a text for people."""

    def __init__(self, msg=""):
        super().__init__(str(msg))
        self.msg = str(msg)
        self.stack = "".join(traceback.format_stack()[:-1])

    def __str__(self):
        return self.msg

    def brief(self):
        """The text alone."""
        return self.msg


class TRexArgumentError(TRexError):
    """An argument has a value that is not allowed."""

    def __init__(self, name, got, valid_values=None, extended=None):
        text = f"argument '{name}' has the value '{got}'"
        if valid_values is not None:
            many = isinstance(valid_values, (list, tuple, set))
            text += f"; allowed: {', '.join(map(str, valid_values)) if many else valid_values}"
        super().__init__(f"{text}; {extended}" if extended else text)


class TRexTypeError(TRexError):
    """An argument has the wrong type."""

    def __init__(self, arg_name, arg_type, valid_types):
        types = valid_types if isinstance(valid_types, (list, tuple)) else (valid_types,)
        wanted = " or ".join(getattr(kind, "__name__", str(kind)) for kind in types)
        got = getattr(arg_type, "__name__", str(arg_type))
        super().__init__(f"argument '{arg_name}' is of type {got}; use {wanted}")


class TRexTimeoutError(TRexError):
    """Something did not happen in time."""

    def __init__(self, timeout):
        super().__init__(f"not done after {timeout} seconds")
        self.timeout = timeout


class TRexConsoleError(TRexError):
    """A line of console text is wrong."""


class TRexConsoleNoAction(TRexError):
    """A line of console text has no command."""


class TRexFunctionError(TRexError):
    """An error in a call between client and server."""


def unsupported(name, instead):
    """A stand-in for a class or function that is not supported: using it raises an error that names the replacement."""

    def refuse(*_args, **_kwargs):
        raise TRexError(f"{name} is not supported by Eagre; {instead}")

    refuse.__name__ = name
    refuse.__doc__ = f"Not supported: {instead}."
    return refuse
