# SPDX-License-Identifier: Apache-2.0
"""The log (TENSORSCOPE_LOG): what was found, what each dump did, what is off and why, in one run of a program."""

# Covers: preload/support/log.cc preload/collector/log_flush.cc

import re

import pytest

import harness

PROGRAM = """
import os, torch, libtensorscope
model = torch.nn.Linear(2, 2)
model(torch.ones(2)).sum().backward()
libtensorscope.dump()
os.chdir("/")
pid = os.fork()
if pid == 0:
    torch.ones(3)
    os._exit(0)
os.waitpid(pid, 0)
print(pid)
"""
LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z (\d+) (debug|info|warning|error) (.*)")


@pytest.fixture(scope="module")
def logged(tmp_path_factory):
    """The child's process, and the lines of each process: [(level, text)]."""
    folder = tmp_path_factory.mktemp("log")
    done = harness.run_source(PROGRAM, folder=folder, quiet=1, log="my.log", watch="nosuch,model", record=1, names=0, nosuch=1)
    assert done.returncode == 0, done.stderr
    processes = {}
    for line in (folder / "my.log").read_text().splitlines():
        process, level, text = LINE.fullmatch(line).groups()
        processes.setdefault(int(process), []).append((level, text))
    child = int(done.stdout)
    (parent,) = processes.keys() - {child}
    return processes[parent], processes[child], parent, folder


def test_what_was_found_at_the_start(logged):
    lines, _, parent, _ = logged
    texts = [text for _, text in lines]
    at_start = texts[:texts.index("tensors: recorded")]
    assert any(text.startswith("tensorscope ") and f"records program (process {parent} of " in text for text in at_start)
    assert "TENSORSCOPE_WATCH=nosuch,model" in at_start
    assert any(re.fullmatch(r"torch is in /.*/torch", text) for text in at_start)
    assert any(text.startswith("Python stacks: recorded: CPython 3.") for text in texts)


def test_what_each_dump_did(logged):
    lines, _, parent, folder = logged
    dumps = [text for _, text in lines if text.startswith("dump ")]
    times = r"asked for [\d.]+ ms before, tables [\d.]+ ms, graph [\d.]+ ms, names [\d.]+ ms; not all names: switched off by TENSORSCOPE_NAMES"
    for text, reason, name in zip(dumps, ("call: tensorscope_dump", "exit: end of the Python program"), ("1", "exit"), strict=True):
        path = folder / f"program.{parent}.{name}.tscope"
        assert re.fullmatch(rf"dump {path} \(\d+ tensors, .* live.*\) in .* for {reason}.*; {times}", text), text
        assert path.exists()


def test_what_is_off_and_why(logged):
    lines, _, _, _ = logged
    assert ("warning", "module outputs: not recorded: switched off; set TENSORSCOPE_MODULE_OUTPUTS=1 to record it") in lines
    assert ("warning", "watch nosuch matched nothing") in lines and ("warning", "watch model matched nothing") not in lines
    assert ("info", "unknown variable TENSORSCOPE_NOSUCH; TENSORSCOPE_HELP=1 lists all variables.") in lines  # what is said on standard error, too


def test_the_files_that_are_written(logged):
    lines, _, _, folder = logged
    written = {text.removeprefix("writes ") for _, text in lines if text.startswith("writes ")}
    assert written == {str(each) for each in folder.iterdir() if each.suffix in (".recording", ".values") and f".{logged[2]}." in each.name}


def test_a_forked_child_has_its_own_lines(logged):
    lines, child, parent, _ = logged
    assert child[0] == ("info", f"forked from process {parent}")
    assert any(text.startswith("writes ") and ".recording" in text for _, text in child)
    assert not any(text.startswith(("dump ", "tensorscope ")) for _, text in child)


def test_a_log_that_cannot_be_written_is_one_line(tmp_path):
    done = harness.run_source("import torch\ntorch.ones(3)\n", folder=tmp_path, quiet=1, exit="never", log="/nosuch/folder/my.log")
    assert (done.returncode, done.stderr) == (0, "tensorscope: TENSORSCOPE_LOG=/nosuch/folder/my.log cannot be written: "
                                                "No such file or directory; there is no log.\n")
