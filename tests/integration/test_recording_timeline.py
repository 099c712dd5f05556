# SPDX-License-Identifier: Apache-2.0
"""A recording: everything that happened, its moments as dumps, and what it says over time, against what the program knows."""
# Covers: preload/recording/{flush_writer,recording,table_growth,tensor_facts}.cc analyzer/cli/timeline.cc
# Covers: analyzer/export/json/timeline.cc analyzer/text/timeline/report.cc

import json
import os
import re
import signal
import time

import harness

ALLOCATION = ("id", "nbytes", "pointer", "site")

STEPS = """
import json, torch
live = {}
rows = []
kept = []
model = torch.nn.Linear(64, 64)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for i in range(8):
    temporary = torch.zeros(250_000 * (3 if i == 5 else 1))
    rows.append(temporary.nbytes)
    del temporary
    kept.append(torch.zeros(10_000 + i))
    model(torch.ones(4, 64)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
json.dump({"temporaries": rows, "kept": [k.nbytes for k in kept]}, open("truth.json", "w"))
"""


def only_recording(folder):
    found = list(folder.glob("*.recording"))
    assert len(found) == 1, found
    return found[0]


def exported(path):
    return json.loads(harness.cli("export", path, "--format", "json").stdout)


def timeline(path, status=0):
    return json.loads(harness.cli("timeline", path, "--json", status=status).stdout)


def test_steps_peak_and_what_stays(tmp_path):
    done = harness.run_source(STEPS, folder=tmp_path, record=1)
    assert done.returncode == 0, done.stderr
    recording = only_recording(tmp_path)
    found = timeline(recording)
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert found["ended"] and found["lost_events"] == 0
    assert found["steps_seen"]
    curve = next(c for c in found["curves"] if c["device"] == "cpu")
    assert curve["peak_step"] == 5
    made = {site["allocated_bytes"]: site for site in found["sites"]}
    temporaries = made[sum(truth["temporaries"])]
    assert temporaries["temporary_bytes"] == sum(truth["temporaries"]) and temporaries["live_at_end"] == 0
    assert temporaries["live_at_peak"] == max(truth["temporaries"])
    kept = made[sum(truth["kept"])]
    assert kept["live_at_end"] in (0, sum(truth["kept"]))  # the interpreter's end may or may not free it
    text = harness.cli("timeline", recording, env={**os.environ, "COLUMNS": "140"}).stdout
    assert "in step 5" in text.splitlines()[0]
    assert "program.py:9" in text.splitlines()[0]


def test_the_sentence_about_the_peak_names_the_module(tmp_path):
    source = """
import torch, libtensorscope
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.small = torch.nn.Linear(10, 1000)
        self.large = torch.nn.Linear(10, 4000)
    def forward(self, x):
        return self.small(x), self.large(x)
net = Net()
kept = net(torch.ones(100, 10))
libtensorscope.dump()
"""
    done = harness.run_source(source, folder=tmp_path, record=1, exit="never")
    assert done.returncode == 0, done.stderr
    lines = harness.cli("timeline", only_recording(tmp_path), env={**os.environ, "COLUMNS": "140"}).stdout.splitlines()
    row = lines[lines.index("At the peak") + 2]
    assert re.search(r"program\.py:9 Net\.forward +\[net\.large\]$", row), "\n".join(lines)
    share = re.search(r"\d+ %", row)[0]
    assert lines[0].endswith(f"; {share} of it allocated at program.py:9 Net.forward [net.large].")


AT_THE_DUMP = """
import time, libtensorscope
time.sleep(0.05)
libtensorscope.dump()
time.sleep(0.05)
"""


def at_the_dump(folder):
    """What the recording has at the moment of the one dump, and the dump."""
    dump = exported(harness.dumps(folder)[0])
    process = dump["process"]
    seconds = (process["dump_ns"] - process["start_ns"]) / 1e9
    return exported(f"{only_recording(folder)}@{seconds:.9f}s"), dump


def test_a_moment_is_the_dump_written_then(tmp_path):
    source = """
import torch
keep = [torch.zeros(100 + i, 7) for i in range(50)]
x = torch.zeros(3000)
del keep[10:20]
keep[3].resize_(1000)
""" + AT_THE_DUMP
    done = harness.run_source(source, folder=tmp_path, record=1, exit="never")
    assert done.returncode == 0, done.stderr
    at, dump = at_the_dump(tmp_path)
    of = lambda rows, *fields: [tuple(str(row[f]) for f in fields) for row in rows]
    assert of(at["allocations"], *ALLOCATION) == of(dump["allocations"], *ALLOCATION)
    assert of(at["tensors"], "id", "shape", "dtype", "site") == of(dump["tensors"], "id", "shape", "dtype", "site")
    assert len(at["tensors"]) > 40
    text = harness.cli("report", f"{only_recording(tmp_path)}@peak", env={**os.environ, "COLUMNS": "140"}).stdout
    assert "keep = [torch.zeros(100 + i, 7) for i in range(50)]" in text, "lines of source"


def test_a_program_that_is_killed_leaves_what_was_flushed(tmp_path):
    source = """
import sys, time, torch
keep = []
print("ready", flush=True)
while True:
    keep.append(torch.zeros(1000))
    torch.zeros(500)
    time.sleep(0.001)
"""
    (tmp_path / "program.py").write_text(source)
    with harness.running(tmp_path / "program.py", folder=tmp_path, record=1) as process:
        harness.until(lambda: any(f.stat().st_size > 20_000 for f in tmp_path.glob("*.recording")), "a recording that grows")
        time.sleep(1.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
    found = timeline(only_recording(tmp_path))
    assert not found["ended"]
    assert found["events"] > 100
    assert exported(f"{only_recording(tmp_path)}@end")["tensors"][0]["shape"] == [1000], "torch's undefined tensor is none"
    report = harness.cli("report", f"{only_recording(tmp_path)}@end").stdout
    assert "program.py:6" in report


def test_on_and_off_while_it_runs(tmp_path):
    source = """
import os, time, torch
before = torch.zeros(1000)
print("ready", flush=True)
def wait_for(name):
    while not os.path.exists(name):
        time.sleep(0.01)
wait_for("on")
meanwhile = torch.zeros(2000)
torch.zeros(777)
print("made", flush=True)
wait_for("off")
after = torch.zeros(4000)
"""
    (tmp_path / "program.py").write_text(source)
    with harness.running(tmp_path / "program.py", folder=tmp_path) as process:
        assert not list(tmp_path.glob("*.recording"))
        harness.cli("record", process.pid, "on")
        harness.until(lambda: list(tmp_path.glob("*.recording")), "the recording")
        (tmp_path / "on").touch()
        assert process.stdout.readline().strip() == "made"
        harness.cli("record", process.pid, "off")
        time.sleep(0.3)
        (tmp_path / "off").touch()
        assert process.wait(harness.TIMEOUT) == 0
    at = exported(f"{only_recording(tmp_path)}@end")
    shapes = [t["shape"] for t in at["tensors"]]
    assert [1000] in shapes and [2000] in shapes and [4000] not in shapes
    found = timeline(only_recording(tmp_path))
    assert any(site["allocations"] == 1 and site["allocated_bytes"] == 777 * 4 for site in found["sites"])


def test_a_child_that_ends_at_once_has_all_that_it_did(tmp_path):
    source = """
import os, torch
kept = torch.ones(777)
if os.fork() == 0:
    for i in range(50):
        torch.zeros(1000 + i)
    os._exit(0)
os.wait()
"""
    done = harness.run_source(source, folder=tmp_path, record=1, exit="never")
    assert done.returncode == 0, done.stderr
    found = {sum(site["allocations"] for site in timeline(path)["sites"]): path for path in tmp_path.glob("*.recording")}
    assert sorted(found) == [1, 50]
    assert [777] in [tensor["shape"] for tensor in exported(f"{found[50]}@end")["tensors"]]


def test_a_forked_child_has_a_recording_of_its_own(tmp_path):
    source = """
import glob, os, time, torch
mine = torch.zeros(1111)
pid = os.fork()
if pid == 0:
    while not glob.glob(f"*.{os.getpid()}.recording"):
        time.sleep(0.01)
    child = torch.zeros(2222)
    import sys
    sys.exit(0)
os.waitpid(pid, 0)
parent = torch.zeros(3333)
"""
    done = harness.run_source(source, folder=tmp_path, record=1)
    assert done.returncode == 0, done.stderr
    files = list(tmp_path.glob("*.recording"))
    assert len(files) == 2
    sizes = sorted(sorted(site["allocated_bytes"] for site in timeline(f)["sites"]) for f in files)
    allocated = [set(s) for s in sizes]
    assert any(2222 * 4 in s and 3333 * 4 not in s for s in allocated)
    assert any(3333 * 4 in s and 2222 * 4 not in s for s in allocated)


def test_a_full_disk_ends_the_recording_and_not_the_program_or_its_children(tmp_path):
    source = """
import os, resource, time, torch, libtensorscope
resource.setrlimit(resource.RLIMIT_FSIZE, (30_000, resource.RLIM_INFINITY))
end = time.monotonic() + 60
while "the recording ends here" not in open(os.environ["TENSORSCOPE_LOG"]).read() and time.monotonic() < end:
    for i in range(20000):
        torch.zeros(i % 100 + 1)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
child = os.fork()
if child == 0:
    kept = torch.zeros(4444)
    os._exit(0)
os.waitpid(child, 0)
libtensorscope.stop_recording()
stopped = os.fork()
if stopped == 0:
    os._exit(0)
os.waitpid(stopped, 0)
print("done", child, stopped)
"""
    (tmp_path / "log").touch()
    done = harness.run_source(source, folder=tmp_path, record=1, exit="never", log=tmp_path / "log")
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.splitlines()
    said, child, stopped = line.split()
    assert said == "done"
    assert done.stderr.count("the recording ends here") == 1
    (recorded,) = tmp_path.glob(f"*.{child}.recording")  # what was in its parent's way is not in the child's
    assert 4444 * 4 in {site["allocated_bytes"] for site in timeline(recorded)["sites"]}
    assert not list(tmp_path.glob(f"*.{stopped}.recording"))  # stopped is stopped in a child, too


def test_threads_agree_with_the_totals(tmp_path):
    source = """
import threading, torch, libtensorscope
def work(n):
    kept = []
    for i in range(2000):
        kept.append(torch.zeros(n * 10 + i % 7))
        if i % 3:
            kept.pop(0)
    results.append(sum(k.nbytes for k in kept)); everything.append(kept)
results, everything = [], []
threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 9)]
[t.start() for t in threads]; [t.join() for t in threads]
""" + AT_THE_DUMP
    done = harness.run_source(source, folder=tmp_path, record=1, exit="never")
    assert done.returncode == 0, done.stderr
    at, dump = at_the_dump(tmp_path)
    assert {a["id"]: a["nbytes"] for a in at["allocations"]} == {a["id"]: a["nbytes"] for a in dump["allocations"]}
    assert timeline(only_recording(tmp_path))["lost_events"] == 0


def test_bad_moments_and_files_are_said(tmp_path):
    done = harness.run_source("import torch\nkeep = torch.zeros(10)\n", folder=tmp_path, record=1)
    assert done.returncode == 0
    recording = only_recording(tmp_path)
    assert "is no moment" in harness.cli("report", f"{recording}@noon", status=2).stderr
    assert "has no steps" in harness.cli("report", f"{recording}@step=3", status=2).stderr
    assert "has no failed allocation" in harness.cli("report", f"{recording}@oom", status=2).stderr
    assert "is not a tensorscope recording" in harness.cli("timeline", harness.dumps(tmp_path)[0], status=2).stderr
