# SPDX-License-Identifier: Apache-2.0
"""The bridge to the interpreter: names of modules without running the program's code, the GIL with a time limit, the
module libtensorscope, and exit dumps. The first tests need no torch and run in every CPython that is found here."""

# Covers: preload/python/{bridge,builtin_module,gil_thread,imported_whole,interpreter,objects,own_source}.cc

import os
import pathlib
import subprocess

import harness
import interpreters
import pytest

PROBE = harness.BUILD / "tests" / "unit" / "preload" / "python" / "libbridge_probe.so"
STUB = harness.ROOT / "include" / "tensorscope"
STATIC = [path for path in ["/usr/bin/python3"] if interpreters.version_of(path) and path not in interpreters.INSTALLED.values()]
every_python = pytest.mark.parametrize("python", interpreters.SERIES + STATIC, indirect=True)


def run(python, *arguments, **settings):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TENSORSCOPE", "LD_PRELOAD"))}
    environment.update(settings)
    return subprocess.run([python, *map(str, arguments)], env=environment, capture_output=True, text=True,
                          timeout=harness.TIMEOUT, stdin=subprocess.DEVNULL)


def run_probe(python, program, *arguments, **settings):
    done = run(python, harness.PROGRAMS / program, PROBE, *arguments, **settings)
    assert done.returncode == 0, f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    return done


@every_python
@pytest.mark.parametrize("gc", ["--gc-on", "--gc-off"])
def test_names_in_every_holder_without_running_code(python, gc):
    done = run_probe(python, "modules.py", gc)
    assert done.stderr.count("exit dump with") == 1


@every_python
def test_the_gil_with_a_time_limit(python):
    done = run_probe(python, "gil.py")
    assert "busy: partial\tthe GIL was not free within the time limit" in done.stdout
    assert "after: complete" in done.stdout
    assert "child: complete" in done.stdout
    assert "monitored: 0 events" in done.stdout
    if "blocked:" in done.stdout:
        assert "blocked: partial\tinspecting the program's objects exceeded the time limit" in done.stdout
        assert "behind it: partial\tthe GIL was not free" in done.stdout
        assert "unblocked: complete" in done.stdout


MONITORED = """
import threading
ran, own = [], threading.get_ident()
monitoring = sys.monitoring
monitoring.use_tool_id(3, "test")
monitoring.register_callback(3, monitoring.events.PY_START, lambda code, _: ran.append(code.co_name) if threading.get_ident() != own else None)
monitoring.set_events(3, monitoring.events.PY_START)
del sys.modules["atexit"]  # which the bridge imports then, and importing runs Python code
bridge.attached(sys.argv[2])
monitoring.set_events(3, 0)
print("atexit" in sys.modules, ran)
"""


@every_python
def test_a_tool_that_monitors_the_program_does_not_see_the_bridges_code(python):
    if int(interpreters.version_of(python).split(".")[1]) < 12:
        pytest.skip("before CPython 3.12 no tool sees threads that it did not start")
    done = run(python, "-c", IMPORTS + MONITORED, harness.PROGRAMS, PROBE, TENSORSCOPE_EXIT="never")
    assert (done.returncode, done.stdout) == (0, "True []\n"), done.stderr


COLLECTED = """
import gc, threading
ran, own = [], threading.get_ident()
gc.callbacks.append(lambda *_: ran.append("collection") if threading.get_ident() != own else None)
gc.set_threshold(1)  # nearly every allocation collects
bridge.attached(sys.argv[2])
gc.set_threshold(700)
print(gc.isenabled(), ran)
"""


@every_python
def test_no_collection_of_garbage_while_the_bridge_begins(python):
    """It would run the program's finalizers on the bridge's thread."""
    done = run(python, "-c", IMPORTS + COLLECTED, harness.PROGRAMS, PROBE, TENSORSCOPE_EXIT="never")
    assert (done.returncode, done.stdout) == (0, "True []\n"), done.stderr


INSIDE_INIT = """
import gc, types
class Module:
    def __init__(self):
        self._modules = {}
for name in ("torch", "torch.nn", "torch.nn.modules", "torch.nn.modules.module"):
    sys.modules[name] = types.ModuleType(name)
sys.modules["torch.nn.modules.module"].Module = Module
class Asking(Module):
    def __init__(self, ask):
        self._modules = {}
        self.answer = bridge.names(probe)[0] if ask else None
def make(ask):
    return Asking(ask)
for _ in range(1000):
    make(False)
print(make(True).answer.strip())
"""


@every_python
def test_names_while_an_object_is_made(python):
    """CPython 3.12 on then runs a code object of its own, in memory that cannot be written."""
    done = run(python, "-c", BEGIN + INSIDE_INIT, harness.PROGRAMS, PROBE, TENSORSCOPE_EXIT="never")
    assert (done.returncode, done.stdout) == (0, "complete\n"), done.stderr


ENDS = {
    "return": ("pass", 0),
    "status": ("sys.exit(3)", 3),
    "exception": ("raise ValueError('as planned')", 1),
    "interrupt": ("raise KeyboardInterrupt", -2),
    "thread": ("import threading; threading.Thread(target=sys.exit).start()", 0),
}
IMPORTS = "import atexit, sys; sys.path.insert(0, sys.argv[1]); import bridge\n"
BEGIN = IMPORTS + "probe = bridge.attached(sys.argv[2])\n"


@every_python
@pytest.mark.parametrize("end", ENDS)
def test_one_exit_dump_after_the_programs_own_exit_functions(python, end):
    source = BEGIN + "atexit.register(lambda: print('own', file=sys.stderr, flush=True))\n" + ENDS[end][0]
    done = run(python, "-c", source, harness.PROGRAMS, PROBE)
    assert done.returncode == ENDS[end][1], done.stderr
    lines = done.stderr.splitlines()
    assert lines.count("own") == 1
    assert lines.index("own") < lines.index("exit dump with 0 modules: complete")


# The child is not waited for by waitpid: a process without tensors that reaped children is a launcher, which makes no dump.
FORK = """import os
ends = os.pipe()
if os.fork() == 0: bridge.forked(probe); sys.exit(0)
os.close(ends[1])
os.read(ends[0], 1)
"""


@every_python
@pytest.mark.parametrize("setting, dumps", [("auto", 1), ("always", 2), ("never", 0)])
def test_a_forked_child_makes_an_exit_dump_only_if_asked(python, setting, dumps):
    done = run(python, "-W", "ignore", "-c", BEGIN + FORK, harness.PROGRAMS, PROBE,
               TENSORSCOPE_EXIT=setting)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("exit dump with") == dumps, done.stderr


@every_python
def test_a_child_of_multiprocessing_makes_no_exit_dump(python, tmp_path):
    program = tmp_path / "spawning.py"
    program.write_text(BEGIN + "import multiprocessing\ndef work(): print('working', flush=True)\n"
                       "if __name__ == '__main__':\n    multiprocessing.set_executable(sys.argv[3])\n    process = multiprocessing.get_context('spawn').Process(target=work)\n"
                       "    process.start(); process.join(); print(process.exitcode)\n")
    done = run(python, program, harness.PROGRAMS, PROBE, python)
    assert done.stdout == "working\n0\n", done.stderr
    assert done.stderr.count("exit dump with") == 0, done.stderr  # nor does the parent, an empty launcher


@every_python
def test_the_builtin_module_comes_before_the_stub(python):
    say = "import libtensorscope as l; print(getattr(l, '__file__', 'built-in'), l.active(), l.dump())"
    done = run(python, "-c", say, PYTHONPATH=str(STUB), LD_PRELOAD=str(harness.LIBRARY))
    assert (done.stdout, done.stderr) == ("built-in False None\n", "")
    by_path = "import sys, importlib.machinery as m; sys.meta_path.insert(0, m.PathFinder); "
    done = run(python, "-c", by_path + say, PYTHONPATH=str(STUB), LD_PRELOAD=str(harness.LIBRARY))
    assert (done.stdout, done.stderr) == ("built-in False None\n", "")
    done = run(python, "-c", say, PYTHONPATH=str(STUB))
    assert (done.stdout, done.stderr) == (f"{STUB / 'libtensorscope.py'} False None\n", "")


def test_dump_from_inside(tmp_path):
    done = harness.run_source(
        "import libtensorscope, torch\ndef main():\n    inner = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU())\n"
        "    assert libtensorscope.active()\n    print(libtensorscope.dump())\nmain()\n", folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    dump = pathlib.Path(done.stdout.strip())
    assert harness.dumps(tmp_path) == [dump]
    assert b"inner.0\0" in dump.read_bytes()


def test_dump_from_a_library_that_keeps_the_gil(tmp_path):
    source = ("import ctypes, torch\nmodel = torch.nn.Linear(3, 4)\nwith_gil = ctypes.PyDLL(None)\n"
              "assert with_gil.tensorscope_dump(None, 0) == 0\n")
    done = harness.run_source(source, folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    [dump] = harness.dumps(tmp_path)
    content = dump.read_bytes()
    assert b"Linear\0" in content and b"the GIL was not free" not in content


def test_exit_dump_has_names(tmp_path):
    done = harness.run_source("import torch\nmodel = torch.nn.Sequential(torch.nn.Linear(3, 4))\n", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    [dump] = harness.dumps(tmp_path)
    assert b"model.0\0" in dump.read_bytes()
