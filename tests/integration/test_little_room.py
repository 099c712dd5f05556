"""Where there is little of something: address space, disk, shared memory; and what a user does about it: TENSORSCOPE_DISK_LIMIT, stop --all."""

# Covers: preload/collector/all_switch.cc

import os
import re
import signal
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


def test_everything_is_stopped_and_started_from_outside(tmp_path):
    stop = tmp_path / "stop"
    with harness.running("waiter.py", str(stop), folder=tmp_path, record=1, exit="always") as process:
        recording = harness.until(lambda: list(tmp_path.glob("*.recording")), "the recording")[0]
        harness.cli("stop", process.pid, "--all")
        written = recording.stat().st_size
        os.kill(process.pid, signal.SIGUSR1)
        # The signal comes first: who looks for requests has answered it by the time that this one is taken.
        harness.cli("stop", process.pid, "--all")
        assert recording.stat().st_size == written and not harness.dumps(tmp_path)
        harness.cli("start", process.pid)
        harness.until(lambda: recording.stat().st_size > written, "what is recorded after start")
        harness.cli("stop", process.pid, "--all")
        stop.touch()
        assert process.wait(harness.TIMEOUT) == 0
    assert not harness.dumps(tmp_path)  # not at exit either
    assert (tmp_path / "stderr.txt").read_text().count("no dump: stopped by tensorscope stop --all") == 1


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
