# SPDX-License-Identifier: Apache-2.0
"""Where CPython keeps what stacks and names need: our numbers beside those that the interpreter tells debuggers, and what is said
where one of them is wrong. Needs no torch."""

# Covers: preload/python/heap_inspector/graph/interpreter_layout.cc preload/python/heap_inspector/layout_check.cc

import json

import pytest

import harness
import interpreters
import test_bridge

# Not in the text of a program that is right: what rests on having seen everything that may hold a tensor.
CONCLUDED = {"extension", "cycle", "thread"}
# What each kind of field is changed to. A style is another one; an offset is that of a neighbour.
CHOICES = {"style": 3, "lines": 3, "instance_values": 4, "values_end": 3, "tagged_integers": 2, "qualified_names": 2}
FIELDS = ["style", "lines", "instruction_unit", "first_shim_owner", "qualified_names", "thread_frame", "cframe_frame", "frame_previous",
          "frame_code", "frame_instruction", "frame_owner", "frame_locals", "code_filename", "code_name", "code_first_line",
          "code_line_table", "code_bytecode", "text_ascii", "text_other", "instance_values", "instance_dict", "values_pointer",
          "type_shared_keys", "frame_object_frame", "values_end", "frame_values_end", "tagged_integers"]


def answer(python, *change):
    done = test_bridge.run(python, harness.PROGRAMS / "layouts.py", test_bridge.PROBE, *change, TENSORSCOPE_EXIT="never")
    assert done.returncode == 0, f"{change}: exit status {done.returncode}\n{done.stderr}"
    return json.loads(done.stdout)


right: dict = {}  # by interpreter: the answer with the right layout


def right_answer(python):
    if python not in right:
        right[python] = answer(python)
    return right[python]


def wrong_values(field, value):
    if field in CHOICES:
        return [other for other in range(CHOICES[field]) if other != value]
    if field in ("first_shim_owner", "instruction_unit"):
        return [0, 1, 2, 4] if value == 3 else [value + 1]
    return [value - 8, value + 8]


@test_bridge.every_python
def test_the_layout_of_this_interpreter_is_right(python):
    found = right_answer(python)
    assert sorted(found["layout"]) == sorted(FIELDS)
    assert found["stack"][0].startswith("yes\t") and found["stack"][0].endswith("checked against the interpreter")
    assert [line.split("\t")[2] for line in found["stack"][1:]] == ["asks", "runs", "<module>"]
    assert (found["names"], found["references"]) == ("complete\t", "complete\t")
    assert found["rows"]["local"] == [["local", "runs", "local"]]
    assert found["rows"]["attribute"] == [["global", "layouts.py", "plain.first"]]
    assert found["rows"]["state"] == [["global", "layouts.py", "Optimizer.state[1].exp_avg"]]


@pytest.mark.cases(4)
@pytest.mark.parametrize("field", FIELDS)
@test_bridge.every_python
def test_no_answer_claims_more_than_was_seen(python, field):
    """Each field of each series is wrong in turn: the answer is the right one, or says that it is not whole, and why."""
    whole = right_answer(python)
    for value in wrong_values(field, int(whole["layout"][field])):
        found = answer(python, field, value)
        coverage, *stack = found["stack"]
        assert coverage.startswith("no\t") or stack == whole["stack"][1:], f"{field} = {value}: {found['stack']}"
        assert not (coverage.startswith("no\t") and stack), f"{field} = {value}: {found['stack']}"
        for what, rows in ("names", "modules"), ("references", "rows"):
            state, reason = found[what].split("\t")
            assert state == "complete" or reason, f"{field} = {value}: {found[what]}"
            if state == "complete":
                assert found[rows] == whole[rows], f"{field} = {value}"
        if found["references"].startswith("complete"):
            continue
        for tag, holders in found["rows"].items():
            concluded = [row for row in holders if row[0] in CONCLUDED and row not in whole["rows"][tag]]
            assert not concluded, f"{field} = {value}: {tag} is {concluded}"


# _Py_DebugOffsets (Include/internal/pycore_runtime.h, pycore_debug_offsets.h): its sections in order, with their words.
OFFSETS = {
    13: "runtime 3, interpreter 13, thread 9, frame 6, code 10, object 2, type 4, tuple 3, list 3, dict 3, float 2, long 3, bytes 3, text 4",
    14: "runtime 3, interpreter 16, thread 9, frame 8, code 11, object 2, type 4, tuple 3, list 3, set 4, dict 3, float 2, long 3, bytes 3, "
        "text 4",
    15: "runtime 3, interpreter 16, thread 16, exception 1, frame 8, code 11, object 2, type 6, heap_type 2, tuple 3, list 3, set 4, dict 3, "
        "float 2, long 3, bytes 3, text 5",
}
# Our field, the section and the word of it.
TOLD = [("thread_frame", "thread", 4), ("frame_previous", "frame", 1), ("frame_code", "frame", 2), ("frame_instruction", "frame", 3),
        ("frame_locals", "frame", 4), ("frame_owner", "frame", 5), ("frame_values_end", "frame", 6), ("code_filename", "code", 1),
        ("code_name", "code", 3), ("code_line_table", "code", 4), ("code_first_line", "code", 5), ("code_bytecode", "code", 9),
        ("text_ascii", "text", 3), ("text_other", "text", 4), ("type_shared_keys", "heap_type", 1)]
READ_OFFSETS = """
import ctypes, sys
words = (ctypes.c_uint64 * 160).in_dll(ctypes.pythonapi, "_PyRuntime")
assert bytes(words)[:8] == b"xdebugpy"
print(*words)
"""


@pytest.mark.parametrize("python", ["3.13", "3.14", "3.15"], indirect=True)
def test_our_numbers_are_those_that_the_interpreter_tells(python):
    done = test_bridge.run(python, "-c", READ_OFFSETS)
    assert done.returncode == 0, done.stderr
    words = [int(word) for word in done.stdout.split()]
    minor = int(interpreters.version_of(python).split(".")[1])
    at, sections = 3, {}  # after the cookie, the version and whether it is free-threaded
    for each in OFFSETS[minor].split(", "):
        name, count = each.split()
        sections[name] = words[at:at + int(count)]
        at += int(count)
    ours = {name: int(value) for name, value in right_answer(python)["layout"].items()}
    compared = {field: sections[name][word] for field, name, word in TOLD
                if name in sections and word < len(sections[name]) and (field != "frame_values_end" or minor >= 14)}
    assert len(compared) >= 12
    assert {field: ours[field] for field in compared} == compared
    # What is the same in all series (type_fields.h, objects.h, python_text.cc) stands in no layout.
    assert sections["object"] == [16, 8]
    assert sections["type"][1:4] == [24, 88, 168]
    assert sections["bytes"][1:] == [16, 32]
    assert sections["text"][1:3] == [32, 16]
