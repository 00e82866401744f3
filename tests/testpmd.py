"""dpdk-testpmd as a device under test: started, asked for its counters, ended."""

import re
import shutil
import threading
from pathlib import Path

from lab import PREFIX, need, wait_until

PROMPT = "testpmd> "


class Testpmd:
    """A running testpmd that forwards between its ports."""

    count = 0

    def __init__(self, lab, *vdevs, mode="mac", ports_up=True):
        need("dpdk-testpmd")
        Testpmd.count += 1
        self.prefix = f"{PREFIX}{Testpmd.count}pmd"
        devices = [argument for vdev in vdevs for argument in ("--vdev", vdev)]
        self.process = lab.start(
            "dpdk-testpmd", "--no-pci", "--no-huge", "-m", 256, "--no-shconf", "--no-telemetry", "--iova-mode=va",
            f"--file-prefix={self.prefix}", "--lcores=0@(0-1),1@(0-1)", *devices, "--",
            "-i", "--total-num-mbufs=16384", "--nb-cores=1", f"--forward-mode={mode}", "--auto-start",
            *([] if ports_up else ["--disable-device-start"]),
            stdin=-1, stderr=-2, bufsize=1, env={"HOME": "/tmp"},
        )  # fmt: skip
        self.said = ""
        threading.Thread(target=self.listen, daemon=True).start()
        wait_until(lambda: PROMPT in self.said or self.process.poll() is not None, "testpmd's prompt", 20)
        assert self.process.poll() is None, self.said

    def listen(self):
        try:
            while character := self.process.stdout.read(1):
                self.said += character
        except ValueError:
            pass  # Closed by the lab.

    def ask(self, command):
        """What testpmd says to a command."""
        begin = len(self.said)
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        wait_until(lambda: PROMPT in self.said[begin:], f"testpmd's answer to '{command}'")
        return self.said[begin:]

    def counters(self):
        """Packets received and sent by each port since it was started."""
        said = self.ask("show port stats all")
        ports = re.findall(r"statistics for port (\d+) .*?RX-packets: (\d+).*?TX-packets: (\d+)", said, re.DOTALL)
        return {int(port): {"rx": int(rx), "tx": int(tx)} for port, rx, tx in ports}

    def close(self):
        """Ends it as its user would."""
        try:
            self.process.stdin.write("quit\n")
            self.process.stdin.close()
        except (BrokenPipeError, ValueError):
            pass
        self.process.wait(20)
        shutil.rmtree(Path("/var/run/dpdk") / self.prefix, ignore_errors=True)


def server(number, socket, **more):
    """The argument that makes memif server `number` on `socket`."""
    rest = "".join(f",{key}={value}" for key, value in more.items())
    return f"net_memif{number},role=server,id=0,socket={socket},socket-abstract=no{rest}"
