"""dpdk-testpmd as a device under test: starts it, reads its counters, ends it."""

import re
import shutil
import signal
import threading
from pathlib import Path
from subprocess import PIPE, STDOUT

from lab import PREFIX, need, wait_until

# What testpmd prints every second for each of its ports.
COUNTERS = re.compile(r"statistics for port (\d+) .*?RX-packets: (\d+) .*?TX-packets: (\d+) .*?\n  #{9}", re.DOTALL)


class Testpmd:
    """A running testpmd that forwards between the devices of `vdevs`, two by two."""

    __test__ = False
    started = 0

    def __init__(self, lab, *vdevs, mode="mac"):
        need("dpdk-testpmd", "stdbuf")
        Testpmd.started += 1
        self.prefix, self.ports, self.said = f"{PREFIX}{Testpmd.started}pmd", len(vdevs), ""
        devices = [argument for vdev in vdevs for argument in ("--vdev", vdev)]
        self.process = lab.start(
            # It would keep its words to itself as long as they go into a pipe.
            "stdbuf", "-oL", "dpdk-testpmd", "--no-pci", "--no-huge", "-m", 256, "--no-shconf", "--no-telemetry",
            "--iova-mode=va", f"--file-prefix={self.prefix}", "--lcores=0@(0-1),1@(0-1)", *devices, "--",
            "--total-num-mbufs=16384", "--nb-cores=1", f"--forward-mode={mode}", "--stats-period=1",
            # Where it listens for the Enter that ends it.
            stdin=PIPE, stderr=STDOUT, bufsize=1,
        )  # fmt: skip
        threading.Thread(target=self.listen, daemon=True).start()
        wait_until(lambda: self.counters() or self.process.poll() is not None, "testpmd's counters", 30)
        assert self.process.poll() is None, self.said

    def listen(self):
        try:
            for line in self.process.stdout:
                self.said += line
        except ValueError:
            pass  # Closed by the lab.

    def counters(self):
        """Packets received and sent by each port since its peer came, as of a second ago at most."""
        assert self.process.poll() is None, f"testpmd has ended: {self.said[-2000:]}"
        latest = {int(port): {"rx": int(rx), "tx": int(tx)} for port, rx, tx in COUNTERS.findall(self.said)}
        return latest if len(latest) == self.ports else {}

    def close(self):
        """Ends it as its user would; a second time does nothing."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        self.process.wait(20)
        shutil.rmtree(Path("/var/run/dpdk") / self.prefix, ignore_errors=True)


def server(number, socket):
    """The argument that makes memif server `number` on `socket`."""
    return f"net_memif{number},role=server,id=0,socket={socket},socket-abstract=no"
