"""A headless Chromium, driven over the WebDriver protocol."""

import base64
import json
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request

PROGRAMS = ("chromium", "chromedriver")


def missing():
    """Programs that are not installed."""
    return [name for name in PROGRAMS if not shutil.which(name)]


class Browser:
    """One window."""

    def __init__(self, dark=False):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.driver = subprocess.Popen(
            ["chromedriver", f"--port={port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        self.base = f"http://127.0.0.1:{port}"
        arguments = [
            "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            # Nothing of it is to ask the network.
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--no-first-run",
        ]  # fmt: skip
        if dark:
            arguments.append("--blink-settings=preferredColorScheme=0")
        options = {"args": arguments, "binary": shutil.which("chromium")}
        wanted = {"goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}
        self.wait_until_ready()
        session = self.call("POST", "/session", {"capabilities": {"alwaysMatch": wanted}})
        self.base += f"/session/{session['sessionId']}"

    def wait_until_ready(self):
        """The driver takes a moment to listen."""
        for _ in range(200):
            try:
                return self.call("GET", "/status")
            except (urllib.error.URLError, ConnectionError):
                time.sleep(0.1)
        raise AssertionError("chromedriver does not answer")

    def call(self, verb, path, body=None):
        """One command of the protocol."""
        data = json.dumps(body).encode() if body is not None else None
        request = urllib.request.Request(self.base + path, data, {"Content-Type": "application/json"}, method=verb)
        with urllib.request.urlopen(request, timeout=120) as answer:
            return json.load(answer)["value"]

    def open(self, path, width=1200, height=900):
        """Shows a file in a window of a size."""
        self.visit(path.resolve().as_uri(), width, height)

    def visit(self, address, width=1200, height=900):
        """Shows a page in a window of a size."""
        self.resize(width, height)
        self.call("POST", "/url", {"url": address})

    def resize(self, width=1200, height=900):
        """Gives the window a size."""
        self.call("POST", "/goog/cdp/execute", {
            "cmd": "Emulation.setDeviceMetricsOverride",
            "params": {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False},
        })

    def press(self, *keys):
        """Presses keys one after the other, where the focus is: characters, or the code points of WebDriver's table."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self.call("POST", "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": strokes}]})

    def emulate(self, media="", **features):
        """Print, or what the user prefers."""
        features = [{"name": name.replace("_", "-"), "value": value} for name, value in features.items()]
        self.call("POST", "/goog/cdp/execute", {
            "cmd": "Emulation.setEmulatedMedia", "params": {"media": media, "features": features},
        })

    def run(self, script, *arguments):
        """What a script returns; the page's policy against scripts does not hold for it."""
        return self.call("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def console(self):
        """Errors and warnings since the last look. Whoever asks for the protocols of a run that has just ended is refused, and the
        browser writes a line that no page can keep it from."""
        told = [entry for entry in self.call("POST", "/se/log", {"type": "browser"}) if entry["level"] != "INFO"]
        has_ended = lambda entry: "/protocols" in entry["message"] and "409 (Conflict)" in entry["message"]  # noqa: E731
        return [entry for entry in told if not has_ended(entry)]

    def screenshot(self, path, whole=True):
        """A picture of the page."""
        parameters = {"format": "png", "captureBeyondViewport": whole}
        if whole:
            size = self.run("return [document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
            parameters["clip"] = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
        shot = self.call("POST", "/goog/cdp/execute", {"cmd": "Page.captureScreenshot", "params": parameters})
        path.write_bytes(base64.b64decode(shot["data"]))

    def pdf(self):
        """The page as it prints."""
        return base64.b64decode(self.call("POST", "/print", {}))

    def close(self):
        """Ends window and driver."""
        try:
            self.call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(10)
