# SPDX-License-Identifier: Apache-2.0
"""Some programs of tests/leaks, also short of memory, and whether docs/leaks.md lists all.

`tests/leaks/check_corpus.py` and `tests/leaks/check_short.py` run all of them. Of those of blind rounds (tests/leaks/rounds)
`--long` runs all whose libraries are there.
"""

# Covers: analyzer/leaks/suspects.cc analyzer/text/leaks/suspects.cc

import dataclasses
import json
import re
import sys

import pytest

import harness

sys.path.insert(0, str(harness.ROOT / "tests" / "leaks"))

import check_short
import corpus
import corpus_answers
import corpus_page
import rounds_page
import rounds_python

PROGRAMS = {program.name: program for program in corpus.programs()}
# One of each kind of finding, and the healthy programs that are nearest to them.
LEAKING = ["activations_in_hook", "lstm_hidden_state", "total_loss_sum", "gathered_predictions", "failed_variants", "replaced_parameters",
           "failed_batches", "episode_runner", "reused_cache", "thread_workspaces", "reported_tensors", "teed_samples", "curvature_optimizer"]
# Each of its threads, which never end, keeps 188 KB of malloc's memory, too: more than its workspace.
BESIDE = {"thread_workspaces": 1}
# With parameters, with caches of which most was freed, and with a graph.
SHORT = ["gathered_predictions", "loaded_adapters", "modules_to_save", "generations_with_caches", "lstm_hidden_state", "create_graph_cycles",
         "cache_clearing_hook", "replaced_parameters", "replay_buffer_full", "kv_cache_list_full"]
HEALTHY = ["replay_buffer_full", "kv_cache_list_full", "preloaded_dataset", "recurrent_detached", "curriculum_each_step", "pool_workspaces",
           "curvature_cleared"]

# Of blind rounds: one that asks for its dumps itself, and one that looks alike. They need torch alone.
ROUNDS = {program.name: program for program in corpus.programs_of_rounds()}
OF_ROUNDS = ["l02_weak_dictionary", "h17_tbptt_of_nine"]


def judged(name, folder):
    dumps = corpus.run(PROGRAMS[name], harness.LIBRARY, folder, harness.PYTHON)
    return corpus_answers.judge(PROGRAMS[name], dumps, harness.CLI), dumps


@pytest.mark.cases(4)
@pytest.mark.parametrize("name", LEAKING)
def test_a_leak(name, tmp_path):
    harness.needs_torch(2, 1, "steps of optimizers")
    answer, dumps = judged(name, tmp_path)
    for said in (answer.two, answer.three):
        assert said.found and said.holder and said.line and said.bytes and said.other <= BESIDE.get(name, 0), said
    assert not corpus_answers.lost_with_more_dumps(harness.CLI, dumps)
    if name not in ("failed_batches", "replaced_parameters"):  # these have a finding in one dump already
        assert 1 <= answer.rank <= 3, answer.one
        text = harness.cli("leaks", dumps[2], env={**harness.environment(preload=False), "COLUMNS": "200"}).stdout
        assert "no finding in one dump, but" in text and "two dumps some steps apart show" in text
        assert answer.one.suspects[answer.rank - 1]["held_by"] in text


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", HEALTHY)
def test_a_program_that_looks_alike(name, tmp_path):
    harness.needs_torch(2, 1, "steps of optimizers")
    answer, dumps = judged(name, tmp_path)
    assert [said.status for said in (answer.one, answer.two, answer.three)] == [0, 0, 0], answer
    assert not answer.one.suspects
    assert not corpus_answers.lost_with_more_dumps(harness.CLI, dumps)
    if name == "curriculum_each_step":  # what grew is listed, and why it is no leak
        places = json.loads(harness.cli("leaks", *dumps, "--json").stdout)["places"]
        assert places and all(place["larger_input"] and not place["leak"] for place in places), places
        assert "no leak: allocated anew in each step, for larger inputs" in harness.cli("leaks", *dumps).stdout


@pytest.mark.cases(4)
@pytest.mark.parametrize(("name", "kind"), [(name, kind) for name in SHORT for kind in check_short.KINDS])
def test_short_of_memory(name, kind, tmp_path):
    harness.needs_torch(2, 1, "steps of optimizers")
    dump = corpus.dump_of_shortage(PROGRAMS[name], kind, harness.LIBRARY, tmp_path, harness.PYTHON)
    said, right = check_short.check(PROGRAMS[name], dump, harness.CLI)
    assert right, said


def test_one_dump_says_what_it_does_not_see(tmp_path):
    harness.needs_torch(2, 1, "steps of optimizers")
    answer, dumps = judged("host_predictions", tmp_path)
    assert answer.three.found and not answer.one.suspects
    text = harness.cli("leaks", dumps[2], env={**harness.environment(preload=False), "COLUMNS": "500"}).stdout
    assert re.search(r"Not examined in one dump: memory outside tensors, such as numpy arrays \([\d.]+ MiB allocated with malloc", text), text


FIRST_PASS = """
import sys
import libtensorscope
import torch
from torch import nn


class Last(nn.Linear):
    def forward(self, x):
        out = super().forward(x)
        libtensorscope.dump()
        return out


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(256, 256) for _ in range(3)] + [Last(256, 256)])

    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x


x, net = torch.randn(8, 256), Net()
if sys.argv[1] == "in a module":
    x = net(x)
else:
    for layer in net.layers:
        x = torch.relu(layer(x))
"""


@pytest.mark.parametrize("where", ["in a module", "at the top"])
def test_the_first_forward_pass_through_equal_layers_is_no_suspect(where, tmp_path):
    done = harness.run_source(FIRST_PASS, where, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = corpus_answers.ask(harness.CLI, [min(harness.dumps(tmp_path))])
    assert not answer.suspects and not answer.findings, answer


HEADS = """
import time
import libtensorscope
import torch
from torch import nn


class Last(nn.Linear):
    def forward(self, x):
        out = super().forward(x)
        libtensorscope.dump()
        return out


def loaded(kind):
    time.sleep(0.03)
    for _ in range(30):
        torch.randn(4)
    return kind(256, 256)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleDict({name: loaded(Last if name == "last" else nn.Linear) for name in ("a", "b", "c", "last")})

    def forward(self, x):
        for head in self.heads.values():
            out = head(x)
        return out


net = Net()
net(torch.randn(8, 256))
"""


def test_heads_that_were_just_built_are_no_suspect_in_their_first_pass(tmp_path):
    done = harness.run_source(HEADS, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = corpus_answers.ask(harness.CLI, [min(harness.dumps(tmp_path))])
    assert not answer.suspects and not answer.findings, answer


SNAPSHOTS = f"""
import copy, sys
sys.path.insert(0, {str(harness.ROOT / "include" / "tensorscope")!r})
import libtensorscope, torch
from torch import nn


class Distilled(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(128, 128) for _ in range(6))
        self.head = nn.Linear(128, 128)
        self.snapshots = nn.ModuleList()

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x), [snapshot(x.detach()) for snapshot in self.snapshots]


def train():
    model = Distilled()
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(30):
        out, earlier = model(torch.randn(8, 128))
        loss = out.square().mean() + sum((out - one).square().mean() for one in earlier)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.snapshots.append(copy.deepcopy(model.head).requires_grad_(False))
        if step in (0, 1, 29):
            libtensorscope.dump()


train()
"""


def test_frozen_copies_that_a_model_collects_are_a_suspect_and_its_layers_are_none(tmp_path):
    done = harness.run_source(SNAPSHOTS, folder=tmp_path, exit="never")
    assert done.returncode == 0, done.stderr
    early, second, late = (corpus_answers.ask(harness.CLI, [dump]) for dump in corpus.dumps_in(tmp_path))
    assert not early.suspects and not second.suspects, (early, second)
    assert [suspect["held_by"] for suspect in late.suspects] == ["model.snapshots.*.weight; model.snapshots.*.bias"], late
    assert late.suspects[0]["steps"] >= 28 and not late.findings, late


def test_garbage_that_is_collected_is_said_and_is_no_finding(tmp_path):
    harness.needs_torch(2, 1, "steps of optimizers")
    answer, dumps = judged("garbage_collected_in_steps", tmp_path)
    assert [said.status for said in (answer.one, answer.two, answer.three)] == [0, 0, 0], answer
    text = harness.cli("leaks", *dumps, env={**harness.environment(preload=False), "COLUMNS": "500"}).stdout
    assert "192.0 KiB held by unreachable cycle of Storage, Batch: no finding, Python's garbage collector frees such cycles here." in text, text
    passing = json.loads(harness.cli("leaks", *dumps, "--json").stdout)["answer"]["passing_cycles"]
    assert passing["held_by"] == "unreachable cycle of Storage, Batch" and passing["bytes"] == 192 << 10, passing
    assert passing["made_at"]["file"].endswith("garbage_collected_in_steps.py") and passing["tensors"], passing


def test_the_corpus_is_large_enough_and_every_report_is_named():
    leaking = [program for program in PROGRAMS.values() if program.leaks]
    assert len(leaking) >= 60 and len(PROGRAMS) - len(leaking) >= 30
    assert all(program.reports for program in leaking)
    assert set(LEAKING + HEALTHY + SHORT) <= set(PROGRAMS)


def test_the_page_lists_every_program():
    page = (harness.ROOT / "docs" / "leaks.md").read_text()
    figures = page[page.index(corpus_page.BEGIN):page.index(corpus_page.END)]
    assert sorted(re.findall(r"^\| `(\w+)` \|", figures, re.MULTILINE)) == sorted(PROGRAMS)
    assert set(rounds_page.said(page)) <= set(ROUNDS)


def test_the_headers_of_the_rounds_are_read():
    counts = [(sum(program.leaks for program in ROUNDS.values() if program.round == name),
               sum(not program.leaks for program in ROUNDS.values() if program.round == name)) for name in corpus.NAMES_OF_ROUNDS]
    assert counts == [(20, 12), (16, 12), *[(30, 20)] * 9, (31, 20)] and not set(ROUNDS) & set(PROGRAMS)
    for program in ROUNDS.values():
        if program.leaks:
            assert program.kinds and all(name for names in program.holder for name in names) and 0 < program.least <= program.most, program
            assert program.lines or {"process-memory", "child-processes"} & set(program.kinds), program
        asks = "ask" in re.findall(r"^(?:import|from) (\w+)", program.path.read_text(), re.MULTILINE)
        assert program.dumps == ("asks" if asks else "steps"), program


def answer_of(status, letters="", other=0):
    return corpus_answers.Answer(status, [], [], [], *(letter in letters for letter in "FHLB"), other)


def test_what_is_worse_than_the_page_says():
    leak, healthy = ROUNDS["l02_weak_dictionary"], ROUNDS["h17_tbptt_of_nine"]
    row = "| `l02_weak_dictionary` | third | 1 | F-LB +1 | FH-B | no line |"
    listed = rounds_page.said(f"{rounds_page.BEGIN}\n{row}\n{rounds_page.END}")
    assert listed == {"l02_weak_dictionary": ("1", "F-LB +1", "FH-B")}

    def worse(program, two, three, listed):
        return rounds_page.worse(corpus_answers.Judged(program, answer_of(0), two, three), listed)
    right = answer_of(1, "FHLB")
    assert not worse(leak, right, right, {}) and not worse(leak, answer_of(1, "FLB", 1), answer_of(1, "FHB"), listed)
    assert worse(leak, right, answer_of(1, "FHB"), {}) and worse(leak, right, answer_of(1, "FHLB", 1), {})
    assert worse(leak, answer_of(1, "LB"), right, listed) and worse(leak, answer_of(1, "FLB", 2), right, listed)
    assert not worse(healthy, answer_of(0), answer_of(0), {}) and worse(healthy, answer_of(0), answer_of(1), {})


def no_worse_than_the_page(name, folder):
    for module in rounds_python.imported(ROUNDS[name]):
        harness.needs_package(module)
    harness.needs_torch(2, 1, "steps of optimizers")
    dumps = corpus.run(ROUNDS[name], harness.LIBRARY, folder, harness.PYTHON)
    answer = corpus_answers.judge(ROUNDS[name], dumps, harness.CLI)
    assert not rounds_page.worse(answer, rounds_page.said(rounds_page.PAGE.read_text())), answer


@pytest.mark.parametrize("name", OF_ROUNDS)
def test_a_program_of_a_round(name, tmp_path):
    no_worse_than_the_page(name, tmp_path)


@pytest.mark.cases(0)
@pytest.mark.parametrize("name", sorted(set(ROUNDS) - set(OF_ROUNDS)))
def test_another_program_of_a_round(name, tmp_path):
    no_worse_than_the_page(name, tmp_path)


def advice(dumps):
    return [line.strip() for line in harness.cli("leaks", *dumps, status=1, env={**harness.environment(preload=False), "COLUMNS": "500"})
            .stdout.splitlines() if "what to do" in line]


def test_gradients_are_no_graphs_that_could_be_detached(tmp_path):
    harness.needs_torch(2, 1, "steps of optimizers")
    answer, dumps = judged("reused_accelerator", tmp_path)
    assert answer.two.found
    assert advice(dumps) == ["what to do     entries are only ever added: limit its size, or remove old entries"]


def test_a_hook_of_a_graph_node_is_to_be_removed(tmp_path):
    answer, dumps = judged("cache_clearing_hook", tmp_path)
    assert answer.one.found and "remove the hook after use (handle.remove())" in advice(dumps)[0], answer


# What the advice says, done where a trial's work is done. Without the second line the trial and its writer are a reference cycle,
# which is freed only when Python's garbage collector runs.
UNREGISTERED = """
    def close(self):
        atexit.unregister(self.writer.close)
        del self.writer.owner


for number in range(60):
    trial = Trial(number)
    trial.run()
    trial.close()
"""
# Handlers from which no index leads to their tensors.
PLAIN_HANDLERS = """
import atexit
import torch


class Closing:
    def __init__(self, number):
        self.state = torch.full((128, 128), float(number))
        atexit.register(self.close)

    def close(self):
        self.state = None


def main():
    weight = torch.nn.Parameter(torch.ones(4))
    optimizer = torch.optim.SGD([weight], lr=0.1)
    for number in range(60):
        Closing(number)
        weight.sum().backward()
        optimizer.step()


main()
"""


def test_what_is_advised_about_handlers_at_exit_ends_the_leak(tmp_path):
    harness.needs_torch(2, 1, "steps of optimizers")
    answer, dumps = judged("exit_handlers", tmp_path)
    assert answer.three.found and "call atexit.unregister() once its work is done" in advice(dumps)[0], answer
    changed = tmp_path / "changed"
    changed.mkdir()
    source, loop = PROGRAMS["exit_handlers"].path.read_text().split("\n\nfor number in")
    (changed / "exit_handlers.py").write_text(source.rstrip() + "\n" + UNREGISTERED)
    dumps = corpus.run(dataclasses.replace(PROGRAMS["exit_handlers"], path=changed / "exit_handlers.py"), harness.LIBRARY, changed, harness.PYTHON)
    for some in (dumps[2:], dumps[1:], dumps):
        answer = corpus_answers.ask(harness.CLI, some)
        assert answer.status == 0 and not answer.suspects, answer


def test_handlers_at_exit_without_a_list(tmp_path):
    harness.needs_torch(2, 1, "steps of optimizers")
    done = harness.run_source(PLAIN_HANDLERS, folder=tmp_path, exit="never", dump_at_step="20,40,60")
    assert done.returncode == 0, done.stderr
    dumps = corpus.dumps_in(tmp_path)
    (finding,) = corpus_answers.ask(harness.CLI, dumps).findings
    assert finding["kind"] == "container" and finding["held_by"].startswith("atexit: Closing.close.__self__.state"), finding
    assert finding["growth"]["count"] == [20, 40, 60] and "call atexit.unregister() once its work is done" in advice(dumps)[0], finding
