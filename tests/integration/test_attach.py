# SPDX-License-Identifier: Apache-2.0
"""`tensorscope attach`: a process that runs already is recorded from then on, and notices nothing of it."""

# Covers: analyzer/process/{mapped_files,process_memory,python_attach,remote_call,remote_library,stopped_process}.cc
# Covers: analyzer/cli/attach.cc
# Covers: analyzer/support/{opened_elf,process_file}.cc
# Covers: preload/hooks/{attach,late_binding}.cc preload/hooks/attach_api.cc preload/live/preexisting_tensors.cc preload/python/heap_inspector/earlier_tensors.cc

import contextlib
import errno
import glob
import os
import signal
import subprocess

import pytest

import harness
import interpreters

TRAINER = """
import os, sys, threading, time
import torch
torch.manual_seed(1)
torch.set_num_threads(1)
folder = sys.argv[1]
kept = [torch.randn(500, 100) for _ in range(4)]
model = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.ReLU(), torch.nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters())
data = torch.randn(16, 32)
threading.Thread(target=time.sleep, args=(1000,), daemon=True).start()

def step():
    optimizer.zero_grad()
    loss = model(data).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()

losses = [step()]  # before anybody attaches: the optimizer makes its states in the first step
open(folder + "/ready", "w").close()
while not os.path.exists(folder + "/attached"):
    step_count = len(losses)
    if step_count < 200:
        losses.append(step())
    else:
        time.sleep(0.001)
while len(losses) < 200:
    losses.append(step())
later = [torch.full((1000,), float(i)) for i in range(7)]
del kept[0]
open(folder + "/done", "w").close()
while not os.path.exists(folder + "/stop"):
    time.sleep(0.01)
print(losses[-1].hex(), sum(p.double().sum().item() for p in model.parameters()).hex())
sys.exit(3)
"""


@contextlib.contextmanager
def running(source, folder, *arguments, python=harness.PYTHON, **variables):
    path = folder / "program.py"
    path.write_text(source)
    process = subprocess.Popen([python, str(path), str(folder), *arguments], cwd=folder, text=True,
                               env=harness.environment(preload=False) | variables, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ready(process, folder):
    harness.until(lambda: (folder / "ready").exists() or process.poll() is not None, "the program is ready")
    assert process.poll() is None, process.stderr.read()


def finished(process):
    out, error = process.communicate(timeout=harness.TIMEOUT)
    return process.returncode, out, error


# On a busy machine five seconds do not always suffice to look at the whole program.
PATIENT = ("--set", "TENSORSCOPE_NAMES_GIL_MS=60000", "--set", "TENSORSCOPE_NAMES_TIMEOUT_MS=60000")


def result_without(folder):
    for name in ("attached", "stop"):
        (folder / name).touch()
    with running(TRAINER, folder) as process:
        return finished(process)[:2]


def test_a_training_run_is_recorded_from_then_on_and_its_result_is_the_same(tmp_path):
    harness.needs_gil("tensors that are older than the profiler")
    alone = tmp_path / "alone"
    alone.mkdir()
    expected = result_without(alone)
    assert expected[0] == 3
    with running(TRAINER, tmp_path) as process:
        ready(process, tmp_path)
        said = harness.cli("attach", process.pid, "--dir", tmp_path, *PATIENT).stdout
        assert f"process {process.pid} (program.py) from now on" in said
        (tmp_path / "attached").touch()
        harness.until(lambda: (tmp_path / "done").exists() or process.poll() is not None, "the program has made its tensors")
        assert process.poll() is None, process.stderr.read()
        dump = harness.cli("snapshot", process.pid).stdout.strip()
        (tmp_path / "stop").touch()
        status, out, _ = finished(process)
    assert (status, out) == expected
    assert len(harness.dumps(tmp_path, "program.*.exit.tscope")) == 1

    exported = harness.load(dump)
    assert exported["process"]["attached_ns"] > exported["process"]["start_ns"]
    # Two layers, their optimizer's states, the data and what is kept: Python refers to all of them.
    assert exported["process"]["earlier_tensors"] >= 4 + 4 + 3 * 4 + 1
    assert exported["process"]["earlier_detail"] is None
    by_name = {name: row for row in exported["tensors"] for name in row["names"]}
    kept = [row for row in exported["tensors"] if row["shape"] == [500, 100]]
    assert len(kept) == 3 and not any(row["stack"] for row in kept)
    weight = by_name["model.0.weight"]
    assert weight["shape"] == [32, 32] and weight["category"] == "parameter"
    later = [row for row in exported["tensors"] if row["shape"] == [1000]]
    assert len(later) == 7 and all(row["stack"] for row in later)
    # The memory of older tensors is known, and that of the one that was freed is gone.
    report = " ".join(harness.cli("report", dump).stdout.split())
    assert "Attached" in report and "(made before tensorscope was attached)" in report and "external" not in report
    live = next(row for row in exported["totals"]["devices"] if row["device"] == "cpu")["live_bytes"]
    assert 3 * 200_000 + 7 * 4000 < live < 4 * 200_000


def test_a_look_that_ends_early_says_that_tensors_may_be_missing(tmp_path):
    harness.needs_gil("tensors that are older than the profiler")
    source = """
import sys, time, os
import torch
crowd = [[i] for i in range(500_000)]
crowd.append([[torch.ones(10) for _ in range(1000)]])
open(sys.argv[1] + "/ready", "w").close()
while not os.path.exists(sys.argv[1] + "/stop"):
    time.sleep(0.01)
"""
    with running(source, tmp_path) as process:
        ready(process, tmp_path)
        harness.cli("attach", process.pid, "--dir", tmp_path, "--exit", "never", "--set", "TENSORSCOPE_NAMES_GIL_MS=1")
        dump = harness.cli("snapshot", process.pid).stdout.strip()
        (tmp_path / "stop").touch()
        assert finished(process)[0] == 0
    process = harness.load(dump)["process"]
    assert process["earlier_tensors"] < 1000
    assert process["earlier_detail"] == "the time limit was reached (TENSORSCOPE_NAMES_GIL_MS)"
    report = " ".join(harness.cli("report", dump).stdout.split())
    assert "Not all were found: the time limit was reached (TENSORSCOPE_NAMES_GIL_MS)." in report


# All that attach looks for. Without torch's threads, and those of numpy, the main thread is the only one.
C10_ALONE = """
import ctypes, os, sys
ctypes.CDLL(sys.argv.pop(), mode=ctypes.RTLD_GLOBAL)
"""


def c10():
    """Its path, which a program with C10_ALONE takes as its last argument."""
    return os.path.dirname(harness.asked("importlib.util", "importlib.util.find_spec('torch').origin")) + "/lib/libc10.so"


WAITS = C10_ALONE + """
libc = ctypes.CDLL(None, use_errno=True)
class Time(ctypes.Structure):
    _fields_ = [("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long)]
read, write = os.pipe()
if sys.argv[2] == "read" and os.fork() == 0:
    libc.usleep(2000000)
    os.write(write, b"x")
    os._exit(0)
ctypes.set_errno(77)
open(sys.argv[1] + "/ready", "w").close()
if sys.argv[2] == "nanosleep":
    answer = libc.nanosleep(ctypes.byref(Time(2, 0)), None)
elif sys.argv[2] == "poll":
    answer = libc.poll(None, 0, 2000)
elif sys.argv[2] == "sem_timedwait":
    answer = ctypes.CDLL("./semaphore.so", use_errno=True).wait_for_two_seconds()
else:
    answer = libc.read(read, ctypes.create_string_buffer(1), 1)
print(answer, ctypes.get_errno())
"""


SEMAPHORE = """
#include <semaphore.h>
#include <time.h>
int wait_for_two_seconds() {
  sem_t semaphore;
  struct timespec end;
  sem_init(&semaphore, 0, 0);
  clock_gettime(CLOCK_REALTIME, &end);
  end.tv_sec += 2;
  int answer = sem_timedwait(&semaphore, &end);
  return answer;
}
"""


# A call that is interrupted and not restarted answers -1 and EINTR, or early.
@pytest.mark.parametrize("call, answer, number", [("nanosleep", 0, 77), ("poll", 0, 77), ("sem_timedwait", -1, errno.ETIMEDOUT), ("read", 1, 77)])
def test_a_system_call_goes_on_as_if_nothing_had_happened(tmp_path, call, answer, number):
    (tmp_path / "semaphore.c").write_text(SEMAPHORE)
    subprocess.run(["cc", "-shared", "-fPIC", "-o", "semaphore.so", "semaphore.c"], cwd=tmp_path, check=True)
    with running(WAITS, tmp_path, call, c10()) as process:
        ready(process, tmp_path)
        wait_until_it_waits(process.pid)
        harness.cli("attach", process.pid, "--dir", tmp_path)
        status, out, error = finished(process)
    assert (status, out) == (0, f"{answer} {number}\n"), error


SYSTEM_CALLS_THAT_WAIT = {"read": 0, "poll": 7, "select": 23, "nanosleep": 35, "futex": 202, "clock_nanosleep": 230, "epoll_wait": 232,
                          "pselect6": 270, "ppoll": 271, "epoll_pwait": 281}


def wait_until_it_waits(pid):
    numbers = {str(number) for number in SYSTEM_CALLS_THAT_WAIT.values()}

    def waits():
        with open(f"/proc/{pid}/syscall") as file:
            return file.read().split()[0] in numbers
    harness.until(waits, "the program is in its system call")


# Between requests. The signal ends the wait; the handler runs in the main thread.
WAITS_FOR_WORK = """
import asyncio, queue, select, signal, threading, time
def woken(*_):
    print("woken")
    sys.exit(7)
signal.signal(signal.SIGUSR2, woken)
open(sys.argv[1] + "/ready", "w").close()
waits = {
    "event": lambda: threading.Event().wait(1000),
    "queue": lambda: queue.Queue().get(timeout=1000),
    "queue for ever": lambda: queue.Queue().get(),
    "select": lambda: select.select([], [], [], 1000),
    "asyncio": lambda: asyncio.run(asyncio.sleep(1000)),
    "sleep": lambda: time.sleep(1000),
    "read": lambda: os.read(os.pipe()[0], 1),
}
waits[sys.argv[2]]()
"""
KINDS_OF_WAITS = ["event", "queue", "queue for ever", "select", "asyncio", "sleep", "read"]


@pytest.mark.parametrize("kind", KINDS_OF_WAITS)
def test_a_server_that_waits_for_work_is_attached_to(tmp_path, kind):
    with running(C10_ALONE + WAITS_FOR_WORK, tmp_path, kind, c10()) as process:
        ready(process, tmp_path)
        wait_until_it_waits(process.pid)
        said = harness.cli("attach", process.pid, "--dir", tmp_path, "--exit", "never").stdout
        assert f"process {process.pid} (program.py) from now on" in said
        process.send_signal(signal.SIGUSR2)
        status, out, error = finished(process)
    assert (status, out) == (7, "woken\n"), error


@pytest.mark.cases(0)
@pytest.mark.parametrize("kind", KINDS_OF_WAITS)
def test_the_tensors_of_a_server_that_waits_are_in_its_dump(tmp_path, kind, monkeypatch):
    harness.needs_gil("tensors that are older than the profiler")
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # no thread but the one that waits
    source = "import os, sys, torch\nkept = [torch.ones(1000) for _ in range(30)]\n" + WAITS_FOR_WORK
    with running(source, tmp_path, kind) as process:
        ready(process, tmp_path)
        wait_until_it_waits(process.pid)
        harness.cli("attach", process.pid, "--dir", tmp_path, "--exit", "never", *PATIENT)
        dump = harness.cli("snapshot", process.pid).stdout.strip()
        process.send_signal(signal.SIGUSR2)
        assert finished(process)[:2] == (7, "woken\n")
    names = sorted(row["names"][0] for row in harness.load(dump)["tensors"] if row["shape"] == [1000])
    assert names == sorted(f"program.py: kept[{i}]" for i in range(30))


HOLDS_THE_GIL = C10_ALONE + """
import ctypes, threading
def writes():
    while True:
        os.write(others, b".")
others = os.open(sys.argv[1] + "/others", os.O_WRONLY | os.O_CREAT)
wait = ctypes.PyDLL(None).read  # with the GIL
reader, writer = os.pipe()
end = open(sys.argv[1] + "/writer", "w")
end.write(str(writer))
end.close()
buffer = ctypes.create_string_buffer(1)
threading.Thread(target=writes, daemon=True).start()
sys.setswitchinterval(1000)
def holds():
    blocks = sys.getallocatedblocks()
    wait(reader, buffer, 1)
    return sys.getallocatedblocks() - blocks
os.write(writer, b"..")
blocks = holds(), holds()
open(sys.argv[1] + "/ready", "w").close()
print(holds() - blocks[1])
"""


def test_a_thread_that_is_stopped_with_the_gil_keeps_it_and_makes_no_objects(tmp_path):
    """It may be in the middle of a change of Python's objects, which nobody may see then, itself neither."""
    with running(HOLDS_THE_GIL, tmp_path, c10()) as process:
        ready(process, tmp_path)
        wait_until_it_waits(process.pid)
        before = (tmp_path / "others").stat().st_size
        harness.cli("attach", process.pid, "--dir", tmp_path, "--exit", "never", *PATIENT)
        assert (tmp_path / "others").stat().st_size == before
        with open(f"/proc/{process.pid}/fd/{(tmp_path / 'writer').read_text()}", "wb") as writer:
            writer.write(b".")
        status, out, error = finished(process)
    assert (status, out) == (0, "0\n"), error


RUNS_PYTHON = C10_ALONE + """
import signal, time
def woken(*_):
    print("woken", "libtensorscope" in open("/proc/self/maps").read())
    sys.exit(7)
signal.signal(signal.SIGUSR2, woken)
open(sys.argv[1] + "/ready", "w").close()
while sys.argv[2] == "runs":
    time.sleep(0.001)
time.sleep(1000)
"""


@contextlib.contextmanager
def traced(pid):
    strace = subprocess.Popen(["strace", "-f", "-qq", "-o", os.devnull, "-p", str(pid)])
    try:
        harness.until(lambda: f"TracerPid:\t{strace.pid}" in open(f"/proc/{pid}/status").read(), "strace is there")
        yield
    finally:
        strace.terminate()
        strace.wait()


def ended_by_signal(process):
    process.send_signal(signal.SIGUSR2)
    return finished(process)


# A process that is traced cannot be stopped by anybody else: this one was not.
@pytest.mark.parametrize("python", ["3.14", "3.15"], indirect=True)
def test_a_python_that_takes_scripts_is_not_stopped(python, tmp_path):
    with running(RUNS_PYTHON, tmp_path, "runs", c10(), python=python) as process:
        ready(process, tmp_path)
        with traced(process.pid):
            assert "cannot be loaded there: " in refused(process.pid, TENSORSCOPE_LIB=str(tmp_path / "program.py"))
            assert f"process {process.pid} " in harness.cli("attach", process.pid, "--dir", tmp_path, "--exit", "never").stdout
            assert "runs under tensorscope already" in refused(process.pid)
        assert ended_by_signal(process) == (7, "woken True\n", "")
    assert not glob.glob(f"/tmp/tensorscope-attach-{process.pid}-*")


@pytest.mark.parametrize("python", ["3.14"], indirect=True)
def test_a_program_that_ends_meanwhile_leaves_no_script(python, tmp_path):
    with running(RUNS_PYTHON, tmp_path, "waits", c10(), python=python) as process:
        ready(process, tmp_path)
        wait_until_it_waits(process.pid)
        asking = subprocess.Popen([harness.CLI, "attach", str(process.pid)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.until(lambda: glob.glob(f"/tmp/tensorscope-attach-{process.pid}-*/attach.py"), "the script is there")
        process.kill()
        process.wait()
        assert asking.wait(harness.TIMEOUT) == 2
    assert not glob.glob(f"/tmp/tensorscope-attach-{process.pid}-*")


@pytest.mark.parametrize("python", ["3.14"], indirect=True)
def test_a_python_that_takes_scripts_and_waits_is_stopped(python, tmp_path):
    with running(RUNS_PYTHON, tmp_path, "waits", c10(), python=python) as process:
        ready(process, tmp_path)
        wait_until_it_waits(process.pid)
        with traced(process.pid):
            assert "is traced by process" in refused(process.pid)
        harness.cli("attach", process.pid, "--dir", tmp_path, "--exit", "never")
        assert ended_by_signal(process) == (7, "woken True\n", "")


def test_a_python_that_is_told_to_take_no_scripts_is_given_none(tmp_path):
    python = interpreters.interpreter("3.14")
    with running(RUNS_PYTHON, tmp_path, "runs", c10(), python=python, PYTHON_DISABLE_REMOTE_DEBUG="1") as process:
        ready(process, tmp_path)
        with traced(process.pid):
            assert "is traced by process" in refused(process.pid)
        harness.cli("attach", process.pid, "--dir", tmp_path, "--exit", "never")
        assert ended_by_signal(process) == (7, "woken True\n", "")


def test_numbers_in_registers_stay(tmp_path):
    """A thread that computes all the time is stopped in the middle of vector code."""
    source = """
import sys, os
import torch
torch.set_num_threads(1)
a = torch.arange(250000, dtype=torch.float64).reshape(500, 500).remainder_(7.0)
open(sys.argv[1] + "/ready", "w").close()
first = (a @ a).sum().item()
while not os.path.exists(sys.argv[1] + "/attached"):
    for _ in range(20):
        assert (a @ a).sum().item() == first
print("same")
"""
    with running(source, tmp_path) as process:
        ready(process, tmp_path)
        harness.cli("attach", process.pid, "--dir", tmp_path, "--exit", "never")
        (tmp_path / "attached").touch()
        status, out, error = finished(process)
    assert (status, out) == (0, "same\n"), error


def test_many_threads_that_allocate_all_the_time(tmp_path):
    source = """
import sys, os, threading
import torch
torch.set_num_threads(1)
def work():
    kept = []
    while not os.path.exists(sys.argv[1] + "/stop"):
        kept.append(torch.ones(1000))
        if len(kept) > 20: del kept[:10]
threads = [threading.Thread(target=work) for _ in range(12)]
for thread in threads: thread.start()
open(sys.argv[1] + "/ready", "w").close()
for thread in threads: thread.join()
print("joined")
"""
    with running(source, tmp_path) as process:
        ready(process, tmp_path)
        harness.cli("attach", process.pid, "--dir", tmp_path, "--signal", "SIGUSR2")
        dump = harness.cli("snapshot", process.pid).stdout.strip()
        (tmp_path / "stop").touch()
        status, out, error = finished(process)
    assert (status, out) == (0, "joined\n"), error
    exported = harness.load(dump)
    ones = [row for row in exported["tensors"] if row["shape"] == [1000]]
    assert 12 <= len(ones) <= 12 * 21 + 12
    assert exported["process"]["trigger_detail"] == "SIGUSR2"


def refused(pid, *options, **variables):
    done = harness.cli("attach", pid, *options, status=2, env=os.environ | variables)
    assert done.stderr.count("\n") == 1 and done.stderr.startswith("tensorscope: "), done.stderr
    return done.stderr


def test_what_is_refused_leaves_the_program_as_it_was(tmp_path):
    takes_scripts = harness.asked("sys", "sys.version_info >= (3, 14)") == "True"
    with running(TRAINER, tmp_path) as process:
        ready(process, tmp_path)
        process.send_signal(signal.SIGSTOP)
        harness.until(lambda: " T " in open(f"/proc/{process.pid}/stat").read(), "the program is stopped")
        assert "is stopped" in refused(process.pid)
        process.send_signal(signal.SIGCONT)
        strace = subprocess.Popen(["strace", "-qq", "-o", os.devnull, "-p", str(process.pid)])
        harness.until(lambda: "TracerPid:\t0" not in open(f"/proc/{process.pid}/status").read(), "strace is there")
        if not takes_scripts:  # an interpreter that does need not be stopped
            assert "is traced by process" in refused(process.pid)
        strace.terminate()
        strace.wait()
        assert "no such directory" in refused(process.pid, "--dir", tmp_path / "nowhere")
        assert "TENSORSCOPE_NAME=VALUE" in refused(process.pid, "--set", "DIR=/tmp")
        assert "does not run under tensorscope" in harness.cli("snapshot", process.pid, status=2).stderr
        harness.cli("attach", process.pid, "--dir", tmp_path, "--exit", "never")
        assert "runs under tensorscope already" in refused(process.pid)
        (tmp_path / "attached").touch()
        (tmp_path / "stop").touch()
        assert finished(process)[0] == 3


def test_other_programs_are_refused(tmp_path):
    with subprocess.Popen(["sleep", "100"]) as sleeper:
        assert "has not loaded torch" in refused(sleeper.pid)
        sleeper.kill()
    assert "does not exist" in refused(4_194_303)
    (tmp_path / "static.c").write_text("#include <unistd.h>\nint main() { return sleep(100); }\n")
    subprocess.run(["gcc", "-static", "-o", tmp_path / "static", tmp_path / "static.c"], check=True)
    with subprocess.Popen([tmp_path / "static"]) as program:
        assert "linked statically" in refused(program.pid)
        program.kill()


@pytest.mark.parametrize("python", ["3.12", "3.13"], indirect=True)
def test_the_library_comes_while_the_interpreter_ends(python, tmp_path):
    """As `attach` may find a program: Python is not initialised any more, and takes no more modules."""
    path = tmp_path / "program.py"
    path.write_text("""
import ctypes, os, sys
class Last:
    def __del__(self, path=sys.argv[1], load=ctypes.CDLL, initialized=ctypes.PyDLL(None).Py_IsInitialized, say=os.write):
        say(1, b"%d\\n" % initialized())
        load(path)
        say(1, b"loaded\\n")
last = Last()
""")
    done = subprocess.run([python, str(path), str(harness.LIBRARY)], cwd=tmp_path, text=True, capture_output=True, timeout=harness.TIMEOUT,
                          env=harness.environment(preload=False))
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\nloaded\n", "")


def test_a_program_can_load_the_library_itself(tmp_path):
    harness.needs_gil("tensors that are older than the profiler")
    done = harness.run_source(f"""
import ctypes, os, torch
older = torch.ones(1000)
library = ctypes.CDLL({str(harness.LIBRARY)!r}, mode=os.RTLD_NOW | os.RTLD_GLOBAL)
settings = b"TENSORSCOPE_EXIT=never\\0TENSORSCOPE_DIR=" + os.fsencode({str(tmp_path)!r}) + b"\\0\\0"
assert library.tensorscope_attach(settings, None, 0) == 0
message = ctypes.create_string_buffer(200)
assert library.tensorscope_attach(None, message, 200) == -2 and b"already" in message.value
younger = torch.ones(2000)
import libtensorscope
print(libtensorscope.dump())
""", folder=tmp_path, preload=False)
    assert done.returncode == 0, done.stderr
    rows = {tuple(row["shape"]): row for row in harness.load(done.stdout.strip())["tensors"]}
    assert rows[2000,]["stack"] and not rows[1000,]["stack"] and "older" in rows[1000,]["names"][0]
