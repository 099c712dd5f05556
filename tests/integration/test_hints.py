# SPDX-License-Identifier: Apache-2.0
"""What is printed to be read or typed at once: sizes in headlines, and hints that a shell takes as they are."""
import shlex

import pytest

import harness

SPARSE = """
import torch

sparse = torch.sparse_coo_tensor([[1, 2, 3], [4, 5, 6]], [1.0, 2.0, 3.0], (100, 100), check_invariants=True)
compressed = torch.eye(100).to_sparse_csr()
nothing = torch.zeros(100, 100).to_sparse()
"""

GRAPH = """
import torch

weight = torch.ones(64, requires_grad=True)
loss = (weight * 2).sum()
"""


@pytest.fixture(scope="module")
def sparse_dump(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sparse")
    done = harness.run_source(SPARSE, folder=folder)
    assert done.returncode == 0, done.stderr
    return harness.dumps(folder)[-1]


# Indices of int64, values of float32; compressed: 101 rows and 100 columns, 100 values.
@pytest.mark.parametrize("name, taken, size", [("sparse", "60 B", 60), ("compressed", "2.0 KiB", 101 * 8 + 100 * 8 + 400),
                                               ("nothing", "0 B", 0)])
def test_a_sparse_tensor_is_as_large_as_its_parts(sparse_dump, name, taken, size):
    first = " ".join(harness.cli("show", sparse_dump, f"program.py: {name}").stdout.split())
    assert f"{taken} in indices and values (39.1 KiB if dense)" in first, first
    row, = [row for row in harness.load(sparse_dump)["tensors"] if f"program.py: {name}" in row["names"]]
    assert row["nbytes"] == size, row
    listed = harness.cli("list", sparse_dump, "--name", name, "--columns", "view-bytes,name", "--bytes").stdout
    assert any(line.split()[:1] == [f"{size:,}"] for line in listed.splitlines()), listed


@pytest.mark.parametrize("folder", ["with space", "it's here"])
@pytest.mark.parametrize("verb", ["graph", "report"])
def test_commands_that_are_printed_can_be_typed(tmp_path, folder, verb):
    place = tmp_path / folder
    place.mkdir()
    done = harness.run_source(GRAPH, folder=place)
    assert done.returncode == 0, done.stderr
    dump = harness.dumps(place)[-1]
    text = harness.cli(verb, dump).stdout
    hints = [line.partition("tensorscope ")[2] for line in text.splitlines() if "  tensorscope " in line]
    assert hints, text
    for hint in hints:
        words = shlex.split(hint.split("   ")[0])
        assert str(dump) in words, hint
        if "LATER" not in words:
            harness.cli(*words)
