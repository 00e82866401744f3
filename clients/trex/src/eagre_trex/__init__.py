"""How Eagre reads TRex profiles: `python3 -m eagre_trex.load PROFILE` prints a profile's content as one JSON document."""

__version__ = "0.1.0"

SCHEMA = "eagre.trex/1"
