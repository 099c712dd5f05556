# SPDX-License-Identifier: Apache-2.0
"""Exports of values files, read back by the programs they are for: every element to the bit, and what stands beside it."""

# Covers: analyzer/cli/values_export.cc analyzer/values/value_columns.cc
# Covers: analyzer/export/arrays/{value_arrays,numpy,safetensors,hdf5,value_table,values_table}.cc

import pathlib
import subprocess

import harness
import pytest
import torch
import values_reader
from values_reader import ELEMENTS, UNCHANGED

pytest.importorskip("flatbuffers")
numpy = pytest.importorskip("numpy")
h5py = pytest.importorskip("h5py")
pandas = pytest.importorskip("pandas")
safetensors_torch = pytest.importorskip("safetensors.torch")

SOURCE = """
import torch
DTYPES = ["bfloat16", "float16", "float32", "float64", "complex64", "complex128", "bool", "uint8", "int8", "int16", "int32", "int64"]
class Cast(torch.nn.Module):
    def __init__(self, dtype):
        super().__init__()
        self.dtype = getattr(torch, dtype)
    def forward(self, x):
        return x.to(self.dtype)
class Ragged(torch.nn.Module):
    def forward(self, x, step):
        shape = [(1, 1, 1), (2, 2, 1), (3, 1, 2), (1, 3, 2)][step - 1]
        return x.flatten()[:shape[0] * shape[1] * shape[2]].reshape(shape)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.casts = torch.nn.ModuleDict({"to_" + name: Cast(name) for name in DTYPES})
        self.ragged, self.empty, self.whole = Ragged(), torch.nn.Identity(), torch.nn.Identity()
        self.weight = torch.nn.Parameter(torch.arange(6.0))
    def forward(self, x, step):
        for cast in self.casts.values():
            cast(x)
        self.whole(x.sum())
        self.empty(x[:0])
        return {"a/b": self.ragged(x, step)}
model = Model()
optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=0.1)
base = torch.tensor([[0.0, 1.0, -2.5], [3.140625, float("inf"), float("nan")]])
for step in range(1, 5):
    model(torch.nan_to_num(base) if step < 4 else base, step)
    optimizer.step()
model.eval()
model(base, 1)
"""
WATCH = "full:model.casts.*,full:model.ragged,full:model.empty,full:model.whole,full:model.weight,full:model,model.casts.to_float32"


def export(path, out, *options):
    return subprocess.run([str(harness.CLI), "values", str(path), "--export", str(out), *options], capture_output=True, text=True,
                          timeout=harness.TIMEOUT)


def exported(path, out, *options):
    done = export(path, out, *options)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exported")
    done = harness.run_source(SOURCE, folder=folder, exit="never", watch=WATCH)
    assert done.returncode == 0, done.stderr
    (path,) = pathlib.Path(folder).glob("*.values")
    return path, values_reader.Values(path)


def truth(values):
    """{name: values with elements}, as the second reader has them."""
    named = {}
    for value in values.values:
        if value.flags & (ELEMENTS | UNCHANGED):
            named.setdefault(value.name, []).append(value)
    assert {f"model.casts.to_{name}" for name in ("bfloat16", "complex128", "bool")} <= named.keys()
    return named


def same(mine, theirs):
    """To the bit, but for NaN, whose bits a conversion may change."""
    return mine.dtype == theirs.dtype and mine.shape == theirs.shape and numpy.array_equal(mine, theirs, equal_nan=mine.dtype.kind in "fc")


def in_numpy(tensor):
    return tensor.float().numpy() if tensor.dtype == torch.bfloat16 else tensor.numpy()


def check_arrays(arrays, values, convert=in_numpy, equal=same):
    """`arrays`: gives the array of a path such as "model.fc/values"."""
    seen = 0
    for name, expected in truth(values).items():
        key = name.replace("/", "%2F")
        tensors = [convert(values.tensor(value)) for value in expected]
        for field in ("step", "index", "thread", "serial"):
            assert list(arrays(f"{key}/{field}")) == [getattr(value, field) for value in expected], (name, field)
        assert list(arrays(f"{key}/mode")) == [value.mode for value in expected]
        assert set(arrays(f"{key}/rank").tolist()) == {-1}
        ragged = len({tensor.shape for tensor in tensors}) > 1
        assert ragged == (name in ("model.ragged", "model['a/b']"))
        whole = arrays(f"{key}/values")
        if ragged:
            flat, offsets, shape = (arrays(f"{key}/{field}") for field in ("flat", "offsets", "shape"))
            assert whole.shape[1:] == tuple(max(tensor.shape[i] for tensor in tensors) for i in range(3))
        for i, tensor in enumerate(tensors):
            if ragged:
                assert tuple(shape[i].tolist()) == tuple(tensor.shape)
                assert equal(flat[offsets[i]:offsets[i + 1]].reshape(tensor.shape), tensor)
                there = tuple(slice(size) for size in tensor.shape)
                assert equal(whole[i][there], tensor)
                rest = whole[i][:]
                rest[there] = 0
                assert not rest.any()
            else:
                assert equal(whole[i], tensor), (name, i)
            seen += 1
        for field, mine in (("mean", "mean"), ("std", "deviation"), ("max", "maximum"), ("nan", "nan"), ("count", "count")):
            assert arrays(f"{key}/{field}").tolist() == [getattr(value.statistics, mine) for value in expected]
    return seen


def test_npz(recorded, tmp_path):
    path, values = recorded
    said = exported(path, tmp_path / "out.npz")
    assert "model.casts.to_bfloat16: bfloat16 as float32 (exact)" in said
    with numpy.load(tmp_path / "out.npz") as arrays:
        assert check_arrays(arrays.__getitem__, values) > 60
        assert same(arrays["model.weight/values"][4], numpy.arange(6, dtype="float32"))  # stored once, read five times


def test_a_folder_of_npy(recorded, tmp_path):
    path, values = recorded
    exported(path, f"{tmp_path}/out/")
    assert check_arrays(lambda key: numpy.load(tmp_path / "out" / f"{key}.npy"), values) > 60
    done = export(path, f"{tmp_path}/out/")
    assert done.returncode == 2 and "not empty" in done.stderr


def test_one_npy(recorded, tmp_path):
    path, values = recorded
    exported(path, tmp_path / "one.npy", "--name", "model.casts.to_float64")
    mine = numpy.load(tmp_path / "one.npy")
    expected = [values.tensor(value).numpy() for value in truth(values)["model.casts.to_float64"]]
    assert same(mine, numpy.stack(expected))
    assert export(path, tmp_path / "two.npy").returncode == 2


def test_hdf5(recorded, tmp_path):
    path, values = recorded
    for options in ([], ["--compress", "4"]):
        exported(path, tmp_path / "out.h5", "--force", *options)
        with h5py.File(tmp_path / "out.h5") as file:
            assert check_arrays(lambda key: file[key][()], values) > 60
            assert file["model.casts.to_bfloat16"].attrs["dtype"] == "bfloat16" and file["model.ragged"].attrs["name"] == "model.ragged"
            assert (file["model.whole/values"].compression == "gzip") == bool(options)


def test_safetensors_keeps_bfloat16(recorded, tmp_path):
    path, values = recorded
    exported(path, tmp_path / "out.safetensors")
    tensors = safetensors_torch.load_file(tmp_path / "out.safetensors")

    def convert(tensor):
        return torch.view_as_real(tensor) if tensor.dtype == torch.complex128 else tensor

    def equal(mine, theirs):
        return mine.dtype == theirs.dtype and torch.equal(torch.nan_to_num(mine), torch.nan_to_num(theirs))

    assert check_arrays(tensors.__getitem__, values, convert, equal) > 60
    assert tensors["model.casts.to_bfloat16/values"].dtype == torch.bfloat16


def elements(text, dtype):
    return numpy.array([complex(word) if "complex" in dtype else float(word) for word in text.split()]).astype(dtype)


def test_csv(recorded, tmp_path):
    path, values = recorded
    exported(path, tmp_path / "out.csv")
    table = pandas.read_csv(tmp_path / "out.csv", keep_default_na=False)
    assert len(table) == len(values.values)
    for name, expected in truth(values).items():
        rows = table[(table.name == name) & (table.stored_shape != "")]
        assert rows.step.tolist() == [value.step for value in expected]
        for (_, row), value in zip(rows.iterrows(), expected):
            mine = elements(row.elements, {"bfloat16": "float32"}.get(row["dtype"], row["dtype"]))
            assert same(mine, in_numpy(values.tensor(value)).flatten())
    last = table[table.name == "model.whole"].iloc[0]
    assert float(last.value) == float(last["mean"]) and last.site.startswith("program.py:")


def test_parquet(recorded, tmp_path):
    path, values = recorded
    pytest.importorskip("pyarrow")
    exported(path, tmp_path / "out.parquet")
    table = pandas.read_parquet(tmp_path / "out.parquet")
    assert len(table) == len(values.values)
    for name, expected in truth(values).items():
        rows = table[(table.name == name) & table.elements.notna()]
        assert rows.step.tolist() == [value.step for value in expected]
        assert rows["mean"].tolist() == [value.statistics.mean for value in expected]
        for mine, value in zip(rows.elements, expected):
            if value.flags & ELEMENTS:
                assert mine == value.data  # every bit, also of a bfloat16 NaN


def test_ranks_are_merged_step_by_step(tmp_path, monkeypatch):
    paths = []
    for rank in (1, 0):
        folder = tmp_path / str(rank)
        folder.mkdir()
        monkeypatch.setenv("RANK", str(rank))
        monkeypatch.setenv("WORLD_SIZE", "2")
        source = SOURCE.replace("base = ", f"base = {rank} + ")
        assert harness.run_source(source, folder=folder, exit="never", watch="full:model.casts.to_float32").returncode == 0
        paths += folder.glob("*.values")
    done = subprocess.run([str(harness.CLI), "values", *map(str, paths), "--export", str(tmp_path / "out.npz")], capture_output=True)
    assert done.returncode == 0, done.stderr
    with numpy.load(tmp_path / "out.npz") as arrays:
        key = "model.casts.to_float32/"
        steps, ranks = arrays[key + "step"].tolist(), arrays[key + "rank"].tolist()
        assert sorted(steps) == steps and sorted(ranks) == [0] * 5 + [1] * 5 and ranks != sorted(ranks)
        zero, one = (arrays[key + "values"][ranks.index(rank), 0] for rank in (0, 1))
        assert (one - zero).tolist() == [1, 1, 1]


def test_nothing_is_overwritten_and_unknown_formats_are_named(recorded, tmp_path):
    path, _ = recorded
    for name in ("out.npz", "out.h5", "out.csv", "out.parquet", "out.safetensors"):
        out = tmp_path / name
        out.write_text("mine")
        done = export(path, out)
        assert done.returncode == 2 and "--force" in done.stderr and out.read_text() == "mine"
    assert ".npz" in export(path, tmp_path / "out.xlsx").stderr
    done = export(path, tmp_path / "none.npz", "--step", "100-")
    assert done.returncode == 2 and not (tmp_path / "none.npz").exists()
    assert export(path, tmp_path / "missing" / "out.npz").returncode == 2
    full = export(path, "/dev/full/out.npz")
    assert full.returncode == 2 and "cannot write" in full.stderr


def test_damaged_elements_are_said_and_nothing_is_left(recorded, tmp_path):
    path, _ = recorded
    data = bytearray(path.read_bytes())
    at = data.index(b"VDAT") + 24 + 40
    data[at] ^= 1
    broken = tmp_path / "broken.values"
    broken.write_bytes(data)
    for name in ("out.npz", "out.h5", "out.safetensors", "out.csv"):
        done = export(broken, tmp_path / name)
        assert done.returncode == 2 and "checksum" in done.stderr, name
    assert {file.name for file in tmp_path.iterdir()} == {"broken.values"}
