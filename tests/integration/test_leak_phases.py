# SPDX-License-Identifier: Apache-2.0
"""`leaks` on dumps at different places in a step, and on those of a process and its child: what runs is no growth and hides none, what a worker
keeps is a finding of its parent."""

import json

import pytest

import harness

PROGRAM = f'''
import sys
sys.path.insert(0, {str(harness.ROOT / "include" / "tensorscope")!r})
import libtensorscope, torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(128, 128) for _ in range(12))
        self.dump_at = ()
    def forward(self, x):
        for i, layer in enumerate(self.layers):
            x = torch.relu(layer(x))
            if i in self.dump_at:
                libtensorscope.dump()
        return x

class Samples(Dataset):
    def __init__(self):
        self.decoded = {{}}
    def __len__(self):
        return 60
    def __getitem__(self, i):
        self.decoded[i] = torch.randn(16, 1024)
        if i % 20 == 19:
            libtensorscope.dump()
        return self.decoded[i].mean(0)

def train(steps, keep, dump_after, dump_in):
    kept = []
    for step in range(steps):
        net.dump_at = dump_in.get(step, ())
        out = net(torch.randn(256, 128))
        if keep:
            kept.append(out[:32].detach().clone())
        out.pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        if step in dump_after:
            libtensorscope.dump()

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
train(12, False, (), {{8: (2, 6, 10)}})       # dumps 1 to 3: one forward pass
train(30, True, (25,), {{6: (10,)}})          # dump 4 in a forward pass, dump 5 after a step 19 steps later
for i, sample in enumerate(DataLoader(Samples(), batch_size=1, num_workers=1)):
    if i % 20 == 19:
        libtensorscope.dump()
'''


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("phases")
    done = harness.run_source(PROGRAM, folder=folder, exit="never")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def by_process(folder):
    processes = {}
    for path in sorted(folder.glob("*.tscope"), key=lambda path: int(path.name.split(".")[-2])):
        processes.setdefault(int(path.name.split(".")[-3]), []).append(path)
    return sorted(processes.values(), key=len, reverse=True)  # the parent has eight dumps, its worker three


@pytest.fixture(scope="module")
def dumps(by_process):
    return by_process[0]


def answer(dumps, status):
    return json.loads(harness.cli("leaks", "--json", *dumps, status=status).stdout)


@pytest.mark.parametrize("which", [(0, 1, 2), (0, 1), (1, 2), (0, 2)])
def test_one_forward_pass_is_no_leak(dumps, which):
    found = answer([dumps[i] for i in which], 0)
    assert found["findings"] == [] and found["unclear"] == []
    growth = found["answer"]["growth"]
    assert growth["running_step"] == growth["bytes"] > 500_000


def test_another_phase_hides_no_leak(dumps):
    found = answer(dumps[3:5], 1)
    assert [finding["held_by"].split("[")[0] for finding in found["findings"]] == ["kept"]
    steps, live = found["answer"]["step_ends"]["steps"], found["answer"]["step_ends"]["live_bytes"]
    assert live[1] - live[0] == (steps[1] - steps[0]) * 32 * 128 * 4
    assert found["answer"]["growth"]["bytes"] < 0 < found["findings"][0]["growth"]["bytes"][1]


def check(*dumps, status):
    return harness.cli("check", *dumps, "--max-growth", "64K", status=status).stdout


def test_check_judges_the_growth_that_leaks_says(by_process):
    """What a running step has is none and hides none; a finding over the limit is named as `leaks` names it."""
    dumps, child = by_process
    within = check(dumps[0], dumps[2], status=0)
    running = answer([dumps[0], dumps[2]], 0)["answer"]["growth"]["running_step"]
    assert within.startswith("ok: ") and within.endswith(" of it in the running step: growth 0 B; +64.0 KiB allowed\n"), (within, running)
    over = check(*dumps[3:5], status=1)
    growth = answer(dumps[3:5], 1)["answer"]["growth"]
    assert growth["lasting"] == growth["bytes"] - growth["running_step"] > 64 << 10 > 0 > growth["bytes"]
    [headline] = [line for line in harness.cli("leaks", *dumps[3:5], status=1).stdout.splitlines() if line.startswith("1  ")]
    assert over.startswith("too much growth: ") and "\nleaks: 1 finding" in over and "\n" + headline + "\n" in over, over
    of_child = check(*dumps[-3:], *child, status=1)
    children = answer([*dumps[-3:], *child], 1)["answer"]["growth"]["children"]
    assert children >= 40 * 16 * 1024 * 4 and ", child processes +" in of_child and "decoded" in of_child, of_child


def test_what_a_worker_keeps_is_a_finding_of_its_parent(by_process):
    parent, child = by_process
    found = answer([*parent[-3:], *child], 1)
    [finding] = found["findings"]
    assert finding["processes"] == [int(child[0].name.split(".")[-3])]
    assert "decoded" in finding["held_by"] and "self.decoded[i] = " in finding["made_at"]["source"]
    assert finding["growth"]["bytes"][-1] - finding["growth"]["bytes"][0] == 40 * 16 * 1024 * 4
    assert finding["tensors"] == []
    text = harness.cli("leaks", *parent[-3:], *child, status=1).stdout
    assert f"in child process {finding['processes'][0]}" in " ".join(text.split())
