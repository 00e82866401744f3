"""The stateful API: profiles, programs, captures, the client."""

import json
import os
import sys

from trex.astf.trex_astf_client import ASTFClient
from trex.astf.trex_astf_exceptions import *
from trex.astf.trex_astf_global_info import ASTFGlobalInfo, ASTFGlobalInfoPerTemplate
from trex.astf.trex_astf_profile import *
from trex.common.trex_exceptions import TRexError, TRexTimeoutError, unsupported

ASTFTopology = unsupported("ASTFTopology", "give ports hosts and gateways in a profile (docs/ports.md)")
