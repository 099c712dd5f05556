# SPDX-License-Identifier: Apache-2.0
"""The backward of each call of a module, beside its forward: order, ranges, threads, and what has none."""

# Covers: preload/torch_events/backward_calls.cc

import harness
import pytest
import values_reader
from values_reader import BACKWARD

pytest.importorskip("flatbuffers")

SAME = ("module", "class_name", "site", "step", "pass", "index", "mode")
MODEL = """
import torch
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = torch.nn.Linear(4, 4), torch.nn.Linear(4, 4)
    def forward(self, x):
        return self.second(torch.tanh(self.first(x)))
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Block(), Block()
    def forward(self, x):
        return self.b(self.a(x))
torch.manual_seed(0)
model = Model()
x = torch.randn(3, 4)
"""


def run(folder, source):
    done = harness.run_source(MODEL + source, folder=folder, exit="never", calls=1)
    assert done.returncode == 0, done.stderr
    values = values_reader.read(folder)
    assert not values.losses
    forward = {call.id: call for call in values.calls if not call.flags & BACKWARD}
    return done, forward, [call for call in values.calls if call.flags & BACKWARD]


def test_each_call_has_its_backward(tmp_path):
    _, forward, backward = run(tmp_path, "for step in range(3):\n    model(x).sum().backward()\n")
    assert len(forward) == 3 * 7 and sorted(call.parent for call in backward) == sorted(forward)
    for call in backward:
        own = forward[call.parent]
        assert [getattr(call, key) for key in SAME] == [getattr(own, key) for key in SAME]
        assert own.end_ns <= call.begin_ns <= call.end_ns and call.peak >= max(call.live_before, call.live_after)
    by_forward = {call.parent: call for call in backward}
    for call in forward.values():
        if call.parent:  # within the range of the module around it
            inner, outer = by_forward[call.id], by_forward[call.parent]
            assert outer.begin_ns <= inner.begin_ns and inner.end_ns <= outer.end_ns and outer.peak >= inner.peak
    for number in range(3):
        passes = sorted((by_forward[call.id].begin_ns, call.module) for call in list(forward.values()) if call.parent)[number * 6:number * 6 + 6]
        assert [module for _, module in passes if module.count(".") == 2] == ["model.b.second", "model.b.first", "model.a.second", "model.a.first"]


def test_what_has_no_backward(tmp_path):
    source = """
with torch.no_grad():
    model(x)
model(x)                      # nobody asks for it
half = model.a(x).detach()
model.b(half).sum().backward()
"""
    _, forward, backward = run(tmp_path, source)
    assert len(forward) == 7 + 7 + 3 + 3
    assert sorted(call.module for call in backward) == ["model.b", "model.b.first", "model.b.second"]
    assert {forward[call.parent].id for call in backward} == set(sorted(forward)[-3:])


def test_accumulated_and_retained_graphs(tmp_path):
    source = """
losses = [model(x).sum() for part in range(2)]
sum(losses).backward()        # two forwards, one backward
loss = model(x).sum()
loss.backward(retain_graph=True)
loss.backward()               # two backwards of one forward
"""
    _, forward, backward = run(tmp_path, source)
    last = sorted(forward)[-7:]
    assert sorted(call.parent for call in backward) == sorted([*forward, *last]) and len(forward) == 21


def test_threads_that_call_their_first_module_at_the_same_time(tmp_path):
    """One of them has the profiler find where nodes have their numbers; the others wait for it."""
    source = """
import threading
torch.set_num_threads(1)
barrier = threading.Barrier(6)
def train(x):
    barrier.wait()
    model(x).sum().backward()
threads = [threading.Thread(target=train, args=(x,)) for _ in range(6)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""
    _, forward, backward = run(tmp_path, source)
    assert len(forward) == 6 * 7 and sorted(call.parent for call in backward) == sorted(forward)


def test_backward_by_another_thread_and_one_that_raises(tmp_path):
    source = """
import threading
def train(x):
    model(x).sum().backward()
threads = [threading.Thread(target=train, args=(x,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
def fail(gradient):
    raise ValueError("in backward")
y = model.a(x)
y.register_hook(fail)
try:
    model.b(y).sum().backward()
except ValueError as error:
    print(error)
model(x).sum().backward()
"""
    done, forward, backward = run(tmp_path, source)
    assert done.stdout == "in backward\n"
    assert len({call.thread for call in backward}) == 3
    parents = sorted(call.parent for call in backward)
    failed = [call.id for call in forward.values() if call.module.startswith("model.a") and call.id in sorted(forward)[14:17]]
    assert parents == sorted(set(forward) - set(failed))


def test_another_thread_is_in_the_middle_of_its_pass(tmp_path):
    source = """
import threading
middle, go_on = threading.Event(), threading.Event()
def wait(gradient):
    middle.set()
    go_on.wait()
def train():
    handle = model.b.register_forward_pre_hook(lambda module, arguments: arguments[0].register_hook(wait) and None)
    y = model(x)
    handle.remove()
    y.sum().backward()
thread = threading.Thread(target=train)
thread.start()
middle.wait()
model(x).sum().backward()
model(x)
go_on.set()
thread.join()
"""
    _, forward, backward = run(tmp_path, source)
    assert len(forward) == 3 * 7 and sorted(call.parent for call in backward) == sorted(forward)[:14]


def test_the_program_is_as_without(tmp_path):
    source = """
for step in range(2):
    torch.utils.checkpoint.checkpoint(model.a, x.requires_grad_(), use_reentrant=bool(step)).sum().backward()
    y = torch.autograd.grad(model(x).sum(), x, create_graph=True)[0].square().sum()
    y.backward()
print(x.grad, [p.grad if p.grad is None else p.grad.sum().item() for p in model.parameters()])
"""
    prefix = "import torch.utils.checkpoint\n"
    with_calls = harness.run_source(prefix + MODEL + source, folder=tmp_path, exit="never", calls=1)
    without = harness.run_source(prefix + MODEL + source, folder=tmp_path, preload=False)
    assert with_calls.returncode == without.returncode == 0 and with_calls.stdout == without.stdout


def test_modules_that_other_threads_called(tmp_path):
    """Torch numbers the nodes of each thread by themselves: a node belongs to the calls of the thread that made it."""
    done, forward, backward = run(tmp_path, """
import threading
left, right, results = Block(), Block(), {}
def call(name, module):
    results[name] = module(x)
for step in range(3):
    for name, module in ("left", left), ("right", right):
        thread = threading.Thread(target=call, args=(name, module))
        thread.start()
        thread.join()
    model(results["left"] + results["right"]).sum().backward()
""")
    assert len(forward) == 3 * (3 + 3 + 7)
    assert sorted(call.parent for call in backward) == sorted(forward)
    for call in backward:
        assert call.module == forward[call.parent].module and call.begin_ns >= forward[call.parent].end_ns
