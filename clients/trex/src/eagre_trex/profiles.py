"""Runs the code of a profile file and returns what it registers."""

import contextlib
import importlib.util
import inspect
import itertools
import os
import sys

from trex.common.trex_exceptions import TRexError


@contextlib.contextmanager
def registered(path):
    """The object that a profile's function `register` returns; the profile's folder is first on the module path meanwhile.

    Raises:
        TRexError: there is no such file, or it is not a profile.

    """
    path = os.path.abspath(path)
    folder, name = os.path.split(path)
    if not os.path.isfile(path):
        raise TRexError(f"file '{path}' does not exist")
    before = sys.path[:]
    sys.path.insert(0, folder)
    try:
        # A module of its own for each load: what it keeps between calls belongs to one port.
        spec = importlib.util.spec_from_file_location(name.split(".")[0], path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if not hasattr(module, "register"):
            raise TRexError(f"profile '{path}' has no function 'register'; it is not a TRex profile")
        yield module.register()
    finally:
        sys.path[:] = before


def words_of(tunables):
    """Tunables as words of a command line: a=1 becomes --a 1."""
    return list(itertools.chain.from_iterable((f"--{key}", str(value)) for key, value in tunables.items()))


def arguments(function, given, old):
    """Those of `given` that a profile's function takes; with `old` ones if it takes no tunables, as very old profiles do."""
    takes = inspect.signature(function).parameters
    any_keyword = any(item.kind is item.VAR_KEYWORD for item in takes.values())
    given = given if "tunables" in takes else {**given, **old}
    return {key: value for key, value in given.items() if any_keyword or key in takes}


@contextlib.contextmanager
def told(path, words):
    """Errors of a profile's code as errors that name it; the profile's own help ends quietly, by `Helped`."""
    try:
        yield
    except TRexError:
        raise
    except SystemExit as error:
        if error.code in (None, 0):
            raise Helped from None
        raise TRexError(f"profile '{path}' refused its tunables {' '.join(words)}") from None
    except Exception as error:
        raise TRexError(f"profile '{path}': {type(error).__name__}: {error}") from error


class Helped(Exception):
    """A profile has printed its own help."""
