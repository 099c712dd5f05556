# SPDX-License-Identifier: Apache-2.0
"""TENSORSCOPE_NATIVE=SIZE: native stacks of blocks from that size on, and where no Python runs."""
import harness

PROGRAM = """
import torch, truth
torch.set_num_threads(1)
small, large = torch.ones(64), torch.ones(1 << 16)
view = large[:10]
weight = torch.ones(8, requires_grad=True)
result = weight.exp()
truth.moment()
"""


def dumped(folder, setting):
    done = harness.run_source(PROGRAM, folder=folder, native=setting, exit="never", quiet=1)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    dump = harness.load(harness.truth(folder)["dump"])
    return dump, harness.coverage(dump)["native stacks"]


def of_shape(dump, *shape):
    return next(tensor for tensor in dump["tensors"] if tensor["shape"] == list(shape))


def test_small_blocks_views_and_nodes_have_their_python_stack_alone(tmp_path):
    dump, said = dumped(tmp_path, "64K")
    assert harness.frames(of_shape(dump, 1 << 16), "native")
    for shape in (64, 10, 8):
        assert harness.frames(of_shape(dump, shape)) and not harness.frames(of_shape(dump, shape), "native")
    assert said[:2] == ("partly", "only of blocks from 64K on, and where no Python runs (TENSORSCOPE_NATIVE)")
    assert said.missed == 0


def test_nothing_else_differs(tmp_path):
    folders = tmp_path / "all", tmp_path / "large"
    for folder in folders:
        folder.mkdir()
    every, _ = dumped(folders[0], "on")
    large, _ = dumped(folders[1], "64K")
    known = [harness.truth(folder) for folder in folders]
    for dump, truth in zip((every, large), known):
        harness.compare(dump, truth)
    rows = [sorted((tensor["shape"], tensor["category"], [holder["text"] for holder in tensor["holders"]], [(name, line) for name, _, line in harness.frames(tensor)]) for tensor in dump["tensors"])
            for dump in (every, large)]
    assert rows[0] == rows[1]
    assert all(harness.frames(of_shape(every, shape), "native") for shape in (64, 10, 8))


def test_where_no_python_runs_every_stack_is_native(tmp_path):
    harness.needs_build_against_this_torch()
    done = harness.run("cpp_program", "exit", folder=tmp_path, native="1M", quiet=1)
    assert done.returncode == 3
    dump = harness.load(harness.dumps(tmp_path)[0])
    leaks = [tensor for tensor in dump["tensors"] if any("make_leak" in name for name, _, _ in harness.frames(tensor, "native"))]
    assert len(leaks) == 20 and all(harness.frames(tensor, "native") for tensor in dump["tensors"])
