# SPDX-License-Identifier: Apache-2.0
"""The program runs with the preload as without it: same signals, same exit, no leftovers. What it can see of itself is in
test_transparency.py, what is used up in test_exhaustion.py."""

# Covers: preload/hooks/process/process.cc
# Covers: preload/python/exit_dump.cc
# Covers: preload/support/{state,log}.cc

import os
import shutil
import signal
import subprocess

import pytest

import harness

ENDINGS = {"return": 0, "status": 3, "exception": 1, "os_exit": 4, "kill": -signal.SIGTERM, "thread": 0}


@pytest.mark.cases(3)
@pytest.mark.parametrize("how", ENDINGS)
def test_every_end_keeps_its_status(how, tmp_path):
    without = harness.run("ends.py", how, preload=False, cwd=tmp_path)
    done = harness.run("ends.py", how, folder=tmp_path, quiet=1)
    assert done.returncode == without.returncode == ENDINGS[how]
    assert (done.stdout, done.stderr) == (without.stdout, without.stderr)
    expected = 0 if how in ("os_exit", "kill") else 1
    assert len(harness.dumps(tmp_path, "ends.*.exit.tscope")) == expected == len(harness.dumps(tmp_path))
    if expected:
        exported = harness.load(harness.dumps(tmp_path)[0])
        if harness.free_threaded():  # without Python's atexit the dump is written when the interpreter has freed what it held
            assert "has ended" in harness.coverage(exported)["exit dumps"].detail
        else:
            assert [1000] in [tensor["shape"] for tensor in exported["tensors"]]


@pytest.mark.parametrize("when", ["before", "after"])
def test_the_programs_own_python_handler_still_runs(when, tmp_path):
    done = harness.run("own_handler.py", when, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "calls 3\n"
    assert len(harness.dumps(tmp_path, "own_handler.*.[0-9]*.tscope")) >= 1


@pytest.mark.parametrize("how,status", [("plain", 6), ("closes", 6), ("fork", 6), ("handler", 6), ("signal", -signal.SIGUSR1)])
@pytest.mark.parametrize("program", ["no_torch", "no_torch_static"])
def test_a_program_without_torch_is_left_alone(program, how, status, tmp_path):
    without = harness.run(program, how, preload=False, cwd=tmp_path)
    done = harness.run(program, how, folder=tmp_path)
    assert done.returncode == without.returncode == status
    assert (done.stdout, done.stderr) == (without.stdout, without.stderr)
    assert not harness.dumps(tmp_path)


def test_dormant_without_torch(tmp_path):
    """No thread, no handler, no file, no open descriptor in a Python without torch."""
    source = ("import os, signal\n"
              "print(sorted(os.listdir('/proc/self/task')) == [str(os.getpid())])\n"
              "print([line for line in open('/proc/self/status') if line.startswith('SigCgt')][0].split()[1])\n"
              "print(len(os.listdir('/proc/self/fd')), signal.getsignal(signal.SIGUSR1))\n")
    outputs = [subprocess.run([harness.PYTHON, "-c", source], env=harness.environment(tmp_path, preload), cwd=tmp_path,
                              capture_output=True, text=True, check=True).stdout for preload in (False, True)]
    assert outputs[0] == outputs[1] and outputs[0].startswith("True\n")
    assert not list(tmp_path.iterdir())


def test_tools_that_inherit_the_preload_write_nothing(tmp_path):
    done = subprocess.run(["/bin/sh", "-c", "echo 'int main(void){return 0;}' > a.c && gcc a.c -o a && ./a && ls"],
                          env=harness.environment(tmp_path), cwd=tmp_path, capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("a\na.c\n", "", 0)


@pytest.mark.cases(2)
@pytest.mark.parametrize("option,value", [("signal", "SIGNOSUCH"), ("signal", "99"), ("exit", "perhaps"),
                                          ("names_timeout_ms", "soon"), ("max_stack_memory", "many"), ("native", "7"),
                                          ("nosuch", "1")])
def test_a_wrong_option_is_one_line_and_the_default(option, value, tmp_path):
    done = harness.run("ends.py", "return", folder=tmp_path, **{option: value})
    assert done.returncode == 0 and done.stdout == "before the end\n"
    lines = [line for line in done.stderr.splitlines() if f"TENSORSCOPE_{option.upper()}" in line]
    assert len(lines) == 1 and lines[0].startswith("tensorscope: ")
    assert len(harness.dumps(tmp_path)) == 1


def test_switched_off(tmp_path):
    settings = harness.environment(tmp_path)
    settings["TENSORSCOPE"] = "0"
    done = subprocess.run(harness.command("ends.py", "return"), env=settings, cwd=tmp_path, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "") and not harness.dumps(tmp_path)


def test_standard_error_closed_and_descriptors_closed(tmp_path):
    source = ("import os, torch, truth\nkept = torch.ones(5)\nos.closerange(2, 64)\n"
              "own = os.open('own.txt', os.O_RDWR | os.O_CREAT)\nother = os.open('other.txt', os.O_RDWR | os.O_CREAT)\n"
              "os.write(own, b'mine')\ntruth.moment()\nos.write(other, b'also mine')\n")
    done = harness.run_source(source, folder=tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "own.txt").read_text() == "mine" and (tmp_path / "other.txt").read_text() == "also mine"
    assert harness.load(harness.truth(tmp_path)["dump"])["tensors"]


@pytest.mark.parametrize("how,status", [("return", 0), ("exit", 3)])
def test_a_cpp_program_writes_its_exit_dump_before_static_destructors(how, status, tmp_path):
    harness.needs_build_against_this_torch()
    without = harness.run("cpp_program", how, preload=False, cwd=tmp_path)
    done = harness.run("cpp_program", how, folder=tmp_path, quiet=1)
    assert done.returncode == without.returncode == status, done.stderr
    assert done.stderr == without.stderr
    (dump,) = harness.dumps(tmp_path)
    assert dump.name.startswith("cpp_program.") and dump.name.endswith(".exit.tscope")
    tensors = harness.by_address(harness.load(dump))
    known = dict(line.split() for line in done.stdout.splitlines())
    static = tensors[int(known.pop("static"))]
    assert static["shape"] == [33]
    if how == "exit":  # main's locals are still alive inside exit()
        assert tensors[int(known["0.weight"])]["shape"] == [32, 16]
        leaked = [tensor for tensor in tensors.values() if any("make_leak" in name for name, _, _ in harness.frames(tensor, "native"))]
        assert len([tensor for tensor in leaked if tensor["shape"] == [16, 16]]) == int(known["leak"])


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_program_runs_under_valgrind(tmp_path):
    """It ends programs that make a thread with descriptors of their own, as the start of libunwind does."""
    harness.needs_build_against_this_torch()
    done = subprocess.run(["valgrind", "--tool=none", "-q", *harness.command("cpp_program")], env=harness.environment(tmp_path), cwd=tmp_path,
                          capture_output=True, text=True, timeout=harness.TIMEOUT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and "nimplemented" not in done.stderr, done.stderr
    (dump,) = map(harness.load, harness.dumps(tmp_path))
    assert [33] in [tensor["shape"] for tensor in dump["tensors"]]
    assert "valgrind" in harness.coverage(dump)["native stacks"].detail


def test_without_a_cuda_runtime_its_calls_say_that_there_is_no_device(tmp_path):
    """A program that probes for the runtime finds our names: the answer must be one that it can live with."""
    source = """
import ctypes
process, pointer = ctypes.CDLL(None), ctypes.c_void_p()
print(process.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(64)), process.cudaFree(None), pointer.value)
"""
    done = harness.run_source(source, folder=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "100 100 None\n", "")


def test_without_cuda_a_probe_for_it_is_answered(tmp_path):
    source = ("import ctypes\nprocess = ctypes.CDLL(None)\n"
              "print(process.cudaGetDeviceCount(ctypes.byref(ctypes.c_int())), process.cuptiSubscribe(None, None, None),"
              " process.cuptiActivityRegisterCallbacks(None, None))\n")
    done = harness.run_source(source, folder=tmp_path, cupti="1")
    assert (done.returncode, done.stdout, done.stderr) == (0, "100 15 15\n", "")


def test_nothing_reaches_standard_output(tmp_path):
    done = harness.run("ends.py", "return", folder=tmp_path)
    assert done.stdout == "before the end\n"
    assert done.stderr.startswith("tensorscope: wrote ends.") and done.stderr.count("\n") == 1


def test_fork_spawn_and_exec_have_their_own_dumps(tmp_path):
    done = harness.run("forks.py", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    pids = set()
    for name in ("forked", "thread-forked", "mp-fork", "mp-spawn", "mp-forkserver", "parent"):
        known = harness.truth(tmp_path, name)
        exported = harness.load(known["dump"])
        assert exported["process"]["pid"] == known["pid"]
        assert os.path.basename(known["dump"]) == f"forks.{known['pid']}.1.tscope"  # spawned ones too: python -c ...
        pids.add(known["pid"])
        tensors = harness.by_address(exported)
        for address in known["facts"].values():
            assert address in tensors
        harness.compare(exported, known)
        if name in ("forked", "thread-forked", "mp-fork"):
            assert exported["process"]["forked_from"] == harness.truth(tmp_path, "parent")["pid"]
            assert tensors[known["facts"]["inherited"]]["inherited"] and not tensors[known["facts"]["mine"]]["inherited"]
    assert len(pids) == 6
    parent = harness.truth(tmp_path, "parent")["pid"]
    # Without the GIL its dump comes after the interpreter's end: nothing is alive then, as in a launcher, which writes none.
    expected = [] if harness.free_threaded() else [f"forks.{parent}.exit.tscope"]
    assert [path.name for path in harness.dumps(tmp_path, "*.exit.tscope")] == expected


@pytest.mark.cases(1)
@pytest.mark.parametrize("strategy", ["file_descriptor", "file_system"])
def test_shared_memory_tensors_are_marked(strategy, tmp_path):
    done = harness.run("dataloader.py", strategy, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    known = harness.truth(tmp_path)
    exported = harness.load(known["dump"])
    storages = {item["id"]: item for item in exported["storages"]}
    tensors = harness.by_address(exported)
    for address in known["facts"]["shared"]:
        assert storages[tensors[address]["storage"]]["kind"] == "shared"
    assert [path.name for path in harness.dumps(tmp_path, "*.exit.tscope")] == [f"dataloader.{known['pid']}.exit.tscope"]


def test_helpers_of_libraries_leave_no_exit_dump(tmp_path):
    """Inductor's compile workers, loky's workers, multiprocessing's spawned children."""
    if subprocess.run([harness.PYTHON, "-c", "import joblib"], capture_output=True).returncode != 0:
        pytest.skip("this Python has no joblib")
    done = harness.run_source(
        "import os, torch\nfrom joblib import Parallel, delayed\n"
        "def work(number):\n    import torch\n    return float(torch.ones(number).sum())\n"
        "if __name__ == '__main__':\n    print(Parallel(n_jobs=2)(delayed(work)(number) for number in range(4)))\n"
        "    torch.compile(lambda value: value.sin() + 1)(torch.ones(3))\n    print(os.getpid())\n", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    results, pid = done.stdout.splitlines()
    assert results == "[0.0, 1.0, 2.0, 3.0]"
    assert [path.name for path in harness.dumps(tmp_path)] == [f"program.{pid}.exit.tscope"]


def test_a_forked_worker_answers_the_signal(tmp_path):
    source = ("import os, signal, sys, time, torch\nkept = torch.ones(3)\npid = os.fork()\n"
              "if pid == 0:\n    time.sleep(600)\nprint(pid, flush=True)\nos.waitpid(pid, 0)\n")
    path = tmp_path / "sleeper.py"
    path.write_text(source)
    process = subprocess.Popen([harness.PYTHON, str(path)], env=harness.environment(tmp_path), cwd=tmp_path,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        worker = int(process.stdout.readline())
        os.kill(worker, signal.SIGUSR1)
        (dump,) = harness.until(lambda: harness.dumps(tmp_path, f"sleeper.{worker}.1.tscope"), "the worker's dump")
        assert [3] in [tensor["shape"] for tensor in harness.load(dump)["tensors"]]
        os.kill(worker, signal.SIGKILL)
        assert process.wait(harness.TIMEOUT) == 0
    finally:
        process.kill()
        process.stdout.close()


def test_a_signal_that_comes_during_the_fork_is_answered(tmp_path):
    """Sent before our own handlers have run in the child: by a handler that was registered earlier."""
    done = harness.run_source(
        "import ctypes, os, pathlib, signal, time\n"
        "ask = ctypes.PYFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGUSR1))\n"
        "ctypes.CDLL(None).__register_atfork(None, None, ask, None)\n"
        "import torch\nkept = torch.ones(3)\npid = os.fork()\n"
        "if pid == 0:\n    dump = pathlib.Path(f'program.{os.getpid()}.1.tscope')\n    end = time.monotonic() + 60\n"
        "    while not dump.exists() and time.monotonic() < end:\n        time.sleep(0.01)\n    os._exit(not dump.exists())\n"
        "print(os.waitpid(pid, 0)[1])\n", folder=tmp_path, exit="never")
    assert (done.returncode, done.stdout) == (0, "0\n"), done.stderr


def test_no_memory_for_a_dump_costs_the_dump_and_nothing_else(tmp_path):
    done = harness.run("little_memory.py", folder=tmp_path, exit="never")
    assert done.returncode == 0, (done.stdout, done.stderr)
    ends = done.stdout.split()
    assert "0" in ends and "1" in ends
    assert len(harness.dumps(tmp_path)) == ends.count("0")
    assert done.stderr.count("no dump") == ends.count("1")
    details = [harness.cli("info", dump).stdout for dump in harness.dumps(tmp_path)]
    why = ("not enough memory", "the memory limit for finding names")
    assert harness.free_threaded() or any(reason in text for text in details for reason in why), "a dump without names"
