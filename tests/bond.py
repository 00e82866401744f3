"""Open vSwitch as the other end of a lag: a bond with LACP, of two links."""

import re

from lab import need, wait_until

# How an end stands that carries traffic.
UP = "activity timeout aggregation synchronized collecting distributing"


class Switch:
    """Open vSwitch with its own datapath in a namespace: a bond with LACP of the links s0 and s1, and the port out."""

    def __init__(self, lab, ns, lacp="active"):
        need("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-appctl")
        self.lab, self.ns, self.folder = lab, ns, lab.folder()
        self.env = {f"OVS_{name}DIR": str(self.folder) for name in ("RUN", "LOG", "DB")}
        self.run("ovsdb-tool", "create", "conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
        self.start("ovsdb-server", "conf.db", "--remote=punix:db.sock", "--unixctl=db.ctl", until="db.sock")
        self.configure("--no-wait", "init")
        self.process = self.start("ovs-vswitchd", f"unix:{self.folder}/db.sock", "--unixctl=switch.ctl", until="switch.ctl")
        words = ["add-br", "br0", "--", "set", "Bridge", "br0", "datapath_type=netdev", "--", "add-port", "br0", "out", "--"]
        words += ["add-bond", "br0", "bond0", "s0", "s1", f"lacp={lacp}", "bond_mode=balance-tcp", "other_config:lacp-time=fast"]
        self.configure(*words)

    def configure(self, *words):
        self.run("ovs-vsctl", f"--db=unix:{self.folder}/db.sock", "--timeout=20", *words)

    def run(self, *command):
        return self.ns.run("env", "-C", self.folder, *(f"{key}={value}" for key, value in self.env.items()), *command)

    def start(self, *command, until):
        process = self.lab.start(*command, ns=self.ns, env=self.env, cwd=self.folder)
        wait_until(lambda: (self.folder / until).exists(), command[0])
        return process

    def show(self, command="lacp/show"):
        """What the switch says of the bond's LACP."""
        return self.run("ovs-appctl", "-t", self.folder / "switch.ctl", command, "bond0")

    def members(self):
        """Of each link what it says of both ends: lines by name."""
        parts = re.split(r"^(?:member|slave): ", self.show(), flags=re.M)[1:]
        return [dict(re.findall(r"^\s+((?:actor|partner) .*?): (.*)$", part, re.M)) for part in parts]

    def links(self):
        """Of each link the state of its own end and of its partner's, by LACP."""
        text = self.show()
        return re.findall(r"actor state: (.*)\n(?:.*\n)*?\s+partner sys_id: (.*)\n(?:.*\n)*?\s+partner state: (.*)\n", text)
