# SPDX-License-Identifier: Apache-2.0
"""The autograd graph of a dump against the program's own walk over it."""

# Covers: preload/hooks/torch/{autograd,current_node}.cc
# Covers: preload/torch/graph/{graph_reader,slot_reader,wrapped_nodes}.cc
# Covers: preload/dump/graph_chunk.cc
# Covers: preload/python/heap_inspector/naming/slot_names.cc

import pathlib

import harness
import pytest
from test_dump_format import Dump, chunks

PARTIAL, PYTHON, ACCUMULATES, INNER = 1, 2, 4, 8
STATES = {0: "held", 1: "empty", 2: "packed"}
NOTHING = 0xFFFFFFFF
TOGETHER = ["mlp", "convolution", "lstm", "transformer", "autocast", "custom", "double_backward", "retained", "checkpointed",
            "checkpointed_reentrant", "packed", "in_place", "lists", "multiplicities", "hooked", "node_only", "sparse",
            "diamonds", "nothing"]
ALONE = ["offloaded", "freed"]  # what they leave behind stays alive in some versions of torch


class GraphNode:
    def __init__(self, row, name, edges, saved):
        self.address, self.object, self.sequence, self.flags = row.Address(), row.Object(), row.Sequence(), row.Flags()
        self.serial, self.name, self.edges, self.saved = row.Serial(), name, edges, saved


def read_graph(dump):
    """All nodes in their order, each with (node, input) edges and its saved slots, and the last chunk's remarks."""
    nodes, part = [], None
    for part in dump.parts["GRPH"]:
        edge = slot = 0
        for i in range(part.NodesLength()):
            row = part.Nodes(i)
            edges = [(part.Edges(edge + k).Node(), part.Edges(edge + k).Input()) for k in range(row.Edges())]
            saved = [part.Saved(slot + k) for k in range(row.Saved())]
            edge, slot = edge + row.Edges(), slot + row.Saved()
            name = part.Strings(row.ClassName()).decode()
            nodes.append(GraphNode(row, name, edges, [
                {"ordinal": s.Ordinal(), "element": s.Element(), "state": STATES[s.State()], "tensor": s.Tensor(),
                 "output": s.Output()} for s in saved]))
        assert (edge, slot) == (part.EdgesLength(), part.SavedLength())
    return nodes, part.Complete(), part.Detail().decode()


def class_of(name):
    """A node's class as torch calls it, of a mangled name: the last component."""
    digits, rest = "", name.removeprefix("N").removesuffix("E")
    while rest:
        count = 0
        while rest[count].isdigit():
            count += 1
        if count == 0:
            break
        length = int(rest[:count])
        digits, rest = rest[count:count + length], rest[count + length:]
    return digits


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Runs the program once for all scenarios that every torch knows."""
    folder = tmp_path_factory.mktemp("graph")
    for scenarios in (TOGETHER, *([scenario] for scenario in ALONE)):
        done = harness.run("graph.py", *scenarios, folder=folder, quiet=1)
        assert done.returncode == 0, done.stderr
    return folder


def compare(folder, scenario):
    """Every node that Python reaches is in the dump with its edges and slots, and none that it does not reach."""
    known = harness.truth(folder, scenario)
    dump = Dump(pathlib.Path(known["dumps"][0]))
    nodes, complete, detail = read_graph(dump)
    tells_deaths = harness.torch_version() >= (2, 13)
    assert complete or not tells_deaths, detail
    assert known["called"] == {"pack": 0, "unpack": 0}
    tensors = {row.Serial(): row for _, row in dump.rows("TENS")}
    by_address = {node.address: node for node in nodes}
    by_object = {node.object: node for node in nodes if node.object}
    found = [by_object.get(row["object"]) if row["object"] else by_address.get(row["address"]) for row in known["nodes"]]
    numbers = {id(node): number for number, node in enumerate(nodes)}
    for row, node in zip(known["nodes"], found):
        assert node is not None, row
        assert not node.flags & PARTIAL, row
        assert bool(node.flags & ACCUMULATES) == ("AccumulateGrad" in row["name"])
        assert bool(node.flags & PYTHON) == bool(row["object"])
        if not row["object"]:
            assert class_of(node.name) == row["name"].split("::")[-1], row
        if row["sequence"] is not None:
            assert node.sequence == row["sequence"], row
        assert node.edges == [(NOTHING if to is None else numbers[id(found[to])], number) for to, number in row["edges"]], row
        if row["saved"] is None:
            continue
        told = [(slot["ordinal"], slot["element"], slot["state"]) for slot in row["saved"]]
        mine = [(slot["ordinal"], slot["element"], slot["state"]) for slot in node.saved]
        if row["hooks"]:  # an older torch does not report the state without unpacking
            mine = [slot if state is not None else (*slot[:2], None) for slot, (_, _, state) in zip(mine, told, strict=True)]
        assert mine == told, (row, node.saved)
        for slot, mine in zip(row["saved"], node.saved):
            if slot["state"] is None:
                continue
            if slot["state"] != "held":
                assert mine["tensor"] == 0
                continue
            tensor = tensors[mine["tensor"]]
            if "address" in slot:
                assert tensor.Address() == slot["address"], (row, slot)
            if slot.get("data_ptr"):
                assert tensor.StorageBase() + tensor.StorageOffset() * tensor.Itemsize() == slot["data_ptr"], (row, slot)
    reached = {id(node) for node in found}
    others = [node for node in nodes if id(node) not in reached and not node.flags & INNER]
    return dump, nodes, found, others


@pytest.mark.parametrize("scenario", TOGETHER + ALONE)
def test_the_graph_is_what_python_walks(scenario, shown):
    if scenario == "node_only":
        harness.needs_torch(2, 13, "word of a node's death: nodes that no tensor leads to may be dead")
    dump, nodes, found, others = compare(shown, scenario)
    assert len(found) >= 1 or scenario in ("nothing", "freed"), scenario
    # A wrapped node has edges of its own, to nodes that no other leads to; a checkpoint keeps a tensor that leads to its inputs.
    assert not others or any(node.flags & INNER for node in nodes) or scenario == "checkpointed", [node.name for node in others]
    for node in nodes:
        if "generated" in node.name and not node.flags & INNER:
            assert node.serial, node.name


def test_two_dumps_of_a_paused_program_are_equal(shown):
    for scenario in TOGETHER + ALONE:
        first, second = (pathlib.Path(path).read_bytes() for path in harness.truth(shown, scenario)["dumps"])
        graphs = [[payload for kind, payload, _ in chunks(data) if kind == "GRPH"] for data in (first, second)]
        assert graphs[0] == graphs[1] and graphs[0], scenario


def test_an_operation_in_place_on_a_view_is_inside_the_node_of_its_base(shown):
    _, nodes, _, _ = compare(shown, "in_place")
    pairs = [(nodes[i - 1], node) for i, node in enumerate(nodes) if node.flags & INNER]
    assert all(class_of(outer.name) == "CopySlices" for outer, _ in pairs)
    assert sorted(class_of(inner.name) for _, inner in pairs) == ["CopyBackwards", "MulBackward0"]
    assert len(pairs) == sum(class_of(node.name) == "CopySlices" for node in nodes)
    (multiplied,) = [inner for _, inner in pairs if class_of(inner.name) == "MulBackward0"]
    assert [slot["state"] for slot in multiplied.saved] == ["held", "held"]


def test_saved_outputs_are_aliases_and_inputs_are_themselves(shown):
    _, nodes, found, _ = compare(shown, "mlp")
    outputs = {class_of(node.name): [slot["output"] for slot in node.saved] for node in found}
    assert outputs["LogSoftmaxBackward0"] == [1]
    assert outputs["GeluBackward0"] == [0]


def test_a_context_is_the_object_of_its_node(shown):
    _, nodes, found, _ = compare(shown, "custom")
    custom = [node for node in found if node.flags & PYTHON]
    assert len(custom) == 4
    assert sorted([slot["state"] for slot in node.saved] for node in custom) == [[]] + [["held", "empty", "held"]] * 3


def test_lists_of_classes_that_python_does_not_know(shown):
    harness.needs_torch(2, 1, "derivative of torch._foreach_exp with a node of its own")
    _, nodes, _, _ = compare(shown, "lists")
    (each,) = [node for node in nodes if class_of(node.name) == "ForeachExpBackward0"]
    assert [(slot["element"], slot["state"], slot["output"]) for slot in each.saved] == [(0, "held", 1), (1, "held", 1)]


def test_a_graph_of_a_hundred_thousand_operations(tmp_path):
    done = harness.run("graph.py", "chain", folder=tmp_path, quiet=1)
    assert done.returncode == 0, done.stderr
    _, nodes, found, others = compare(tmp_path, "chain")
    assert len(nodes) == len(found) == 100_001 and not others


def test_a_compiled_function(tmp_path):
    harness.needs_torch(2, 2, "torch.compile that this test can rely on")
    done = harness.run("graph.py", "compiled", folder=tmp_path, quiet=1)
    assert done.returncode == 0, done.stderr
    _, _, found, _ = compare(tmp_path, "compiled")
    (function,) = [node for node in found if node.flags & PYTHON]
    assert len([slot for slot in function.saved if slot["state"] == "held"]) >= 3


def test_a_cpp_program_without_python(tmp_path):
    harness.needs_build_against_this_torch()
    done = harness.run("cpp_graph", folder=tmp_path, quiet=1)
    assert done.returncode == 0, done.stderr
    (path,) = harness.dumps(tmp_path)
    dump = Dump(path)
    nodes, complete, detail = read_graph(dump)
    assert complete, detail
    serials = {row.Address(): row.Serial() for _, row in dump.rows("TENS")}
    by_address = {node.address: node for node in nodes}
    facts = [line.split() for line in done.stdout.splitlines()]
    data = serials[int(facts[0][1])]
    walked = [fact for fact in facts if fact[0] == "node"]
    # The node that is wrapped leads to two that no other leads to.
    others = {node.address for node in nodes if not node.flags & INNER} - {int(fact[1]) for fact in walked}
    assert sorted(class_of(by_address[address].name) for address in others) == ["CloneBackward0", "SelectBackward0"]
    for _, address, sequence, *words in walked:
        edges = [word for word in words if word.replace(":", "").isdigit()]  # the others are the name
        node = by_address[int(address)]
        assert node.sequence == int(sequence) and not node.flags & PARTIAL and node.object == 0
        assert [(0 if to == NOTHING else nodes[to].address, number) for to, number in node.edges] == \
            [tuple(map(int, edge.split(":"))) for edge in edges], words
    (custom,) = [node for node in nodes if "CppNode" in node.name]
    assert [(slot["tensor"], slot["element"]) for slot in custom.saved] == [(data, 0), (data, 1)]
    (exponential,) = [node for node in nodes if class_of(node.name) == "ExpBackward0"]
    assert [slot["state"] for slot in exponential.saved] == ["empty"]
    assert [class_of(node.name) for node in nodes if node.flags & INNER] == ["MulBackward0"]


def test_a_program_without_a_living_graph_misses_nothing(tmp_path):
    done = harness.run_source("import libtensorscope, torch\n"
                              "model = torch.nn.Linear(4, 4)\n"
                              "model(torch.randn(2, 4)).sum().backward()\n"
                              "libtensorscope.dump()\n", folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    (dump,) = harness.dumps(tmp_path)
    line = next(line for line in harness.cli("info", dump).stdout.splitlines() if "autograd graph" in line)
    if harness.torch_version() >= (2, 13):  # older ones do not report when a node dies
        assert "no autograd node is alive" in line
