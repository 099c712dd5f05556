# SPDX-License-Identifier: Apache-2.0
"""What a watch keeps besides statistics: slices, other dtypes, norms per item, quantiles and histograms, as torch computes them."""

# Covers: preload/tensor_values/{reducers,tensor_slice,element_numbers}.cc

import math
import subprocess

import harness
import pytest
import torch
import values_reader

pytest.importorskip("flatbuffers")

HOLDER = """
import sys, torch
class Holder(torch.nn.Module):
    def forward(self, x):
        return x
model = Holder()
for x in torch.load(sys.argv[1]):
    model(x)
"""


def watch(folder, tensors, **keys):
    """What the file has of tensors that pass through `model`, in their order."""
    torch.save(tensors, folder / "tensors.pt")
    lines = [f"{key} = {value!r}".replace("'", '"') for key, value in {"path": "model", **keys}.items()]
    (folder / "watch.toml").write_text("[[watch]]\n" + "\n".join(lines) + "\n")
    done = harness.run_source(HOLDER, str(folder / "tensors.pt"), folder=folder, exit="never", watch=folder / "watch.toml")
    assert done.returncode == 0 and "watch.toml" not in done.stderr, done.stderr
    values = values_reader.read(folder)
    return values, values.named("model")


def special_numbers():
    torch.manual_seed(0)
    exponents = torch.randint(-30, 18, (4000,)).double()
    return torch.cat([torch.randn(4000).double() * 2 ** exponents,
                      torch.tensor([0, -0.0, math.inf, -math.inf, math.nan, 65504, 65519.99, 65520, -65520, 1e300, 2 ** -24, 2 ** -25,
                                    2 ** -25 * 1.01, 1 + 2 ** -11, 1 + 3 * 2 ** -11, 2 ** -14 - 2 ** -26], dtype=torch.float64)])


@pytest.mark.cases(2)
@pytest.mark.parametrize("store", ["float16", "bfloat16", "float32", "float64"])
def test_elements_of_another_dtype(tmp_path, store):
    dtype = getattr(torch, store)
    given = [special_numbers().float(), special_numbers().float().bfloat16(), torch.arange(-300, 300), torch.tensor([True, False]),
             torch.tensor([1 + 2j])]
    values, rows = watch(tmp_path, given, keep=["full"], store=store)
    for tensor, row in zip(given, rows):
        expected = tensor if tensor.is_complex() else tensor.to(dtype)
        found = values.tensor(row)
        assert found.dtype == expected.dtype
        same = (found == expected) | (found.isnan() & expected.isnan())
        assert same.all(), (tensor[~same], found[~same], expected[~same])


SLICES = {"0": lambda x: x[0], "-1": lambda x: x[-1], ":2": lambda x: x[:2], "1:, 0": lambda x: x[1:, 0], ":, -2:": lambda x: x[:, -2:],
          "::2, ::3, 1": lambda x: x[::2, ::3, 1], "5:9": lambda x: x[5:9], ":-1, 1:-1": lambda x: x[:-1, 1:-1]}


@pytest.mark.cases(3)
@pytest.mark.parametrize("slice", SLICES)
def test_slices_are_those_of_python(tmp_path, slice):
    given = [torch.randn(3, 5, 4), torch.randn(4, 5, 3).transpose(0, 2), torch.zeros(3, 5, 4).expand(3, 5, 4), torch.randn(2, 1, 2, 2)]
    values, rows = watch(tmp_path, given, slice=slice)
    for tensor, row in zip(given, rows):
        expected = SLICES[slice](tensor)
        assert row.shape == tuple(tensor.shape) and row.kept_shape == tuple(expected.shape)
        assert torch.equal(values.tensor(row), expected)
        assert row.statistics.count == tensor.numel()  # of the whole


def test_a_slice_outside_the_tensor_is_counted(tmp_path):
    values, (first, second) = watch(tmp_path, [torch.ones(2), torch.ones(4, 4)], slice="3, 0")
    assert first.data is None and values.tensor(second).item() == 1
    assert values.losses == {("elements", "the slice lies outside the tensor"): 1}


def test_series_are_those_of_torch(tmp_path):
    torch.manual_seed(1)
    given = [torch.randn(7, 5, 3), torch.randn(6, 40).transpose(0, 1), torch.tensor(3.0), torch.full((2, 2), 5.0), torch.arange(1000),
             torch.randn(3, 100).bfloat16(), torch.tensor([[math.nan, 1, 2], [math.inf, -1, 0]]), torch.tensor([1e308, -1e308], dtype=torch.float64)]
    _, rows = watch(tmp_path, given, keep=["norms", "quantiles", "histogram"])
    for tensor, row in zip(given, rows):
        x = tensor.double()
        finite = x[x.isfinite()]
        zeroed = x.where(x.isfinite(), torch.zeros(()).double())
        norms = zeroed.reshape(len(x), -1).norm(dim=1) if x.ndim else zeroed.abs().reshape(1)
        assert row.series["norms"] == pytest.approx(norms.tolist(), rel=1e-12)
        points = torch.tensor([0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99]).double()
        if finite.abs().max() < 1e300:
            (quantiles,) = [numbers for what, numbers in row.series.items() if what.startswith("quantiles ")]
            assert quantiles == pytest.approx(torch.quantile(finite, points).tolist(), rel=1e-6, abs=1e-9)
            low, high, *counts = row.series["histogram"]
            assert counts == torch.histc(finite, 64, low, high).tolist()
            assert (low, high) == ((finite.min(), finite.max()) if finite.min() < finite.max() else (finite[0] - 1, finite[0] + 1))
        assert sum(row.series["histogram"][2:]) == len(finite)


REUSED = """
import numpy, torch
class Holder(torch.nn.Module):
    def forward(self, x):
        return x
model, other, frozen = Holder(), Holder(), torch.zeros(300)
memory, truth = numpy.zeros(4096), []
for number in range(6):
    x = torch.from_numpy(memory).fill_(number)  # another tensor with the address, version and size of the one before
    truth.append((x.data_ptr(), x._version))
    model(x)
    del x
    other(frozen)
    if number == 3:
        frozen.data.fill_(1)                  # no version of frozen's
print(len(set(truth)))
"""


def test_another_tensor_at_the_same_address_is_kept(tmp_path):
    (tmp_path / "watch.toml").write_text('[[watch]]\npath = "model"\nkeep = "full"\n[[watch]]\npath = "other"\nkeep = ["full", "hash"]\n')
    done = harness.run_source(REUSED, folder=tmp_path, exit="never", watch=tmp_path / "watch.toml")
    assert (done.returncode, done.stdout) == (0, "1\n")
    values = values_reader.read(tmp_path)
    assert [values.tensor(value)[0].item() for value in values.named("model")] == [0, 1, 2, 3, 4, 5]
    assert [bool(value.flags & values_reader.UNCHANGED) for value in values.named("other")] == [False, True, True, True, False, True]
    assert [values.tensor(value)[0].item() for value in values.named("other")] == [0, 0, 0, 0, 1, 1]


def test_nothing_finite_and_nothing_at_all(tmp_path):
    _, rows = watch(tmp_path, [torch.tensor([math.nan]), torch.empty(0), torch.empty(0, 3)], keep=["norms", "quantiles", "histogram"])
    assert [row.series for row in rows] == [{"norms": [0.0]}, {}, {}]


def test_a_tensor_without_elements_is_the_first_that_waits_to_be_written(tmp_path):
    values, (row,) = watch(tmp_path, [torch.empty(0, 3)], keep="full")
    assert not values.losses and row.flags & values_reader.ELEMENTS and values.tensor(row).shape == (0, 3)


@pytest.mark.parametrize("line, reason", [
    ('slice = "a"', "slice takes indexes and ranges"), ('slice = ""', "slice takes"), ('slice = "1:2:0"', "slice takes"),
    ('slice = "::-1"', "slice takes"), ('slice = "1,,2"', "slice takes"), ('store = "int8"', "store takes one of float16, float32"),
    ('keep = ["mean"]', "keep takes one or more of full, statistics, hash, norms, quantiles, histogram")])
def test_errors(tmp_path, line, reason):
    (tmp_path / "watch.toml").write_text(f'[[watch]]\npath = "model"\n{line}\n')
    done = subprocess.run([harness.CLI, "watch", "--check", tmp_path / "watch.toml"], capture_output=True, text=True)
    assert done.returncode == 2 and f"watch.toml:3: {reason}" in done.stderr and len(done.stderr.splitlines()) == 1
