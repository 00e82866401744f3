"""Small types of TRex's API."""

RC_OK_TEXT = "ACK"


class RC:
    """Outcome of a call: true if it went well."""

    def __init__(self, rc=True, data=None, is_warn=False):
        self.good = bool(rc)
        self.content = data
        self.is_warn = is_warn

    def __bool__(self):
        return self.good

    def data(self):
        """Value that the call returned."""
        return self.content if self.good else ""

    def err(self):
        """Why it failed."""
        return None if self.good else str(self.content)


def RC_OK(data=""):
    """A call that went well."""
    return RC(True, data)


def RC_ERR(err=""):
    """A call that failed."""
    return RC(False, err)
