"""TRex's Python names, served by Eagre.

Missing names come from a checkout of TRex behind this package. A script in a checkout's folder `trex/examples` finds the
others there, whatever the module path.
"""

import sys
from pathlib import Path
from pkgutil import extend_path


def _beside(script):
    """Folders `trex` whose `examples` a script is in."""
    parents = Path(script).absolute().parents if script else ()
    return [str(folder.parent) for folder in parents if folder.name == "examples" and folder.parent.name == "trex"]


__path__ = extend_path(__path__, __name__)
__path__.extend(folder for folder in _beside(sys.argv[0] if sys.argv else "") if folder not in __path__)
