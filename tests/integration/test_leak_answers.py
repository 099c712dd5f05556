# SPDX-License-Identifier: Apache-2.0
"""Leaks that are easily blamed on the wrong holder, the wrong line or the wrong half of the bytes."""

# Covers: analyzer/leaks/{finding,larger_tensors,module_calls,graph_cycles,process_growth,gone_parameters}.cc
# Covers: analyzer/text/dump/holders.cc analyzer/text/leaks/{phrases,evidence_phrases}.cc

import pytest

import harness
from test_leaks import dumps_of, kinds, leaks

PROGRAM = "leak_answers.py"
MIB = 1 << 20


def line_of(text):
    source = (harness.PROGRAMS / PROGRAM).read_text().splitlines()
    return next(i for i, line in enumerate(source, 1) if text in line)


def facts(finding):
    return {fact["what"]: fact["values"] for fact in finding["evidence"]}


def test_holders_weigh_bytes(tmp_path):
    """8 MiB in a dictionary, 50 small ones in a list, all made at one line."""
    dump, = dumps_of(PROGRAM, "dictionary", tmp_path, steps="1")
    text = harness.cli("report", dump, env={**harness.environment(preload=False), "COLUMNS": "160"}).stdout.splitlines()
    begin = text.index("largest allocation sites")
    place = next(i for i, line in enumerate(text) if i > begin and "leak_answers.py" in line and "make" in line)
    held = next(line for line in text[place:] if "held by" in line)
    assert "table['big']" in held and "8.0 MiB" in held, text
    assert "1 other holder, 12.5 KiB" in held, held


def test_the_line_that_made_the_bytes(tmp_path):
    found = leaks(dumps_of(PROGRAM, "two-lines", tmp_path), status=1)
    assert kinds(found) == ["container"], found
    assert found["findings"][0]["made_at"]["line"] == line_of("torch.ones(floats)"), found["findings"][0]


@pytest.mark.parametrize("kind", ["outputs", "outputs-with-graph"])
def test_outputs_are_not_blamed_on_their_graphs(kind, tmp_path):
    """Each output has 128 KiB; its graph saved as much at most."""
    finding, = leaks(dumps_of(PROGRAM, kind, tmp_path), status=1)["findings"]
    if kind == "outputs":
        assert finding["kind"] == "container" and "only ever added" in finding["look_at"]
    assert ".item()" not in finding["look_at"], finding


@pytest.mark.parametrize("kind, scalar", [("losses-with-graph", True), ("rows-with-graph", False)])
def test_item_is_for_one_element(kind, scalar, tmp_path):
    finding, = leaks(dumps_of(PROGRAM, kind, tmp_path), status=1)["findings"]
    assert finding["kind"] == "accumulated-graph"
    assert (".item()" in finding["look_at"]) == scalar and ".detach()" in finding["look_at"]
    # Where it is made is where the losses are; where its memory was made is said beside it.
    assert finding["made_at"]["line"] == line_of(f'kind == "{kind}"') + 2
    memory = [(made["place"]["line"], made["bytes"]) for made in finding["memory"]]
    assert memory[0][0] == line_of("return model(torch") and memory[0][1] > finding["bytes"] * 0.9, memory


def test_a_state_whose_saved_tensors_are_retained(tmp_path):
    found = leaks(dumps_of(PROGRAM, "retained", tmp_path), status=1)
    assert kinds(found) == ["state-not-detached"], found
    finding, = found["findings"]
    assert not any("tensor bytes unchanged" in what for what in facts(finding)), finding
    grown = sum(place["growth"]["bytes"][-1] - place["growth"]["bytes"][0] for place in found["places"])
    growth = finding["growth"]["bytes"]
    assert growth[-1] - growth[0] == pytest.approx(grown, rel=0.1)
    assert finding["bytes"] == pytest.approx(growth[-1], rel=0.1)
    assert all(place["finding"] == 0 for place in found["places"] if place["growth"]["bytes"][-1] > place["growth"]["bytes"][0])


@pytest.mark.parametrize("kind", ["detached", "numpy"])
def test_aliases_of_memory_that_was_made_at_another_line(kind, tmp_path):
    dumps = dumps_of(PROGRAM, kind, tmp_path)
    for some in (dumps, dumps[1:]):
        found = leaks(some, status=1)
        where = [finding["made_at"]["line"] for finding in found["findings"]]
        where += [place["place"]["line"] for place in found["places"] if place["finding"] is None and place["leak"]]
        assert where == [line_of("return model[0](")], found
    for place in found["places"]:
        if place["growth"]["bytes"][0] == place["growth"]["bytes"][-1]:
            assert place["memory_at"] or place["finding"] == 0, place


def test_a_storage_that_grows(tmp_path):
    dumps = dumps_of(PROGRAM, "resize", tmp_path)
    found = leaks(dumps, status=1)
    assert kinds(found) == ["larger-tensor"], found
    finding, = found["findings"]
    assert "buffer" in finding["held_by"] and finding["made_at"]["line"] == line_of("buffer.resize_(")
    assert finding["growth"]["bytes"] == [number * 32768 for number in (10, 20, 30)]
    assert [place["finding"] for place in found["places"]] == [0]


def test_optimizer_state_of_parameters_that_are_gone(tmp_path):
    found = leaks(dumps_of(PROGRAM, "heads", tmp_path), status=1)
    assert kinds(found) == ["gone-parameters"], found
    finding, = found["findings"]
    assert finding["held_by"] == "Adam (optimizer)" and "param_groups" in finding["look_at"]
    assert finding["growth"]["count"] == [20, 40, 60]


CYCLES = {
    "cycle-leaf": (["its .grad", "its grad_fn", "saved #"], "create_graph"),
    "cycle-hook": (["ExpBackward0"], "pack_hook"),
}


@pytest.mark.cases(1)
@pytest.mark.parametrize("kind", CYCLES)
def test_cycles_that_only_cpp_sees(kind, tmp_path):
    links, advice = CYCLES[kind]
    dumps = dumps_of(PROGRAM, kind, tmp_path)
    for some in (dumps, dumps[2:]):
        found = leaks(some, status=1)
        assert kinds(found) == ["graph-cycle"], found
        finding, = found["findings"]
        assert all(link in finding["held_by"] for link in links), finding
        assert finding["held_by"].split(" ")[0] == "#" + finding["held_by"].split("#")[-1].split(" ")[0]
        assert advice in finding["look_at"]
    assert all(place["finding"] == 0 for place in leaks(dumps, status=1)["places"])


def grown(found, what):
    return next((row["values"][-1] - row["values"][0] for row in found["answer"]["process"] if row["what"] == what), 0)


def test_memory_that_malloc_keeps(tmp_path):
    """Two dumps, no tensor: no leak, but the answer says what grew and what helps."""
    dumps = dumps_of(PROGRAM, "kept-by-malloc", tmp_path, steps="1,2")
    found = leaks(dumps, status=0)
    assert kinds(found) == [] and found["answer"]["process_grew"]
    assert grown(found, "resident memory of the process") > 150 * MIB
    assert grown(found, "free memory kept by malloc") > 150 * MIB
    assert "malloc_trim" in found["answer"]["process_look_at"]
    text = harness.cli("leaks", *dumps).stdout
    assert "no leak found" not in text and "memory of the process" in text and "MALLOC_ARENA_MAX" in text


def test_workers_that_copy_pages(tmp_path):
    """The child's resident size was that large before: only its private pages show what it copied."""
    dumps = dumps_of(PROGRAM, "workers", tmp_path, steps="1,2")
    found = leaks(dumps, status=0)
    assert grown(found, "private memory of the child processes") > 50 * MIB
    assert found["answer"]["process_grew"] and "worker" in found["answer"]["process_look_at"]


@harness.needs_fake_cuda
@pytest.mark.parametrize("kind", ["larger-batch", "unrolled", "shared", "kept-graphs"])
def test_a_dump_of_a_failure_within_a_step(tmp_path, monkeypatch, kind):
    """What the step at work has made, much or often, is no suspect; what earlier steps left is."""
    harness.use_fake_cuda(monkeypatch)
    done = harness.run("memory_out_in_a_step.py", kind, folder=tmp_path, exit="never")
    assert done.stdout == "out of memory\n", done.stderr
    found = leaks(harness.dumps(tmp_path), status=0)
    assert [suspect["kind"] for suspect in found["suspects"]] == (["graph"] if kind == "kept-graphs" else []), found["suspects"]
    assert not found["findings"], found["findings"]
