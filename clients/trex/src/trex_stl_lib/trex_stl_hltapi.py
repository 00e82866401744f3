"""The old name of `trex.stl.trex_stl_hltapi`."""

from trex.stl.trex_stl_hltapi import *
