# SPDX-License-Identifier: Apache-2.0
"""stop_values() and start_values(), from inside and from outside: nothing watched is recorded between them, the rest is."""

# Covers: preload/values_file/values_switch.cc analyzer/cli/record.cc

import subprocess

import harness
import pytest
import values_reader

pytest.importorskip("flatbuffers")

INSIDE = """
import ctypes, libtensorscope, torch
stop, start = SWITCH
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(2, 2)
    def forward(self, x):
        if switch_within:
            stop()
        y = self.inner(x)
        if switch_within:
            start()
        return y
model = Block()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
switch_within = False
def step(i):
    loss = model(torch.ones(2)).sum()
    loss.backward()
    libtensorscope.save("i", i)
    optimizer.step()
for i in range(6):
    stop() if i == 2 else start() if i == 4 else None
    switch_within = i == 5
    step(i)
"""


@pytest.mark.parametrize("switch", ["libtensorscope.stop_values, libtensorscope.start_values",
                                    "ctypes.CDLL(None).tensorscope_stop_values, ctypes.CDLL(None).tensorscope_start_values"])
def test_from_inside(tmp_path, switch):
    done = harness.run_source(INSIDE.replace("SWITCH", switch), folder=tmp_path, exit="never", calls=1,
                              watch="model,op:model.inner,model.inner.weight.grad,program.py:step:loss")
    assert done.returncode == 0, done.stderr
    values = values_reader.read(tmp_path)
    steps = {name: [value.step for value in values.named(name)] for name in ("model", "model.inner.weight.grad", "program.py:step:loss", "i")}
    assert steps == {"model": [0, 1, 4, 5], "model.inner.weight.grad": [0, 1, 4, 5], "program.py:step:loss": [0, 1, 4, 5], "i": [0, 1, 2, 3, 4, 5]}
    forward = [(call.module, call.step) for call in values.calls if not call.flags & values_reader.BACKWARD]
    assert sorted(forward) == [("model", i) for i in (0, 1, 4, 5)] + [("model.inner", i) for i in (0, 1, 4)]
    assert {call.step for call in values.calls} == {0, 1, 4, 5}
    known = {call.id for call in values.calls} | {0}
    assert all(call.parent in known for call in values.calls)
    assert values.losses == {("values and calls while stopped", "stop_values(), or tensorscope stop --values"): 2}


def test_from_outside(tmp_path):
    source = """
import sys, torch
model = torch.nn.Linear(2, 2)
print("ready", flush=True)
for line in sys.stdin:
    for i in range(int(line)):
        model(torch.ones(2))
    print("done", flush=True)
"""
    (tmp_path / "program.py").write_text(source)
    process = subprocess.Popen([harness.PYTHON, "program.py"], env=harness.environment(tmp_path, exit="never", watch="model"), cwd=tmp_path,
                               stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def calls(count):
        process.stdin.write(f"{count}\n")
        process.stdin.flush()
        assert process.stdout.readline() == "done\n"

    try:
        assert process.stdout.readline() == "ready\n"
        calls(1)
        harness.cli("stop", process.pid, "--values")
        calls(20)
        harness.cli("start", process.pid, "--values")
        calls(2)
        process.stdin.close()
        assert process.wait(harness.TIMEOUT) == 0
    finally:
        process.kill()
    assert len(values_reader.read(tmp_path).named("model")) == 3


def test_without_the_preload_nothing_happens(tmp_path):
    done = harness.run_source("import sys\nsys.path.insert(0, %r)\nimport libtensorscope\nlibtensorscope.stop_values()\nlibtensorscope.start_values()\n"
                              "with libtensorscope.scope('x', module='y'):\n    print(libtensorscope.save('z', 1))\n"
                              % str(harness.ROOT / "include" / "tensorscope"), folder=tmp_path, preload=False)
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
