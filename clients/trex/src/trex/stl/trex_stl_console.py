"""Lines of TRex's console that scripts pass to the client."""

import argparse
import shlex

from trex.common.trex_exceptions import TRexConsoleError


class _Line(argparse.ArgumentParser):
    def error(self, message):
        raise TRexConsoleError(f"{self.prog}: {message}")


def _read(name, line, *options):
    parser = _Line(prog=name, add_help=False)
    parser.add_argument("--port", "--ports", "-p", dest="ports", nargs="+", type=int)
    parser.add_argument("-a", dest="all", action="store_true")
    for words, more in options:
        parser.add_argument(*words, **more)
    said = parser.parse_args(shlex.split(line))
    if said.all:
        said.ports = None
    return said


MULT = (("-m", "--multiplier"), {"dest": "mult", "default": "1"})
TOTAL = (("--total",), {"action": "store_true"})
FORCE = (("--force",), {"action": "store_true"})


class Console:
    """The lines: start, stop, update, pause, resume, clear and reset."""

    def start_line(self, line):
        """Loads a profile's file and starts it: '-f FILE -m MULT -d SECONDS -t NAME=VALUE,… --port 0 1'."""
        said = _read(
            "start", line, (("-f", "--file"), {"required": True}), MULT, TOTAL, FORCE,
            (("-d", "--duration"), {"type": float, "default": -1.0}), (("-t", "--tunables"), {"default": ""}),
        )  # fmt: skip
        ports = said.ports or self.get_acquired_ports()
        if said.force:
            self.stop(ports)
        self.remove_all_streams(ports)
        tunables = dict(part.split("=", 1) for part in said.tunables.split(",") if "=" in part)
        self.add_profile(said.file, ports, **tunables)
        self.start(ports, said.mult, said.force, said.duration, said.total)

    def stop_line(self, line):
        """'--port 0 1'."""
        self.stop(_read("stop", line).ports)

    def update_line(self, line):
        """'-m MULT --port 0 1'."""
        said = _read("update", line, MULT, TOTAL, FORCE)
        self.update(said.ports, said.mult, said.total)

    def pause_line(self, line):
        """'--port 0 1'."""
        self.pause(_read("pause", line).ports)

    def resume_line(self, line):
        """'--port 0 1'."""
        self.resume(_read("resume", line).ports)

    def reset_line(self, line):
        """'--port 0 1'."""
        self.reset(_read("reset", line).ports)

    def clear_line(self, line):
        """Clears counters."""
        self.clear_stats(_read("clear", line).ports)
