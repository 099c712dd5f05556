# SPDX-License-Identifier: Apache-2.0
"""A tensor has one category as long as the same things hold it, whatever function runs at the dump; what a graph was given is no
activation; the order of creation is not taken for the order of return."""

import harness

LASTS = """
import torch, libtensorscope
from torch import nn

model = nn.Sequential(nn.Linear(8, 8), nn.ReLU())
kept = []


class Trainer:
    def __init__(self, results):
        self.results = results

    def evaluate(self):
        results = self.results
        return libtensorscope.dump()


def helper(results):
    return libtensorscope.dump()


def main():
    results = kept
    with torch.no_grad():
        results.append(model(torch.ones(4, 8)))
    libtensorscope.dump()
    helper(results)


main()
libtensorscope.dump()
Trainer(kept).evaluate()
holder = Trainer(kept)
libtensorscope.dump()
print(kept[0]._cdata)
"""

GIVEN = """
import torch, libtensorscope
from torch import nn

x = torch.randn(16, 3, 8, 8)
model = nn.Sequential(nn.Flatten(), nn.Linear(192, 32), nn.Dropout(), nn.Linear(32, 2))
y = model(x)
loss = nn.functional.cross_entropy(y, torch.zeros(16, dtype=torch.long))
libtensorscope.dump()
print(x._cdata)
"""

RETURNED = """
import torch, libtensorscope
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(4, 8)

    def forward(self, x):
        out, (hidden, cell) = self.lstm(x)
        logits = out.sum(-1)
        return {"loss": logits.mean(), "logits": logits, "state": hidden}


net = Net()
result = net(torch.ones(3, 2, 4))
libtensorscope.dump()
print(result["loss"]._cdata, result["logits"]._cdata, result["state"]._cdata)
"""


def run(source, folder):
    done = harness.run_source(source, folder=folder, exit="never")
    assert done.returncode == 0, done.stderr
    return [harness.by_address(harness.load(path)) for path in harness.dumps(folder)], [int(word) for word in done.stdout.split()]


def test_a_tensor_in_a_list_has_one_category_in_all_dumps(tmp_path):
    dumps, (address,) = run(LASTS, tmp_path)
    assert [dump[address]["category"] for dump in dumps] == ["container"] * 5


def test_what_a_graph_was_given_is_no_activation(tmp_path):
    (dump,), (x,) = run(GIVEN, tmp_path)
    assert dump[x]["category"] == "input batch"
    assert sum(tensor["category"] == "saved activation" for tensor in dump.values()) >= 2


BATCH = """
import torch, libtensorscope
from torch import nn

model = nn.Sequential(nn.Linear(192, 32), nn.ReLU(), nn.Linear(32, 2))
data = torch.randn(256, 192)
for i in range(2):
    x, y = torch.randn(64, 192), data[32 * i:32 * i + 32]
    loss = model(x).sum() + model(y).sum()
    libtensorscope.dump()
    loss.backward()
    libtensorscope.dump()
print(x._cdata, y._cdata)
"""


def test_a_batch_made_by_hand_is_an_input_as_long_as_a_graph_saves_it(tmp_path):
    (*_, saved, freed), (x, y) = run(BATCH, tmp_path)
    assert (saved[x]["category"], saved[y]["category"]) == ("input batch", "input batch")
    assert (freed[x]["category"], freed[y]["category"]) == ("variable", "variable")


def test_inferred_outputs_have_no_index(tmp_path):
    (dump,), addresses = run(RETURNED, tmp_path)
    assert any("net.out" in dump[address]["names"] for address in addresses)
    for address in addresses:
        names = [name for name in dump[address]["names"] if ".out" in name]
        assert all(name in ("net.out", "net.lstm.out") for name in names), dump[address]["names"]


ARRAYS = """
import pyarrow, torch, libtensorscope
from torch import nn

model = nn.Linear(8, 8)
predictions = [model(torch.ones(4, 8)).detach().numpy() for _ in range(3)]
arrow = [pyarrow.array(model(torch.ones(4, 8)).detach().numpy()[0]) for _ in range(2)]
buffers = [pyarrow.py_buffer(model(torch.ones(4, 8)).detach().numpy()) for _ in range(2)]
libtensorscope.dump()
"""


def test_arrays_in_a_list_are_in_a_container_like_their_tensors(tmp_path):
    assert harness.run_source(ARRAYS, folder=tmp_path, exit="never").returncode == 0
    (path,) = harness.dumps(tmp_path)
    tensors = harness.load(path)["tensors"]
    for name, count in ("predictions", 3), ("arrow", 2), ("buffers", 2):
        held = [tensor for tensor in tensors if any(f"{name}[" in text for text in tensor["names"])]
        assert len(held) == count and {tensor["category"] for tensor in held} == {"container"}, held
