"""Open vSwitch as the other end of a lag: a bond with LACP or without, of two links."""

import re

from ovs import Ovs

# How an end stands that carries traffic.
UP = "activity timeout aggregation synchronized collecting distributing"


class Switch(Ovs):
    """A bond of the links s0 and s1, and the port out."""

    def __init__(self, lab, ns, lacp="active"):
        super().__init__(lab, ns)
        # Without LACP this is the only mode in which both links carry traffic.
        mode = "balance-slb" if lacp == "off" else "balance-tcp"
        words = ["add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev", "--", "add-port", "br0", "out", "--"]
        words += ["add-bond", "br0", "bond0", "s0", "s1", f"lacp={lacp}", f"bond_mode={mode}", "other_config:lacp-time=fast"]
        self.configure(*words)

    def show(self, command="lacp/show"):
        """What the switch says of the bond's LACP."""
        return self.ask(command, "bond0")

    def members(self):
        """Of each link what it says of both ends: lines by name."""
        parts = re.split(r"^(?:member|slave): ", self.show(), flags=re.M)[1:]
        return [dict(re.findall(r"^\s+((?:actor|partner) .*?): (.*)$", part, re.M)) for part in parts]

    def links(self):
        """Of each link the state of its own end and of its partner's, by LACP."""
        text = self.show()
        return re.findall(r"actor state: (.*)\n(?:.*\n)*?\s+partner sys_id: (.*)\n(?:.*\n)*?\s+partner state: (.*)\n", text)
