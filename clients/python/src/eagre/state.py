"""The state of a run or campaign."""

ENDED = frozenset({"done", "failed", "stopped", "interrupted"})


class HasState:
    """A document with a state."""

    state: str

    @property
    def has_ended(self) -> bool:
        """Whether the state is final."""
        return self.state in ENDED
