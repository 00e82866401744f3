"""Open vSwitch with its own datapath, in a namespace."""

from lab import need, wait_until


class Ovs:
    """Its database and its daemon, without bridges."""

    def __init__(self, lab, ns):
        need("ovsdb-tool", "ovsdb-server", "ovs-vswitchd", "ovs-vsctl", "ovs-appctl")
        self.lab, self.ns, self.folder = lab, ns, lab.folder()
        self.env = {f"OVS_{name}DIR": str(self.folder) for name in ("RUN", "LOG", "DB")}
        self.run("ovsdb-tool", "create", "conf.db", "/usr/share/openvswitch/vswitch.ovsschema")
        self.start("ovsdb-server", "conf.db", "--remote=punix:db.sock", "--unixctl=db.ctl", until="db.sock")
        self.configure("--no-wait", "init")
        self.process = self.start("ovs-vswitchd", f"unix:{self.folder}/db.sock", "--unixctl=switch.ctl", until="switch.ctl")

    def configure(self, *words):
        self.run("ovs-vsctl", f"--db=unix:{self.folder}/db.sock", "--timeout=20", *words)

    def run(self, *command):
        return self.ns.run("env", "-C", self.folder, *(f"{key}={value}" for key, value in self.env.items()), *command)

    def start(self, *command, until):
        process = self.lab.start(*command, ns=self.ns, env=self.env, cwd=self.folder)
        wait_until(lambda: (self.folder / until).exists(), command[0])
        return process

    def ask(self, *words):
        """What the daemon says to a command."""
        return self.run("ovs-appctl", "-t", self.folder / "switch.ctl", *words)
