"""`python -m eagre demo`: the program, where its folder is not on the PATH."""

import os
import sys

from eagre.errors import ServeError
from eagre.server import program

try:
    found = program()
except ServeError as error:
    sys.exit(f"eagre: {error}")
os.execv(found, [str(found), *sys.argv[1:]])
