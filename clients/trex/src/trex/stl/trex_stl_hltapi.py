"""Cisco's HLTAPI."""

from trex.stl.trex_stl_hlt_session import CTRexHltApi, check_res, error, print_brief_stats, wait_with_progress
from trex.stl.trex_stl_hlt_streams import STLHltStream

__all__ = ["CTRexHltApi", "STLHltStream", "check_res", "error", "print_brief_stats", "wait_with_progress"]
