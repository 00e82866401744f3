"""The Python package, as people get it: a wheel in an environment of its own, against the real `eagre serve`."""

import contextlib
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as xml
import zipfile
from pathlib import Path

import pytest
from lab import EAGRE, REPO, TOLD, disturbances

CLIENT = REPO / "clients/python"
PINS = CLIENT / "tests/requirements.txt"
KEY = hashlib.sha256(f"{sys.version}{PINS.read_text()}".encode()).hexdigest()[:12]
CACHE = Path(tempfile.gettempdir()) / f"eagre-python-{KEY}"
# What is imported is compiled once, and not beside its source.
COMPILED = Path(tempfile.gettempdir()) / f"eagre-python-{KEY}-compiled"
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def done(*command, timeout=300, **options):
    """Runs a command that must go well; returns what it printed."""
    environment = {**os.environ, "EAGRE": str(EAGRE), "MPLBACKEND": "Agg", "PYTHONPYCACHEPREFIX": str(COMPILED)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    options.setdefault("cwd", "/")
    ended = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, timeout=timeout, env=environment, **options
    )
    disturbances.extend(TOLD.findall(ended.stdout + "\n" + ended.stderr))
    assert ended.returncode == 0, f"{' '.join(map(str, command))}\n{ended.stdout[-6000:]}\n{ended.stderr[-3000:]}"
    return ended.stdout


def environment(folder):
    """An empty environment; its interpreter."""
    done(sys.executable, "-m", "venv", "--without-pip", folder)
    return folder / "bin/python"


@pytest.fixture(scope="module")
def tools():
    """The interpreter of an environment with the pinned packages. It is kept: to fetch them takes a while."""
    if not CACHE.is_dir():
        made = Path(tempfile.mkdtemp(prefix=f"eagre-t{os.getpid()}-"))
        try:
            python = environment(made)
            done(*PIP, "--python", python, "install", "--no-deps", "--no-compile", "-r", PINS, timeout=900)
            # Somebody else may have been quicker.
            with contextlib.suppress(OSError):
                made.rename(CACHE)
        finally:
            shutil.rmtree(made, ignore_errors=True)
    return CACHE / "bin/python"


@pytest.fixture(scope="module")
def wheel(tools, tmp_path_factory):
    """The wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    shutil.copytree(CLIENT, source, ignore=shutil.ignore_patterns("__pycache__", ".*"))
    done(*PIP, "--python", tools, "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", folder, source)
    (made,) = folder.glob("*.whl")
    return made


@pytest.fixture(scope="module")
def python(tools, wheel, tmp_path_factory):
    """The interpreter of a fresh environment in which the wheel is installed; the pinned packages are lent to it."""
    python = environment(tmp_path_factory.mktemp("python") / "fresh")
    done(*PIP, "--python", python, "install", "--no-deps", "--no-index", wheel)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    lent = done(tools, "-c", where).strip()
    Path(done(python, "-c", where).strip(), "lent.pth").write_text(lent + "\n")
    return python


def test_the_wheel_has_what_belongs_to_it(wheel):
    """All modules, the marker of types, the plugin of pytest, and nothing else."""
    names = set(zipfile.ZipFile(wheel).namelist())
    sources = {f"eagre/{path.name}" for path in (CLIENT / "src/eagre").glob("*.py")}
    assert {name for name in names if name.startswith("eagre/")} == sources | {"eagre/py.typed"}
    (entries,) = (name for name in names if name.endswith("entry_points.txt"))
    assert b"eagre = eagre.pytest_plugin" in zipfile.ZipFile(wheel).read(entries)


def test_a_wheel_brings_the_program(program, tools, tmp_path):
    """For this platform; an environment has it on its PATH, and the package takes it rather than another."""
    done(REPO / "tools/dist", "--program", program, "--output", tmp_path / "made", "--only", "wheel", "--python", tools)
    (made,) = (tmp_path / "made").glob("*.whl")
    found = re.fullmatch(r"eagre-([\d.]+)-py3-none-manylinux_2_(\d+)_(\w+)\.whl", made.name)
    assert int(found[2]) <= int(platform.libc_ver()[1].split(".")[1]) and found[3] == platform.machine()
    assert made.stat().st_size <= 20e6
    names = zipfile.ZipFile(made).namelist()
    assert f"eagre-{found[1]}.data/scripts/eagre" in names and "eagre/client.py" in names
    assert any(name.endswith("share/man/man1/eagre-run.1.gz") for name in names)

    python = environment(tmp_path / "fresh")
    done(*PIP, "--python", python, "install", "--no-deps", "--no-index", made)
    where = "import sysconfig; print(sysconfig.get_path('purelib'))"
    Path(done(python, "-c", where).strip(), "lent.pth").write_text(done(tools, "-c", where))
    version = done(program, "--version")
    assert done(python.parent / "eagre", "--version") == version
    ask = "import os; {}; from eagre.server import program; print(program())"
    assert done(python, "-c", ask.format("del os.environ['EAGRE']")).strip() == str(python.parent / "eagre")
    assert done(python, "-c", ask.format("pass")).strip() == str(EAGRE.resolve())
    assert done("env", "-u", "EAGRE", "PATH=/usr/bin:/bin", python, "-m", "eagre", "--version") == version


def test_the_package_needs_httpx_alone(python, tools):
    """Scapy, pandas and the others are imported by those who use them."""
    loaded = done(python, "-c", "import sys, eagre; print(eagre.__file__, *sys.modules)").split()
    assert "site-packages" in loaded[0]
    assert "httpx" in loaded
    assert not {"scapy", "pandas", "pyarrow", "matplotlib", "numpy", "pytest"} & set(loaded)


@pytest.fixture(scope="module")
def mypy(python, tmp_path_factory):
    """Arguments of mypy for all tests, which share what it found of libraries."""
    return ["-m", "mypy", "--strict", "--cache-dir", tmp_path_factory.mktemp("mypy"), "--python-executable", python]


def test_types_and_style(tools, mypy):
    """mypy --strict and ruff have nothing to say."""
    mypy = [*mypy, "--config-file", CLIENT / "pyproject.toml"]
    done(tools, *mypy)
    ruff = tools.parent / "ruff"
    done(ruff, "check", "--no-cache", CLIENT)
    done(ruff, "format", "--no-cache", "--check", CLIENT)


def test_wrong_words_are_found_by_types(tools, mypy, tmp_path):
    """The types of both clients' calls are those of the one description."""
    (tmp_path / "use.py").write_text(
        "import eagre\n"
        "async def use(a: eagre.AsyncClient, c: eagre.Client) -> None:\n"
        "    run: eagre.AsyncRun = await a.start(profile_name='demo', rate='1kpps')\n"
        "    info: eagre.RunInfo = c.start('text').stop()\n"
        "    result: eagre.Result = await a.run('text')\n"
        "    c.start('text', speeed=1)\n"
        "    ports: list[eagre.PortInfo] = a.ports()\n"
    )
    ended = subprocess.run([tools, *mypy, "use.py"], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    errors = [line.split(":")[1] for line in ended.stdout.splitlines() if ": error: " in line]
    assert errors == ["6", "7"], ended.stdout


def test_data_classes_are_those_of_the_schemas(program, tools):
    """Nobody forgot to run tools/generate.py."""
    path = f"{tools.parent}{os.pathsep}{os.environ['PATH']}"
    done("env", f"PATH={path}", tools, CLIENT / "tools/generate.py", program, "--check")


@pytest.mark.parametrize("file", sorted(path.name for path in (CLIENT / "tests").glob("test_*.py")))
def test_the_packages_own_tests(program, python, tmp_path, file):
    """They pass, and none is skipped."""
    report = tmp_path / "report.xml"
    done(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", CLIENT / "tests" / file)
    (suite,) = xml.parse(report).getroot().iter("testsuite")
    assert int(suite.get("tests")) > 0
    assert suite.get("skipped") == "0", "some tests were skipped"


EXAMPLES = {
    "throughput.py": ("small: ", "<Result "),
    "latency_under_load.py": ("50kpps: ",),
    "scapy_template.py": ("110 packets captured, source ports 4000 to 4009, 10 as Scapy built them",),
    "campaign.py": ("Throughput at 64B", "Throughput at 1518B"),
}


def test_every_example_is_run():
    """No file is forgotten."""
    assert {path.name for path in (CLIENT / "examples").glob("*.py")} == set(EXAMPLES)


@pytest.mark.unsteady("an example ends with exit code 1 if other processes kept its tester from its core")
@pytest.mark.parametrize("example", EXAMPLES)
def test_examples_do_what_they_say(program, python, tmp_path, example):
    """As scripts, each with a server of its own."""
    said = done(python, CLIENT / "examples" / example, cwd=tmp_path)
    for text in EXAMPLES[example]:
        assert text in said


# Runs cells as a notebook would: in one namespace, the value of a last expression shown as a picture or as HTML where it can be.
CELLS = """
import ast, json, sys
shown, names = [], {}
for source in json.load(sys.stdin):
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)
    if last:
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
        form = next((form for form in ("_repr_png_", "_repr_html_") if hasattr(value, form)), "__repr__")
        shown.append(str(getattr(value, form)()))
print("\\n".join(shown))
"""


def test_the_notebook_runs(program, python, tmp_path):
    """All cells, one after the other."""
    notebook = json.loads((CLIENT / "examples/tour.ipynb").read_text())
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert all(not cell.get("outputs") for cell in notebook["cells"])
    said = done(python, "-c", CELLS, input=json.dumps(cells), cwd=tmp_path)
    for text in ("did you mean 'speed'", "<table>", "PNG", "<th>latency_ns.p99</th>", "throughput"):
        assert text in said
