"""The name of TRex's API before version 2.30."""
