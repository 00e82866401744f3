"""A local server: `eagre serve` on a free port, stopped at the end of the `with` block."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sysconfig
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

from eagre.client import Client
from eagre.errors import ServeError

# Time for a server to start serving, and to end on request, s.
START_S, STOP_S = 30.0, 20.0
# Its line when it serves.
READY = re.compile(r"^eagre: serving at (\S+)$", re.MULTILINE)


def program() -> Path:
    """The `eagre` command: from the environment variable EAGRE, else of this package's wheel, else from the PATH."""
    named = os.environ.get("EAGRE")
    if named:
        path = Path(named)
        if not path.is_file():
            raise ServeError(f"EAGRE is {named}, and there is no such file")
        return path.resolve()
    for folder in _script_folders():
        if os.access(folder / "eagre", os.X_OK):
            return folder / "eagre"
    found = shutil.which("eagre")
    if not found:
        raise ServeError(
            "this package came without the program (only wheels for Linux have it), and there is no 'eagre' on the PATH; "
            "set the environment variable EAGRE to the program"
        )
    return Path(found)


def _script_folders() -> Iterator[Path]:
    """Where an installer puts a package's programs: of this environment, of the user, beside packages of `pip --target`."""
    yield Path(sysconfig.get_path("scripts"))
    yield Path(sysconfig.get_path("scripts", scheme=sysconfig.get_preferred_scheme("user")))
    yield Path(__file__).resolve().parents[1] / "bin"


class Server:
    """`eagre serve` on a free loopback port; by default with its own results store and state.

    `arguments` are added to its command line. Its output is in `log`.
    """

    def __init__(
        self,
        *,
        eagre: Path | str | None = None,
        arguments: Sequence[str] = (),
        folder: Path | str | None = None,
        token: str | None = None,
    ) -> None:
        self.eagre = Path(eagre) if eagre is not None else program()
        self.arguments = list(arguments)
        self.token = token
        self.url = ""
        self._given_folder = Path(folder) if folder is not None else None
        self._own_folder: tempfile.TemporaryDirectory[str] | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        try:
            self._start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def folder(self) -> Path:
        """Its folder of results, profiles and captures."""
        if self._given_folder is not None:
            return self._given_folder
        if self._own_folder is None:
            self._own_folder = tempfile.TemporaryDirectory(prefix="eagre-serve-")
        return Path(self._own_folder.name)

    @property
    def log(self) -> str:
        """The server's standard error."""
        return (self.folder / "serve.log").read_text(errors="replace")

    def client(self, **options: Any) -> Client:
        """A client of the server; `options` as for `Client`."""
        return Client(self.url, **{"token": self.token, **options})

    def stop(self) -> None:
        """Stops its runs, then the server."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
            self._process = None
        if self._own_folder is not None:
            self._own_folder.cleanup()
            self._own_folder = None

    def _start(self) -> None:
        """Starts it and waits for its address."""
        self.folder.mkdir(parents=True, exist_ok=True)
        command = [str(self.eagre), "serve", "--listen", "127.0.0.1:0"]
        command += ["--store", str(self.folder / "results.db"), "--state", str(self.folder / "state"), *self.arguments]
        with (self.folder / "serve.log").open("wb") as log:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        end = time.monotonic() + START_S
        while not (ready := READY.search(self.log)):
            if self._process.poll() is not None:
                raise ServeError(f"'{' '.join(command)}' ended with exit code {self._process.returncode}:\n{self.log}")
            if time.monotonic() > end:
                raise ServeError(f"'{' '.join(command)}' does not serve after {START_S:g} s:\n{self.log}")
            time.sleep(0.01)
        self.url = ready[1]


@contextmanager
def serve(**options: Any) -> Iterator[Client]:
    """A client with its own local server, for scripts and tests: `with eagre.serve() as client`. Options as for `Server`."""
    with Server(**options) as server, server.client() as client:
        yield client
