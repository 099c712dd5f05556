# SPDX-License-Identifier: Apache-2.0
"""What holds a tensor through objects that the garbage collector does not know, and all the names that it has."""

# Covers: preload/python/heap_inspector/foreign/{arrow_memory,numpy_arrays}.cc preload/python/heap_inspector/naming/main_script.cc
# Covers: preload/dump/tensor_parts.cc

import json
import pathlib
import re
import signal

import harness
import pytest

pytest.importorskip("flatbuffers")

import dump_reader

SCRIPT = "names_holders.py"


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    folder = tmp_path_factory.mktemp("names")
    done = harness.run(SCRIPT, folder=folder, exit="never")
    assert done.returncode == 0, done.stderr
    truth = harness.truth(folder, "names")
    return truth, dump_reader.References(truth["dump"]), harness.load(truth["dump"])


HOLDERS = {
    "list 0": "preds[0]",
    "list 1": "preds[1]",
    "dict": "by_key['a']",
    "nested": "nested[0]['x'][0]",
    "view": "view",
    "object array": "objects[1, 2]",
    "list in an object array": "objects[0, 1][0]",
    "fortran": "fortran[0, 2]",
    "memoryview": "looked",
    "subclass": "subclass",
    "attribute of an array": "subclass.extra",
    "attribute": "keeper.out",
    "large dict": "large['x']",
    "lru a": "lru_cache of encode['a']",
    "lru b": "lru_cache of encode[('b', 4)]",
    "unbounded c": "lru_cache of unbounded['c'][0]",
    "key": "lru_cache of squared (key (Tensor))[0]",
}


@pytest.mark.parametrize("tag", HOLDERS)
def test_a_holder_behind_what_the_collector_does_not_know(names, tag):
    truth, found, _ = names
    # A key that is not the only one is written with its id().
    texts = [re.sub(" at 0x[0-9a-f]+", "", text) for root, scope, text in found.of(truth["known"][tag][0]) if (root, scope) == ("global", SCRIPT)]
    assert HOLDERS[tag] in texts


def test_arrays_in_local_variables(names):
    truth, found, _ = names
    assert ("local", "running", "local") in found.of(truth["known"]["local"][0])
    assert ("local", "running", "chunk[0]") in found.of(truth["known"]["in a local"][0])


def test_context_variables(names):
    truth, found, exported = names
    for tag, text in ("context variable", "request[0]"), ("array in a context variable", "other"):
        assert ("thread", "context variable", text) in found.of(truth["known"][tag][0])
    tensor = harness.by_address(exported)[truth["known"]["context variable"][0]]
    assert "request[0] (context variable)" in tensor["names"]


def test_the_array_is_the_direct_holder(names):
    truth, found, exported = names
    (row,) = found.rows[truth["known"]["list 1"][0]]
    assert (row.holder, row.steps) == ("ndarray", 1)
    assert harness.by_address(exported)[row_address(truth, "list 1")]["holders"][0]["text"] == f"{SCRIPT}: preds[1]"


def row_address(truth, tag):
    return truth["known"][tag][0]


def test_every_alias_in_one_container(names):
    truth, found, _ = names
    assert sorted(found.texts(row_address(truth, "two keys"))) == ["twice['first']", "twice['second']"]
    assert found.texts(row_address(truth, "repeated")) == ["repeated[0]", "repeated[1]", "repeated[2]"]


def test_a_name_that_the_program_set_on_a_tensor(names):
    truth, _, exported = names
    assert harness.by_address(exported)[row_address(truth, "__name__")]["names"][0] == "temperature"


def test_the_id_of_an_object(names):
    truth, _, exported = names
    tensors = harness.by_address(exported)
    for address, number in truth["known"].values():
        assert tensors[address]["python_id"] == number
    address, number = truth["known"]["two keys"]
    shown = harness.cli("show", truth["dump"], tensors[address]["id"]).stdout
    assert str(number) in shown


ARROW = {
    "buffer 0": ("buffers[0]", "Buffer"),
    "buffer 1": ("buffers[1]", "Buffer"),
    "array": ("alone", "FloatArray"),
    **{f"row {i}": (f"by_row[{i}]", "FloatArray") for i in range(4)},
    "slice": ("keeper.slice", "FloatArray"),
    "memoryview": ("through_memoryview", "Buffer"),
}
ARROW_TABLES = {
    "table": ("table", "Table"),
    "chunk 0": ("table", "Table"),
    "chunk 1": ("chunked", "ChunkedArray"),
    "chunk 2": ("chunked", "ChunkedArray"),
    "batch": ("batch", "RecordBatch"),
}


@pytest.mark.parametrize("kind, holders", [("plain", ARROW | ARROW_TABLES), ("extension", ARROW | {"extension": ("degrees", "Degrees")})])
def test_what_objects_of_pyarrow_keep(tmp_path, kind, holders):
    done = harness.run("names_arrow.py", kind, folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    truth = harness.truth(tmp_path, "arrow")
    found, exported = dump_reader.References(truth["dump"]), harness.by_address(harness.load(truth["dump"]))
    for tag, (text, holder) in holders.items():
        row, *others = found.rows[truth["known"][tag]]
        assert [(other.root, other.text) for other in others] == ([("extension", "memoryview")] if tag == "memoryview" else []), tag
        assert (row.root, row.scope, row.text, row.holder) == ("global", "names_arrow.py", text, holder), tag
        assert exported[truth["known"][tag]]["category"] == "container", tag
    assert ("local", "running", "local") in found.of(truth["known"]["local"])
    both = found.rows[truth["known"]["with a variable"]]
    assert {(row.text, row.holder) for row in both} == {("with_variable", "ndarray"), ("beside", "Buffer")}


ENDS = """
import libtensorscope, torch

kept = []
class Registry:
    seen = []

for step in range(1, 41):
    kept.append(torch.ones(5000))
    Registry.seen.append(torch.ones(9))
    if step % 15 == 0:
        libtensorscope.dump()
"""


def test_one_name_in_every_dump_of_a_run(tmp_path):
    done = harness.run_source(ENDS, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    dumps = harness.dumps(tmp_path)
    assert len(dumps) == 3
    for path in dumps:
        holders = {holder["text"] for tensor in harness.load(path)["tensors"] for holder in tensor["holders"]}
        assert {"program.py: kept[0]", "program.py: Registry.seen[3]"} <= holders, path
    found = json.loads(harness.cli("leaks", *dumps, "--json", status=1).stdout)
    assert len(found["answer"]["live_bytes"]) == 3
    (finding,) = found["findings"]
    assert finding["held_by"].startswith("program.py: kept[0..39]")


def waits_for_gil(process):
    """Whether a thread of tensorscope's own waits for the GIL, which it does for each look at Python's objects."""
    tasks = pathlib.Path(f"/proc/{process.pid}/task").iterdir()
    return any((task / "comm").read_text().strip() == "tensorscope-gil" for task in tasks)


def test_what_was_freed_before_names_were_looked_up(tmp_path):
    flag = tmp_path / "waits"
    with harness.running("names_freed.py", str(flag), folder=tmp_path, exit="never", names_timeout_ms=200_000) as process:
        harness.until(lambda: not waits_for_gil(process), "the end of the look at the start")
        process.send_signal(signal.SIGUSR1)
        harness.until(lambda: waits_for_gil(process), "a thread that waits for the GIL")
        flag.touch()
        (path,) = harness.until(lambda: harness.dumps(tmp_path), "a dump")
    exported = harness.load(path)
    made = [tensor for tensor in exported["tensors"] if tensor["shape"] == [1000]]
    assert len(made) == 53
    texts = [tensor["holders"][0]["text"] for tensor in made]
    assert {f"names_freed.py: stays[{i}]" for i in range(3)} <= set(texts)
    # A tensor gives the GIL up while it dies, so the look may come in between: the list then has no holder in Python.
    freed = texts.count("freed before names were looked up")
    assert freed >= 1 and freed + sum("held by C code" in text for text in texts) == 50
    assert not any("C++" in holder["text"] for tensor in exported["tensors"] for holder in tensor["holders"])
    # One that died while a C function held it has that holder, and is counted among the freed.
    said = re.search(r"(\d+) tensors? freed before the name lookup", " ".join(harness.cli("report", path).stdout.split()))
    assert freed <= int(said[1]) <= 50
    listed = harness.cli("report", path, "--by", "holder").stdout
    assert "freed before names were looked up" in listed and "C++ only" not in listed


def test_indices_and_values_belong_to_their_sparse_tensor(tmp_path):
    done = harness.run("names_sparse.py", folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    truth = harness.truth(tmp_path, "sparse")
    tensors = harness.load(truth["dump"])["tensors"]
    named = {name: tensor for tensor in tensors for name in tensor["names"]}
    for name in ("values of names_sparse.py: kept[1]", "indices of names_sparse.py: kept[1]", "values of names_sparse.py: csr",
                 "compressed indices of names_sparse.py: csr"):
        holder = named[name]["holders"][0]
        assert holder["kind"] == "part" and holder["root"] == f"names_sparse.py: {'csr' if 'csr' in name else 'kept'}", name
    owner = harness.by_address({"tensors": tensors})[truth["gradient"]]
    values = [tensor for tensor in tensors if any(holder["tensor"] == owner["id"] for holder in tensor["holders"])]
    assert len(values) == 2 and {tensor["category"] for tensor in [owner, *values]} == {"gradient"}
    assert not any("C++ only" in holder["text"] for tensor in tensors for holder in tensor["holders"])


def test_a_container_has_the_name_of_what_lasts_longest(tmp_path):
    done = harness.run("names_lasting.py", folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    names = lambda tensors, shape: next(tensor["names"] for tensor in tensors if tensor["shape"] == [shape])
    for path in harness.dumps(tmp_path):
        tensors = harness.load(path)["tensors"]
        assert names(tensors, 11) == ["registry: seen[0]"], path
        assert names(tensors, 12) == ["app.trainer.history[0] (local of main)"], path
    (saved,) = [tensor for tensor in tensors if tensor["grad_fn"] == "ExpBackward0" or "ExpBackward0.result" in str(tensor["holders"])]
    assert [holder["kind"] for holder in saved["holders"]] == ["saved"], saved["holders"]


ALIAS = """
import libtensorscope, torch

kept = []
made = torch.ones(700) * 2
kept.append(made.detach())
del made
libtensorscope.dump()
"""


def test_where_the_memory_of_an_alias_was_allocated(tmp_path):
    done = harness.run_source(ALIAS, folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    (path,) = harness.dumps(tmp_path)
    (alias,) = [tensor for tensor in harness.load(path)["tensors"] if tensor["shape"] == [700]]
    shown = harness.cli("show", path, alias["id"]).stdout
    assert "where      program.py:6 <module>  kept.append(made.detach())" in shown
    assert "allocated  program.py:5 <module>  made = torch.ones(700) * 2" in shown


LEFT_OUT = """
import ctypes, os, signal, sys
import libtensorscope, torch

held = ctypes.PyDLL(None)  # its functions are called with the GIL held


def dump_without_names(number):
    name = f"{os.environ['TENSORSCOPE_DIR']}/program.{os.getpid()}.{number}.tscope".encode()
    sys.setswitchinterval(1000)
    os.kill(os.getpid(), signal.SIGUSR1)
    while held.access(name, 0) != 0:
        held.usleep(1000)
    sys.setswitchinterval(0.005)


def main():
    kept = []
    for step in range(1, 41):
        kept.append(torch.ones(5000))
        if step == 20:
            dump_without_names(2)
        elif step % 10 == 0:
            libtensorscope.dump()


main()
"""


def test_dumps_that_lack_what_a_comparison_needs_are_left_out(tmp_path):
    done = harness.run_source(LEFT_OUT, folder=tmp_path, names_timeout_ms=50)
    assert done.returncode == 0, done.stderr
    dumps = harness.dumps(tmp_path)
    assert len(dumps) == 5 and ".exit." in dumps[-1].name
    answer = harness.cli("leaks", *dumps, "--json", status=1)
    assert f"{dumps[1]} is left out: it has no tensor names: the GIL was not free" in answer.stderr
    assert f"{dumps[4]} is left out: it was written at exit, after the functions" in answer.stderr
    (finding,) = json.loads(answer.stdout)["findings"]
    assert finding["held_by"] == "kept[0..39] (local of main) (list)" and len(finding["growth"]["bytes"]) == 3
    said = harness.cli("diff", dumps[0], dumps[1], "--by", "holder", status=0).stderr
    assert f"{dumps[1]} has no tensor names (the GIL was not free" in said
