"""A wheel with the program: `tools/dist` names it. Without it the wheel is pure Python, for every machine."""

import os
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# A folder with `bin/eagre` and `share/`; and the platform the program is for, such as `manylinux_2_34_x86_64`.
PREFIX, PLATFORM = "EAGRE_WHEEL_PREFIX", "EAGRE_WHEEL_PLATFORM"


class ProgramHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds the program as a script, so that it is on the PATH of the environment, and its manual pages."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before each build; `version` is `editable` or `standard`."""
        named = os.environ.get(PREFIX)
        if not named:
            return
        prefix = Path(named)
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{os.environ[PLATFORM]}"
        build_data["shared_scripts"][str(prefix / "bin/eagre")] = "eagre"
        # Not the documentation's pages: they would be a seventh of the wheel.
        parts = [part for part in (prefix / "share").iterdir() if part.name != "eagre"]
        build_data["shared_data"].update({str(part): f"share/{part.name}" for part in parts})
