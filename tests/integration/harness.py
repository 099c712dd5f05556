# SPDX-License-Identifier: Apache-2.0
"""Runs target programs with and without the preload, and reads dumps through the CLI as a user would."""

import collections
import contextlib
import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENSORSCOPE_BUILD", ROOT / "build"))
# Others than the build's own: those of a wheel, say.
LIBRARY = pathlib.Path(os.environ.get("TENSORSCOPE_TEST_LIBRARY", BUILD / "preload" / "libtensorscope.so"))
CLI = pathlib.Path(os.environ.get("TENSORSCOPE_TEST_PROGRAM", BUILD / "analyzer" / "tensorscope"))
PROGRAMS = ROOT / "tests" / "programs"
PYTHON = os.environ.get("TENSORSCOPE_TEST_PYTHON", sys.executable)
# A CUDA build of torch beside the double of CUDA's libraries (scripts/fake-cuda). Tests of another torch do without, unless it is one, too.
FAKE_CUDA = pathlib.Path(os.environ.get("TENSORSCOPE_TEST_FAKE_CUDA") or
                         (ROOT / ".cache" / "fake-cuda" / "bin" / "python" if PYTHON == sys.executable else "/no CUDA build"))
NO_FAKE_CUDA = "no CUDA build of torch: scripts/fake-cuda was not run, or another torch is under test"
needs_fake_cuda = pytest.mark.skipif(not FAKE_CUDA.exists(), reason=NO_FAKE_CUDA)
CUDA = pytest.param("cuda", marks=needs_fake_cuda)
SYSROOT = os.environ.get("TENSORSCOPE_TEST_SYSROOT", "")  # where that Python and its libraries lie, if not in /
TIMEOUT = int(os.environ.get("TENSORSCOPE_TEST_TIMEOUT", 300))  # seconds: a hang, not a speed limit


def asked(module, expression, python=None):
    """What an expression over a module is in a Python, as text; in that under test where none is named."""
    return _asked(str(python or PYTHON), f"import {module}; print({expression})")


@functools.cache
def _asked(python, source):
    return subprocess.run([python, "-c", source], capture_output=True, text=True, check=True).stdout.rstrip("\n")


def torch_version():
    """(major, minor) of the torch under test: scripts/matrix runs these tests with others than the wheel."""
    return tuple(int(part) for part in asked("torch", "torch.__version__").split(".")[:2])


def qualified(name):
    """A function's name as the Python under test knows it: before 3.11 a code object does not know its class."""
    return name if asked("sys", "sys.version_info >= (3, 11)") == "True" else name.rsplit(".", 1)[-1]


def needs_torch(major, minor, what):
    if torch_version() < (major, minor):
        pytest.skip(f"torch {'.'.join(map(str, torch_version()))} has no {what}")


def needs_package(name):
    """Looks where it is and does not import it: that of a trainer takes as long as a short test."""
    if asked("importlib.util", f"importlib.util.find_spec({name!r}) is not None") != "True":
        pytest.skip(f"this Python has no {name}")


def free_threaded():
    return asked("sysconfig", "bool(sysconfig.get_config_var('Py_GIL_DISABLED'))") == "True"


def needs_gil(what):
    if free_threaded():
        pytest.skip(f"of a free-threaded CPython tensorscope records no {what}")


def use_fake_cuda(patch):
    """Targets run with the CUDA build of torch, on one device with the caching allocator unless a test says otherwise."""
    if not FAKE_CUDA.exists():
        pytest.skip(NO_FAKE_CUDA)
    patch.setattr(sys.modules[__name__], "PYTHON", str(FAKE_CUDA))
    for name in ("CUDA_VISIBLE_DEVICES", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_NO_CUDA_MEMORY_CACHING"):
        patch.delenv(name, raising=False)


def needs_build_against_this_torch():
    """The C++ programs are linked against the wheel in the virtual environment."""
    if PYTHON != sys.executable:
        pytest.skip("the C++ program is built for another torch than the one under test")


def environment(folder=None, preload=True, **options):
    """The environment of a target: `options` become TENSORSCOPE_*; dumps and truth files go to `folder`."""
    result = {key: value for key, value in os.environ.items() if not key.startswith("TENSORSCOPE")}
    result["PYTHONHASHSEED"] = "0"
    result["OMP_NUM_THREADS"] = "1"
    if preload:
        result["LD_PRELOAD"] = str(LIBRARY)
        result["TENSORSCOPE_LOW_MEMORY"] = "off"  # a machine that is nearly full would add a dump to any test
    if folder is not None:
        result["TRUTH_DIR"] = str(folder)
        result["TENSORSCOPE_DIR"] = str(folder)
    result.update({f"TENSORSCOPE_{name.upper()}": str(value) for name, value in options.items()})
    return result


def command(program, *arguments):
    path = PROGRAMS / program
    if path.suffix == ".py":
        return [PYTHON, str(path), *arguments]
    return [str(BUILD / "tests" / "programs" / program), *arguments]


def run(program, *arguments, folder=None, preload=True, cwd=None, **options):
    """Runs a target program to its end; returns the finished process with its output as text."""
    return subprocess.run(command(program, *arguments), env=environment(folder, preload, **options), cwd=cwd or folder,
                          capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)


def run_source(source, *arguments, folder, preload=True, **options):
    """Runs a Python program given as text, with the target programs' folder on its path."""
    path = pathlib.Path(folder) / "program.py"
    path.write_text(source)
    settings = environment(folder, preload, **options)
    settings["PYTHONPATH"] = str(PROGRAMS)
    return subprocess.run([PYTHON, str(path), *arguments], env=settings, cwd=folder, capture_output=True, text=True,
                          timeout=TIMEOUT, stdin=subprocess.DEVNULL)


def calling_library(name, folder):
    """A library with one C function of this name that calls what it is given, so that a native frame of a program has the name."""
    source, library = folder / f"{name}.c", folder / f"{name}.so"
    source.write_text(f"int {name}(int (*call)(void)) {{ return call() + 1; }}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-O0", "-fno-omit-frame-pointer", "-o", library, source], check=True)
    return library


@contextlib.contextmanager
def running(program, *arguments, folder, ready="ready", **options):
    """A target program that runs until the block ends; yields the process once it has printed `ready`."""
    with open(folder / "stderr.txt", "w") as errors:
        process = subprocess.Popen(command(program, *arguments), env=environment(folder, **options), cwd=folder,
                                   stdout=subprocess.PIPE, stderr=errors, text=True, stdin=subprocess.DEVNULL)
        try:
            for line in process.stdout:
                if ready in line:
                    break
            else:
                raise AssertionError(f"{program} ended early: {(folder / 'stderr.txt').read_text()}")
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()
            process.stdout.close()


def until(condition, what, seconds=TIMEOUT):
    """Waits for a condition; the limit only turns a hang into a failure."""
    end = time.monotonic() + seconds
    while True:
        result = condition()
        if result:
            return result
        assert time.monotonic() < end, f"never came: {what}"
        time.sleep(0.01)


def dumps(folder, pattern="*.tscope"):
    return sorted(pathlib.Path(folder).glob(pattern), key=lambda path: path.stat().st_mtime_ns)


def cli(*arguments, status=0, **keywords):
    """Runs the command-line program; asserts on its exit status (None: any) and returns the finished process."""
    done = subprocess.run([str(CLI), *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT, **keywords)
    assert status is None or done.returncode == status, f"{arguments}: {done.returncode}\n{done.stdout}\n{done.stderr}"
    return done


def load(dump):
    """A dump as the exported JSON."""
    return json.loads(cli("export", dump, "--format", "json", *(["--sysroot", SYSROOT] if SYSROOT else [])).stdout)


Coverage = collections.namedtuple("Coverage", "seen detail missed")


def coverage(dump):
    """What a dump (its path, or what load() returned) says about each subject."""
    exported = dump if isinstance(dump, dict) else load(dump)
    return {row["subject"]: Coverage(row["seen"], row["detail"] or "", row["missed"]) for row in exported["coverage"]}


def program_stderr(done):
    """The lines on standard error that are not tensorscope's, without numbers: torch's have times and process ids."""
    return {re.sub(r"[0-9]+", "", line) for line in done.stderr.splitlines() if "tensorscope" not in line}


def truth(folder, name="1"):
    return json.loads((pathlib.Path(folder) / f"{name}.json").read_text())


def by_address(exported):
    return {tensor["address"]: tensor for tensor in exported["tensors"]}


def frames(thing, language="python"):
    return [(frame["function"], frame["file"], frame["line"]) for frame in thing["stack"] if frame["language"] == language]


FIELDS = ("shape", "dtype", "device", "strides", "requires_grad", "is_leaf", "storage_offset")


def compare(exported, known):
    """Every tensor that the program knows is in the dump with the same properties. Returns the dump's other tensors."""
    found = by_address(exported)
    storages = {storage["id"]: storage for storage in exported["storages"]}
    for row in known["tensors"]:
        tensor = found.get(row["address"])
        assert tensor is not None, f"missing: {row}"
        for field in FIELDS:
            if field in row:
                assert tensor[field] == row[field], f"{field}: {tensor} against {row}"
        if row.get("storage_data_ptr"):
            storage = storages[tensor["storage"]]
            assert (storage["data_ptr"], storage["nbytes"]) == (row["storage_data_ptr"], row["storage_nbytes"]), (storage, row)
    mine = {row["address"] for row in known["tensors"]}
    return [tensor for tensor in exported["tensors"] if tensor["address"] not in mine]
