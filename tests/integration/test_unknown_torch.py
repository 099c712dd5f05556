# SPDX-License-Identifier: Apache-2.0
"""A torch whose functions have other names than any that we know, as a nightly's may: the program notices nothing, and its dump says
what is missing.

The names are changed in copies of torch's libraries, in all of them alike, so that this torch works as before. Which names matter is
read from libtorch_cpu's and libc10's tables and the preload itself: no list of them is kept here."""

# Covers: preload/hooks/self_check.cc preload/hooks/process/process.cc preload/torch/metadata/torch_functions.cc

import os
import pathlib
import re
import shutil
import struct
import subprocess

import pytest

import harness

pytestmark = pytest.mark.skipif(harness.SYSROOT != "", reason="the torch of another root is not copied")

PROGRAM = """
import sys
import torch
import truth
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters())
for step in range(3):
    optimizer.zero_grad()
    loss = model(torch.randn(32, 8)).square().mean()
    loss.backward()
    optimizer.step()
held = [model(torch.randn(2, 8)), torch.ones(3, 4).to_sparse(), torch.zeros(5, 6)[1:, 2], torch.ones(7).share_memory_()]
try:
    torch.empty(1 << 60)
except RuntimeError as error:
    print(type(error).__name__, str(error).splitlines()[0])
print(loss.item().hex(), sum(tensor.sum().item() for tensor in held).hex())
truth.moment()
sys.exit(3)
"""

# What the preload asks this torch for, in parts, and the row of coverage that has to speak of it. A name is in one of them.
PARTS = [
    (r"TensorImplC\dEONS_7StorageENS_14DispatchKeySetEN6caffe28TypeMetaE$", "tensors"),
    (r"TensorImplC\dENS0_8ImplTypeE", "tensors"),
    (r"TensorImplC\dENS_14DispatchKeySet", "tensors"),
    (r"TensorImplC\dEONS_7Storage.*optional", "tensors"),
    (r"TensorImplD\dEv", "tensors"),
    (r"release_resources", "tensors"),
    (r"alloc_cpu|free_cpu", "CPU memory"),
    (r"reportMemoryUsage", "mapped memory"),
    (r"OutOfMemory", "out of memory"),
    (r"set_gradient_edge", "autograd"),
    (r"4NodeD2|get_current_node|SavedVariable6unpack", "autograd"),
    (r"SavedVariableC", None),  # bytes that calls saved: of values files
    (r"aoti_torch_", "tensor metadata"),
    (r"11has_storage", "tensor metadata"),
    (r"13requires_grad|4gradEv|8toString|10_singleton|7is_view|9output_nr|grad_fn_unsafe", "tensor metadata"),
    (r"RecordFunction|GlobalCallback|(dis|reen)ableCallback|GradMode|sequence_number|graph_task|THPVariable_Wrap", None),  # values, not dumps
]


class Names:
    """The names of a library's dynamic symbols, as they lie in its file."""

    def __init__(self, path):
        self.path = path
        with open(path, "rb") as file:
            header = file.read(64)
            place, size, count, names = struct.unpack_from("<Q10xHHH", header, 40)
            file.seek(place)
            sections = [struct.unpack_from("<IIQQQQI", file.read(size)) for _ in range(count)]
            link = next(section[6] for section in sections if section[1] == 11)  # SHT_DYNSYM
            self.begin = sections[link][4]
            file.seek(self.begin)
            self.text = file.read(sections[link][5])

    def find(self, name):
        return self.text.find(b"\0" + name + b"\0") + 1

    def change(self, changes):
        """Writes {name: other name of this length}; returns what has to be written to undo it."""
        undo = {}
        with open(self.path, "r+b") as file:
            for name, other in changes.items():
                place = self.find(name)
                if place:
                    undo[place] = name
                    file.seek(self.begin + place)
                    file.write(other)
        return undo

    def restore(self, undo):
        with open(self.path, "r+b") as file:
            for place, name in undo.items():
                file.seek(self.begin + place)
                file.write(name)


def changed(name):
    """Another name with the same hash (DT_GNU_HASH: h * 33 + c), so that the loader's tables stay right."""
    for i in range(len(name) - 2, 2, -1):
        first, second = name[i] + 1, name[i + 1] - 33
        if bytes([first, second]).isalnum():
            return name[:i] + bytes([first, second]) + name[i + 2:]
    raise AssertionError(name)


class Altered:
    """A copy of the installed torch: links to it, and files of our own where its libraries name functions that the preload asks for."""

    def __init__(self, folder):
        self.folder = folder
        source = pathlib.Path(harness.asked("torch", "torch.__path__[0]"))
        target = folder / "torch"
        (target / "lib").mkdir(parents=True)
        for place in [source, source / "lib"]:
            for entry in place.iterdir():
                link = target / entry.relative_to(source)
                if not link.exists():
                    link.symlink_to(entry)
        sources = b"\n".join(path.read_bytes() for path in (harness.ROOT / "preload").rglob("*.cc"))
        asked = set(re.findall(rb"\b(?:_ZN?K?(?:3c10|2at|5torch)\w+|aoti_torch_\w+|_Z16THPVariable_Wrap\w+)\b",
                               harness.LIBRARY.read_bytes() + sources))
        self.libraries, self.names = [], set()
        for path in [*sorted((source / "lib").glob("lib*.so")), *source.glob("_C.*.so")]:
            names = Names(path)
            here = {name for name in asked if names.find(name)}
            if here:
                copy = target / path.relative_to(source)
                copy.unlink()
                shutil.copy(path, copy)
                names.path = copy
                self.libraries.append(names)
                self.names |= here

    def part(self, pattern):
        return {name for name in self.names if re.search(pattern, name.decode())}

    def run(self, names, folder, preload=True, exit="never"):
        """The program, with these names changed."""
        folder.mkdir()
        changes = {name: changed(name) for name in names}
        undo = [library.change(changes) for library in self.libraries]
        try:
            path = folder / "program.py"
            path.write_text(PROGRAM)
            settings = harness.environment(folder, preload, quiet=1, oom_report=0, exit=exit)
            settings["PYTHONPATH"] = os.pathsep.join([str(self.folder), str(harness.PROGRAMS)])
            return subprocess.run([harness.PYTHON, str(path)], env=settings, cwd=folder, capture_output=True, text=True,
                                  timeout=harness.TIMEOUT, stdin=subprocess.DEVNULL)
        finally:
            for library, places in zip(self.libraries, undo):
                library.restore(places)


@pytest.fixture(scope="module")
def altered(tmp_path_factory):
    folder = tmp_path_factory.mktemp("altered")
    yield Altered(folder)
    shutil.rmtree(folder)  # half a gigabyte


@pytest.fixture(scope="module")
def usual(altered):
    """The copied torch with its own names."""
    done = altered.run([], altered.folder / "usual")
    assert done.returncode == 3 and done.stderr == "", done.stderr
    rows = harness.coverage(harness.truth(altered.folder / "usual")["dump"])
    assert all(rows[subject].seen == "yes" for _, subject in PARTS if subject)
    return done, rows


def says_nothing_wrong(exported, known, rows, usual):
    """What the dump has is right; what it lacks, a row of its coverage speaks of."""
    found = harness.by_address(exported)
    for row in known["tensors"]:
        tensor = found.get(row["address"])
        if tensor is None:
            assert rows["tensors"].seen != "yes", row
            continue
        for field in {*harness.FIELDS} & row.keys():
            if tensor[field] is None:
                assert rows["tensor metadata"][:2] != usual["tensor metadata"][:2], (field, tensor)
            else:
                assert tensor[field] == row[field], (field, tensor, row)


@pytest.mark.cases(4)
@pytest.mark.parametrize("pattern, subject", PARTS, ids=[pattern[:24] for pattern, _ in PARTS])
def test_a_part_is_missing(pattern, subject, altered, usual, tmp_path):
    done, rows = usual
    names = altered.part(pattern)
    assert names
    without = altered.run(names, tmp_path / "run")
    assert (without.returncode, without.stdout, without.stderr) == (done.returncode, done.stdout, done.stderr)
    known = harness.truth(tmp_path / "run")
    exported = harness.load(known["dump"])
    found = harness.coverage(exported)
    for name in rows.keys() | found.keys():
        seen, detail, _ = found[name]
        assert (seen, detail) == rows[name][:2] or detail and "\n" not in detail or seen == "not_applicable", name
    if subject:
        assert found[subject][:2] != rows[subject][:2]
    says_nothing_wrong(exported, known, found, rows)


def test_all_parts_are_missing(altered, usual, tmp_path):
    """Nothing that the preload stands before is called: what is missing is said at the program's end."""
    assert altered.names == set().union(*(altered.part(pattern) for pattern, _ in PARTS))
    assert sum(len(altered.part(pattern)) for pattern, _ in PARTS) == len(altered.names)
    outputs = [altered.run(altered.names, tmp_path / str(preload), preload, exit="always") for preload in (True, False)]
    for without in outputs:
        assert (without.returncode, without.stdout, without.stderr) == (usual[0].returncode, usual[0].stdout, usual[0].stderr)
    (dump,) = (tmp_path / "True").glob("*.exit.tscope")
    exported = harness.load(dump)
    rows = harness.coverage(exported)
    assert not exported["tensors"] and not exported["allocations"]
    for subject in ("tensors", "CPU memory", "mapped memory", "autograd"):
        assert rows[subject].seen == "no" and rows[subject].detail, subject


def test_each_name_is_missing(long, altered, usual, tmp_path):
    if not long:
        pytest.skip("one by one only with --long")
    for name in sorted(altered.names):
        without = altered.run([name], tmp_path / name.decode()[-60:])
        assert (without.returncode, without.stdout, without.stderr) == (usual[0].returncode, usual[0].stdout, usual[0].stderr), name
        known = harness.truth(tmp_path / name.decode()[-60:])
        exported = harness.load(known["dump"])
        says_nothing_wrong(exported, known, harness.coverage(exported), usual[1])
