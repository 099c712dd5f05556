# SPDX-License-Identifier: Apache-2.0
"""Where there is little of something: address space, disk, shared memory; and what a user does about it: TENSORSCOPE_DISK_LIMIT, stop --all."""

# Covers: preload/collector/{all_switch,refusal}.cc

import json
import os
import re
import subprocess
import sys

import pytest

import harness

PEAK = "import re, torch\ntorch.ones(3)\nprint(re.search(r'VmPeak:\\s+(\\d+)', open('/proc/self/status').read())[1])\n"


def test_a_tight_address_space_is_left_to_the_program(tmp_path):
    """What the program can import without the preload it can import with it: nothing is reserved, and no thread has an arena."""
    bare = harness.run_source(PEAK, folder=tmp_path, preload=False)
    limit = (int(bare.stdout) << 10) + (32 << 20)
    source = f"import resource\nresource.setrlimit(resource.RLIMIT_AS, ({limit}, {limit}))\n" + PEAK
    done = harness.run_source(source, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    (dump,) = harness.dumps(tmp_path)
    found = harness.coverage(dump)
    why = "too little address space for a thread of the profiler (RLIMIT_AS)"
    assert found["signal dumps"][:2] == ("no", why) and found["memory limits"].detail.startswith(why)


SWITCHES = """
import os, time, torch, libtensorscope
kept = [torch.ones(3)]
def wait(name):
    while not os.path.exists(name):
        kept.append(torch.zeros(len(kept) % 7 + 1))
        time.sleep(0.01)
print("ready", flush=True)
wait("call")
libtensorscope.stop_recording()
libtensorscope.start()
libtensorscope.start_values()
libtensorscope.start_recording()
kept.append(torch.ones(4, 4))
print("dump:", libtensorscope.dump(), flush=True)
wait("end")
"""


def test_everything_is_stopped_and_started_from_outside(tmp_path):
    """What the program itself switches on stays off; who asks is told so at once; `start` undoes it, and what the program has asked for counts."""
    program = tmp_path / "program.py"
    program.write_text(SWITCHES)
    with harness.running(program, folder=tmp_path, record=1, calls=1, exit="always") as process:
        recording = harness.until(lambda: list(tmp_path.glob("*.recording")), "the recording")[0]
        harness.cli("stop", process.pid, "--all")
        written = recording.stat().st_size
        stopped = f"tensorscope: process {process.pid} refuses: no dump: stopped by tensorscope stop --all\n"
        never = ["--timeout", f"{100 * harness.TIMEOUT}s"]  # so that an answer that does not come is a failure
        assert harness.cli("snapshot", process.pid, *never, status=2).stderr == stopped
        assert harness.cli("snapshot", process.pid, "--no-signal", *never, status=2).stderr == stopped
        assert harness.cli("top", process.pid, "--once", status=2).stderr == stopped
        for verb in (["record", process.pid, "on"], ["start", process.pid, "--values"]):
            assert f"process {process.pid} refuses: everything is stopped by tensorscope stop --all" in harness.cli(*verb, status=2).stderr
        (tmp_path / "call").touch()
        assert process.stdout.readline() == "dump: None\n"
        # Who looks for requests has written what there is to write by the time that this one is taken.
        harness.cli("stop", process.pid, "--all")
        assert recording.stat().st_size == written and not harness.dumps(tmp_path)
        harness.cli("start", process.pid, "--all")
        dump = harness.cli("snapshot", process.pid).stdout.strip()
        harness.until(lambda: recording.stat().st_size > written, "what is recorded after start")
        (tensor,) = [row for row in harness.load(dump)["tensors"] if row["shape"] == [4, 4]]
        site = next(site for site in harness.load(dump)["sites"] if site["id"] == tensor["site"])
        assert "made while stacks were not recorded" in json.dumps(site)
        harness.cli("stop", process.pid, "--all")
        (tmp_path / "end").touch()
        assert process.wait(harness.TIMEOUT) == 0
    assert [str(written) for written in harness.dumps(tmp_path)] == [dump]  # not at exit either
    # The signal's line and the call's; what came by file has said it to the one who asked, too.
    assert (tmp_path / "stderr.txt").read_text().count("no dump: stopped by tensorscope stop --all") == 3
    assert not [name for name in os.listdir("/dev/shm") if f".{process.pid}." in name]


def test_all_dumps_of_a_folder_have_one_limit(tmp_path):
    """Those of forked children, too; the recording stays, which RECORD_LAST alone asks for."""
    source = """
import os, sys, torch, libtensorscope
kept = [torch.zeros(i + 1) for i in range(300)]
for _ in range(3):
    libtensorscope.dump()
if os.fork() == 0:
    libtensorscope.dump()
    libtensorscope.dump()
    os._exit(0)
os.wait()
print(libtensorscope.dump())
"""
    limit = 400 << 10
    done = harness.run_source(source, folder=tmp_path, exit="never", disk_limit=limit, record_last="10min", quiet=1)
    assert done.returncode == 0, done.stderr
    dumps = harness.dumps(tmp_path)
    assert done.stdout.strip() in [str(dump) for dump in dumps]
    assert 1 < len(dumps) < 6 and sum(dump.stat().st_blocks * 512 for dump in dumps) <= limit
    assert list(tmp_path.glob("*.recording"))


def in_own_folder(script, mounted, size, **options):
    """A shell with a file system of that size that no other process sees."""
    probe = subprocess.run(["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(mounted)], capture_output=True, text=True)
    if probe.returncode != 0:
        pytest.skip(f"no file system can be mounted here: {probe.stderr.strip()}")
    lines = f"mount -t tmpfs -o size={size} tmpfs {mounted} && {script}"
    return subprocess.run(["unshare", "-m", "sh", "-c", lines], capture_output=True, text=True, timeout=harness.TIMEOUT, cwd="/",
                          env=harness.environment(mounted, preload=False, **options))


def test_a_full_disk_costs_dumps_and_the_rest_of_the_recording(tmp_path):
    folder, program = tmp_path / "disk", tmp_path / "program.py"
    folder.mkdir()
    program.write_text("""
import time, torch, libtensorscope
libtensorscope.dump()
end = time.monotonic() + 60
kept = []
while libtensorscope.dump() and time.monotonic() < end:
    kept += [torch.zeros(len(kept) % 50 + 1) for _ in range(2000)]
    time.sleep(0.1)
for i in range(300000):
    torch.zeros(i % 100 + 1)
print("done")
""")
    tool = harness.CLI
    done = in_own_folder(f"LD_PRELOAD={harness.LIBRARY} TENSORSCOPE_RECORD=1 TENSORSCOPE_EXIT=never {sys.executable} {program} && "
                         f"{tool} timeline {folder}/*.recording && {tool} info $(echo {folder}/*.recording)@end", folder, "3m", quiet=1)
    assert done.returncode == 0 and "done" in done.stdout, done.stderr
    assert f"no dump in {folder}: cannot write: No space left on device" in done.stderr
    assert "the recording ends here: could not write" in done.stderr
    assert re.search(r"; cut short .*: could not write: No space left on device", done.stdout), done.stdout
    assert re.search(r"recording over time +partly +cut short", done.stdout), done.stdout


def test_shared_memory_that_is_too_small_is_said(tmp_path):
    program = tmp_path / "program.py"
    program.write_text("""
import torch
from torch.utils.data import DataLoader
class Images(torch.utils.data.Dataset):
    def __len__(self): return 4
    def __getitem__(self, index): return torch.ones(1 << 19)
kept = torch.ones(3)
try:
    print([batch.shape for batch in DataLoader(Images(), batch_size=2, num_workers=1)])
except RuntimeError as error:
    print("failed", "unable to allocate shared memory" in str(error))
""")
    done = in_own_folder(f"LD_PRELOAD={harness.LIBRARY} TENSORSCOPE_DIR={tmp_path} {sys.executable} {program}", "/dev/shm", "1m")
    assert done.returncode == 0, done.stderr
    if "failed True" not in done.stdout:
        pytest.skip("this torch does not ask for the room before it writes")
    assert re.search(r"tensorscope: out of memory \(no space for shared memory in /dev/shm: \S+ .iB left of 1.0 MiB\)", done.stderr), done.stderr
    (failed,), (exit_dump,) = harness.dumps(tmp_path, "*.oom-1.tscope"), harness.dumps(tmp_path, "*.exit.tscope")
    assert "no space for shared memory in /dev/shm" in harness.cli("oom", failed).stdout
    assert re.search(r"/dev/shm: 1.0 MiB, \S+ .iB left", harness.coverage(exit_dump)["memory limits"].detail)


HOLDERS = """
import glob, os, subprocess, sys, time, torch
folder = os.environ["TENSORSCOPE_DIR"]
with open("/dev/shm/left_over", "wb") as file:
    file.write(bytes(2 << 20))
child = subprocess.Popen([sys.executable, "-c", '''
import mmap, os, sys
file = open("/dev/shm/other", "w+b")
file.write(bytes(1 << 20))
file.flush()
os.remove("/dev/shm/other")
print("ready", flush=True)
sys.stdin.read()
'''], env={"PATH": os.environ["PATH"]}, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
child.stdout.readline()
kept = [torch.ones(1 << 18).share_memory_() for _ in range(6)]
kept.append(torch.ones(3 << 16).share_memory_())  # 9.75 of 10 MiB are used
print("child", child.pid, flush=True)
while not glob.glob(folder + "/*.low-memory-*.tscope"):
    time.sleep(0.05)
child.communicate()
"""


def test_who_holds_shared_memory_is_said_before_it_is_full(tmp_path):
    """This process, another one with a file that it has removed, and a file that nobody holds."""
    program = tmp_path / "program.py"
    program.write_text(HOLDERS)
    done = in_own_folder(f"LD_PRELOAD={harness.LIBRARY} TENSORSCOPE_DIR={tmp_path} TENSORSCOPE_LOW_MEMORY=5% {sys.executable} {program}",
                         "/dev/shm", "10m", exit="never")
    assert done.returncode == 0, done.stderr
    child = re.search(r"child (\d+)", done.stdout)[1]
    (dump,) = harness.dumps(tmp_path)
    assert re.search(r"tensorscope: shared memory is nearly used up: 25\d\.\d KiB left", done.stderr), done.stderr
    assert re.search(r"shared memory \(/dev/shm\): 10.0 MiB, of which 25\d\.\d KiB was left", done.stderr), done.stderr
    for line in ("6.8 MiB 7 files, this process", f"1.0 MiB 1 file, process {child} (python", "2.0 MiB 1 file, no process: left_over"):
        assert line in done.stderr, done.stderr
    story = harness.cli("oom", dump, env={**os.environ, "COLUMNS": "250"}).stdout
    assert re.search(r"this process 6.8 MiB, process \d+ 1.0 MiB, files of no process 2.0 MiB, left 25\d\.\d KiB", story), story
    assert re.search(rf"pid {child} +1.0 MiB .*1 file; 1.0 MiB in removed files", story) and "--shm-size" in story, story
    assert re.search(rf"/dev/shm +10.0 MiB +25\d\.\d KiB left; this process 6.8 MiB, .*\({child}\) 1.0 MiB, of no process \(left_over\) 2.0 MiB",
                     harness.cli("info", dump, env={**os.environ, "COLUMNS": "250"}).stdout)
    holders = harness.load(dump)["process_memory"]["shared_holders"]
    assert [(row["pid"], row["files"], row["deleted_bytes"] >> 20) for row in holders[1:]] == [(int(child), 1, 1), (None, 1, 0)]


def test_the_short_report_names_the_largest_tensors_that_there_is_memory_for(tmp_path):
    source = """
import glob, re, resource, time, torch
kept = [torch.ones(i % 50 + 1) for i in range(50000)] + [torch.zeros(1 << 20)]
used = int(re.search(r"VmData:\\s+(\\d+)", open("/proc/self/status").read())[1]) << 10
resource.setrlimit(resource.RLIMIT_DATA, (used + (20 << 20), resource.RLIM_INFINITY))
while not glob.glob("*.low-memory-*.tscope"):
    time.sleep(0.05)
"""
    done = harness.run_source(source, folder=tmp_path, low_memory="24M", exit="never", names=0)
    assert done.returncode == 0, done.stderr
    found = re.search(r"who has the \S+ .iB on cpu \(the largest ([\d,]+) of 50,\d+ tensors\):", done.stderr)
    assert found and 100 <= int(found[1].replace(",", "")) < 50000, done.stderr
    assert re.search(r"^    not looked at +\S+ .iB", done.stderr, re.MULTILINE), done.stderr
    assert re.search(r"^ +\S+ .iB 50,\d+ x  program.py:3 <module>", done.stderr, re.MULTILINE), done.stderr  # each allocation has its site
