# SPDX-License-Identifier: Apache-2.0
"""Programs that are more than a Python: a C++ program that embeds one, and a Python with an extension that is built with AddressSanitizer."""

import json
import subprocess

import harness
import pytest

TRAINS = """
import torch, libtensorscope
kept = [torch.ones(10, 10) for _ in range(5)]
loss = torch.nn.Linear(4, 4)(torch.randn(2, 4)).sum()
loss.backward()
print(libtensorscope.dump(), flush=True)
"""
IN_A_THREAD = """
late = torch.ones(77)
print(libtensorscope.dump(), flush=True)
"""


def embedding_program(folder):
    variables = json.loads(harness.asked("sysconfig, json", "json.dumps({name: sysconfig.get_config_var(name) for name in "
                                         "('INCLUDEPY', 'LIBDIR', 'LDVERSION', 'Py_ENABLE_SHARED')})"))
    if not variables["Py_ENABLE_SHARED"]:
        pytest.skip("this Python has no library to link against")
    program, libraries = folder / "embeds_torch", variables["LIBDIR"]
    subprocess.run(["g++", "-O1", "-std=c++17", "-w", "-o", program, harness.PROGRAMS / "embeds_torch.cc", f"-I{variables['INCLUDEPY']}",
                    f"-L{libraries}", f"-lpython{variables['LDVERSION']}", f"-Wl,-rpath,{libraries}", "-lpthread"], check=True)
    return program


def test_a_cpp_program_that_embeds_python(tmp_path):
    harness.needs_gil("Python stacks")
    program = embedding_program(tmp_path)
    settings = harness.environment(tmp_path, quiet=1, record=1, calls=1)
    settings["PYTHONPATH"] = harness.asked("sysconfig", "sysconfig.get_path('purelib')")
    done = subprocess.run([program, TRAINS, IN_A_THREAD], env=settings, cwd=tmp_path, capture_output=True, text=True, timeout=harness.TIMEOUT)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    first, second, *rest = done.stdout.splitlines()
    assert rest == ["an exception of the program's own", "ended: 0"]
    (at_exit,) = harness.dumps(tmp_path, "*.exit.tscope")
    for dump in (second, at_exit):
        exported = harness.load(dump)
        named = {name: tensor for tensor in exported["tensors"] for name in tensor["names"]}
        assert named["__main__: late"]["shape"] == [77] and named["__main__: kept[4]"]["shape"] == [10, 10]
        assert harness.frames(named["__main__: late"]) == [("<module>", "<string>", 2)]
    assert len(harness.load(first)["tensors"]) == len(exported["tensors"]) - 1


EXTENSION = """
#include <stdlib.h>
int after_free(int n) { int* a = malloc(n * sizeof(int)); free(a); return a[n - 1]; }
"""


def test_an_extension_with_address_sanitizer(tmp_path):
    """Its report is its own, and what was dumped before is whole."""
    harness.needs_gil("names")
    runtime = subprocess.run(["gcc", "-print-file-name=libasan.so"], capture_output=True, text=True, check=True).stdout.strip()
    if not runtime.startswith("/"):
        pytest.skip("no AddressSanitizer here")
    (tmp_path / "extension.c").write_text(EXTENSION)
    subprocess.run(["gcc", "-g", "-fsanitize=address", "-shared", "-fPIC", "-o", tmp_path / "extension.so", tmp_path / "extension.c"], check=True)
    (tmp_path / "program.py").write_text(TRAINS + f"import ctypes\nctypes.CDLL('{tmp_path}/extension.so').after_free(10)\n")
    settings = harness.environment(tmp_path, preload=False, quiet=1, record=1)
    settings.update(LD_PRELOAD=runtime, ASAN_OPTIONS="detect_leaks=0", TENSORSCOPE_LOW_MEMORY="off", TENSORSCOPE_LIB=str(harness.LIBRARY))
    done = subprocess.run([harness.CLI, "run", "--", harness.PYTHON, "program.py"], env=settings, cwd=tmp_path, capture_output=True, text=True,
                          timeout=harness.TIMEOUT)
    assert done.returncode == 1 and "heap-use-after-free" in done.stderr and "in after_free" in done.stderr, done.stderr
    assert "kept[4]" in harness.cli("list", done.stdout.splitlines()[0]).stdout
