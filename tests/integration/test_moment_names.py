# SPDX-License-Identifier: Apache-2.0
"""Names, categories and holders of a recording's moments: from dumps of the run, else inferred and marked so."""
# Covers: analyzer/memory/{moment_names,taken_names}.cc analyzer/ownership/{names_of_run,names_in_dump,memory_category}.cc
# Covers: analyzer/dump/run_dumps.cc analyzer/text/dump/moment_phrases.cc

import json
import os
import re
import shutil

import harness
import pytest

TRAINING = """
import torch, libtensorscope
model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 8))
optimizer = torch.optim.Adam(model.parameters())
history = []
for step in range(4):
    batch = torch.randn(32, 64)
    loss = model(batch).square().mean()
    history.append(loss)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    if step == 2:
        libtensorscope.dump()
"""


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("training")
    done = harness.run_source(TRAINING, folder=folder, record=1, exit="never")
    assert done.returncode == 0, done.stderr
    return next(folder.glob("*.recording")), harness.dumps(folder)[0]


def exported(path, *options):
    return json.loads(harness.cli("export", path, "--format", "json", *options).stdout)


def facts(tensors, *fields):
    return {t["id"]: tuple(json.dumps(t[field]) for field in fields) for t in tensors}


def test_the_moment_of_the_dump_has_its_names_categories_and_holders(run):
    recording, path = run
    dump = exported(path)
    process = dump["process"]
    at = exported(f"{recording}@{(process['dump_ns'] - process['start_ns']) / 1e9:.9f}s")
    here, there = facts(at["tensors"], "names", "category", "module"), facts(dump["tensors"], "names", "category", "module")
    assert here == there
    assert harness.coverage(dump)["module paths"].seen == "yes"
    assert harness.coverage(at)["module paths"][:2] == ("partly", "of the modules in these dumps")
    held = lambda dump: {t["id"]: [holder["text"] for holder in t["holders"]] for t in dump["tensors"]}
    assert held(at) == held(dump)
    assert {t["category_source"] for t in at["tensors"]} <= {"dump", None}
    live = lambda text: [re.sub(" +", " ", line) for line in text.split("largest allocation sites")[0].splitlines()
                         if re.search(r"%", line) and "allocation site" not in line]
    assert live(harness.cli("report", f"{recording}@{(process['dump_ns'] - process['start_ns']) / 1e9:.9f}s").stdout) == live(
        harness.cli("report", path).stdout)


def test_what_no_dump_has_is_said_once(run):
    """By the line that counts names; a row says it only where it has tensors with a holder, too."""
    recording, _ = run
    wide = {**os.environ, "COLUMNS": "200"}
    at = exported(f"{recording}@step=3:peak")["tensors"]
    others = [t for t in at if {holder["text"] for holder in t["holders"]} == {"not known: in no dump of this run"}]
    report = harness.cli("report", f"{recording}@step=3:peak", env=wide).stdout
    assert 1 < len(others) < len(at)
    assert report.count("not known") == 1 + report.count("holder not known, ")
    assert f"The holders of {len(others)} tensors are not known: in no dump of this run." in report
    listed = harness.cli("list", f"{recording}@step=3:peak", env=wide).stdout
    assert listed.count("not known") == 1


def test_what_no_dump_has_is_inferred_and_counted(run, tmp_path):
    recording, dump = run
    alone = tmp_path / recording.name
    shutil.copy(recording, alone)
    whole = exported(f"{alone}@step=2:peak")
    for subject in ("module paths", "names"):
        assert harness.coverage(whole)[subject][:2] == ("no", "not in a recording; take a dump for it")
    at = whole["tensors"]
    assert {t["category_source"] for t in at} == {"inferred", None}
    by_category = {}
    for tensor in at:
        by_category.setdefault(tensor["category"], []).append(tensor)
    assert len(by_category["parameter"]) == 4
    assert len(by_category["optimizer state"]) == 12
    assert all(not t["names"] and t["evidence"].startswith("inferred: ") for t in by_category["parameter"])
    wide = {**os.environ, "COLUMNS": "200"}
    report = harness.cli("report", f"{alone}@step=2:peak", env=wide).stdout
    inferred = sum(t["category_source"] == "inferred" for t in at)
    assert "Names: none" in report and f"Categories of {inferred} tensors" in report
    assert re.search(r"parameter ~ +4 ", report)
    assert re.search(r"optimizer state ~", harness.cli("list", f"{alone}@step=2:peak", env=wide).stdout)
    assert "(module not known)" in harness.cli("report", f"{alone}@step=2:peak", "--by", "module").stdout
    # The same file with the dump given: they are known.
    given = exported(f"{alone}@step=2:peak", "--names-from", dump)["tensors"]
    known = [t for t in given if t["category"] == "parameter"]
    assert {t["names"][0] for t in known} == {f"model.{i}.{what}" for i in (0, 2) for what in ("weight", "bias")}
    assert {t["category_source"] for t in known} == {"dump"}
    assert facts(known, "module") == {t["id"]: (json.dumps(t["names"][0].rsplit(".", 1)[0]),) for t in known}


def test_a_dump_without_names_does_not_say_that_there_are_no_modules(tmp_path):
    program = "import torch, libtensorscope\nkeep = torch.ones(99)\nlibtensorscope.dump()\n"
    assert harness.run_source(program, folder=tmp_path, record=1, names=0, exit="never").returncode == 0
    recording = next(tmp_path.glob("*.recording"))
    at = exported(f"{recording}@end", "--names-from", harness.dumps(tmp_path)[0])
    assert harness.coverage(at)["module paths"][:2] == ("no", "the dumps of this run have none")
    assert "(module not known)" in harness.cli("report", f"{recording}@peak", "--by", "module").stdout


def test_gradients_are_inferred_from_their_lifetime(run):
    recording, _ = run
    at = exported(f"{recording}@step=0")["tensors"]
    gradients = [t for t in at if t["category"] == "gradient"]
    assert sorted(t["shape"] for t in gradients) == [[8], [8, 64], [64], [64, 64]]
    assert {t["category_source"] for t in gradients} == {"inferred"}


def test_a_dump_of_another_run_is_refused(run, tmp_path):
    recording, _ = run
    done = harness.run_source("import torch\nkeep = torch.ones(3)\n", folder=tmp_path)
    assert done.returncode == 0
    other = harness.dumps(tmp_path)[0]
    refused = harness.cli("report", f"{recording}@end", "--names-from", other, status=2)
    assert "is a dump of another process" in refused.stderr


TRAINER = """
import gc, libtensorscope, torch
gc.disable()

class Trainer:
    def __init__(self):
        self.loop = Loop(self)
        self.outputs = []

class Loop:
    def __init__(self, trainer):
        self.trainer = trainer

def main():
    trainer = Trainer()
    for step in range(24):
        libtensorscope.mark_step()
        trainer.outputs.append(torch.zeros(20_000))

main()
"""


def test_what_is_garbage_at_exit_was_none_before(tmp_path):
    done = harness.run_source(TRAINER, folder=tmp_path, record=1)
    assert done.returncode == 0, done.stderr
    [recording] = tmp_path.glob("*.recording")
    [at_exit] = tmp_path.glob("*.tscope")
    assert "unreachable cycle" in harness.cli("report", at_exit).stdout
    said = harness.cli("report", f"{recording}@step=20").stdout
    assert "held by Trainer.outputs[0..19] (list)" in said and "unreachable" not in said, said
    answer = harness.cli("leaks", *(f"{recording}@step={step}" for step in (8, 14, 20)), "--json", status=1)
    (finding,) = json.loads(answer.stdout)["findings"]
    assert finding["kind"] == "container" and finding["held_by"] == "Trainer.outputs[0..19] (list)"
