# SPDX-License-Identifier: Apache-2.0
"""libtensorscope.save(), annotate() and mark_step(), and the same of the C API: what the program says is in the values file."""

# Covers: preload/watch/{api_values,tensor_capture}.cc

import harness
import pytest
import torch
import values_reader

pytest.importorskip("flatbuffers")

NONE, BOOLEAN, INTEGER, REAL, TEXT, OTHER = 1, 2, 3, 4, 5, 7
SAVING = """
import libtensorscope, torch
torch.manual_seed(1)
model = torch.nn.Linear(3, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
class Outer(torch.nn.Module):
    def forward(self, x):
        return libtensorscope.save("inner", model(x))
libtensorscope.save("before", 1)
outer, truth = Outer(), []
for step in range(3):
    optimizer.zero_grad()
    loss = outer(torch.ones(3)).sum()
    loss.backward()
    optimizer.step()
    assert libtensorscope.save("loss", loss) is loss
    truth.append(loss.detach().clone())
    libtensorscope.save("pair", {"a": loss, "b": [model.weight, None]})
for i in range(2):
    libtensorscope.save("rate", 0.5 + i)
libtensorscope.save("count", -1)
libtensorscope.save("huge", 2 ** 70)
libtensorscope.save("flag", True)
libtensorscope.save("nothing", None)
libtensorscope.save("word", "h\\u00e9llo")
libtensorscope.save("thing", object())
libtensorscope.annotate("half way")
torch.save(truth, "truth.pt")
"""


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saved")
    done = harness.run_source(SAVING, folder=folder, exit="never")
    assert done.returncode == 0, done.stderr
    return values_reader.read(folder), torch.load(folder / "truth.pt")


def test_tensors(saved):
    values, truth = saved
    losses = values.named("loss")
    assert [(value.step, values.tensor(value).item()) for value in losses] == [(i + 1, loss.item()) for i, loss in enumerate(truth)]
    assert {value.site for value in losses} == {"program.py:16 <module>"}
    assert [len(values.named(name)) for name in ("pair['a']", "pair['b'][0]", "pair")] == [3, 3, 0]
    assert [value.module for value in values.named("inner")] == ["Outer@1"] * 3 or {value.module for value in values.named("inner")} == {"outer"}
    assert all(value.call != 0 for value in values.named("inner"))


def test_numbers_and_texts(saved):
    values, _ = saved
    (first, second) = values.named("rate")
    assert (first.kind, first.number, second.number, first.index, second.index) == (REAL, 0.5, 1.5, 0, 1)
    one = {name: values.named(name)[0] for name in ("count", "huge", "flag", "nothing", "word", "thing", "annotate()")}
    assert (one["count"].kind, one["count"].integer) == (INTEGER, -1)
    assert (one["flag"].kind, one["flag"].number) == (BOOLEAN, 1)
    assert one["nothing"].kind == NONE
    assert (one["word"].kind, one["word"].data.decode()) == (TEXT, "h\u00e9llo")
    assert [(one[name].kind, one[name].data.decode()) for name in ("huge", "thing")] == [(OTHER, "int"), (OTHER, "object")]
    assert one["annotate()"].data.decode() == "half way"


def test_marked_steps_count_alone(tmp_path):
    source = """
import libtensorscope, torch
model = torch.nn.Linear(2, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    for part in range(2):  # gradients are accumulated over two steps of an optimizer that are one to the program
        model(torch.ones(2)).sum().backward()
        optimizer.step()
    libtensorscope.save("x", step)
    libtensorscope.mark_step()
"""
    done = harness.run_source("import libtensorscope\nlibtensorscope.mark_step()\n" + source, folder=tmp_path, exit="never", watch="model")
    assert done.returncode == 0, done.stderr
    values = values_reader.read(tmp_path)
    assert [value.step for value in values.named("x")] == [1, 2, 3]
    assert [value.step for value in values.named("model")] == [1, 1, 2, 2, 3, 3]


def test_scopes(tmp_path):
    source = """
import libtensorscope, threading, torch
def save(name):
    libtensorscope.save(name, torch.ones(1))
with libtensorscope.scope("outer", module="encoder.attention") as outer:
    save("x")
    with libtensorscope.scope("inner"):
        save("x")
        thread = threading.Thread(target=save, args=("of_thread",))
        thread.start()
        thread.join()
    try:
        with libtensorscope.scope(module="other"), outer:
            save("y")
            raise ValueError
    except ValueError:
        save("z")
save("x")
"""
    done = harness.run_source(source, folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    found = {value.name: value.module for value in values_reader.read(tmp_path).values}
    assert found == {"outer/x": "encoder.attention", "outer/inner/x": "encoder.attention", "of_thread": "",
                     "outer/outer/y": "encoder.attention", "outer/z": "encoder.attention", "x": ""}


def test_c_functions(tmp_path):
    source = """
import ctypes, torch
api = ctypes.CDLL(None)
x = torch.arange(6, dtype=torch.float64).reshape(2, 3)
sizes = (ctypes.c_int64 * 2)(2, 3)
save = lambda name, dtype, sizes, n: api.tensorscope_save(name, ctypes.c_void_p(x.data_ptr()), dtype, sizes, n)
assert save(b"x", 7, sizes, 2) == 0
assert save(b"x", 7, None, 0) == 0
assert save(b"x", 99, sizes, 2) == save(b"", 7, sizes, 2) == save(b"x", 7, None, 2) == save(b"x", 7, sizes, 65) == -2
assert save(b"x", 7, (ctypes.c_int64 * 2)(-1, 3), 2) == -2
assert api.tensorscope_annotate(b"from C") == api.tensorscope_mark_step() == 0
assert api.tensorscope_annotate(None) == -1
"""
    done = harness.run_source(source, folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    values = values_reader.read(tmp_path)
    matrix, scalar = values.named("x")
    assert torch.equal(values.tensor(matrix), torch.arange(6, dtype=torch.float64).reshape(2, 3))
    assert values.tensor(scalar).shape == () and scalar.index == 1 and matrix.statistics.mean == 2.5
    assert values.named("annotate()")[0].data == b"from C"


def test_wrong_arguments_and_no_torch(tmp_path):
    source = """
import libtensorscope
libtensorscope.save("early", 1)
libtensorscope.annotate("early")
for call in (lambda: libtensorscope.save(1, 2), lambda: libtensorscope.save("x"), lambda: libtensorscope.annotate(3)):
    try:
        call()
    except TypeError as error:
        print(error)
"""
    done = harness.run_source(source, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("save() takes a name and a value: the name is a string\nsave() takes a name and a value\n"
                           "annotate() takes a string\n")
    assert not list(tmp_path.glob("*.values"))


def test_a_forked_child_saves_in_a_file_of_its_own(tmp_path):
    source = """
import libtensorscope, os, torch
libtensorscope.save("parent", torch.ones(2))
child = os.fork()
if child == 0:
    libtensorscope.save("child", torch.ones(3))
    raise SystemExit(0)
os.waitpid(child, 0)
"""
    done = harness.run_source(source, folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    files = [values_reader.Values(path) for path in tmp_path.glob("*.values")]
    assert sorted([value.name for value in each.values] for each in files) == [["child"], ["parent"]]
