# SPDX-License-Identifier: Apache-2.0
"""What `tensorscope oom` advises on programs that run out of memory for a reason: the cause is named, the advice was tried, and nothing
is promised that does not come."""
import functools
import json
import os

import pytest

import harness

MEBIBYTE = 1 << 20


@pytest.fixture(scope="module")
def fails(tmp_path_factory):
    """Runs a case to its end, once for all tests; the dump of the failure and what the program printed."""
    @functools.cache
    def run(case, device="cpu", **variables):
        folder = tmp_path_factory.mktemp(case)
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("OOM_DEVICE", device)
            if device == "cuda":
                harness.use_fake_cuda(patch)
            for name, value in variables.items():
                patch.setenv(name, value)
            done = harness.run("oom_advice.py", case, folder=folder, exit="never", fake_cuda_capacity=1 << 30)
        assert done.returncode == 0, done.stderr
        dumps = harness.dumps(folder, "*.oom-1.tscope")
        return (dumps[0] if dumps else None), done.stdout
    return run


def told(dump):
    return json.loads(harness.cli("oom", dump, "--json").stdout)


def remedy(answer, kind, subject=""):
    return next((one for one in answer["remedies"] if one["kind"] == kind and one["subject"].startswith(subject)), None)


def first_lines(dump):
    return harness.cli("oom", dump, env={**os.environ, "COLUMNS": "110"}).stdout.splitlines()[:5]


CAUSES = {
    "running_sum": ("running-sum", "total (local of running_sum)"),
    "running_sum_in_an_attribute": ("running-sum", "meter.total (local of running_sum_in_an_attribute)"),
    "carried_state": ("carried-state", "state (local of carried_state)"),
    "carried_state_in_an_attribute": ("carried-state", "session.state (local of carried_state_in_an_attribute)"),
    "two_lists": ("drop-holder", "history[0..7] (local of two_lists) (list) and recent[0..7] (local of two_lists) (list)"),
    "dataclasses_in_a_list": ("drop-holder", "records[*] (local of dataclasses_in_a_list)"),
    "logits": ("drop-holder", "outputs[0..7] (local of logits) (list)"),
    "validation": ("no-grad", "evaluate"),
}


@pytest.mark.cases(4)
@pytest.mark.parametrize("case", CAUSES)
def test_the_cause_is_found_and_comes_first(fails, case):
    kind, subject = CAUSES[case]
    answer = told(fails(case)[0])
    found = remedy(answer, kind)
    assert found and found["subject"] == subject
    assert found["bytes"] >= 13 * MEBIBYTE
    kinds = [one["kind"] for one in answer["remedies"]]
    assert kinds.index(kind) < kinds.index("smaller-batch")
    assert "checkpoint" not in kinds or case != "validation"


@pytest.mark.cases(2)
@harness.needs_fake_cuda
@pytest.mark.parametrize("case", ("running_sum", "carried_state", "dataclasses_in_a_list", "validation"))
def test_what_the_advice_gives_when_it_is_tried(fails, case):
    """Compared with torch's own count at the same place of a run that does what is advised."""
    dump, printed = fails(case, "cuda")
    _, tried = fails(case, "cuda", OOM_TRIED="1")
    before, after = (int(text.split("allocated ")[1].split()[0]) for text in (printed, tried))
    found = remedy(told(dump), CAUSES[case][0])
    own = 4 * MEBIBYTE if case == "dataclasses_in_a_list" else 0  # the kept tensors themselves stay
    assert before - after >= (found["bytes"] - own) * 0.95, f"{before - after} of {found['bytes']}"


def test_item_is_advised_for_numbers_alone(fails):
    assert ".item()" in remedy(told(fails("two_lists")[0]), "drop-holder")["takes"]
    takes = remedy(told(fails("logits")[0]), "drop-holder")["takes"]
    assert ".item()" not in takes and ".detach()" in takes


def test_whether_garbage_makes_room_is_known(fails):
    assert remedy(told(fails("garbage")[0]), "collect-garbage")["fits"] == "yes"


def test_a_cycle_through_the_graph_is_named_with_its_line_and_its_bytes(fails):
    dump, _ = fails("graph_cycles")
    answer = told(dump)
    found = answer["remedies"][0]
    assert found["kind"] == "break-graph-cycle" and "its .grad" in found["subject"], found
    assert found["bytes"] >= 4 * 3 * 32 * MEBIBYTE and not found["at_most"] and not found["estimate"] and found["fits"] == "yes"
    assert "set .grad to None" in found["takes"] and "oom_advice.py" in found["price"]["where"]
    assert found["price"]["where"].endswith("graph_cycles") and not answer["suspects"]
    assert "break the cycle #" in harness.cli("oom", dump).stdout


def test_gradients_that_have_a_graph_are_named(fails):
    answer = told(fails("gradients_with_graphs")[0])
    found = remedy(answer, "gradient-graph", "the graph of model.up.weight.grad and of 3 other gradients")
    assert found and found["at_most"] and found["between"][0] == 0 and found["fits"] == "no", answer["remedies"]
    assert found["bytes"] >= 8 * MEBIBYTE and found["price"]["where"].endswith("gradients_with_graphs")
    assert "perhaps nothing" in harness.cli("oom", fails("gradients_with_graphs")[0]).stdout


@harness.needs_fake_cuda
@pytest.mark.parametrize(("case", "kind"), [("graph_cycles", "break-graph-cycle"), ("gradients_with_graphs", "gradient-graph")])
def test_what_graphs_behind_gradients_give_when_they_are_dropped(fails, case, kind):
    dump, printed = fails(case, "cuda")
    _, tried = fails(case, "cuda", OOM_TRIED="1")
    freed = number(printed, "allocated") - number(tried, "allocated")
    found = remedy(told(dump), kind)
    assert found and 0.98 * freed <= found["bytes"] <= 1.02 * freed, f"{freed} of {found}"
    assert found["price"]["where"].endswith(case)  # the call of backward, though a thread without Python's stack made the gradients


def test_a_request_larger_than_all_there_is(fails):
    dump, _ = fails("too_large")
    answer = told(dump)
    assert answer["answer"]["too_large"] and answer["remedies"] == []
    assert answer["answer"]["operands"] == ["query: float32 [64, 262144, 4], 256.0 MiB", "key: float32 [64, 262144, 4], 256.0 MiB"]
    assert first_lines(dump)[4] == "  freeing memory cannot help: the request is larger than the whole memory"


def test_an_optimizers_step(fails):
    """On the CPU Adam steps one parameter after the other already."""
    answer = told(fails("optimizer_step")[0])
    assert remedy(answer, "optimizer-step") is None
    found = remedy(answer, "step-in-backward")
    assert found and found["at_most"] and found["bytes"] > 0


@pytest.mark.cases(1)
@harness.needs_fake_cuda
@pytest.mark.parametrize("step, left, enough", [("first", 150, 300), ("second", 40, 300)])
def test_what_a_step_without_foreach_gives(fails, step, left, enough):
    """Compared with torch's own peaks: a step without foreach still needs a few temporaries of its largest parameter."""
    first = {"OOM_FIRST": "1"} if step == "first" else {}
    dump, _ = fails("optimizer_foreach", "cuda", OOM_LEFT=str(left), **first)
    _, printed = fails("optimizer_foreach", "cuda", OOM_LEFT=str(enough), **first)
    _, tried = fails("optimizer_foreach", "cuda", OOM_LEFT=str(enough), OOM_TRIED="1", **first)
    freed = int(printed.split("took ")[1]) - int(tried.split("took ")[1])
    found = remedy(told(dump), "optimizer-step", "optimizer with foreach=False")
    assert found and 0.8 * freed <= found["bytes"] <= freed, f"{freed} of {found}"
    assert found["between"][0] <= freed <= found["between"][1]


def number(printed, what):
    return int(printed.split(f"{what} ")[1].split()[0])


@harness.needs_fake_cuda
def test_what_activations_in_bfloat16_give(fails):
    """Compared with torch's own count, which has copies of the input and the weights, too: within a fifth."""
    dump, printed = fails("activations", "cuda")
    _, tried = fails("activations", "cuda", OOM_TRIED="1")
    freed = number(printed, "kept") - number(tried, "kept")
    found = remedy(told(dump), "lower-precision")
    assert found and found["at_most"] and freed <= found["bytes"] <= 1.2 * freed, f"{freed} of {found}"
    assert found["between"][0] <= freed, f"{freed} of {found}"


SETTINGS = "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF"  # the old name and the new one


@pytest.mark.cases(1)
@harness.needs_fake_cuda
@pytest.mark.parametrize("setting", SETTINGS)
def test_expandable_segments_give_what_was_said(fails, setting):
    """The same bytes are asked for under the setting: the request passes, and no more becomes usable than was told."""
    dump, printed = fails("fragmented", "cuda")
    found = remedy(told(dump), "expandable-segments")
    assert found["fits"] == "may" and found["at_most"] and "PYTORCH_ALLOC_CONF=expandable_segments:True" in found["takes"]
    failed, tried = fails("fragmented", "cuda", OOM_FILL=str(number(printed, "filled")), **{setting: "expandable_segments:True"})
    assert failed is None and "passed" in tried, tried
    assert "passed" not in printed
    gained = number(tried, "unused")
    assert 0.9 * found["bytes"] <= gained <= found["bytes"], f"{gained} of {found}"


@harness.needs_fake_cuda
def test_expandable_segments_are_not_advised_where_their_pages_take_more(fails):
    dump, printed = fails("fragmented_on_streams", "cuda")
    assert remedy(told(dump), "expandable-segments") is None
    failed, tried = fails("fragmented_on_streams", "cuda", OOM_FILL=str(number(printed, "filled")),
                          PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    assert failed and "unused" not in tried, tried  # it fails earlier than before


def test_half_the_batch_is_an_estimate(fails):
    found = remedy(told(fails("running_sum")[0]), "smaller-batch")
    assert found["estimate"] and not found["at_most"]


@harness.needs_fake_cuda
def test_a_live_private_pool_gives_nothing_back(fails):
    answer = told(fails("private_pool", "cuda")[0])
    assert remedy(answer, "empty-cache") is None
    found = remedy(answer, "drop-holder", "pooled")
    assert found["fits"] == "no" and "private pool" in found["takes"]


@harness.needs_fake_cuda
def test_under_a_memory_fraction_the_limit_is_named_first(fails):
    dump, _ = fails("memory_fraction", "cuda")
    answer = told(dump)
    assert answer["remedies"][0]["kind"] == "process-limit"
    assert "yes" not in {one["fits"] for one in answer["remedies"]}
    assert first_lines(dump)[4].startswith("  first to try: raise the limit")


@harness.needs_fake_cuda
def test_a_backward_on_a_gpu_shows_the_programs_lines(fails):
    dump, _ = fails("in_backward", "cuda")
    answer = told(dump)
    assert answer["failure"]["backward"]["forward"]["source"] == "return torch.log_softmax(weight, 0)"
    assert answer["failure"]["backward"]["called"]["source"] == "loss.backward()"
    assert "oom_advice.py" in first_lines(dump)[1] and "redispatch" not in first_lines(dump)[1]


@harness.needs_fake_cuda
def test_cublas_workspaces_are_called_so(fails):
    dump, _ = fails("workspace", "cuda")
    assert '"cuBLAS workspace (libtorch_cuda.so)' in harness.cli("oom", dump, "--json").stdout


def test_a_folder_that_cannot_be_written_is_no_lack_of_memory(tmp_path):
    (tmp_path / "file").write_text("")
    done = harness.run("oom_advice.py", "running_sum", folder=tmp_path, exit="never", dir=tmp_path / "file")
    assert "not enough of it left" not in done.stderr
    assert "the holders of the memory are unknown: the dump could not be written" in done.stderr
