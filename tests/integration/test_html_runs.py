# SPDX-License-Identifier: Apache-2.0
"""The page of a run of Hugging Face's Trainer, of Lightning and of an out-of-memory error: its first screen names the largest consumer, what
leaks and what to do, in the words and numbers of the command line."""

# Covers: analyzer/cli/html.cc

import json
import re
from types import SimpleNamespace

import pytest

import harness
from test_html import Opened, browser, have_a_page, printed  # noqa: F401 (fixtures)

# kind, the package it needs, what holds the leak: as the dumps know it, and as a recording with the dump at exit does
RUNS = {"trainer": ("accelerate", "trainer.history[0..17]", None),
        "lightning": ("lightning", "model.validation_outputs[0..47]", "Classifier@1.validation_outputs[0..39]")}


def run(kind, folder, *arguments, **options):
    have_a_page()
    done = harness.run("leaking_runs.py", kind, *arguments, folder=folder, record=1, **options)
    [recording] = folder.glob("*.recording")
    return SimpleNamespace(done=done, folder=folder, recording=recording, dumps=harness.dumps(folder))


@pytest.fixture(scope="module", params=RUNS)
def training(request, tmp_path_factory):
    kind = request.param
    harness.needs_package(RUNS[kind][0])
    made = run(kind, tmp_path_factory.mktemp(kind), "dumps")
    assert made.done.returncode == 0, made.done.stderr
    assert len(made.dumps) == 4 and made.dumps[-1].name.endswith(".exit.tscope")
    made.kind = kind
    return made


def first_screen(browser, folder, *files):  # noqa: F811
    """What a reader sees without scrolling: (the sentence at the top, links of the list of answers, all of it)."""
    harness.cli("html", *files, "-o", folder / "report.html", "--force")
    window = Opened(browser, folder / "report.html")
    window.go("overview")
    visible = [each.inner_text() for each in window.page.query_selector_all("#main p, #main li, #main h3, #main .bar-row")
               if each.bounding_box()["y"] + each.bounding_box()["height"] <= 800]
    answers = [each.inner_text() for each in window.page.query_selector_all(".todo-list a")]
    lead = window.text(".lead")
    assert window.wrong == []
    window.context.close()
    return SimpleNamespace(lead=lead, answers=answers, text="\n".join(visible))


def headlines(*files):
    return re.findall(r"^\d  (.*)$", printed("leaks", *files, status=1), re.MULTILINE)


def test_dumps_and_a_recording(browser, training):  # noqa: F811
    seen = first_screen(browser, training.folder, *training.dumps, training.recording)
    held_by = RUNS[training.kind][1]
    assert seen.lead == printed("report", training.dumps[2]).splitlines()[0] and "largest allocation site: " in seen.lead
    assert seen.answers == headlines(*training.dumps) and held_by in seen.answers[0]
    assert "growing container" in seen.text and "what to do: entries are only ever added" in seen.text
    assert "Peak " in seen.text


def test_pages_without_an_answer_are_not_there(browser, training):  # noqa: F811
    """What changed is told without the dump at exit, and there is no page of a graph without nodes."""
    harness.cli("html", *training.dumps, training.recording, "-o", training.folder / "report.html", "--force")
    window = Opened(browser, training.folder / "report.html")
    assert ("graph" in window.pages()) == (training.kind == "trainer")
    live = re.search(r"; live bytes (.*) \(", printed("leaks", *training.dumps, status=1))[1]
    window.go("diff")
    assert window.text(".lead").startswith(f"live bytes {live}")
    assert ".exit." not in "".join(each.inner_text() for each in window.page.query_selector_all("#main p"))
    window.context.close()


def test_a_recording_and_the_dump_at_exit(browser, training, tmp_path):  # noqa: F811
    """Nobody asked for a dump: moments of the recording say what grew."""
    recording, at_exit = (tmp_path / path.name for path in (training.recording, training.dumps[-1]))
    for path, old in ((recording, training.recording), (at_exit, training.dumps[-1])):
        path.write_bytes(old.read_bytes())
    seen = first_screen(browser, tmp_path, at_exit, recording)
    assert seen.lead == printed("report", f"{recording}@peak").splitlines()[0]
    assert "unreachable" not in seen.text
    steps = [int(step) for step in re.findall(r"steps 0 to (\d+)", printed("timeline", recording))]
    ended = steps[0]
    moments = [f"{recording}@step={step}" for step in (ended // 3, ended * 2 // 3, ended - 1)]
    held_by = RUNS[training.kind][2]
    if held_by:
        assert seen.answers[0] == headlines(*moments)[0] and held_by in seen.answers[0]
    else:
        assert re.search(r"^\+\S+ MiB at \S*leaking_runs.py:\d+ .*compute_loss$", seen.answers[0]), seen.answers
        assert "take a dump while the program runs" in seen.text


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        harness.use_fake_cuda(patch)
        made = run("oom", tmp_path_factory.mktemp("oom"), fake_cuda_capacity=96 << 20)
    assert "OutOfMemoryError" in made.done.stderr
    return made


def test_out_of_memory(browser, failing):  # noqa: F811
    failed, at_exit = failing.dumps
    seen = first_screen(browser, failing.folder, failed, at_exit, failing.recording)
    assert seen.lead == printed("oom", failed).splitlines()[0] and seen.lead.startswith("out of memory on cuda:0")
    assert "free history[" in seen.text and "(the request would fit)" in seen.text
    assert printed("report", failed).splitlines()[0] in seen.text
    assert re.search(r"MiB held by history\[0\.\.\d+\] \(local of oom\)", seen.answers[0])
    assert "traceback" not in seen.text


@pytest.fixture
def opened(browser, failing):  # noqa: F811
    harness.cli("html", *failing.dumps, failing.recording, "-o", failing.folder / "failing.html", "--force")
    window = Opened(browser, failing.folder / "failing.html")
    yield window
    assert window.wrong == []
    window.context.close()


def test_shares_of_the_memory_that_ran_out_are_the_command_lines(opened, failing):
    opened.go("oom")
    shown = {tuple(line.strip() for line in row.inner_text().split("\t")[:3]) for row in opened.page.query_selector_all(".wide-table tr")}
    rows = re.findall(r"^ {12}(\w[\w ]*?) {2,}([\d.]+ \w+) +[\d,]+ +(<?\d+ %)", printed("oom", failing.dumps[0]), re.MULTILINE)
    assert len(rows) >= 5 and set(rows) <= shown, (rows, shown)
    assert all(name != "module" for name, *_ in shown)


def test_many_steps_do_not_hide_the_chart(opened):
    opened.go("timeline")
    places = sorted(float(line.get_attribute("x1")) for line in opened.page.query_selector_all(".area line.mark.step")
                    if float(line.get_attribute("y1")) < 100)
    assert places and all(b - a >= 5 for a, b in zip(places, places[1:]))


def test_blocks_in_no_tensor_are_workspaces_at_the_peak(failing):
    known = json.loads(harness.cli("timeline", failing.recording, "--json").stdout)
    categories = next(curve for curve in known["curves"] if curve["device"] == "cuda:0")["peak_by_category"]
    [in_no_tensor] = re.findall(r"in no tensor +[\d.]+ MiB +([\d,]+)", printed("oom", failing.dumps[0]))
    assert categories["workspace"] == int(in_no_tensor.replace(",", ""))
