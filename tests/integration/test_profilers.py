# SPDX-License-Identifier: Apache-2.0
"""A profiler of torch that is never stopped keeps every operation."""

# Covers: preload/python/heap_inspector/rows/profiler_rows.cc

import json

import harness

PROGRAM = """
import torch
net = torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(40)])
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
stopped = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
with stopped:
    net(torch.ones(2, 32))
class Trainer:
    def __init__(self):
        self.profiler = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True)
        self.profiler.start()
trainer = Trainer()
for step in range(60):
    net(torch.ones(2, 32)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
trainer.profiler.stop()  # torch 2.13 ends by SIGSEGV at exit without it, also without us
"""


def test_a_profiler_that_is_on_is_the_holder(tmp_path):
    done = harness.run_source(PROGRAM, folder=tmp_path, exit="never", dump_at_step="19,39,59")
    assert done.returncode == 0, done.stderr
    answer = json.loads(harness.cli("leaks", *harness.dumps(tmp_path), "--json", status=1).stdout)
    assert [found["held_by"] for found in answer["findings"]] == \
        ["program.py: trainer.profiler.profiler (profiler of torch, which is on), as far as can be told"]
    assert "stop the profiler" in answer["findings"][0]["look_at"]
