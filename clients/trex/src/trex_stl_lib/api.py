"""The old name of `trex.stl.api`."""

import os
import random
import string
import sys
import time

from trex.stl import api as _api
from trex.stl.api import *

__all__ = [*_api.__all__, "os", "random", "string", "sys", "time"]
