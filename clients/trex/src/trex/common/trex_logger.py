"""Where a client writes its messages."""

import sys
from contextlib import contextmanager


class Logger:
    """Messages of a client, from a verbosity on."""

    VERBOSES = {"none": 0, "critical": 1, "error": 2, "warning": 3, "info": 4, "debug": 5}  # noqa: RUF012

    def __init__(self, verbose="error"):
        self.set_verbose(verbose)

    def set_verbose(self, verbose):
        """Sets the verbosity by its name; 'low', 'normal' and 'high' are old names."""
        old = {"quiet": "none", "low": "error", "normal": "info", "high": "debug"}
        self.level = self.VERBOSES.get(old.get(str(verbose), str(verbose)), 2)

    def get_verbose(self):
        """The verbosity's name."""
        return next(name for name, level in self.VERBOSES.items() if level == self.level)

    def check_verbose(self, level):
        """Whether messages of this level are written."""
        return self.VERBOSES.get(level, 4) <= self.level

    def write(self, msg, newline=True):
        """Writes a message."""
        sys.stdout.write(f"{msg}\n" if newline else str(msg))

    def flush(self):
        """Flushes."""
        sys.stdout.flush()

    def critical(self, msg):
        """A message of level 1."""
        if self.level >= 1:
            self.write(msg)

    def error(self, msg):
        """A message of level 2."""
        if self.level >= 2:
            self.write(msg)

    def warning(self, msg):
        """A message of level 3."""
        if self.level >= 3:
            self.write(msg)

    def info(self, msg):
        """A message of level 4."""
        if self.level >= 4:
            self.write(msg)

    def debug(self, msg):
        """A message of level 5."""
        if self.level >= 5:
            self.write(msg)

    @contextmanager
    def suppress(self, verbose="error"):
        """Fewer messages for a while."""
        before = self.level
        self.level = min(before, self.VERBOSES.get(verbose, 2))
        try:
            yield
        finally:
            self.level = before


class ScreenLogger(Logger):
    """Messages to standard output."""


DefaultLogger = ScreenLogger
