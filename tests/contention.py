"""What a test had to share the machine with: evidence for a second run of one that failed.

A test's own processor time is this process's and that of children it has waited for; all else is others'.
"""

import os
import threading
import time
from pathlib import Path

CORES = os.cpu_count()
PRESSURE = Path("/proc/pressure/cpu")
# Seconds of the window in which processes waited most.
WINDOW = 2.0

# Shares above which a test counts as disturbed: of all cores, used by others; of all cores, taken by the hypervisor; of the worst window, in which some
# process waited for a core.
OTHERS, STOLEN, WAITED = 0.5, 0.05, 0.8


def machine_s():
    """Seconds that all cores together were busy, and that the hypervisor took, since the machine started."""
    with open("/proc/stat") as file:
        user, nice, system, _, _, _, _, stolen = map(int, file.readline().split()[1:9])
    ticks = os.sysconf("SC_CLK_TCK")
    return (user + nice + system) / ticks, stolen / ticks


def own_s():
    """Processor seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


def waited_s():
    """Seconds in which some process waited for a core; 0 if the kernel does not count them."""
    try:
        return int(PRESSURE.read_text().split("total=")[1].split()[0]) / 1e6
    except (OSError, IndexError, ValueError):
        return 0.0


class Pressure:
    """Samples in the background how long processes waited for a core."""

    def __init__(self):
        self.samples = []
        threading.Thread(target=self.sample, daemon=True).start()

    def sample(self):
        while True:
            self.samples = [*self.samples[-600:], (time.monotonic(), waited_s())]
            time.sleep(WINDOW / 4)

    def worst(self, begin):
        """The largest share of a window since `begin` in which some process waited."""
        samples = [sample for sample in self.samples if sample[0] >= begin - WINDOW / 4]
        shares = [(b[1] - a[1]) / (b[0] - a[0]) for a, b in zip(samples, samples[4:])]
        return max(shares, default=0.0)


class Meter:
    """Measures from its creation to `read`."""

    def __init__(self, pressure):
        self.pressure, self.begin, self.own, self.machine = pressure, time.monotonic(), own_s(), machine_s()

    def read(self):
        """Seconds of this test, its own processor seconds, and the shares that others had."""
        seconds, own = time.monotonic() - self.begin, own_s() - self.own
        busy, stolen = (now - before for now, before in zip(machine_s(), self.machine))
        whole = max(seconds, 0.01) * CORES
        shares = {"others": max(0.0, busy - own) / whole, "stolen": stolen / whole, "waited": self.pressure.worst(self.begin)}
        return {"seconds": seconds, "own_s": own, **shares}


def says(measured):
    """What was measured, in words."""
    return (
        f"other processes used {measured['others']:.0%} of the cores, the hypervisor took {measured['stolen']:.0%}, "
        f"and in the worst {WINDOW:.0f} s processes waited for a core {measured['waited']:.0%} of the time"
    )


def is_disturbed(measured, unsteady):
    """Whether what was measured can explain the failure of a test; of one that says why a busy machine can fail it, half of it can."""
    limits = {"others": OTHERS, "stolen": STOLEN, "waited": WAITED}
    return any(measured[what] >= limit * (0.5 if unsteady else 1) for what, limit in limits.items())
