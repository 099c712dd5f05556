# SPDX-License-Identifier: Apache-2.0
"""Modules within DistributedDataParallel, torch.compile() and checkpoint_wrapper() are found and compared by the program's own paths; files have the
paths that there are."""

# Covers: preload/watch/module_paths.cc analyzer/values/wrapped_names.cc

import subprocess

import harness
import pytest
import values_reader

pytest.importorskip("flatbuffers")

PROGRAM = """
import gc, os, torch
class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.module = torch.nn.Linear(4, 4)  # the program's own
    def forward(self, x):
        return torch.tanh(self.module(x))
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.Sequential(Block(), Block())
        self.head = torch.nn.Linear(4, 2)
    def forward(self, x):
        return self.head(self.layers(x))
torch.manual_seed(0)
model = Model()
WRAP
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    model(torch.ones(3, 4) * step).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
if torch.distributed.is_initialized():
    # While the group is there, a thread of gloo may want the interpreter when it has ended.
    del model, optimizer
    gc.collect()
    torch.distributed.destroy_process_group()
"""
WRAPS = {
    "plain": "",
    "ddp": """
torch.distributed.init_process_group("gloo", init_method="file://" + os.environ["MEETING"], rank=int(os.environ["RANK"]), world_size=2)
model = torch.nn.parallel.DistributedDataParallel(model)
""",
    "data parallel": "model = torch.nn.DataParallel(model)",
    "compile": "model.layers[0] = torch.compile(model.layers[0], backend='eager')",
    "checkpoint": """
from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
model.layers[1] = checkpoint_wrapper(model.layers[1])
""",
}
INSIDE = {"ddp": "model.module.", "data parallel": "model.module.", "compile": "model.", "checkpoint": "model."}
WATCH = "full:model.layers.*,full:model.head,full:model.head.weight.grad,full:parameters:model.layers.1.**"


def run(folder, wrap, watch=WATCH, **options):
    """The file of the program's rank 0."""
    folder.mkdir()
    (folder / "program.py").write_text(PROGRAM.replace("WRAP", WRAPS[wrap]))
    processes = []
    for rank in range(2 if wrap == "ddp" else 1):
        environment = harness.environment(folder, exit="never", watch=watch, **options) | {"GLOO_SOCKET_IFNAME": "lo", "MEETING": str(folder / "meeting")}
        if wrap == "ddp":
            environment |= {"RANK": str(rank), "WORLD_SIZE": "2"}
        processes.append(subprocess.Popen([harness.PYTHON, "program.py"], env=environment, cwd=folder, stderr=subprocess.PIPE, text=True))
    for process in processes:
        assert process.wait(timeout=300) == 0, process.stderr.read()
    (path,) = [path for path in folder.glob("*.values") if wrap != "ddp" or ".rank0." in path.name]
    return path


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return run(tmp_path_factory.mktemp("wrapped") / "plain", "plain", calls=1)


@pytest.mark.parametrize("wrap", INSIDE)
def test_patterns_and_compare(wrap, plain, tmp_path):
    path = run(tmp_path / "wrapped", wrap, calls=1)
    expected, values = values_reader.Values(plain), values_reader.Values(path)
    assert not values.unmatched and len(expected.values) == 3 * (3 + 1 + 2)
    inside = INSIDE[wrap]
    found = {value.name for value in values.values}
    assert f"{inside}head" in found and f"{inside}head.weight.grad" in found  # as they are
    deeper = {"compile": "", "checkpoint": "._checkpoint_wrapped_module"}.get(wrap, "")
    assert {f"{inside}layers.1{deeper}.module.weight", f"{inside}layers.0", f"{inside}layers.1"} <= found
    assert len(values.values) == len(expected.values)
    done = harness.cli("compare", plain, path)
    assert done.returncode == 0 and done.stdout.startswith(f"equal: {len(expected.values)} values"), done.stdout
    one_sided = done.stdout.partition("only in")[2]
    assert ("model.layers.0.module" in one_sided and "only" not in one_sided) if wrap == "compile" else not one_sided  # inside of what is compiled
    listed = harness.cli("values", path, "--name", "model.head").stdout
    assert f"{inside}head " in listed and "layers" not in listed


def test_a_pattern_may_name_the_wrapper(tmp_path):
    values = values_reader.Values(run(tmp_path / "wrapped", "data parallel", watch="model,model.module,model.module.head"))
    assert [value.name for value in values.values] == ["model.module.head", "model.module", "model"] * 3


def test_the_wrapper_stands_for_what_it_wraps(plain, tmp_path):
    values = values_reader.Values(run(tmp_path / "wrapped", "checkpoint", watch="model.layers.1"))
    assert {value.name for value in values.values} == {"model.layers.1"}
    all_plain, all_wrapped = run(tmp_path / "all", "plain", watch="full:model.**"), run(tmp_path / "all wrapped", "data parallel", watch="full:model.**")
    done = harness.cli("compare", all_plain, all_wrapped)
    assert done.returncode == 0 and "only" not in done.stdout, done.stdout
