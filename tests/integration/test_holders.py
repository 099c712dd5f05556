# SPDX-License-Identifier: Apache-2.0
"""Who refers to each tensor in Python, against what the program knows. Needs flatc and the flatbuffers package."""

# Covers: preload/python/heap_inspector/graph/{attributes,object_kinds,roots}.cc
# Covers: preload/python/heap_inspector/naming/{chains,frame_locals,given_names,optimizers,running_calls}.cc
# Covers: preload/python/heap_inspector/rows/{node_rows,reference_rows,shared_rows}.cc
# Covers: preload/python/heap_inspector/{program_objects,python_threads}.cc
# Covers: preload/python/heap_inspector/graph/{exit_functions,steps,type_fields}.cc preload/python/heap_inspector/rows/tensor_objects.cc
# Covers: preload/python/named_tensors.cc
# Covers: preload/dump/references_chunk.cc
# Covers: analyzer/ownership/{graph_roots,merged_names}.cc analyzer/dump/references.cc

import json

import harness
import pytest
import test_bridge

pytest.importorskip("flatbuffers")

import dump_reader


@pytest.mark.cases(4)
@test_bridge.every_python
def test_every_holder_in_every_python(python):
    done = test_bridge.run_probe(python, "holders.py", "--probe", test_bridge.PROBE)
    assert "76 tensors" in done.stdout


def run(program, folder, **options):
    done = harness.run(program, folder=folder, exit="never", **options)
    assert done.returncode == 0, done.stderr
    return done


def run_source(source, folder, **options):
    done = harness.run_source(source, folder=folder, exit="never", **options)
    assert done.returncode == 0, done.stderr
    (path,) = harness.dumps(folder)
    return dump_reader.References(path), json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def holders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("holders")
    run("holders.py", folder)
    truth = harness.truth(folder, "holders")
    return truth, *map(dump_reader.References, truth["dumps"])


def test_every_holder_of_real_tensors(holders):
    truth, found, _ = holders
    assert (found.complete, found.detail) == (True, "")
    assert len(truth["known"]) >= 30
    for address, chains in truth["known"].items():
        for chain in chains:
            assert tuple(chain) in found.of(int(address))
        assert found.tensors[int(address)].references == len(chains), chains
        assert found.tensors[int(address)].state == "referenced"


def test_variables_of_one_name_are_told_apart_by_their_call(holders):
    truth, found, _ = holders
    assert len(truth["calls"]) == 4
    for address, call in truth["calls"].items():
        assert [row.call for row in found.rows[int(address)]] == [tuple(call)]
    (path, _) = truth["dumps"]
    names = {tensor["names"][0] for address, tensor in harness.by_address(harness.load(path)).items() if str(address) in truth["calls"]}
    assert names == {f"same[0] (local of recurse, thread {thread}, call {depth})" for thread in ("MainThread", "reader") for depth in (1, 2)}
    # Of a function that runs once there is nothing to tell apart.
    assert "local (local of in_functions)" in {name for tensor in harness.load(path)["tensors"] for name in tensor["names"]}


def test_many_holders_are_counted_and_the_first_are_told(holders):
    truth, found, _ = holders
    assert found.tensors[truth["shared"]].references == 401
    rows = found.rows[truth["shared"]]
    assert len(rows) == 256 and rows[0].text == "shared"
    assert len({row.text for row in rows}) == 256
    exported = harness.by_address(harness.load(truth["dumps"][0]))[truth["shared"]]
    assert len(exported["names"]) == 256
    shown = {full: harness.cli("show", truth["dumps"][0], exported["id"], *full).stdout.count("holders[") for full in ((), ("--full",))}
    assert 12 <= shown[()] <= 24 and shown[("--full",)] >= 256, shown
    assert [row.steps for row in rows] == sorted(row.steps for row in rows)


def test_weak_references_hold_nothing(holders):
    truth, found, _ = holders
    assert found.texts(truth["weak"]) == ["referent"]
    assert found.tensors[truth["weak"]].references == 1


def test_what_is_nested_ten_thousand_deep_has_a_short_text(holders):
    truth, found, _ = holders
    (row,) = [row for row in found.rows[truth["deep"]] if row.text != "at_depth"]
    assert row.text.startswith("deep[0][0]") and " ... " in row.text and len(row.text) < 400 and row.steps == 10_001


def test_an_unreachable_cycle_is_told(holders):
    truth, found, _ = holders
    assert found.tensors[truth["cycle"]].state == "garbage"
    (row,) = found.rows[truth["cycle"]]
    assert (row.root, row.text) == ("cycle", "Node.weight") and "Node" in row.scope.split(", ")


def test_a_cycle_that_gc_freeze_hides_is_told(holders):
    truth, found, _ = holders
    assert found.tensors[truth["frozen_cycle"]].state == "garbage"
    assert [(row.root, row.text) for row in found.rows[truth["frozen_cycle"]]] == [("cycle", "Node.weight")]


def test_a_record_that_a_list_and_an_index_have_is_reached_in_two_ways(holders):
    truth, found, _ = holders
    (row,) = found.rows[truth["in_two"]]
    assert row.text == "timeline[0].weight" and row.shared == ("timeline[0]", ["by_label['first'][0]"])
    # Only what is reached in several ways has others.
    ways = [row.shared for rows in found.rows.values() for row in rows if row.root == "global" and row.text.startswith("slotted.")]
    assert ways and not any(ways)


def test_two_dumps_of_a_paused_program_are_equal(holders):
    _, first, second = holders
    as_data = lambda found: [(address, [vars(row) for row in rows]) for address, rows in found.rows.items()]
    assert len(first.rows) >= 30 and len(first.tensors) >= 30
    assert as_data(first) == as_data(second)
    assert {key: vars(value) for key, value in first.tensors.items()} == {key: vars(value) for key, value in second.tensors.items()}
    assert first.objects == second.objects


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    run("holders_models.py", folder)
    truth = harness.truth(folder, "models")
    return truth, dump_reader.References(truth["dump"])


def test_parameters_and_buffers_have_the_names_that_the_program_gives(models):
    truth, found = models
    assert len(truth["names"]) > 10
    for address, names in truth["names"].items():
        role = truth["roles"][address]
        assert sorted(found.texts(int(address), role)) == sorted(names)


def test_optimizer_state_is_named_after_its_parameter(models):
    truth, found = models
    assert len(truth["state"]) > 10
    for address, names in truth["state"].items():
        (text,) = found.texts(int(address), "optimizer_state")
        assert text in names


def test_what_is_trained_and_what_an_optimizer_has(models):
    truth, found = models
    assert len(truth["optimized"]) >= 2 and len(truth["trained"]) >= 2
    assert {address for address, tensor in found.tensors.items() if tensor.optimized} == set(truth["optimized"])
    assert set(truth["trained"]) <= {address for address, tensor in found.tensors.items() if tensor.trained}
    assert ("global", "holders_models.py", "free") in found.of(truth["free"])


def test_what_only_cpp_keeps(tmp_path):
    found, at = run_source(
        "import json, libtensorscope, torch\n"
        "weight = torch.ones(3, requires_grad=True)\n"
        "def use():\n    kept = weight * 2\n    address = kept._cdata\n    return (kept * kept).sum(), address\n"
        "loss, address = use()\nlibtensorscope.dump()\nprint(json.dumps([weight._cdata, loss._cdata, address]))\n", tmp_path)
    weight, loss, kept = at
    assert found.tensors[weight].state == found.tensors[loss].state == "referenced"
    assert found.tensors.get(kept) is None or found.tensors[kept].state == "kept_by_cpp"
    assert kept not in found.rows


def test_slots_have_their_names(models):
    _, found = models
    assert found.slots["MulBackward0"] == {0: "other", 1: "self"}
    assert set(found.slots["AddmmBackward0"].values()) == {"mat1", "mat2"}


def test_a_program_that_holds_the_gil_in_cpp_gets_a_dump_that_says_so(tmp_path):
    # The shell that the main thread waits for, with the GIL, ends once the dump is there.
    wait = "kill -USR1 $PPID; while ! ls *.tscope > /dev/null 2>&1; do sleep 0.05; done"
    found, held = run_source("import ctypes, json, torch\nheld = torch.ones(5)\n"
                             f"ctypes.PyDLL(None).system(b'{wait}')\nprint(json.dumps(held._cdata))\n", tmp_path,
                             names_timeout_ms=100)
    assert not found.complete and found.detail.startswith("the GIL was not free")
    assert not found.tensors
    assert held in harness.by_address(harness.load(*harness.dumps(tmp_path)))


def test_an_agent_that_cannot_work_costs_names_alone(tmp_path):
    found, _ = run_source("import gc, torch, libtensorscope, json\ngc.get_objects = lambda: []\nheld = torch.ones(3)\n"
                          "libtensorscope.dump()\nprint(json.dumps(None))\n", tmp_path)
    if not found.complete:  # where the list comes from gc.get_objects: up to CPython 3.11
        assert found.detail == "the program's gc module cannot be used"


def test_names_that_the_program_gives_end_with_the_tensor(tmp_path):
    found, (held, in_cpp) = run_source(
        "import json, libtensorscope, torch\n"
        "held = libtensorscope.name(torch.ones(3), 'the held one')\nlibtensorscope.name(held, 'second name')\n"
        "leaf = torch.ones(3, requires_grad=True)\n"
        "saved = leaf * 2\nlibtensorscope.name(saved, 'in a graph')\nin_cpp = saved._cdata\nloss = (saved * saved).sum()\ndel saved\n"
        "for i in range(1000):\n    gone = libtensorscope.name(torch.ones(i), f'gone {i}')\ndel gone\n"
        "assert libtensorscope.name('no tensor', 'x') == 'no tensor'\n"
        "try:\n    libtensorscope.name(held)\nexcept TypeError:\n    pass\nelse:\n    raise AssertionError\n"
        "libtensorscope.dump()\nprint(json.dumps([held._cdata, in_cpp]))\n", tmp_path)
    assert [row.text for row in found.rows[held] if row.root == "user"] == ["the held one", "second name"]
    assert ("user", "", "in a graph") in found.of(in_cpp)
    assert not [row for rows in found.rows.values() for row in rows if row.text.startswith("gone")]


def test_what_autograd_nodes_hold_in_python(tmp_path):
    found, at = run_source(
        "import json, libtensorscope, torch\n"
        "class Twice(torch.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n        ctx.mine = torch.ones(5)\n        at.append(ctx.mine._cdata)\n        return x * 2\n"
        "    @staticmethod\n    def backward(ctx, gradient):\n        return gradient * 2\n"
        "at = []\nleaf = torch.ones(3, requires_grad=True)\ncustom = Twice.apply(leaf)\n"
        "def pack(tensor):\n    packed = torch.ones(7)\n    at.append(packed._cdata)\n    return [packed]\n"
        "with torch.autograd.graph.saved_tensors_hooks(pack, lambda kept: kept[0]):\n    square = leaf.exp()\n"
        "node = square.grad_fn\nlibtensorscope.dump()\nprint(json.dumps(at))\n", tmp_path)
    mine, packed = at
    (row,) = found.rows[mine]
    assert (row.root, row.scope, row.text) == ("node", "TwiceBackward", "ctx.mine") and row.node != 0xffffffff
    (row,) = found.rows[packed]
    assert (row.root, row.text, row.role) == ("node", "packed[0]", "saved") and row.node != 0xffffffff
    assert ("global", "program.py", "node") in [(row.root, row.scope, row.text) for row in found.nodes]


def test_a_tensor_that_only_an_argument_holds(tmp_path):
    found, at = run_source(
        "import json, libtensorscope, torch\n"
        "at = []\ndef make():\n    made = torch.ones(3)\n    at.append(made._cdata)\n    return made\n"
        "print(end='', *[], sep=str((make(), libtensorscope.dump())))\nprint(json.dumps(at))\n", tmp_path)
    (row,) = found.rows[at[0]]
    assert row.root in ("local", "extension") and found.tensors[at[0]].state == "referenced"


def test_what_was_found_when_the_time_is_up_is_written(tmp_path):
    found, _ = run_source("import json, libtensorscope, torch\nheld = torch.ones(3)\nlibtensorscope.dump()\nprint(json.dumps(0))\n",
                          tmp_path, names_gil_ms=0)
    assert not found.complete and found.stopped_by == "time"
    assert found.detail.startswith("the time limit for finding names was reached")
