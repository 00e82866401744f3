"""Campaigns of `eagre bench`: profiles, runs, and their records in the store."""

import json

# A link so slow that a busy machine keeps up: 512-byte frames at 4.7 kpps.
SPEED, SIZE = "20Mbps", "512B"
FAST = ["--trial", "1s", "--settle", "0s", "--learning", "20ms", "--drain", "100ms"]
SEARCH = ["--set", "exploratory=200ms", "--set", "resolution=0.05", "--set", "minimum=0.02"]


class Bench:
    """Runs campaigns with a store of their own."""

    def __init__(self, lab, namespace=None):
        self.lab, self.namespace = lab, namespace
        self.store = lab.folder() / "store.db"

    def command(self, method, profile, *more, search=True):
        settings = SEARCH if search else []
        return ["bench", method, profile, "--quick", "--sizes", SIZE, *FAST, *settings, "--store", self.store, *more]

    def run(self, method, profile, *more, timeout=60, search=True):
        """A campaign to its end; what was found on standard output."""
        command = self.command(method, profile, "--json", "-", *more, search=search)
        return self.lab.eagre(*command, ns=self.namespace, timeout=timeout)

    def start(self, method, profile, *more, search=True):
        return self.lab.start_eagre(*self.command(method, profile, *more, search=search), ns=self.namespace)

    def resume(self, *more, timeout=60):
        command = ["bench", "--resume", *more, "--store", self.store, "--json", "-"]
        return self.lab.eagre(*command, ns=self.namespace, timeout=timeout)

    def shown(self):
        """What the store has of the latest campaign."""
        return json.loads(self.lab.eagre("results", "show", "--json", "--store", self.store).ok().out)

    def trials(self):
        """The trials in the store, none if it has no campaign yet."""
        done = self.lab.eagre("results", "show", "--json", "--store", self.store)
        return done.json["trials"] if done.exit == 0 else []


def why(done):
    """Why a campaign stopped: one sentence of standard output's document."""
    document = done.json
    assert document["ended"] == "failed", document["ended"]
    return document["why"]


def undisturbed(run, attempts=5):
    """A campaign in which the machine did not keep the tester from its work; another one if it did."""
    for _ in range(attempts):
        done = run()
        standings = [trial["standing"] for result in done.json["results"] for trial in result["trials"]]
        if not {"tester_limited", "invalid"} & set(standings):
            break
    return done
