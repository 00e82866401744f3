"""The dashboard in a browser: a real `eagre serve`, real runs, a real Chromium."""

import gzip
import json
import os
import signal
import time
import urllib.parse

import browser as browsers
import pytest
from lab import REPO, missing, wait_until
from server import Server, inside, rings
from servers import Nginx

TAB, ENTER, DOWN, END, SPACE, BACKSPACE = "\ue004", "\ue007", "\ue015", "\ue010", " ", "\ue003"
DESK, HAND = (1280, 1000), (360, 740)

# Texts that lie on each other, controls without a name, a page that is wider than its window, ids that are not unique.
EXAMINE = """
const faults = [], seen = [];
const clip = element => {
  let box = {left: -1e9, top: -1e9, right: 1e9, bottom: 1e9};
  for (let e = element; e; e = e.parentElement) {
    const style = getComputedStyle(e);
    if (style.visibility == 'hidden' || style.clipPath != 'none') return null;
    if (style.overflowX == 'visible' && style.overflowY == 'visible') continue;
    const b = e.getBoundingClientRect();
    box = {left: Math.max(box.left, b.left), top: Math.max(box.top, b.top),
           right: Math.min(box.right, b.right), bottom: Math.min(box.bottom, b.bottom)};
  }
  return box;
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
for (let node = walker.nextNode(); node; node = walker.nextNode()) {
  const owner = node.parentElement;
  if (!node.textContent.trim() || owner.closest('option, textarea, script, noscript, .skip, .cm-editor') || !owner.checkVisibility()) continue;
  const box = clip(owner);
  if (!box) continue;
  const range = document.createRange();
  range.selectNodeContents(node);
  for (const r of range.getClientRects()) {
    const a = {left: Math.max(r.left, box.left), right: Math.min(r.right, box.right),
               top: Math.max(r.top, box.top), bottom: Math.min(r.bottom, box.bottom)};
    if (a.right - a.left > 1 && a.bottom - a.top > 1) seen.push({...a, text: node.textContent.trim().slice(0, 40), owner});
  }
}
for (const [i, a] of seen.entries()) {
  for (const b of seen.slice(i + 1)) {
    if (a.owner == b.owner || a.owner.closest('.head') || b.owner.closest('.head')) continue;
    if (a.left < b.right - 1 && b.left < a.right - 1 && a.top + 3 < b.bottom - 3 && b.top + 3 < a.bottom - 3)
      faults.push(`'${a.text}' and '${b.text}' overlap`);
  }
}
for (const button of document.querySelectorAll('button, .tiles dd, .state, .grid .line > :not(:first-child)')) {
  if (button.offsetParent && button.scrollWidth > button.clientWidth + 1) faults.push(`cut off: ${button.textContent}`);
}
for (const control of document.querySelectorAll('input, select, textarea, button, iframe, [tabindex="0"], [contenteditable=true]')) {
  const name = control.ariaLabel || control.title || control.textContent.trim() || (control.labels && control.labels.length);
  if (!control.hidden && !name || (control.matches('select') && !control.ariaLabel && !control.labels.length))
    faults.push(`without a name: ${control.outerHTML.slice(0, 80)}`);
}
const ids = [...document.querySelectorAll('[id]')].map(e => e.id);
if (new Set(ids).size != ids.length) faults.push('an id occurs twice');
if (document.querySelectorAll('h1').length != 1) faults.push('not one heading');
if (document.documentElement.scrollWidth > window.innerWidth) faults.push('the page is wider than the window');
return faults;
"""


@pytest.fixture(scope="module")
def server(shared):
    """A server with its store, for all users of this machine."""
    server = Server(shared)
    assert 'id="app"' in server.ask("GET", "/").body.decode(), "the program was built without its dashboard: make web"
    return server


@pytest.fixture(scope="module")
def window():
    if browsers.missing():
        missing(f"needs {', '.join(browsers.missing())}")
    window = browsers.Browser()
    yield window
    window.close()


@pytest.fixture
def page(window, server):
    """A window, and nothing that runs before or after."""
    end_all(server)
    # What was typed stays in the window; each test begins with nothing.
    window.visit(f"{server.url}/icon.svg")
    window.run("sessionStorage.clear()")
    window.visit("about:blank")
    window.emulate()
    window.console()
    yield window
    window.visit("about:blank")
    end_all(server)


def end_all(server):
    for kind in ("runs", "campaigns"):
        for one in server.get(f"/api/v1/{kind}"):
            if one["state"] in ("starting", "running", "draining"):
                server.ask("POST", f"/api/v1/{kind}/{one['id']}/stop")
                over = lambda: server.get(f"/api/v1/{kind}/{one['id']}")["ended"]  # noqa: E731
                wait_until(over, f"the end of {one['id']}", 20, 0.05)


def start(server, **new):
    """A run, as soon as the ports of the one before are free."""
    wait_until(lambda: not any(port["lease"] for port in server.get("/api/v1/ports")), "free ports", 20, 0.05)
    return server.start(**new)


def verdict(server, run):
    """The beginning of the page's verdict on an ended run."""
    found = server.ended(run)["verdict"]
    if not found["valid"]:
        return "Not valid"
    if found["generator_limited"]:
        return "Valid, but the tester was the limit"
    return "Valid, but the tester was disturbed" if found["disturbed"] else "Valid"


def show(page, server, route, size=DESK):
    """Opens a page of the dashboard afresh and waits for its heading."""
    page.visit("about:blank")
    page.visit(f"{server.url}/#/{route}", *size)
    wait_until(lambda: page.run("return document.querySelector('main h1') !== null"), f"the page {route}")


def text(page):
    return page.run("return document.body.innerText")


def says(page, *wanted, timeout=15):
    """Waits until the page shows all texts."""
    wait_until(lambda: all(word in text(page) for word in wanted), f"{wanted} on the page", timeout, 0.1)


def rate(page, tile):
    """A tile's value, in its unit without prefix; None while it has none."""
    said = page.run(
        "const t = [...document.querySelectorAll('.tiles dt')].find(e => e.textContent == arguments[0]);"
        "return t ? t.nextElementSibling.firstChild.textContent : ''",
        tile,
    )
    number, _, unit = said.partition(" ")
    return float(number) * {"k": 1e3, "M": 1e6}.get(unit[:1], 1) if number.replace(".", "").isdigit() else None


def shows(page, tile, about, within=0.2):
    """Waits until a tile shows a rate, as well as a busy machine can send it."""
    wait_until(lambda: rate(page, tile) == pytest.approx(about, rel=within), f"about {about} under {tile}", 20, 0.1)


def press_button(page, label):
    """Presses the button with a text in it."""
    find = "[...document.querySelectorAll('button')].find(b => b.textContent.includes(arguments[0]) && !b.disabled)"
    wait_until(lambda: page.run(f"return !!{find}", label), f"a button '{label}'")
    page.run(f"{find}.click()", label)


def choose(page, label, value):
    """Sets a control by the text of its label."""
    assert page.run(
        """
        const label = [...document.querySelectorAll('label')].find(l => l.textContent.trim().startsWith(arguments[0]));
        const control = label && label.querySelector('select, input');
        if (!control) return false;
        control.value = arguments[1];
        control.dispatchEvent(new Event(control.tagName == 'SELECT' ? 'change' : 'input', {bubbles: true}));
        return control.value == arguments[1];
        """,
        label, value,
    ), f"no control '{label}' that takes '{value}'"  # fmt: skip


def offered(page, value):
    """Waits until a list offers something."""
    offers = "return [...document.querySelectorAll('option')].some(o => o.value == arguments[0])"
    wait_until(lambda: page.run(offers, value), f"a choice '{value}'", every=0.1)


def the_editor(page):
    """Waits until the editor is loaded."""
    wait_until(lambda: figures(page)["editor"], "the editor")


def write(page, profile):
    """Pastes a profile into the editor, over all that is there."""
    the_editor(page)
    page.run(
        """
        const content = document.querySelector('.cm-content'), data = new DataTransfer();
        content.focus();
        content.dispatchEvent(new KeyboardEvent('keydown', {key: 'a', keyCode: 65, ctrlKey: true, bubbles: true}));
        data.setData('text/plain', arguments[0]);
        content.dispatchEvent(new ClipboardEvent('paste', {clipboardData: data, bubbles: true, cancelable: true}));
        """,
        profile,
    )
    wait_until(lambda: written(page) == profile, "the profile in the editor")


def address_of(page, kind):
    """The id in the page's address, once it has one."""
    begin = f"#/{kind}/"
    found = wait_until(lambda: page.run("return location.hash").partition(begin)[2], f"a page of {kind}")
    return urllib.parse.unquote(found)


def figures(page):
    """Number of messages received, and of drawings of charts and tables."""
    return page.run("return window.eagre()")


def test_a_run_from_the_page(page, server):
    """Chosen, checked, started; the page shows its packets as they are counted, and its verdict."""
    show(page, server, "now")
    says(page, "ring:a", "in-process")
    offered(page, "demo")
    choose(page, "Profile", "demo")
    says(page, "Good: 4 streams between west (ring:a), east (ring:b)")
    choose(page, "Duration", "6")
    choose(page, "Rate of each stream", "5kpps")
    choose(page, "Name of the run", "from the page")
    press_button(page, "Start")
    run = {"id": address_of(page, "runs")}
    says(page, "running")
    shows(page, "Sends", 20_000)
    says(page, "✓ done", verdict(server, run))
    result = server.get(f"/api/v1/runs/{run['id']}/result")
    sent = sum(port["tx_packets"] for port in result["ports"].values())
    says(page, f"of {sent:,} packets", "west-ipv4")
    assert server.run(run)["name"] == "from the page"
    assert figures(page)["charts"] >= 6 and figures(page)["received"] >= 10
    # Opened again, it has its figures over time from the store.
    show(page, server, f"runs/{run['id']}")
    says(page, verdict(server, run), "Over time")
    wait_until(lambda: figures(page)["charts"] >= 3, "its charts")
    assert "Nothing over time" not in text(page)
    show(page, server, "now")
    says(page, "Latest runs", "from the page")
    assert page.console() == []


def test_errors_of_a_profile_are_at_their_lines(page, server):
    """All of them, with a way to each; it can't be started."""
    show(page, server, "now")
    write(page, json.dumps(rings(), indent=1).replace('"20kpps"', '"20bogus"').replace('"west",', '"wset",', 1))
    says(page, "2 errors:", "streams[0].rate", "streams[0].from")
    marks = "return [document.querySelectorAll('.cm-lint-marker-error').length, [...document.querySelectorAll('.cm-lintRange-error')].map(e => e.textContent)]"
    wait_until(lambda: page.run(marks)[0] == 2, "crosses beside two lines")
    marked = page.run(marks)[1]
    assert len(marked) == 2 and '"rate": "20bogus"' in marked and '"from": "wset"' in marked, marked
    lines = written(page).split("\n")
    (at,) = [number for number, line in enumerate(lines, 1) if "bogus" in line]
    press_button(page, f"line {at}")
    selected = lambda: page.run("return [getSelection().toString(), document.activeElement.className]")  # noqa: E731
    wait_until(lambda: selected()[0].strip() == lines[at - 1].strip() and "cm-content" in selected()[1], "the line, selected")
    start_button = "return [...document.querySelectorAll('button.main')].map(b => b.disabled)"
    assert page.run(start_button) == [True]
    write(page, json.dumps(rings(), indent=1))
    says(page, "Good: 1 stream between")
    assert page.run(start_button) == [False] and page.console() == []


KEYED = """ports:
  left: {device: "ring:a", ip: 10.0.0.2/24}
  right: {device: "ring:b", ip: 10.0.0.3/24}
streams:
  - name: s0
    from: left
    to: right
    packet: [ipv4, udp]
    rate: 1kpps
load: {duration: 1s}
"""


def caret(page, line, column=None):
    """Puts the cursor of the editor on a line of its text, at its end unless a column is named."""
    page.run(
        """
        const line = document.querySelectorAll('.cm-line')[arguments[0]], place = document.createRange();
        const texts = document.createTreeWalker(line, NodeFilter.SHOW_TEXT);
        let left = arguments[1] ?? line.textContent.length, node = texts.nextNode();
        while (node && left > node.length) { left -= node.length; node = texts.nextNode(); }
        place.setStart(node ?? line, node ? left : 0);
        document.querySelector('.cm-content').focus();
        getSelection().removeAllRanges();
        getSelection().addRange(place);
        """,
        line, column,
    )  # fmt: skip
    time.sleep(0.1)


def accept(page):
    """Takes what is offered first. An Enter too soon after the offer is a new line."""
    time.sleep(0.3)
    page.press(ENTER)


def test_keys_and_values_are_completed_and_described(page, server):
    """By the schema that the server has: typed a little, picked by the keyboard, described under the pointer."""
    assert server.get("/api/v1/profile.schema.json")["title"] == "Eagre profile"
    show(page, server, "start/own")
    write(page, KEYED)
    says(page, "Good: 1 stream between")
    options = lambda: page.run("return [...document.querySelectorAll('.cm-tooltip-autocomplete li')].map(e => e.querySelector('.cm-completionLabel').textContent)")  # noqa: E731
    # A key of a stream, with what it means; those that the stream has are not offered.
    caret(page, 8)
    page.press(ENTER, *"si")
    wait_until(lambda: "size" in options(), "the key 'size'")
    assert "rate" not in options(), options()
    says(page, "Frame lengths with FCS")
    accept(page)
    wait_until(lambda: "    size: \n" in written(page), "the key")
    page.press(*"64B")
    says(page, "Good: 1 stream between")
    # A port of this profile, and a device of this machine.
    caret(page, 5)
    page.press(*[BACKSPACE] * 4, "l")
    wait_until(lambda: options() == ["left"], "the port 'left'")
    accept(page)
    wait_until(lambda: "    from: left\n" in written(page), "the port")
    caret(page, 1, 24)
    page.press(*[BACKSPACE] * 2, ":")
    wait_until(lambda: {"ring:a", "ring:b"} <= set(options()), "rings of this machine")
    accept(page)
    wait_until(lambda: "device: ring:a, ip" in written(page), "the device, and one quote at either end or none")
    says(page, "Good: 1 stream between")
    # Under the pointer.
    page.run("""
      const word = [...document.querySelectorAll('.cm-line span')].find(s => s.textContent == 'duration'), box = word.getBoundingClientRect();
      word.dispatchEvent(new MouseEvent('mousemove', {bubbles: true, clientX: box.left + 9, clientY: box.top + 9}));
    """)
    says(page, "load.duration Time to send.")
    assert page.run(EXAMINE) == [] and page.console() == []


def test_no_typed_text_is_lost(page, server):
    """Neither by another profile in its place, nor by another page, nor while the editor is not there yet."""
    show(page, server, "now")
    write(page, "ports: {mine: 1")
    offered(page, "demo")
    choose(page, "Profile", "demo")
    says(page, "Good: 4 streams", "Restore the text that was here before")
    choose(page, "Rate of each stream", "7kpps")
    show(page, server, "results")
    show(page, server, "now")
    says(page, "Restore the text that was here before")
    assert page.run("return [...document.querySelectorAll('input')].some(i => i.value == '7kpps')")
    press_button(page, "Restore")
    wait_until(lambda: written(page) == "ports: {mine: 1", "what was typed")
    # A browser that can't load the editor has a plain field.
    page.call("POST", "/goog/cdp/execute", {"cmd": "Network.enable", "params": {}})
    page.call("POST", "/goog/cdp/execute", {"cmd": "Network.setBlockedURLs", "params": {"urls": ["*/code.js"]}})
    try:
        show(page, server, "start/own")
        plain = "const a = document.querySelector('textarea'); a.value = arguments[0]; a.dispatchEvent(new Event('input', {bubbles: true}))"
        page.run(plain, KEYED)
        says(page, "Good: 1 stream between")
        assert not figures(page)["editor"]
    finally:
        page.call("POST", "/goog/cdp/execute", {"cmd": "Network.setBlockedURLs", "params": {"urls": []}})
    show(page, server, "start/own")
    the_editor(page)
    assert written(page) == KEYED and page.run(EXAMINE) == []
    assert not [entry for entry in page.console() if "code.js" not in entry["message"]]


def test_load_pause_and_stop(page, server):
    """A change on the page changes the traffic; a refused one is reported."""
    run = start(server, profile=rings(rate="20kpps", duration="60s", streams=2), name="steered")
    show(page, server, f"runs/{run['id']}")
    says(page, "running")
    shows(page, "Sends", 40_000)
    choose(page, "Percent", "50")
    press_button(page, "Apply")
    says(page, "50%")
    shows(page, "Sends", 20_000)
    press_button(page, "Pause")
    says(page, "Resume")
    shows(page, "Sends", 0)
    press_button(page, "Resume")
    says(page, "Pause")
    shows(page, "Sends", 40_000)
    # One stream alone, by its row.
    page.run("document.querySelector('.grid .line').click()")
    says(page, "only stream s0", "Show all streams")
    choose(page, "to", "rate")
    choose(page, "Rate", "1Xpps")
    press_button(page, "Apply")
    says(page, "✕", "1Xpps")
    choose(page, "Rate", "5kpps")
    press_button(page, "Apply")
    shows(page, "Sends", 25_000, 0.1)
    assert len(server.run(run)["rate_changes"]) == 4
    press_button(page, "Stop")
    says(page, "■ stopped")
    assert server.ended(run)["state"] == "stopped"
    assert not [entry for entry in page.console() if "422" not in entry["message"] and "400" not in entry["message"]]


def test_the_keyboard_alone_starts_a_run(page, server):
    """Tab reaches everything in its order, the focus can be seen, and it ends with a run."""
    show(page, server, "now")
    offered(page, "demo")

    def tab_to(condition, what):
        for _ in range(60):
            page.press(TAB)
            if page.run(f"const e = document.activeElement; return {condition}"):
                assert page.run("return getComputedStyle(document.activeElement).outlineStyle != 'none'"), what
                return
        raise AssertionError(f"Tab does not lead to {what}")

    tab_to("e.textContent == 'Campaigns'", "the menu")
    tab_to("e.tagName == 'SELECT' && [...e.options].some(o => o.value == 'demo')", "the profiles")
    page.press(*"demo")
    says(page, "Good: 4 streams")
    tab_to("e.labels && e.labels[0] && e.labels[0].textContent.startsWith('Duration')", "the duration")
    page.press("6")
    tab_to("e.textContent.includes('Start')", "the start")
    page.press(ENTER)
    run = {"id": address_of(page, "runs")}
    says(page, "running")
    assert server.run(run)["duration_s"] == 6
    assert page.run("return document.activeElement.tagName") in ("H1", "BODY")
    tab_to("e.classList.contains('grid')", "the streams")
    page.press(DOWN, DOWN, ENTER)
    says(page, "only stream west-ipv6")
    said = verdict(server, run)
    says(page, said)
    assert said in page.run("return document.querySelector('main [aria-live=polite]').textContent")
    assert page.console() == []


def test_a_thousand_streams(page, server):
    """Rows that are not seen are not there, all can be reached, and charts keep up."""
    run = start(server, profile_name="thousand-streams", rate="100pps", duration_s=60)
    show(page, server, f"runs/{run['id']}", (1280, 2000))
    says(page, "1,000 streams", "flow[0]")
    wait_until(lambda: figures(page)["received"] >= 30, "thirty messages", 20, 0.1)
    drawn = figures(page)
    # Alone on its machine it draws every message; one in five is left to a busy one.
    assert drawn["tables"] >= drawn["received"] / 5 and drawn["charts"] >= 3 * drawn["received"] / 5, drawn
    assert drawn["rings"] >= 600
    assert page.run("return document.querySelectorAll('.grid .line').length") == drawn["rows"] <= 40
    assert page.run("return document.querySelector('.grid').getAttribute('aria-rowcount')") == "1001"
    page.run("document.querySelector('.grid').focus()")
    page.press(END)
    says(page, "flow[999]")
    page.press(ENTER)
    says(page, "only stream flow[999]")
    assert page.run("return document.querySelectorAll('.grid .line').length") <= 40
    choose(page, "Filter by name", "flow[99")
    says(page, "11 of 1,000 streams")
    choose(page, "Filter by name", "")
    press_button(page, "Stream")
    page.run("document.querySelector('.grid').scrollTop = 0")
    wait_until(lambda: page.run("return document.querySelector('.grid .line').innerText").startswith("flow[999]"), "order")
    before = figures(page)
    wait_until(lambda: figures(page)["received"] >= before["received"] + 10, "more messages", 20, 0.1)
    assert figures(page)["tables"] > before["tables"] + 1
    assert page.run(EXAMINE) == [] and page.console() == []
    # A thousand criteria and a thousand rows of delay variation unfold; charts are of all streams, from the store.
    server.ask("POST", f"/api/v1/runs/{run['id']}/stop")
    server.ended(run)
    show(page, server, f"runs/{run['id']}", (1280, 2000))
    says(page, "1,000 criteria in all", "The first 100 of 1,000 streams", "Select a row")
    wait_until(lambda: figures(page)["charts"] >= 3, "its charts")
    assert "no stored intervals" not in text(page)
    assert page.run("return document.documentElement.scrollHeight") <= 2_500
    assert page.run(EXAMINE) == [] and page.console() == []


@pytest.mark.unsteady("a busy machine opens sessions late")
def test_sessions(page, server):
    """They have their table and their charts."""
    run = start(server, profile_name="http", duration_s=3)
    show(page, server, f"runs/{run['id']}", (1280, 1600))
    says(page, "Sessions open", "Goodput")
    shows(page, "Sessions opened", 1_000, 0.5)
    server.ended(run)
    # A disturbed tester can't judge times.
    says(page, "done", "Established")
    established = server.get(f"/api/v1/runs/{run['id']}/result")["sessions"]["web"]["established"]
    says(page, f"{established:,}")
    assert page.run(EXAMINE) == [] and page.console() == []


SPEAKERS = """
ports:
  west: {device: "ring:speakers.a", ip: 10.0.0.2/24, lacp: {lag: left}, lldp: {system_name: wanda}, multicast: {groups: [{group: 239.1.1.1..239.1.1.120}]},
    bgp: {peers: [{name: edge, peer: 10.0.0.1, as: 65001, routes: [{prefixes: 16.0.0.0/24, count: 1000}]}]},
    ospf: {routers: [{name: rim, router_id: 1.1.1.1, network: point_to_point, hello: 1s, routes: [{prefixes: 17.0.0.0/24, count: 70}]}]},
    isis: {routers: [{name: shelf, system_id: 0000.0000.0001, network: point_to_point, hello: 1s, routes: [{prefixes: 18.0.0.0/24, count: 30}]}]}}
  east: {device: "ring:speakers.b", ip: 10.0.0.1/24, lacp: {lag: right, key: 9}, lldp: {system_name: edgar}, bgp: {peers: [{peer: 10.0.0.2, as: 65002, passive: true}]},
    ospf: {routers: [{router_id: 9.9.9.9, network: point_to_point, hello: 1s}]}, isis: {routers: [{system_id: 0000.0000.0009, network: point_to_point, hello: 1s}]}}
load: {duration: 60s}
"""


def test_protocols(page, server):
    """State of a run's sessions, routes, neighbours and groups, its changes during the run, and at the end."""
    run = start(server, profile=SPEAKERS)
    show(page, server, f"runs/{run['id']}", (1280, 2000))
    says(page, "2 of 2 BGP sessions established", "2 LLDP neighbours", "120 multicast groups joined", "✓ established", "239.1.1.1", "20 more rows")
    says(page, "2 of 2 LAG members distributing", "✓ distributing")
    table = "return [...document.querySelectorAll('table')].find(t => t.caption.innerText == '%s').innerText"
    says(page, "1,000", "2 of 2 OSPF routers with a full adjacency", "✓ full")
    routers = page.run(table % "OSPF routers")
    assert "rim" in routers and "10.0.0.2 on west" in routers and "9.9.9.9" in routers and "71" in routers, routers
    says(page, "2 of 2 IS-IS routers with adjacencies", "✓ up")
    routers = page.run(table % "IS-IS routers")
    assert "shelf" in routers and "49.0001" in routers and "0000.0000.0009" in routers, routers
    sessions, neighbours = page.run(table % "BGP sessions"), page.run(table % "LLDP neighbours")
    lags = page.run(table % "LAG members").split("\n")
    assert any(row.split("\t")[:2] == ["west", "left"] and "9" in row.split("\t") for row in lags), lags
    assert "edge" in sessions and "10.0.0.2 on west" in sessions and "edgar" in neighbours and "wanda" in neighbours
    states = server.get(f"/api/v1/runs/{run['id']}/protocols?limit=3")
    assert states["counts"]["groups"] == 120 and len(states["groups"]) == 3 and states["groups"][0]["joined_for_s"] > 0
    assert len(states["bgp"]) == 2 and all(peer["established_for_s"] > 0 for peer in states["bgp"])
    assert page.run(EXAMINE) == []
    change = lambda **change: server.ask("POST", f"/api/v1/runs/{run['id']}/protocols", change)  # noqa: E731
    assert change(action="down", port="west").status == 200 and change(action="disable", port="east").status == 200
    says(page, "0 of 2 BGP sessions established", "taken down", "0 LLDP neighbours", "LLDP is disabled on east")
    says(page, "LACP is disabled on east", "0 of 2 LAG members distributing")
    assert change(action="disable", port="east").json() == {"changed": 0} and change(action="enable", peers=["x"]).status == 409
    change(action="up")
    change(action="enable")
    says(page, "2 of 2 BGP sessions established", "2 LLDP neighbours", "2 of 2 LAG members distributing")
    server.ask("POST", f"/api/v1/runs/{run['id']}/stop")
    server.ended(run)
    says(page, "west: BGP", "west: OSPF", "1 of 1 router full", "west: IS-IS", "1 of 1 router up", "west: LACP", "distributing after", "1 of 1 session", "east: LLDP", "120 groups joined")
    assert page.run(EXAMINE) == [] and page.console() == []


GATEWAYS = """
ports:
  west: {device: "ring:a", ip: 10.0.0.2/24, vrrp: {routers: [{name: first, vrid: 7, addresses: [10.0.0.1], interval: 100ms, priority: 200}]}}
  east: {device: "ring:b", ip: 10.0.0.3/24, vrrp: {routers: [{name: second, vrid: 7, addresses: [10.0.0.1], interval: 100ms, priority: 100}]}}
load: {duration: 60s}
"""


def test_virtual_routers_and_machines(page, server):
    """VRRP's states during the run and at its end, a takeover by a command; the machines of a run on several, as in its result."""
    # A run on several machines takes a fleet: its page is tested by what such a result has.
    agent = {"name": "a1", "version": "0.1.0", "ports": ["west"], "workers": 2, "clock": "exchange", "offset_ns": -41_000, "uncertainty_ns": 7_250,
             "drift_ppb": 12.5, "start_error_ns": 3_000}  # fmt: skip
    added = page.call("POST", "/goog/cdp/execute", {"cmd": "Page.addScriptToEvaluateOnNewDocument", "params": {"source": f"""
      const fetched = window.fetch;
      window.fetch = async (address, options) => {{
        const answer = await fetched(address, options);
        if (!String(address).endsWith('/result') || !answer.ok) return answer;
        return Response.json({{...await answer.json(), agents: [{json.dumps(agent)}]}});
      }};
    """}})  # fmt: skip
    try:
        run = start(server, profile=GATEWAYS)
        show(page, server, f"runs/{run['id']}", (1280, 1600))
        says(page, "1 of 2 virtual routers Active", "✓ active", "✓ backup", "10.0.0.2, priority 200")
        row = "return [...document.querySelectorAll('tr')].find(r => r.cells[0].textContent == '%s')?.innerText ?? ''"
        assert page.run(row % "first").split("\t")[1:5] == ["10.0.0.2 on west", "7", "✓ active", "10.0.0.1"], page.run(row % "first")
        server.ask("POST", f"/api/v1/runs/{run['id']}/protocols", {"action": "down", "port": "west"})
        wait_until(lambda: "✓ active" in page.run(row % "second") and "left" in page.run(row % "first"), "the takeover")
        assert page.run(EXAMINE) == []
        server.ask("POST", f"/api/v1/runs/{run['id']}/stop")
        server.ended(run)
        says(page, "west: VRRP", "0 of 1 router Active", "1 of 1 router Active", "Latest takeover")
        show(page, server, f"runs/{run['id']}", (1280, 1600))
        says(page, "Machines", "a1", "compared by messages", "−41 µs", "± 7.25 µs", "3 µs late")
        assert page.run(EXAMINE) == [] and page.console() == []
    finally:
        page.call("POST", "/goog/cdp/execute", {"cmd": "Page.removeScriptToEvaluateOnNewDocument", "params": added})


def test_clients_without_a_server(page, server):
    """While clients look for a server the page shows that they have no lease."""
    port = {"device": "ring:a", "dhcp": {"clients": 3, "timeout": "4s"}}
    run = start(server, profile={"ports": {"west": port}, "streams": [], "load": {"duration": "1s"}})
    show(page, server, f"runs/{run['id']}")
    says(page, "0 of 3 DHCP clients with a lease", "no lease")
    assert page.run(EXAMINE) == []
    server.ended(run)


def test_a_method_from_the_page(page, server):
    """Its points come one by one, and it can be stopped."""
    show(page, server, "campaigns")
    offered(page, "sweep")
    choose(page, "Method", "sweep")
    profile = rings()
    profile["ports"] = {name: port | {"speed": "100Mbps"} for name, port in profile["ports"].items()}
    write(page, json.dumps(profile))
    says(page, "Good: 1 stream")
    choose(page, "Trial duration", "0.2")
    choose(page, "Frame lengths", "64B,512B")
    press_button(page, "Start")
    campaign = address_of(page, "campaigns")
    points = "return document.querySelectorAll('tbody tr').length"
    wait_until(lambda: page.run(points) >= 2, "two points", 30, 0.1)
    assert figures(page)["charts"] >= 2
    press_button(page, "Stop")
    says(page, "■ stopped", "Stored result and report")
    known = server.get(f"/api/v1/campaigns/{campaign}")["points"]
    trials = "return [...document.querySelectorAll('table')].find(t => t.caption?.innerText == 'Trials, newest first').tBodies[0].rows.length"
    wait_until(lambda: page.run(trials) == len(known) >= 2, "all points in the table")
    assert page.run(EXAMINE) == [] and page.console() == []


def test_findings_are_a_matrix(page, server):
    """A row for each frame length, a column for each goal that has a value."""
    profile = rings()
    profile["ports"] = {name: port | {"speed": "5Mbps"} for name, port in profile["ports"].items()}
    new = {"method": "rfc2544", "profile": profile, "quick": True, "trial_s": 0.1, "sizes": ["64B", "512B"]}
    wait_until(lambda: not any(port["lease"] for port in server.get("/api/v1/ports")), "free ports", 20, 0.05)
    started = server.ask("POST", "/api/v1/campaigns", new)
    assert started.status == 201, started
    campaign = started.json()["id"]
    wait_until(lambda: server.get(f"/api/v1/campaigns/{campaign}")["ended"], "the end of the campaign", 60, 0.2)
    show(page, server, f"campaigns/{campaign}")
    says(page, "Trials", "Curves", "Findings")
    rows = [row for row in server.get(f"/api/v1/compare?ids={campaign},{campaign}")["rows"] if row["cells"][0]["value"] is not None]
    # A busy machine may find none.
    if rows:
        says(page, "Figures")
        shown = page.run("return [...document.querySelectorAll('section[aria-label=Figures] tr')].map(r => [...r.cells].map(c => c.innerText))")
        frames, goals = [list(dict.fromkeys(row[key] for row in rows)) for key in ("frame", "goal")]
        assert [row[0] for row in shown[1:]] == frames and shown[0][1:] == [goal.replace("_", " ") for goal in goals], shown
        for frame, *cells in shown[1:]:
            assert [cell != "–" for cell in cells] == [any((row["frame"], row["goal"]) == (frame, goal) for row in rows) for goal in goals]
    # Loss and latency share their axis: the part that is dragged over in one, and what is pointed at.
    wait_until(lambda: figures(page)["charts"] >= 2, "the curves")
    page.run(DRAG, 0, 0.5, 0.99)
    says(page, "All loads")
    first, last = [float(part.partition("=")[2]) for part in page.run("return location.hash").partition("?")[2].split("&")]
    assert 0 < first < last, (first, last)
    page.run(EDGES, 0, 0.5)
    wait_until(lambda: page.run("return [...document.querySelectorAll('.u-over .u-cursor-x')].slice(0, 2).every(c => !c.classList.contains('u-off'))"), "two cursors")
    press_button(page, "All loads")
    wait_until(lambda: "from" not in page.run("return location.hash"), "all loads")
    assert page.run(EXAMINE) == [] and page.console() == []


@pytest.mark.parametrize("size", [DESK, HAND], ids=["desk", "hand"])
def test_pages_are_in_order(page, server, size):
    """On a desk and in the hand: no errors, nothing on anything else, nothing wider than the window, all with names."""
    server.ended(start(server, profile=rings(duration="300ms"), name="one with a rather long name, for its width"))
    server.ended(start(server, profile=rings(duration="300ms"), name="other", tags=["dut=none"]))
    running = start(server, profile_name="demo", duration_s=60)
    newest, older = (result["id"] for result in server.get("/api/v1/results?limit=3")[1:])
    routes = ["now", "start/firewall", f"runs/{running['id']}", f"runs/{newest}", "campaigns", "results", f"results/{newest}", "doctor"]
    for route in [*routes, f"compare/{newest}%2C{older}", "runs/none-like-this", "elsewhere"]:
        show(page, server, route, size)
        if route.startswith(("results/", "compare/")):
            wait_until(lambda: page.run("return !!document.querySelector('iframe')"), "the report")
        if route == f"runs/{running['id']}":
            wait_until(lambda: figures(page)["received"] >= 3, "its figures")
        assert page.run(EXAMINE) == [], route
        faults = page.console()
        assert faults == [] or (route == "runs/none-like-this" and "404" in faults[0]["message"]), (route, faults)


def test_the_examination_would_notice(page, server):
    """It is not blind: each fault that it looks for is made and found."""
    show(page, server, "doctor")
    says(page, "cores")
    page.run("""
      const cell = document.querySelectorAll('td')[1], other = document.querySelectorAll('td')[2];
      other.style.position = 'relative';
      other.style.left = `${cell.getBoundingClientRect().left - other.getBoundingClientRect().left}px`;
      document.querySelector('main').append(document.createElement('input'), document.createElement('h1'));
      document.querySelector('button').style.cssText = 'width: 30px; overflow: hidden; white-space: nowrap; padding: 0';
      document.querySelector('footer').style.width = '3000px';
      document.body.append(document.querySelector('#main').cloneNode());
    """)
    faults = " ".join(page.run(EXAMINE))
    for word in ("overlap", "cut off", "without a name", "twice", "not one heading", "wider"):
        assert word in faults, (word, faults)


def test_dark_and_light(page, server):
    """The system's, or the switch's, also after the page is opened again."""
    colours = "const s = getComputedStyle(document.body); return [s.backgroundColor, s.color]"
    light = (show(page, server, "now"), page.run(colours))[1]
    page.emulate(prefers_color_scheme="dark")
    dark = page.run(colours)
    assert light != dark

    def switch(to):
        page.run(
            "const s = document.querySelector('select[aria-label=Colours]');"
            "s.value = arguments[0]; s.dispatchEvent(new Event('change', {bubbles: true}))",
            to,
        )

    switch("light")
    assert page.run(colours) == light
    show(page, server, "now")
    assert page.run(colours) == light
    switch("dark")
    page.emulate(prefers_color_scheme="light")
    assert page.run(colours) == dark
    switch("system")
    assert page.run(colours) == light and page.console() == []


def test_a_token_is_asked_for_and_stays_out_of_addresses(page, server, lab, tmp_path):
    """A wrong one is refused in words; the right one opens everything; reports open with it, too."""
    tokens = tmp_path / "tokens.yaml"
    tokens.write_text("- {name: ann, role: admin, token: sesame-0123456789-sesame-0123456789}\n")
    tokens.chmod(0o600)
    guarded = Server(lab, "--tokens", tokens, token="sesame-0123456789-sesame-0123456789")
    run = start(guarded, profile=rings(duration="60s"), name="behind a token")
    show(page, guarded, f"runs/{run['id']}")
    says(page, "Token required")
    enter = """
        const field = document.querySelector('input[type=password]');
        field.value = arguments[0];
        field.dispatchEvent(new Event('input', {bubbles: true}));
    """
    page.run(enter, "guess")
    press_button(page, "Enter")
    says(page, "✕")
    page.run(enter, guarded.token)
    press_button(page, "Enter")
    says(page, "ann (admin)", "behind a token")
    shows(page, "Sends", 20_000)
    press_button(page, "Stop")
    says(page, "■ stopped", verdict(guarded, run))
    show(page, guarded, f"results/{run['id']}")
    wait_until(lambda: page.run("return !!document.querySelector('iframe')"), "the report")
    loaded = page.run("return performance.getEntriesByType('resource').map(e => e.name).concat(location.href)")
    assert len(loaded) > 3 and not any("sesame" in address for address in loaded)
    assert not [entry for entry in page.console() if "401" not in entry["message"]]


def test_it_comes_back_when_the_server_does(page, server, lab):
    """It reports that the server is unreachable, and resumes when it is back."""
    first = Server(lab)
    show(page, first, "now")
    says(page, "ring:a")
    assert first.stop() == 0
    says(page, "The server does not respond", "ring:a")
    again = Server(lab, "--listen", first.address.netloc, folder=first.folder)
    wait_until(lambda: "does not respond" not in text(page), "the banner to go", 20, 0.1)
    run = start(again, profile=rings(duration="1s"), name="after the restart")
    says(page, "after the restart")
    again.ended(run)


def test_it_needs_nothing_from_elsewhere(server):
    """Few files, small, with the licences of what is in them, and a policy that lets in nothing else."""
    answer = server.ask("GET", "/")
    policy = answer.headers.get("Content-Security-Policy") or answer.headers["content-security-policy"]
    assert "default-src 'self'" in policy and "script-src" not in policy
    files = {name: server.ask("GET", f"/{name}").body for name in ("", "app.js", "app.css", "icon.svg", "code.js")}
    sizes = {name: len(gzip.compress(body)) for name, body in files.items()}
    editor = sizes.pop("code.js")
    assert sum(sizes.values()) < 100_000 and editor < 150_000, (sizes, editor)
    # Browsers get scripts compressed, others plain.
    for accepts, packed in (("gzip, deflate, br", True), ("br", False), ("gzip;q=0", False)):
        answer = server.ask("GET", "/code.js", headers={"Accept-Encoding": accepts})
        headers = {name.lower(): value for name, value in answer.headers.items()}
        assert (headers.get("content-encoding") == "gzip") == packed and "javascript" in headers["content-type"], headers
        assert (gzip.decompress(answer.body) if packed else answer.body) == files["code.js"]
    # Each file has the licences of the libraries in it.
    libraries = {"app.js": ("preact", "uplot"), "app.css": ("uplot",), "code.js": ("@codemirror/view", "@lezer/yaml")}
    for name, inside in libraries.items():
        assert all(word in files[name].decode() for word in (*inside, "MIT", "Permission is hereby granted")), name
    assert b"http:" not in files[""] and b"https:" not in files[""]
    lock = (REPO / "web/package-lock.json").read_text()
    assert '"resolved"' not in lock and "integrity" in lock


def test_a_run_of_which_nothing_came_is_not_green(page, server):
    """The share that succeeded is first, and no sign shows success."""
    profile = {
        "ports": {"west": {"device": "ring:a", "ip": "10.0.0.2/24"}, "east": {"device": "ring:b", "ip": "10.0.0.3/24"}},
        "sessions": [
            {
                "name": "dead",
                "client": {"port": "west"},
                "server": {"addresses": "10.0.0.3", "ports": 81},
                "app": "http",
                "open": "500/s",
                "count": 100,
            },
            {"name": "idle", "server": {"port": "east", "ports": 80}, "app": "http"},
        ],
        "load": {"duration": "1s", "drain": "200ms"},
    }
    run = start(server, profile=profile)
    show(page, server, f"runs/{run['id']}")
    assert server.ended(run)["achieved"]["success"] is False
    says(page, "✕ done, without success", "✕ Failed: Nothing succeeded: 0 of ")
    notes = page.run("return [...document.querySelectorAll('[aria-label=State] .note')].map(note => note.textContent)")
    assert notes[0].startswith("✕ Failed: Nothing succeeded: "), notes
    show(page, server, "now")
    says(page, "✕ done, without success")
    assert page.run(EXAMINE) == [] and page.console() == []


def set_field(page, owner, name, value):
    """Sets a value of the form, by the part of the profile that it belongs to."""
    assert page.run(
        """
        const part = [...document.querySelectorAll('fieldset')].find(f => f.querySelector('legend').textContent == arguments[0]);
        const label = part && [...part.querySelectorAll('label')].find(l => l.firstChild.textContent == arguments[1]);
        const control = label && label.querySelector('select, input');
        if (!control) return false;
        control.value = arguments[2];
        control.dispatchEvent(new Event(control.tagName == 'SELECT' ? 'change' : 'input', {bubbles: true}));
        return control.value == arguments[2];
        """,
        owner, name, value,
    ), f"no field '{name}' of '{owner}' that takes '{value}'"  # fmt: skip


def written(page):
    """The profile in the editor."""
    return figures(page)["profile"]


def test_a_router_is_tested_by_a_form(lab):
    """From a server that has nothing: ports picked, a rate and a duration typed, no YAML; a refused start keeps it all."""
    if browsers.missing():
        missing(f"needs {', '.join(browsers.missing())}")
    router = lab.router()
    server = Server(lab, ns=router.tester)
    with inside(router.tester):
        page = browsers.Browser()
        try:
            show(page, server, "now")
            says(page, "No active run")
            assert page.run("const a = [...document.querySelectorAll('a')].find(a => a.textContent.includes('Start a test')); a.click(); return !!a")
            says(page, "Settings", "westward", "Good: 2 streams")
            the_editor(page)
            assert page.run("return getComputedStyle(document.querySelector('.cm-content')).fontFamily").startswith("ui-monospace")
            offered(page, "veth1")
            for owner, device in (("west", "veth1"), ("east", "veth0"), ("west", "veth0"), ("east", "veth1")):
                set_field(page, owner, "Port", device)
            set_field(page, "eastward", "Rate", "1kpps")
            set_field(page, "westward", "Rate", "a lot")
            says(page, "1 error")
            assert page.run("return [...document.querySelectorAll('button.main')].map(b => b.disabled)") == [True]
            set_field(page, "westward", "Rate", "500pps")
            set_field(page, "load", "Duration", "2s")
            says(page, "Good: 2 streams between west (veth0), east (veth1), for 2 s")
            typed = written(page)
            assert "rate: 1kpps" in typed and "rate: 500pps" in typed and "duration: 2s" in typed and "# Addresses come from" in typed
            # Left and come back to, it is as it was.
            show(page, server, "results")
            says(page, "No result is stored yet.")
            show(page, server, "start/router")
            wait_until(lambda: written(page) == typed, "what was typed")
            press_button(page, "Start")
            run = {"id": address_of(page, "runs")}
            server.ended(run)
            result = server.get(f"/api/v1/runs/{run['id']}/result")
            assert [(one["tx"], one["rx"]) for one in result["streams"].values()] == [(2000, 2000), (1000, 1000)]
            says(page, "Passed.", "streams.eastward.lost == 0", "Run again", "Copy as command", "Download JSON")
            show(page, server, "results")
            says(page, "router", "✓ done")
            show(page, server, f"runs/{run['id']}")
            press_button(page, "Edit and run")
            wait_until(lambda: "start/own" in page.run("return location.hash"), "the form")
            wait_until(lambda: "rate: 500pps" in written(page), "the profile of the run")
            assert page.run(EXAMINE) == [] and page.console() == []
        finally:
            page.close()


def test_a_web_server_is_tested_by_a_form(lab):
    """nginx, by picking a port and typing a rate and a duration."""
    if browsers.missing():
        missing(f"needs {', '.join(browsers.missing())}")
    tester, site = lab.netns("tester"), lab.netns("site")
    lab.veth(tester, "veth0", site, "s0")
    for address in ("10.0.0.1/24", "10.0.1.2/24"):
        site.ip("address", "add", address, "dev", "s0")
    nginx = Nginx(lab, site, 'location / { return 200 "hello\\n"; }')
    server = Server(lab, ns=tester)
    with inside(tester):
        page = browsers.Browser()
        try:
            show(page, server, "start/web")
            says(page, "Settings", "pages", "Good: ")
            offered(page, "veth0")
            set_field(page, "lab", "Port", "veth0")
            set_field(page, "pages", "Opened", "40/s")
            set_field(page, "load", "Duration", "3s")
            says(page, "1 error", "ramp_up")
            set_field(page, "load", "Duration", "11s")
            says(page, "Good: ")
            press_button(page, "Start")
            run = {"id": address_of(page, "runs")}
            server.ended(run)
            rows = server.get(f"/api/v1/runs/{run['id']}/result")["sessions"]
            assert all(row["completed"] > 50 and not any(row.get("failed", {}).values()) for row in rows.values()), rows
            assert len(nginx.requests(1)) == sum(row["transactions"] for row in rows.values())
            says(page, "Passed.", "sessions.pages.failed_ratio", "Sessions and transactions")
            assert page.run(EXAMINE) == [] and page.console() == []
        finally:
            page.close()


# Drags over a chart from one share of its width to another.
DRAG = """
const over = [...document.querySelectorAll('.u-over')][arguments[0]];
const box = over.getBoundingClientRect();
const at = share => ({bubbles: true, button: 0, buttons: 1, movementX: 9, clientX: box.left + share * box.width, clientY: box.top + box.height / 2});
over.dispatchEvent(new MouseEvent('mouseenter', at(arguments[1])));
over.dispatchEvent(new MouseEvent('mousedown', at(arguments[1])));
document.dispatchEvent(new MouseEvent('mousemove', at(arguments[2])));
over.dispatchEvent(new MouseEvent('mousemove', at(arguments[2])));
document.dispatchEvent(new MouseEvent('mouseup', at(arguments[2])));
over.dispatchEvent(new MouseEvent('mouseup', at(arguments[2])));
"""

# Points at the left and the right edge of a chart: its legend's values there.
EDGES = """
const over = [...document.querySelectorAll('.u-over')][arguments[0]];
const box = over.getBoundingClientRect();
const x = box.left + arguments[1] * (box.width - 2) + 1;
over.dispatchEvent(new MouseEvent('mouseenter', {clientX: x, clientY: box.top + 20}));
over.dispatchEvent(new MouseEvent('mousemove', {clientX: x, clientY: box.top + 20}));
"""


def pointed(page, chart, share):
    """The time in a chart's legend with the pointer at a share of its width, s."""
    page.run(EDGES, chart, share)
    find = "return [...document.querySelectorAll('.chart')][arguments[0]].querySelector('.legend .muted')?.textContent ?? ''"
    said = wait_until(lambda: page.run(find, chart), "what is pointed at")
    return float(said.removeprefix("at ").removesuffix(" s"))


def bounds(page):
    return [float(page.run("return [...document.querySelectorAll('input[type=number]')].at(arguments[0]).value", n)) for n in (-2, -1)]


def test_a_part_of_a_run_has_an_address(page, server):
    """Dragged over in one chart, shown by all, typed, opened again from its address; with the stream that was chosen."""
    run = start(server, profile_name="demo", duration_s=4, rate="2kpps", keep=True)
    server.ended(run)
    show(page, server, f"runs/{run['id']}")
    wait_until(lambda: figures(page)["charts"] >= 3, "its charts")
    whole = bounds(page)
    assert whole[0] == 0 and whole[1] == pytest.approx(4, abs=1.5)
    page.run(DRAG, 0, 0.25, 0.75)
    says(page, "Whole run")
    first, last = bounds(page)
    assert 0 < first < last < whole[1] and last - first == pytest.approx(whole[1] / 2, abs=0.8)
    address = page.run("return location.hash")
    assert f"from={first:g}" in address and f"to={last:g}" in address
    for chart in (0, 1):
        assert first - 0.6 <= pointed(page, chart, 0) <= pointed(page, chart, 1) <= last + 0.6
    # Another end by the keyboard's way, a stream, and the same address in another window.
    choose_bound = "const i = [...document.querySelectorAll('input[type=number]')].at(-1); i.value = '3.5'; i.dispatchEvent(new Event('change', {bubbles: true}))"
    page.run(choose_bound)
    wait_until(lambda: "to=3.5" in page.run("return location.hash"), "the new end in the address")
    page.run("[...document.querySelectorAll('.grid .line')].find(l => l.textContent.includes('west-ipv4')).click()")
    says(page, "only stream west-ipv4")
    address = page.run("return location.hash")
    assert page.run(EXAMINE) == []
    show(page, server, address.removeprefix("#/"))
    says(page, "only stream west-ipv4", "Whole run")
    assert bounds(page) == [first, 3.5]
    press_button(page, "Whole run")
    wait_until(lambda: "from" not in page.run("return location.hash"), "the whole run")
    assert bounds(page)[0] == 0
    # An address that makes no sense shows all.
    show(page, server, f"runs/{run['id']}?from=9&to=2")
    wait_until(lambda: figures(page)["charts"] >= 3, "its charts")
    assert bounds(page)[0] == 0 and "Whole run" not in text(page)
    assert page.console() == []


def test_a_figure_is_followed_from_result_to_result(page, server):
    """Three runs of a test: the page of the newest has a curve over all, and the address names the figure."""
    rates = (1000, 2000, 3000)
    runs = []
    for rate in rates:
        runs.append(start(server, profile_name="demo", name="followed", duration_s=1, rate=f"{rate}pps", keep=True))
        server.ended(runs[-1])
    show(page, server, f"results/{runs[-1]['id']}")
    says(page, "This result and earlier ones", "Compare all 3 results")
    names = page.run("return [...[...document.querySelectorAll('label')].find(l => l.textContent.startsWith('Figure')).querySelectorAll('option')].map(o => o.value)")
    assert any("received" in name for name in names) and any("latency" in name for name in names), names
    received = next(name for name in names if "received" in name)
    choose(page, "Figure", received)
    wait_until(lambda: "figure=" in page.run("return location.hash"), "the figure in the address")
    values = []
    for share in (0.05, 0.5, 0.95):
        page.run(EDGES, 0, share)
        time.sleep(0.2)
        values.append(page.run("return document.querySelector('.chart .legend .figure').textContent"))
    # Each may have sent less on a busy machine; the page shows the stored values.
    stored = server.get(f"/api/v1/compare?ids={','.join(run['id'] for run in runs)}")["rows"]
    cells = next(row for row in stored if row["goal"] == received.rpartition(" · ")[2].replace(" ", "_"))["cells"]
    assert [float(value.split()[0]) * 1e3 for value in values] == pytest.approx([cell["value"] for cell in cells], rel=1e-3), values
    show(page, server, page.run("return location.hash").removeprefix("#/"))
    says(page, "Compare all 3 results")
    assert page.run("return [...document.querySelectorAll('label')].find(l => l.textContent.startsWith('Figure')).querySelector('select').value") == received
    # The first of them has none before it.
    show(page, server, f"results/{runs[0]['id']}")
    says(page, "Report")
    assert "earlier ones" not in text(page)
    assert page.run(EXAMINE) == [] and page.console() == []


def test_whoever_may_watch_sees_no_start(page, lab, tmp_path):
    """No form, no Start, no Stop: they would be refused. Leases of others can't be released."""
    tokens = tmp_path / "tokens.yaml"
    secrets = {role: f"sesame-{role}-0123456789-sesame-0123456789" for role in ("watch", "admin")}
    tokens.write_text("".join(f"- {{name: {role}, role: {role}, token: {secret}}}\n" for role, secret in secrets.items()))
    tokens.chmod(0o600)
    guarded = Server(lab, "--tokens", tokens, token=secrets["admin"])
    run = guarded.start(profile=rings(duration="60s"), name="of somebody else")
    # A run keeps its ports until it ends; an abandoned lease can be released.
    assert guarded.ask("POST", "/api/v1/leases", {"ports": ["ring:other.a"]}).status == 201
    leased = lambda: [port for lease in guarded.get("/api/v1/leases") for port in lease["ports"]]  # noqa: E731

    def seen_by(role, route):
        page.visit(f"{guarded.url}/icon.svg")
        page.run("sessionStorage.setItem('eagre.token', arguments[0])", secrets[role])
        show(page, guarded, route)
        says(page, f"{role} ({role})", "of somebody else")
        wait_until(lambda: not page.run("return document.body.innerText.includes('Release')") or role == "admin", "the leases")
        return page.run("return [...document.querySelectorAll('button, a.button')].map(b => b.textContent.trim())")

    for route in ("now", f"runs/{run['id']}"):
        assert not [name for name in seen_by("watch", route) if name[:1] in "▶■" or name in ("Release", "Apply")], route
    says_release = lambda: "Release" in text(page)  # noqa: E731
    assert "■ Stop" in seen_by("admin", f"runs/{run['id']}")
    seen_by("admin", "now")
    wait_until(says_release, "a way to release the port")
    page.run("window.confirm = () => true")
    press_button(page, "Release")
    wait_until(lambda: leased() == ["ring:a", "ring:b"], "the release")


def test_criteria_decide_the_band_on_top(page, server):
    """Passed or failed with its cause, each criterion with its value; notes are no reasons."""
    criteria = {"streams.s0.lost": "== 0", "streams.s0.tx": "< 10"}
    for name, wanted, badge in (("passes", {"streams.s0.tx": "> 10"}, "✓ done"), ("fails", criteria, "✕ done, not passed")):
        run = start(server, profile={**rings(duration="500ms"), "criteria": wanted}, name=name)
        found = server.ended(run)
        show(page, server, f"runs/{run['id']}")
        says(page, badge, "Passed." if name == "passes" else "Failed: streams.s0.tx is ")
        band = page.run("return document.querySelector('[aria-label=Outcome]').textContent")
        assert all(f"{path} {bound}" in band for path, bound in wanted.items()), band
        assert ("not met" in band) == (name == "fails"), band
        notes = found["verdict"].get("notes", [])
        verdict_line = page.run("return [...document.querySelectorAll('[aria-label=State] > .note')].map(note => note.textContent)[1]")
        assert not any(note in verdict_line for note in notes), verdict_line
        assert page.run(EXAMINE) == [] and page.console() == []


def test_a_disturbance_is_shaded_and_explained(page, server):
    """The run's process is stopped for 300 ms: a strip below the charts and the list show the time and the cause, the longest first."""
    run = start(server, profile=rings(duration="60s"), name="stopped for a while")
    show(page, server, f"runs/{run['id']}", (1280, 2000))
    wait_until(lambda: figures(page)["received"] >= 5, "its figures")

    def longest():
        listed = page.run("return [...document.querySelectorAll('details.note li')].map(e => e.textContent)")
        stood = [float(text.split("stalled for ")[1].split(" ms")[0]) for text in listed if "stalled for" in text]
        return max(stood, default=0)

    (agent,) = server.agents()
    # The list has the longest eight.
    for _ in range(5):
        os.kill(agent, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(agent, signal.SIGCONT)
        end = time.monotonic() + 3
        while longest() < 250 and time.monotonic() < end:
            time.sleep(0.05)
        if longest() >= 250:
            break
    else:
        raise AssertionError("the pause is not in the list")
    says(page, "The tester was disturbed", "tester disturbed")
    page.run("document.querySelector('details.note').open = true")
    # Below the axis of the first chart is a strip in the colour of warnings; nothing lies over the plot.
    marked = page.run("""
      const canvas = document.querySelector('.plot canvas'), {width, height} = canvas;
      const data = canvas.getContext('2d').getImageData(0, 0, width, height).data;
      const warn = getComputedStyle(document.documentElement).getPropertyValue('--warn').trim().slice(1);
      const [r, g, b] = [0, 2, 4].map(i => parseInt(warn.slice(i, i + 2), 16));
      const rows = new Set();
      for (let y = 0; y < height; y++) for (let x = 0; x < width; x++) {
        const at = 4 * (y * width + x);
        if (data[at + 3] > 200 && Math.abs(data[at] - r) < 4 && Math.abs(data[at + 1] - g) < 4 && Math.abs(data[at + 2] - b) < 4) rows.add(y);
      }
      return [rows.size, Math.min(...rows) / height];
    """)
    assert 4 <= marked[0] <= 16 and marked[1] > 0.7, marked
    server.ask("POST", f"/api/v1/runs/{run['id']}/stop")
    says(page, verdict(server, run), "Delay variation and pacing", "Latest departure", "Longest standstill")
    # Read again from the store, it shows the same.
    show(page, server, f"runs/{run['id']}", (1280, 2000))
    says(page, "The tester was disturbed")
    assert page.run(EXAMINE) == [] and page.console() == []


def test_who_is_faster_is_a_sentence(page, server, lab, tmp_path):
    """Two results side by side, of three repeats each: the one that receives more is named, with by how much at least."""
    ids = []
    for name, load in (("slow", "500kpps"), ("fast", "900kpps")):
        repeats = [tmp_path / name / str(n) / "run" for n in range(3)]
        for seed, folder in enumerate(repeats):
            options = ["--rate", load, "--duration", "50ms", "--seed", str(seed), "--out", folder]
            lab.eagre("sim", REPO / "examples/sim-router.yaml", *options).ok()
        added = lab.eagre("results", "--store", server.folder / "results.db", "add", "--name", name, *repeats)
        ids.append(added.ok().out.strip())
    show(page, server, f"compare/{'%2C'.join(ids)}")
    says(page, "Side by side", "fast is faster than slow in 1 of 1 rates (received +80%, at least +8", "intervals lie apart")
    assert page.run(EXAMINE) == [] and page.console() == []
