"""Fixtures for pytest: `eagre_server`, a local server for the whole session, and `eagre_client`, a client of it.

pytest loads it from the installed package. The program is the one that `eagre.serve` finds.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from eagre.client import Client
    from eagre.server import Server


@pytest.fixture(scope="session")
def eagre_server() -> "Iterator[Server]":
    """An `eagre serve` for the test session, with its own results store."""
    # Imported here: pytest loads this file before it measures coverage.
    from eagre.server import Server

    with Server() as server:
        yield server


@pytest.fixture
def eagre_client(eagre_server: "Server") -> "Iterator[Client]":
    """A client of the session's server. Stops runs that a test leaves active."""
    with eagre_server.client() as client:
        yield client
        for run in client.runs():
            if not run.has_ended:
                # A 'with' stops it, and waits until its ports are free for the next test.
                with client.run_of(run.id):
                    pass
