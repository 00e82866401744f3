"""`eagre bisect` finds the commit that made a device slower, and leaves the repository as it was."""

import os
import signal

import pytest
from lab import call, need, stream, wait_until

FOUND, REFUSED, UNJUDGED, NOTHING, INTERRUPTED = 0, 3, 4, 5, 130
COMMITS = 33
SLOWER_FROM = 21
PORTS = {
    "west": {"device": "ring:a", "ip": "10.0.0.2/24", "gateway": "10.0.0.1"},
    "east": {"device": "ring:b", "ip": "10.0.1.2/24", "gateway": "10.0.1.1"},
}
IDENTITY = ["-c", "user.name=a", "-c", "user.email=a@example.net", "-c", "commit.gpgsign=false"]


@pytest.fixture
def profile(lab):
    streams = [stream("s", "west", "east", rate="120kpps", pattern="poisson")]
    return lab.profile(PORTS, streams, load={"duration": "50ms", "drain": "50ms"})


def git(repo, *words):
    return call("git", "-C", repo, *IDENTITY, *words)


def device(lab, kpps, broken=()):
    """A repository of a toy device: a source file with its rate, of which a build makes the model. Its commits."""
    need("git")
    repo = lab.folder() / "device"
    call("git", "init", "--quiet", "--initial-branch=main", repo)
    commits = []
    for number in range(COMMITS):
        (repo / "rate").write_text(f"{kpps(number)}\n")
        (repo / "source").write_text(f"{number}\n")
        (repo / "build.sh").write_text("exit 1\n" if number in broken else "echo router:capacity=$(cat rate)kpps,buffer=64 > model\n")
        git(repo, "add", "--all")
        git(repo, "commit", "--quiet", "--message", f"device: change {number}")
        commits.append(git(repo, "rev-parse", "HEAD").strip())
    return repo, commits


def bisect(lab, profile, repo, commits, *words, **options):
    words = ["--repo", repo, "--good", commits[0], "--bad", commits[-1], "--build", "sh build.sh", "--dut-command",
             "cat model", "--sim", "--seed", 5, "--json", "-", *words]
    return lab.eagre("bisect", profile, *words, timeout=300, **options)


def state(repo):
    """What a user sees of a repository."""
    return [git(repo, *words) for words in (
        ("status", "--porcelain", "--ignored"), ("symbolic-ref", "HEAD"), ("worktree", "list"), ("branch", "--all"), ("stash", "list"), ("diff", "HEAD"),
    )]


def test_the_commit_that_made_a_device_slower_is_found(lab, profile):
    """Of 32 changes one costs 5%; others cost or gain a little. The checkout keeps its branch and what is not committed."""
    repo, commits = device(lab, lambda number: (100 if number < SLOWER_FROM else 95) + number % 3 * 0.1)
    (repo / "source").write_text("being edited\n")
    (repo / "notes").write_text("not added\n")
    before = state(repo)
    done = bisect(lab, profile, repo, commits)
    told = done.told
    assert (done.exit, told["answer"]) == (FOUND, "found"), done
    assert told["first_bad"] == {"step": commits[SLOWER_FROM], "subject": f"device: change {SLOWER_FROM}"}
    assert told["last_good"]["step"] == commits[SLOWER_FROM - 1] and told["not_judged"] == []
    assert len(told["comparisons"]) <= 7, told["comparisons"]
    assert "is the first that is slower (99% confidence). A is faster by 5." in told["sentence"], told["sentence"]
    assert state(repo) == before
    assert not list(repo.parent.glob("eagre-bisect-*"))


def test_commits_that_cannot_be_built_are_skipped(lab, profile):
    """A broken build beside the change leaves no doubt; at the change, it leaves as many commits as it must."""
    repo, commits = device(lab, lambda number: 100 if number < SLOWER_FROM else 90, broken=(16, 24))
    done = bisect(lab, profile, repo, commits)
    assert (done.exit, done.told["first_bad"]["step"]) == (FOUND, commits[SLOWER_FROM]), done
    repo, commits = device(lab, lambda number: 100 if number < SLOWER_FROM else 90, broken=(SLOWER_FROM,))
    done = bisect(lab, profile, repo, commits)
    assert done.exit == UNJUDGED, done
    assert [step["step"] for step in done.told["not_judged"]] == [commits[SLOWER_FROM]]
    assert done.told["first_bad"]["step"] == commits[SLOWER_FROM + 1]


def test_nothing_is_found_where_nothing_is_slower(lab, profile):
    """A device that stays as it is, and one that becomes faster."""
    for kpps in (lambda number: 100, lambda number: 100 + number):
        repo, commits = device(lab, kpps)
        done = bisect(lab, profile, repo, commits)
        assert (done.exit, done.told["answer"]) == (NOTHING, "nothing"), done
        assert "is not slower than" in done.told["sentence"]


def test_steps_without_a_repository(lab, profile):
    """Names of any kind: the command finds the step in its environment."""
    words = ["--steps", "v1,v2,v3,v4,v5", "--sim", "--seed", 1, "--json", "-", "--dut-command",
             "test $EAGRE_STEP '<' v4 && echo router:capacity=100kpps || echo router:capacity=80kpps"]
    words[-1] = "case $EAGRE_STEP in v[123]) echo router:capacity=100kpps;; *) echo router:capacity=80kpps;; esac"
    done = lab.eagre("bisect", profile, *words)
    assert (done.exit, done.told["first_bad"], done.told["last_good"]) == (FOUND, {"step": "v4"}, {"step": "v3"}), done


def test_what_cannot_be_searched_is_refused(lab, profile):
    """Revisions that are none, in the wrong order, a folder without a repository, a good build that fails."""
    repo, commits = device(lab, lambda number: 100, broken=(0,))
    bisect(lab, profile, repo, commits).refused(REFUSED, "'sh build.sh' failed")
    bisect(lab, profile, repo, ["nowhere", commits[5]]).refused(2, "'nowhere' is no commit of this repository")
    bisect(lab, profile, repo, ["--help", commits[5]]).refused(2)
    bisect(lab, profile, repo, [commits[5], commits[4]]).refused(2, "is not an ancestor of")
    bisect(lab, profile, lab.folder(), commits).refused(2, "not a git repository")
    lab.eagre("bisect", profile, "--steps", "one", "--sim").refused(2, "at least two steps")


def test_an_interrupted_search_leaves_nothing_behind(lab, profile):
    """Ctrl-C during a build: worktrees go, and the exit code says so."""
    repo, commits = device(lab, lambda number: 100)
    before, started = state(repo), lab.folder() / "started"
    process = lab.start_eagre("bisect", profile, "--repo", repo, "--good", commits[0], "--bad", commits[-1], "--sim",
                              "--build", f"touch {started}; sleep 600", "--dut-command", "cat model")
    wait_until(started.exists, "the first build", timeout=60)
    os.kill(process.pid, signal.SIGINT)
    done = lab.finish(process)
    assert done.exit == INTERRUPTED, done
    assert state(repo) == before
