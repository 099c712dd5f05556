# SPDX-License-Identifier: Apache-2.0
"""What pip installs: one wheel for every Python, in a clean virtual environment and without a compiler.

The wheel is the one that TENSORSCOPE_TEST_WHEEL names (scripts/wheel makes the portable one); else it is built here as
`pip wheel .` builds it, with what ccache has of build/'s objects.
"""

import ast
import base64
import hashlib
import importlib.util
import os
import pathlib
import re
import shutil
import subprocess
import sys
import types
import zipfile

import jinja2
import pytest

import harness
import interpreters
from harness import ROOT, TIMEOUT

BUILD_TIMEOUT = 3600  # a hang, not a speed limit
NEWEST_GLIBC = (2, 28)  # of a portable wheel

TRAIN = """
import os, sys, time, torch
model = torch.nn.Linear(1000, 1000)
seen = [model(torch.ones(10, 1000)).sum() for step in range(3)]
print("trained", __name__, sys.argv[1:], flush=True)
if sys.argv[1:] == ["wait"]:
    sys.stdin.read()
"""


def version():
    return re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    given = os.environ.get("TENSORSCOPE_TEST_WHEEL")
    if given:
        return pathlib.Path(given)
    folder = tmp_path_factory.mktemp("wheel")
    done = subprocess.run([sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--disable-pip-version-check", "-w", str(folder)],
                          env=os.environ | {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1"}, capture_output=True, text=True, timeout=BUILD_TIMEOUT)
    assert done.returncode == 0, done.stdout[-5000:] + done.stderr[-5000:]
    built, = folder.glob("*.whl")
    return built


def pip(python, *arguments):
    done = subprocess.run([str(python), "-m", "pip", "--disable-pip-version-check", *map(str, arguments)], capture_output=True, text=True,
                          timeout=TIMEOUT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def venv(wheel, tmp_path_factory):
    """A virtual environment with the wheel and nothing else; the torch of the tests is found through PYTHONPATH."""
    folder = tmp_path_factory.mktemp("venv") / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=TIMEOUT)
    pip(folder / "bin" / "python", "install", "--no-index", "--quiet", wheel)
    return folder


@pytest.fixture
def environment(tmp_path):
    """As a shell has it: no tool of this machine's build but what is in /usr/bin and /bin, no activated environment."""
    packages = next(path for path in sys.path if (pathlib.Path(path) / "torch").is_dir())
    result = {key: value for key, value in os.environ.items() if not key.startswith("TENSORSCOPE") and key != "VIRTUAL_ENV"}
    result.update(PATH="/usr/bin:/bin", PYTHONPATH=packages, OMP_NUM_THREADS="1", TENSORSCOPE_LOW_MEMORY="off", COLUMNS="200")
    (tmp_path / "train.py").write_text(TRAIN)
    return result


def call(*command, environment, folder, status=0):
    done = subprocess.run([str(word) for word in command], env=environment, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT,
                          stdin=subprocess.DEVNULL)
    assert status is None or done.returncode == status, f"{done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def test_one_wheel_for_every_python(wheel):
    name = wheel.name.split("-")
    assert name[:4] == ["tensorscope_profiler", version(), "py3", "none"]
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
        tags = archive.read(f"tensorscope_profiler-{version()}.dist-info/WHEEL").decode()
    assert re.findall(r"^Tag: (.*)$", tags, re.MULTILINE) == [wheel.stem.split("-", 2)[2]]
    assert "Root-Is-Purelib: false" in tags
    data = f"tensorscope_profiler-{version()}.data"
    assert {"libtensorscope.py", "tensorscope/__init__.py", "tensorscope/__main__.py", "tensorscope/libtensorscope.so",
            f"{data}/scripts/tensorscope"} <= files
    assert {name for name in files if name.startswith(f"{data}/data/") and not name.endswith("/")} == {f"{data}/data/share/{name}" for name in (
        "man/man1/tensorscope.1", "bash-completion/completions/tensorscope", "zsh/site-functions/_tensorscope",
        "fish/vendor_completions.d/tensorscope.fish")}
    sources = {f"tensorscope/{path.relative_to(ROOT / 'analyzer/python/tensorscope')}"
               for path in (ROOT / "analyzer" / "python" / "tensorscope").rglob("*.py")}
    assert sources <= files, "analyzer/python/meson.build does not list them"
    assert wheel.stat().st_size < 15 << 20


def test_the_record_is_that_of_the_files(wheel):
    with zipfile.ZipFile(wheel) as archive:
        record = archive.read(f"tensorscope_profiler-{version()}.dist-info/RECORD").decode().splitlines()
        assert {line.rsplit(",", 2)[0] for line in record} == {name for name in archive.namelist() if not name.endswith("/")}
        for line in record:
            name, digest, size = line.rsplit(",", 2)
            data = archive.read(name)
            if digest:
                assert digest == "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
                assert size == str(len(data))


def test_binaries_are_stripped_and_portable_ones_need_no_newer_glibc(wheel, tmp_path):
    binaries = []
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not name.endswith("/") and archive.read(name)[:4] == b"\x7fELF":
                binaries.append(pathlib.Path(archive.extract(name, tmp_path)))
    assert len(binaries) >= 2
    for binary in binaries:
        listing = subprocess.run(["readelf", "-SW", "--version-info", "-d", str(binary)], capture_output=True, text=True, check=True).stdout
        assert ".debug_line" not in listing and ".symtab" not in listing
        if "manylinux" in wheel.name:
            assert max(tuple(map(int, number.split("."))) for number in re.findall(r"GLIBC_([0-9.]+)", listing)) <= NEWEST_GLIBC
            needed = set(re.findall(r"Shared library: \[([^\]]+)\]", listing))
            assert needed <= {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}, binary


def test_the_package_has_the_programs_version():
    source = (ROOT / "analyzer" / "python" / "tensorscope" / "__init__.py").read_text()
    assigned = {node.targets[0].id: node.value.value for node in ast.parse(source).body
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and isinstance(node.value, ast.Constant)}
    assert assigned["__version__"] == version()


def test_the_first_screen_of_the_readme(venv, environment, tmp_path):
    """tensorscope run -- python train.py, a snapshot of it, a report: without activation, by the program's path."""
    tensorscope = venv / "bin" / "tensorscope"
    with subprocess.Popen([str(tensorscope), "run", "--exit", "never", "--", "python", "train.py", "wait"], env=environment, cwd=tmp_path,
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "trained __main__ ['wait']\n"
            interpreter = os.readlink(f"/proc/{process.pid}/exe")
            assert os.path.samefile(interpreter, os.path.realpath(venv / "bin" / "python"))
            dump = call(tensorscope, "snapshot", process.pid, environment=environment, folder=tmp_path).stdout.strip()
        finally:
            process.kill()
    report = call(tensorscope, "report", dump, environment=environment, folder=tmp_path).stdout
    assert "train.py:3 <module>  model = torch.nn.Linear(1000, 1000)" in report, report
    assert "native stacks, Python stacks" in report, report
    page = call(tensorscope, "html", dump, "-o", "report.html", environment=environment, folder=tmp_path, status=None)
    if "manylinux" in wheel_name(venv) or page.returncode == 0:
        assert (tmp_path / "report.html").stat().st_size > 50_000, page.stderr
    else:
        assert "this build has no web report" in page.stderr  # no Node where it was built


def wheel_name(venv):
    return next(venv.rglob("tensorscope_profiler-*.dist-info/WHEEL")).read_text()


def test_python_dash_m(venv, environment, tmp_path):
    python = venv / "bin" / "python"
    assert call(python, "-m", "tensorscope", "--version", environment=environment, folder=tmp_path).stdout == f"tensorscope {version()}\n"
    for words in (["run", "-m", "train", "a"], ["run", "--", "-m", "train", "a"]):
        done = call(python, "-m", "tensorscope", *words, environment=environment, folder=tmp_path)
        assert done.stdout == "trained __main__ ['a']\n"
        assert "wrote train." in done.stderr and "(11 tensors" not in done.stdout
    assert len(harness.dumps(tmp_path)) == 2
    launched = call(python, "-m", "tensorscope", "run", "--quiet", "-m", "torch.distributed.run", "--nproc-per-node", "2", "train.py",
                    environment=environment, folder=tmp_path)
    assert launched.stdout.count("trained __main__ []") == 2, launched.stderr
    assert len(harness.dumps(tmp_path, "train.*.tscope")) == 4  # the launcher may have one of its own


def test_the_stub_is_there_without_the_preload(venv, environment, tmp_path):
    source = "import libtensorscope, tensorscope; print(libtensorscope.active(), tensorscope.__version__)"
    assert call(venv / "bin" / "python", "-c", source, environment=environment, folder=tmp_path).stdout == f"False {version()}\n"
    done = call(venv / "bin" / "tensorscope", "run", "--quiet", "python", "-c", "import torch; " + source, environment=environment, folder=tmp_path)
    assert done.stdout == f"True {version()}\n"


PROGRAM = """
import os, subprocess, sys, libtensorscope
print(sys.version_info[:2], sys.argv[1:], libtensorscope.active(), "/libtensorscope.so" in open("/proc/self/maps").read(), flush=True)
subprocess.run([sys.argv[1], "snapshot", str(os.getpid())])
"""


@pytest.mark.cases(3)
@pytest.mark.parametrize("series", interpreters.SERIES)
def test_every_cpython(wheel, series, environment, tmp_path):
    """In an environment without torch: `run` starts the environment's Python, the library is in it, and a snapshot says what is missing."""
    if series not in interpreters.INSTALLED:
        pytest.skip(f"no CPython {series} here (scripts/containers: 3.9 and the newest)")
    del environment["PYTHONPATH"]
    (tmp_path / "program.py").write_text(PROGRAM)
    subprocess.run([interpreters.INSTALLED[series], "-m", "venv", str(tmp_path / "venv")], check=True, timeout=TIMEOUT)
    python, tensorscope = (tmp_path / "venv" / "bin" / name for name in ("python", "tensorscope"))
    pip(python, "install", "--no-index", "--quiet", wheel)
    for words in ([tensorscope, "run", "python", "program.py"], [python, "-m", "tensorscope", "run", "--", "python", "program.py"],
                  [python, "-m", "tensorscope", "run", "-m", "program"]):
        done = call(*words, tensorscope, environment=environment, folder=tmp_path)
        assert done.stdout == f"({series.replace('.', ', ')}) ['{tensorscope}'] False True\n", done.stderr
        assert re.fullmatch(r"tensorscope: process \d+ has not loaded torch yet; there is nothing to dump. Nothing was sent.\n", done.stderr)


def test_pip_install_target(wheel, environment, tmp_path):
    target = tmp_path / "target"
    pip(sys.executable, "install", "--no-index", "--quiet", "--target", target, wheel)
    source = "import os; print(os.environ['LD_PRELOAD'])"
    expected = str((target / "tensorscope" / "libtensorscope.so").resolve()) + "\n"
    assert call(target / "bin" / "tensorscope", "run", "python3", "-c", source, environment=environment, folder=tmp_path).stdout == expected
    environment["PYTHONPATH"] = str(target)
    done = call(sys.executable, "-m", "tensorscope", "run", "python3", "-c", source, environment=environment, folder=tmp_path)
    assert done.stdout == expected


def test_a_package_without_its_program_says_so(wheel, environment, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "unpacked")
    environment["PYTHONPATH"] = str(tmp_path / "unpacked")
    shutil.rmtree(next((tmp_path / "unpacked").glob("*.data")))
    python = pathlib.Path(sys.executable).resolve()
    done = call(python, "-S", "-m", "tensorscope", "--version", environment=environment, folder=tmp_path, status=2)
    assert done.stderr == "tensorscope: the tensorscope program was not found; install it: pip install tensorscope-profiler.\n"


def conda_recipe(python):
    """What conda-build reads first: a template that becomes YAML. conda-build itself is not on PyPI."""
    yaml = pytest.importorskip("yaml")
    text = (ROOT / "scripts" / "conda_recipe" / "meta.yaml").read_text()
    return yaml.safe_load(jinja2.Template(text, undefined=jinja2.StrictUndefined).render(PYTHON=str(python)))


def test_the_script_of_the_conda_recipe_installs_the_wheel(wheel, environment, tmp_path):
    """As conda-build runs it: in a copy of dist/, here with another version beside it, and without a network."""
    source = tmp_path / "source"
    source.mkdir()
    shutil.copy(wheel, source)
    shutil.copy(wheel, source / wheel.name.replace(version(), "99.0"))
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True, timeout=TIMEOUT)
    environment |= {"PATH": f"{tmp_path / 'venv' / 'bin'}:/usr/bin:/bin", "PIP_INDEX_URL": "http://localhost:1/", "PIP_FIND_LINKS": ""}
    recipe = conda_recipe(python=tmp_path / "venv" / "bin" / "python")
    call("sh", "-ec", recipe["build"]["script"], environment=environment, folder=source)
    for line in recipe["test"]["commands"]:
        assert call("sh", "-c", line, environment=environment, folder=tmp_path).stdout == f"tensorscope {version()}\n"


def test_the_conda_recipe_is_of_this_version():
    recipe = conda_recipe(python="python")
    assert recipe["package"] == {"name": "tensorscope-profiler", "version": version()}
    assert recipe["build"]["binary_relocation"] is False
    assert set(recipe["requirements"]["run"]) == {"python >=3.8", f"__glibc >={'.'.join(map(str, NEWEST_GLIBC))}"}
    assert recipe["test"]["commands"] == ["tensorscope --version", "python -m tensorscope --version"]
    folder = ROOT / "scripts" / "conda_recipe"
    assert (folder / recipe["about"]["license_file"]).is_file() and (folder / recipe["source"]["path"]).parent.resolve() == ROOT


def test_what_is_missing_to_build_is_one_line(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "mesonpy", types.SimpleNamespace(build_sdist=None, get_requires_for_build_sdist=None))
    spec = importlib.util.spec_from_file_location("wheel_backend", ROOT / "scripts" / "build_backend" / "wheel_backend.py")
    backend = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(backend)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit) as ended:
        backend.check_packages(None)
    assert re.fullmatch(r"tensorscope cannot be built: packages are missing \(Debian: apt install g\+\+ pkg-config [^)]*\); .*", str(ended.value))
    backend.check_packages({"setup-args": ["--native-file=x"]})  # scripts/wheel brings its own
