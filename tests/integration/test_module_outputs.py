# SPDX-License-Identifier: Apache-2.0
"""What modules' calls return, recorded where TENSORSCOPE_MODULE_OUTPUTS asks for it."""

# Covers: preload/python/module_outputs.cc preload/python/module_entry.cc

import json

import harness
import pytest

pytest.importorskip("flatbuffers")

import dump_reader

WAIT = "import json, sys, torch, libtensorscope\nfrom torch import nn\n" + (harness.PROGRAMS / "module_calls_seen.py").read_text() + "wait()\n"


def outputs(found, address):
    return [row.text for row in found.rows.get(address, []) if row.root == "output"]


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    folder = tmp_path_factory.mktemp("outputs")
    done = harness.run("module_outputs.py", folder=folder, exit="never", module_outputs=1)
    assert done.returncode == 0, done.stderr
    return harness.truth(folder, "outputs")


def test_every_tensor_of_a_returned_structure_is_named(shown):
    found = dump_reader.References(shown["dumps"][0])
    assert sum(bool(names) for names in shown["outputs"].values()) >= 10
    assert {address: outputs(found, int(address)) for address in shown["outputs"]} == shown["outputs"]
    assert harness.coverage(shown["dumps"][0])["module outputs"].seen == "yes"


def test_they_are_the_names_that_the_analyzer_shows(shown):
    tensors = harness.by_address(harness.load(shown["dumps"][0]))
    for address, names in shown["outputs"].items():
        tensor = tensors[int(address)]
        if names and tensor["category"] != "parameter":
            assert tensor["names"][:len(names)] == names
            assert len([name for name in tensor["names"] if ".out" in name]) == len(names)


def test_two_dumps_of_a_paused_program_are_equal(shown):
    first, second = map(dump_reader.References, shown["dumps"])
    as_data = lambda found: {address: [vars(row) for row in rows] for address, rows in found.rows.items()}
    assert len(first.rows) >= 10 and as_data(first) == as_data(second) and first.objects == second.objects


def test_without_the_option_the_interpreters_entry_stays(tmp_path):
    done = harness.run_source(WAIT.replace("wait()\n", "") + "layer = torch.nn.Linear(2, 2)\nout = layer(torch.ones(2))\n"
                              "libtensorscope.dump()\nassert not are_seen()\n",
                              folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    (dump,) = harness.dumps(tmp_path)
    assert harness.coverage(dump)["module outputs"][:2] == ("no", "switched off; set TENSORSCOPE_MODULE_OUTPUTS=1 to record it")
    report = " ".join(harness.cli("report", dump).stdout.split())
    assert "module outputs" in report.split("Switched off: ")[1].split(".")[0]
    assert "module outputs" not in report.split("Not applicable: ")[-1]
    assert not [row for rows in dump_reader.References(dump).rows.values() for row in rows if row.root == "output"]


def test_more_outputs_than_there_is_room_for_are_counted(tmp_path):
    """Where others died there is room again, after an eighth of the rows was offered."""
    done = harness.run_source(
        WAIT + "class Parts(nn.Module):\n    def forward(self, x):\n        return x.unbind()\n"
        "parts = Parts()\nkept = [parts(torch.ones(250)) for _ in range(280)]\nlibtensorscope.dump()\n"
        "print(json.dumps([kept[0][7]._cdata, kept[-1][7]._cdata]))\n"
        "kept = kept[:1]\nkept += [parts(torch.ones(250)) for _ in range(40)]\nkept = kept[:1] + kept[-1:]\nlibtensorscope.dump()\n"
        "print(json.dumps([kept[0][7]._cdata, kept[-1][7]._cdata]))\n",
        folder=tmp_path, exit="never", module_outputs=1)
    assert done.returncode == 0, done.stderr
    full, again = map(harness.load, harness.dumps(tmp_path))
    addresses = [json.loads(line) for line in done.stdout.splitlines()]
    names = [[harness.by_address(dump)[address]["names"] for address in two] for dump, two in zip((full, again), addresses)]
    assert "parts.out[7]" in names[0][0] and "parts.out[7]" not in names[0][1]
    assert "parts.out[7]" in names[1][0] and "parts.out[7]" in names[1][1]
    said = harness.coverage(full)["module outputs"]
    assert (said.seen, said.missed) == ("partly", 280 * 250 - 65536)


def test_compiled_exported_and_traced_modules_work_as_without(tmp_path):
    harness.needs_torch(2, 6, "torch.export as it is used here")
    done = harness.run_source(
        "import warnings\nwarnings.simplefilter('error', UserWarning)\n" + WAIT +
        "class Two(nn.Module):\n"
        "    def __init__(self):\n        super().__init__()\n        self.fc = nn.Linear(4, 4)\n"
        "    def forward(self, x):\n        return {'a': self.fc(x), 'b': x + 1}\n"
        "model, x = Two(), torch.ones(4)\nexpected = model(x)\n"
        "compiled = torch.compile(model, backend='eager', fullgraph=True)\nout = compiled(x)\n"
        "exported = torch.export.export(model, (x,)).module()(x)\n"
        "traced = torch.jit.trace(model.fc, x)(x)\n"
        "for other in (out, exported):\n"
        "    assert torch.equal(other['a'], expected['a']) and torch.equal(other['b'], expected['b'])\n"
        "assert torch.equal(traced, expected['a'])\n"
        "libtensorscope.dump()\nprint(json.dumps([expected['a']._cdata, out['b']._cdata]))\n",
        folder=tmp_path, exit="never", module_outputs=1)
    assert done.returncode == 0, done.stderr
    (dump,) = harness.dumps(tmp_path)
    plain, compiled = json.loads(done.stdout.splitlines()[-1])
    found = dump_reader.References(dump)
    assert outputs(found, plain) == ["compiled._orig_mod.out['a']", "compiled._orig_mod.fc.out"]  # a child of `compiled`
    assert outputs(found, compiled) == ["compiled.out['b']", "compiled._orig_mod.out['b']"]  # inside it: code of torch.compile
