"""`eagre doctor --fix` sets what helps, and `--undo` sets back exactly that."""

import pytest
from lab import EAGRE, need

# Settings that the kernel shares with this machine's other users are files of the test in a mount namespace of its own.
APART = ["unshare", "--mount", "--propagation", "private", "bash", "-euo", "pipefail", "-c"]
STAND_INS = """
mkdir -p /run/eagre; mount -t tmpfs none /run/eagre
mount -t tmpfs none /proc/irq
for folder in /sys/devices/system/cpu/cpu*/cpufreq /sys/devices/system/cpu/cpu*/cpuidle; do
  test ! -d $folder || mount -t tmpfs none $folder
done
echo 2 > overcommit; mount --bind overcommit /proc/sys/vm/overcommit_memory
echo '[always] madvise never' > transparent; mount --bind transparent /sys/kernel/mm/transparent_hugepage/enabled
test ! -e /proc/sys/net/core/bpf_jit_enable || { echo 0 > jit; mount --bind jit /proc/sys/net/core/bpf_jit_enable; }
"""


@pytest.fixture
def doctor(lab):
    need("unshare", "mount")

    def run(script):
        command = STAND_INS + 'eagre() { "$PROGRAM" "$@"; }\n' + script
        return lab.finish(lab.start(*APART, command, cwd=lab.folder(), env={"PROGRAM": str(EAGRE)}))

    return run


def test_what_is_set_is_set_back(doctor):
    """A dry run changes nothing; what somebody else has changed meanwhile stays; a second undo has nothing to do."""
    done = doctor("""
        eagre doctor --fix --dry-run; cat overcommit
        echo ---; eagre doctor --fix; cat overcommit transparent; echo
        echo ---; eagre doctor --undo --dry-run; eagre doctor --fix
        echo ---; echo 1 > overcommit; eagre doctor --undo; cat overcommit transparent; echo
        echo ---; eagre doctor --undo; ls /run/eagre
    """)
    assert done.exit == 0, done
    dry, fixed, again, undone, nothing = done.out.split("---\n")
    assert "overcommit              2 -> 0   /proc/sys/vm/overcommit_memory\n" in dry, dry
    assert "transparent huge pages  always -> madvise" in dry and "settings would change" in dry and dry.endswith("2\n")
    assert "settings changed; 'eagre doctor --undo' sets them back" in fixed and fixed.endswith("0madvise\n"), fixed
    assert "0 -> 2   /proc/sys/vm/overcommit_memory" in again and "nothing to change" in again, again
    assert "1   /proc/sys/vm/overcommit_memory: changed since by others; it stays so" in undone, undone
    assert "always   /sys/kernel/mm/transparent_hugepage/enabled" in undone and undone.endswith("1\nalways\n"), undone
    assert nothing == "nothing to undo\n"


def test_what_is_refused_is_named_and_the_rest_is_done(doctor):
    """A setting that the system protects: exit code 3, with its name; it is not recorded."""
    done = doctor("""
        mount -o remount,bind,ro /proc/sys/vm/overcommit_memory
        code=0; eagre doctor --fix || code=$?
        cat transparent; echo; eagre doctor --undo; exit $code
    """)
    assert done.exit == 3 and "/proc/sys/vm/overcommit_memory: Read-only file system" in done.err, done
    assert "madvise\n" in done.out and "always   /sys/kernel/mm/transparent_hugepage/enabled" in done.out
    assert "overcommit_memory" not in done.out.split("madvise\n")[-1], done.out
