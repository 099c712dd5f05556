# SPDX-License-Identifier: Apache-2.0
"""The dump of a whole program against what the program knows of itself."""

# Covers: preload/torch/metadata/{shared_object_map,torch_version}.cc

import functools

import pytest

import harness

HELD_BY_CPP_AT_MOST = 64

PROGRAMS = ["train_mlp", "autocast", "custom_function", "checkpoint", "transforms", "views", "sparse", "foreign_memory",
            "threads", "exotic", "compile_cpu"]


@pytest.fixture(scope="module")
def folder_of(tmp_path_factory):
    """Runs a program, once for all tests of it; the folder of its dumps and of what it knows."""
    @functools.cache
    def run(program):
        folder = tmp_path_factory.mktemp(program)
        done = harness.run(f"{program}.py", folder=folder)
        assert done.returncode == 0, done.stderr
        return folder
    return run


@pytest.mark.cases(6)
@pytest.mark.parametrize("program", PROGRAMS)
def test_every_tensor_of_the_program_is_in_the_dump(program, folder_of):
    if program == "compile_cpu":
        harness.needs_torch(2, 0, "torch.compile")
    folder = folder_of(program)
    moments = list(folder.glob("*.json"))
    assert moments
    for moment in moments:
        known = harness.truth(folder, moment.stem)
        assert known["tensors"]
        extra = harness.compare(harness.load(known["dump"]), known)
        # What Python has no object for is held by C++: saved tensors, singletons, detached aliases.
        assert len(extra) <= HELD_BY_CPP_AT_MOST, [(tensor["id"], tensor["shape"], tensor["class"]) for tensor in extra]


def test_nothing_that_died_stays(tmp_path):
    """What is freed leaves the table: after a thousand steps it holds the very tensors that it held after ten."""
    done = harness.run_source(
        "import torch, truth\nfrom torch import nn\n"
        "linear, norm, lstm = nn.Linear(8, 8), nn.LayerNorm(8), nn.LSTM(8, 8)\n"
        "def step():\n    lstm(nn.functional.dropout(norm(linear(torch.randn(4, 3, 8)))))[0].sum().backward()\n"
        "    for module in (linear, norm, lstm): module.zero_grad(set_to_none=True)\n"
        "for number in range(10): step()\ntruth.moment('early')\n"
        "for number in range(1000): step()\ntruth.moment('late')\n", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    early, late = (harness.load(harness.truth(tmp_path, name)["dump"]) for name in ("early", "late"))
    assert {tensor["id"] for tensor in early["tensors"]} == {tensor["id"] for tensor in late["tensors"]}
    assert {item["id"] for item in early["allocations"]} == {item["id"] for item in late["allocations"]}


def test_bytes_are_counted_once_per_storage(folder_of):
    folder = folder_of("views")
    known = harness.truth(folder, "before")
    exported = harness.load(known["dump"])
    tensors = harness.by_address(exported)
    base, row = tensors[known["facts"]["base"]], tensors[known["facts"]["row"]]
    assert row["nbytes"] == 4096 and row["storage"] == base["storage"] and row["storage_offset"] == 7 * 1024
    storage = next(item for item in exported["storages"] if item["id"] == base["storage"])
    assert storage["nbytes"] == 4 << 20 and storage["kind"] == "allocator"
    allocation = next(item for item in exported["allocations"] if item["id"] == storage["allocation"])
    assert allocation["nbytes"] == 4 << 20 and allocation["pointer"] == storage["data_ptr"]
    assert sum(item["nbytes"] == 4 << 20 for item in exported["storages"]) == 1


def test_a_reused_address_is_gone_and_new(folder_of):
    folder = folder_of("views")
    before, after = harness.truth(folder, "before"), harness.truth(folder, "after")
    old = harness.by_address(harness.load(before["dump"]))[before["facts"]["row"]]["id"]
    later = harness.load(after["dump"])
    new = harness.by_address(later)[after["facts"]["row2"]]["id"]
    assert new != old and old not in {tensor["id"] for tensor in later["tensors"]}


def test_storage_kinds(folder_of):
    folder = folder_of("foreign_memory")
    known = harness.truth(folder)
    exported = harness.load(known["dump"])
    storages = {item["id"]: item for item in exported["storages"]}
    tensors = harness.by_address(exported)
    kind = {name: storages[tensors[address]["storage"]]["kind"] for name, address in known["facts"].items()}
    assert kind == {"numpy": "external", "numpy_tail": "external", "dlpack": "external", "buffer": "external",
                    "mapped": "shared", "shared": "shared"}


def test_exotic_kinds_show_what_can_be_had(folder_of):
    folder = folder_of("exotic")
    known = harness.truth(folder)
    tensors = harness.by_address(harness.load(known["dump"]))
    rows = {name: tensors[address] for name, address in known["facts"].items()}
    assert rows["meta"]["shape"] == [1000, 1000] and rows["meta"]["device"] == "meta" and rows["meta"]["dtype"] == "float32"
    assert "Nested" in rows["nested"]["class"]
    assert "Functional" in rows["functional"]["class"]
    assert rows["quantized"]["dtype"] == "qint8"
    assert rows["plain_subclass"]["shape"] == [5, 5]
    assert rows["fake"]["shape"] == [11, 13]
    assert rows["conj"]["dtype"] == "complex64" and rows["conj"]["shape"] == [4, 4]
    assert ("jagged" in rows) == ("symbolic" in rows) == (harness.torch_version() >= (2, 2))
    for name in {"nested", "jagged", "wrapper"} & rows.keys():
        assert rows[name]["note"], (name, rows[name])


def test_sparse_tensors_name_their_layout(folder_of):
    folder = folder_of("sparse")
    known = harness.truth(folder)
    tensors = harness.by_address(harness.load(known["dump"]))
    for name, address in known["facts"].items():
        assert "Sparse" in tensors[address]["class"], name
        # The four compressed layouts are one class; torch 2.8 has no aoti_torch_get_layout yet, 2.10 has.
        told = name == "coo" or harness.torch_version() >= (2, 10)
        assert tensors[address]["shape"] == [4, 4] and tensors[address]["layout"] == (f"sparse_{name}" if told else None)


def test_the_leaking_line_is_found(folder_of):
    harness.needs_gil("Python stacks")
    folder = folder_of("leak")
    known = [harness.truth(folder, name) for name in ("10", "20", "30")]
    file, line = known[2]["facts"]["file"], known[2]["facts"]["line"]
    losses = [tensor for tensor in harness.load(known[2]["dump"])["tensors"] if tensor["grad_fn"] == "MeanBackward0"]
    assert len(losses) == 30
    for tensor in losses:
        assert ("step", file, line) in harness.frames(tensor)
    assert f"leak.py:{line}" in harness.cli("diff", *(item["dump"] for item in known)).stdout
    assert f"leak.py:{line}" in harness.cli("report", known[2]["dump"]).stdout


def test_tensors_name_the_module_that_made_them(folder_of):
    harness.needs_gil("paths of modules")
    folder = folder_of("train_mlp")
    exported = harness.load(harness.truth(folder)["dump"])
    paths = {tensor["grad_fn"]: tensor["module_path"] for tensor in exported["tensors"]}
    assert paths["ReluBackward0"] == "model.1" and paths["AddmmBackward0"] == "model.4" and paths["MeanBackward0"] is None
    assert harness.coverage(exported)["module paths"].seen == "yes"


def test_memory_of_a_backward_pass_names_the_forward_line(tmp_path):
    harness.needs_gil("Python stacks")
    done = harness.run_source(
        "import torch, truth\nlinear = torch.nn.Linear(8, 8)\n"
        "def forward():\n    return torch.relu(linear(torch.ones(4, 8))).sum(), truth.here()\n"
        "forward()\nloss, place = forward()\nloss.backward()\n"
        "truth.moment('graph', gradient=linear.weight.grad._cdata, place=place)\ndel loss\ntruth.moment('no graph')\n",
        folder=tmp_path)
    assert done.returncode == 0, done.stderr
    known = harness.truth(tmp_path, "graph")
    exported = harness.load(known["dump"])
    storages, allocations, nodes, stacks = ({item["id"]: item for item in exported[kind]}
                                            for kind in ("storages", "allocations", "nodes", "stacks"))
    sites = {site["id"]: site for site in exported["sites"]}
    gradient = harness.by_address(exported)[known["facts"]["gradient"]]
    node = nodes.get(allocations[storages[gradient["storage"]]["allocation"]]["node"])
    if harness.torch_version() < (2, 0):  # does not report which node runs: the graph's nodes are known, not what they made
        assert node is None
        node = [item for item in nodes.values() if item["name"] == "AddmmBackward0"][-1]
    forward = {"stack": stacks[sites[node["site"]]["stack"]]["frames"]}
    file, line = known["facts"]["place"]
    assert ("forward", file, line) in harness.frames(forward)
    assert any("libtorch" in frame["module"] for frame in forward["stack"] if frame["language"] == "native")
    assert node["name"] == "AddmmBackward0"
    tells_deaths = harness.coverage(exported)["autograd"].seen == "yes"
    assert tells_deaths or harness.torch_version() < (2, 13)
    assert node["alive"] == tells_deaths
    later = harness.load(harness.truth(tmp_path, "no graph")["dump"])
    (node,) = [item for item in later["nodes"] if item["id"] == node["id"]]
    assert node["name"] == "AddmmBackward0" and not node["alive"]


@pytest.mark.parametrize("program", ["train_mlp", "foreign_memory", "threads"])
def test_sums_agree(program, folder_of):
    folder = folder_of(program)
    exported = harness.load(harness.truth(folder)["dump"])
    sites, totals = exported["sites"], exported["totals"]
    assert len(exported["tensors"]) >= 5 and len(exported["allocations"]) >= 1 and any(site["bytes_live"] for site in sites)
    live = sum(allocation["nbytes"] for allocation in exported["allocations"])
    assert live == sum(device["live_bytes"] for device in totals["devices"]) == sum(site["bytes_live"] for site in sites)
    assert len(exported["allocations"]) == sum(site["allocations_live"] for site in sites)
    assert len(exported["tensors"]) == sum(site["tensors_live"] for site in sites) == totals["tensors_live"]
    for site in sites:
        assert site["bytes_live"] <= site["bytes_peak"] <= site["bytes_total"]


def test_a_program_without_tensors_has_none(tmp_path):
    # Always: that of torch 2.2 calls nothing that would begin the recording.
    done = harness.run_source("import torch\n", folder=tmp_path, exit="always")
    assert done.returncode == 0 and "(0 tensors, " in done.stderr, done.stderr
    [dump] = harness.dumps(tmp_path)
    exported = harness.load(dump)
    assert exported["tensors"] == [] and exported["totals"]["tensors_live"] == 0
    assert sum(site["tensors_live"] for site in exported["sites"]) == 0
