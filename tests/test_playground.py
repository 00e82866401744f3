"""The documentation's playground in a browser: the simulation in WebAssembly, under the policy of `eagre serve`."""

import functools
import hashlib
import http.server
import json
import os
import re
import shutil
import threading
from pathlib import Path

import browser as browsers
import pytest
from lab import REPO, missing, wait_until
from test_dashboard import EXAMINE

PAGE = REPO / "docs/playground"
PRESETS = sorted(path.stem for path in PAGE.glob("*.yaml"))
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", REPO / "target"))
MODULE = TARGET / "wasm32-unknown-unknown/playground/playground.wasm"
RIGHT, LEFT, HOME = "\ue014", "\ue012", "\ue011"
# The server's own text: a string over two lines.
SOURCE = (REPO / "shell/server/src/assets.rs").read_text()
POLICY = re.sub(r"\\\s*", "", re.search(r'const PAGES_POLICY: &str = "(.*?)";', SOURCE, re.DOTALL)[1])
# Megabytes that a page may load.
MODULE_MAX = 7
STATE = """return {
  state: document.body.dataset.state, failed: document.body.classList.contains('failed'),
  text: document.getElementById('profile').value,
  errors: [...document.querySelectorAll('#errors li')].map(item => item.textContent),
  curve: document.querySelector('#loss-chart .line')?.getAttribute('points') ?? '',
  rows: [...document.querySelectorAll('#rows tr')].map(row => [...row.cells].map(cell => cell.textContent)),
  lost: document.getElementById('ratio').textContent, p99: document.getElementById('p99').textContent,
}"""


class Pages(http.server.SimpleHTTPRequestHandler):
    """Files with the policy that `eagre serve` sends with pages of the documentation: tests/test_serve.py looks at that."""

    def end_headers(self):
        self.send_header("Content-Security-Policy", POLICY)
        super().end_headers()

    def log_message(self, *_):
        """Is quiet."""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The page's address on a server."""
    if not MODULE.is_file():
        missing("needs the playground's module: tools/playground")
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(PAGE, folder, dirs_exist_ok=True)
    shutil.copy(MODULE, folder)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Pages, directory=folder))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/index.html"
    server.shutdown()


@pytest.fixture(scope="module")
def window():
    if browsers.missing():
        missing(f"needs {', '.join(browsers.missing())}")
    window = browsers.Browser()
    yield window
    window.close()


@pytest.fixture
def page(window, site):
    """The page with its first example, all of its curves drawn; loaded once, because a load simulates eleven runs."""
    if not window.run("return location.href").startswith(site):
        window.console()
        window.visit(site)
    settled(window)
    if state(window)["text"] != (PAGE / "router.yaml").read_text():
        choose(window, "router")
    return window


def state(window):
    return window.run(STATE)


def settled(window, condition=lambda now: True):
    """The state once nothing is simulated any more."""

    def over():
        now = state(window)
        return now if now["state"] == "ready" and (now["errors"] or now["rows"]) and condition(now) else None

    return wait_until(over, f"the end of the simulation: {state(window)}", 60, 0.05)


def choose(window, preset):
    """Chooses an example, and waits for its curves."""
    text = begin(window, preset)
    return settled(window, lambda now: now["text"] == text)


def begin(window, preset):
    """Chooses an example; its text."""
    window.run("const list = document.getElementById('preset'); list.value = arguments[0]; list.dispatchEvent(new Event('change'))", preset)
    return (PAGE / f"{preset}.yaml").read_text()


def write(window, text):
    """Replaces the profile."""
    window.run("const area = document.getElementById('profile'); area.value = arguments[0]; area.dispatchEvent(new Event('input'))", text)
    return settled(window)


def slide(window, slider, *keys):
    """Moves a slider by keys."""
    window.run("document.getElementById(arguments[0]).focus()", slider)
    before = state(window)["text"]
    window.press(*keys)
    return settled(window, lambda now: now["text"] != before)


def leading(text):
    return float(re.match(r"[\d.]+", text)[0])


def in_us(text):
    number, unit = text.split()
    return float(number) * {"ns": 1e-3, "µs": 1, "ms": 1e3, "s": 1e6}[unit]


def test_the_curves_move_with_the_buffer(page):
    """More buffer: less is lost, and what waits in it arrives later. Text, figures and curves change together."""
    before = state(page)
    assert "buffer: 32," in before["text"] and len(before["rows"]) == 10
    after = slide(page, "buffer", *[RIGHT] * 100)
    buffer = int(re.search(r"buffer: (\d+),", after["text"])[1])
    assert buffer > 32 and after["text"].replace(f"buffer: {buffer}", "buffer: 32") == before["text"]
    assert after["curve"] != before["curve"]
    assert leading(after["lost"]) < leading(before["lost"]) or leading(before["lost"]) == 0
    last = [(leading(rows[-1][2]), in_us(rows[-1][4])) for rows in (before["rows"], after["rows"])]
    assert last[1][0] < last[0][0] and last[1][1] > last[0][1], last
    # At a tenth of the capacity the buffer makes no difference.
    assert before["rows"][0] == after["rows"][0]
    assert page.console() == []


@pytest.mark.parametrize("preset", PRESETS)
def test_the_result_is_that_of_the_program(page, eagre, lab, preset):
    """Every field of the document of the same profile."""
    text = begin(page, preset)
    digest = hashlib.sha256(text.encode()).hexdigest()
    of_text = lambda: page.run("return playground.result?.profile_sha256 == arguments[0] && playground.result", digest)  # noqa: E731
    shown = wait_until(of_text, "the result", 60, 0.05)
    path = lab.folder() / "result.json"
    assert eagre("sim", PAGE / f"{preset}.yaml", "--json", path).exit in (0, 1)
    assert shown == json.loads(path.read_text())


def test_an_error_has_its_line_and_the_last_curves_stay(page):
    """As the profile is written; choosing the line selects it. Then it goes on."""
    good = state(page)
    bad = write(page, good["text"].replace("rate: 90kpps", "rate: much"))
    line = good["text"].splitlines().index("    rate: 90kpps") + 1
    assert bad["failed"] and len(bad["errors"]) == 1 and bad["errors"][0].startswith(f"line {line} streams[0].rate: 'much'")
    page.run("document.querySelector('#errors button').click()")
    chosen = page.run("const a = document.getElementById('profile'); return a.value.slice(a.selectionStart, a.selectionEnd)")
    assert chosen == "    rate: much"
    assert page.run("return document.getElementById('load').disabled")
    again = write(page, good["text"])
    assert not again["errors"] and again["rows"] == good["rows"]


def test_too_much_for_a_page_is_refused(page):
    """A run is ended after some frames, and long ones, files and TLS are refused with what to do."""
    good = state(page)["text"]
    long = write(page, good.replace("duration: 100ms", "duration: 2m"))
    assert "load.duration: at most 60s" in long["errors"][0], long["errors"]
    file = write(page, good.replace("packet: [ipv4, udp]", "replay: {file: x.pcap}"))
    assert any("eagre sim" in error for error in file["errors"]), file["errors"]


def test_an_address_holds_the_profile(page, window):
    """With what was typed into it."""
    text = state(page)["text"].replace("# A router", "# Größe µ: a router").replace("buffer: 32", "buffer: 77")
    write(page, text)
    address = page.run("return location.href")
    window.visit("about:blank")
    window.visit(address)
    now = settled(window, lambda now: now["text"] == text)
    assert not now["errors"] and now["rows"]


@pytest.mark.parametrize("size", [(1280, 1000), (390, 800)], ids=["desk", "hand"])
def test_the_page_fits_its_window(page, size):
    """On a phone, too: nothing overlaps, is cut or has no name."""
    page.resize(*size)
    assert page.run(EXAMINE) == []
    background = "return getComputedStyle(document.body).backgroundColor"
    light = page.run(background)
    page.emulate(prefers_color_scheme="dark")
    assert page.run(background) != light
    page.emulate()
    page.resize()
    assert page.console() == []


def test_the_module_is_small():
    """A page loads it."""
    if not MODULE.is_file():
        missing("needs the playground's module: tools/playground")
    assert MODULE.stat().st_size < MODULE_MAX * 1_000_000
