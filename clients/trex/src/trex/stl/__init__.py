"""Part of TRex's API that Eagre serves."""
