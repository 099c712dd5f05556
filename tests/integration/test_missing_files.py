# SPDX-License-Identifier: Apache-2.0
"""Libraries and lines that a recording names and that are gone: a forecast says so, and its error is no smaller for it."""
# Covers: analyzer/symbols/unread.cc analyzer/text/unread_words.cc

import contextlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import harness
import pytest

sys.path.insert(0, str(harness.ROOT / "tests" / "forecast"))
import forecast_accuracy

BATCHES, ASKED = (4, 8), {"batch": 16}
WHAT_IFS = {"autocast": ("--as", "autocast"), "bfloat16": ("--as", "bfloat16")}


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory):
    """Names that were once looked up would still be known."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        yield


def link_or_copy(source, target):
    try:
        os.link(source, target)
    except OSError:  # another file system
        shutil.copy2(source, target)


def recordings(folder, model, **environment):
    return [forecast_accuracy.record(folder, model, "--batch", str(batch), **environment) for batch in BATCHES]


class Recorded:
    """A program that ran with a torch of its own, which is moved away afterwards."""

    def __init__(self, folder):
        package = pathlib.Path(harness.asked("torch", "torch.__path__[0]"))
        self.root, self.torch = folder / "elsewhere", folder / "packages" / "torch"
        skipped = shutil.ignore_patterns("include", "test", "*.a")
        shutil.copytree(package, self.torch, copy_function=link_or_copy, ignore=skipped)
        self.inputs = recordings(folder, "siamese", PYTHONPATH=str(self.torch.parent))
        self.known = {name: self.forecast(*options) for name, options in WHAT_IFS.items()}
        moved = self.root / self.torch.relative_to("/")
        moved.parent.mkdir(parents=True)
        self.torch.rename(moved)

    def forecast(self, *options):
        return forecast_accuracy.forecast(self.inputs, ASKED, *options)

    def text(self, *options):
        return harness.cli("forecast", *self.inputs, "--set", "batch=16", *options).stdout


@pytest.fixture(scope="module")
def recorded(tmp_path_factory, own_cache):
    return Recorded(tmp_path_factory.mktemp("recorded"))


def no_less_is_said(known, unread):
    """The error covers what is said with all files, and is no smaller."""
    assert abs(known["peak_bytes"] - unread["peak_bytes"]) <= unread["error_bytes"]
    assert unread["error_bytes"] >= known["error_bytes"]
    assert unread["least_bytes"] <= known["peak_bytes"] <= unread["most_bytes"]


@pytest.mark.parametrize("name", WHAT_IFS)
def test_without_the_libraries_the_error_is_larger_and_the_answer_says_why(recorded, name):
    known, unread = recorded.known[name], recorded.forecast("--no-cache", *WHAT_IFS[name])
    library = str(recorded.torch / "lib" / "libtorch_cpu.so")
    assert known["not_read"] is None and not known["what_if"][0]["lacks_files"]
    assert unread["what_if"][0]["lacks_files"] and library in unread["not_read"]["libraries"]
    assert unread["not_read"]["source_files"] == []
    no_less_is_said(known["what_if"][0], unread["what_if"][0])
    no_less_is_said(known["forecast"], unread["forecast"])
    estimate, text = unread["what_if"][0]["name"], recorded.text("--no-cache", *WHAT_IFS[name])
    note = " ".join(text.partition("\n")[2].partition("\nfrom ")[0].split())  # between the answer and what it is from
    assert f"could not be read here (such as {library}), so the error of '{estimate}' is larger" in note, text
    assert "Run this on the machine" in note and "--sysroot" in note and note == " ".join(unread["not_read"]["note"].split())
    assert f"{estimate} *" in text


def test_where_nothing_depends_on_them_nothing_is_said(recorded):
    found = recorded.forecast("--no-cache", "--optimizer", "adam")
    assert found["not_read"] is None and not found["what_if"][0]["lacks_files"]
    assert found["forecast"] == recorded.known["autocast"]["forecast"]
    assert "could not be read" not in recorded.text("--no-cache", "--optimizer", "adam")


@pytest.mark.parametrize("name", WHAT_IFS)
def test_a_folder_with_the_files_makes_it_as_good_as_before(recorded, name):
    found = recorded.forecast("--sysroot", recorded.root, *WHAT_IFS[name])
    assert found["what_if"] == recorded.known[name]["what_if"] and found["not_read"] is None


def test_what_a_library_may_take_besides_raises_one_end_alone(recorded):
    """The buffer into which inputs of convolutions in 16 bits may be unfolded."""
    of = recorded.known["autocast"]["what_if"][0]
    assert of["most_bytes"] == of["peak_bytes"] + of["error_bytes"]
    assert 0 < 2 * (of["peak_bytes"] - of["least_bytes"]) < of["error_bytes"]
    text = recorded.text("--sysroot", recorded.root, "--as", "autocast")
    assert re.search(r"under autocast +[\d.]+ MiB \([\d.]+ MiB to [\d.]+ MiB\)", text), text


def test_functions_that_are_not_to_be_looked_up(recorded):
    found = recorded.forecast("--no-symbols", "--as", "autocast")
    no_less_is_said(recorded.known["autocast"]["what_if"][0], found["what_if"][0])
    assert found["not_read"]["no_symbols"] and "Leave out --no-symbols" in found["not_read"]["note"]


def test_without_native_stacks(tmp_path, recorded):
    inputs = recordings(tmp_path, "siamese", TENSORSCOPE_NATIVE="0")
    for name, options in WHAT_IFS.items():
        found = forecast_accuracy.forecast(inputs, ASKED, *options)
        no_less_is_said(recorded.known[name]["what_if"][0], found["what_if"][0])
        assert found["not_read"]["no_native_stacks"] and "ative stacks were not recorded" in found["not_read"]["note"]


def test_without_source_lines(tmp_path):
    """Whether lines cast to float32 is then not known."""
    asked = ASKED, "--as", "bfloat16"
    known = forecast_accuracy.forecast(recordings(tmp_path / "known", "graph_transformer"), *asked)
    inputs = recordings(tmp_path, "graph_transformer", TENSORSCOPE_SOURCE="0")
    unread = forecast_accuracy.forecast(inputs, *asked)
    no_less_is_said(known["what_if"][0], unread["what_if"][0])
    assert known["not_read"] is None and unread["not_read"]["libraries"] == []
    assert str(forecast_accuracy.PROGRAM) in unread["not_read"]["source_files"]
    assert "Lines of" in unread["not_read"]["note"] and "--source" in unread["not_read"]["note"]
    given = forecast_accuracy.forecast(inputs, *asked, "--source", "/")
    assert given["what_if"][0]["peak_bytes"] == known["what_if"][0]["peak_bytes"] and given["not_read"] is None


@pytest.fixture(scope="module")
def cpp_run(tmp_path_factory, own_cache):
    """The files of a program without Python, and options with which none of its libraries is found."""
    harness.needs_build_against_this_torch()
    folder = tmp_path_factory.mktemp("cpp")
    harness.run("cpp_graph", folder=folder, quiet=1, record=1)
    (folder / "empty").mkdir()
    return folder, ("--sysroot", folder / "empty", "--no-cache")


def one(folder, pattern):
    (found,) = harness.dumps(folder, pattern)
    return found


@pytest.mark.parametrize("arguments", [("report",), ("leaks",), ("graph",), ("timeline",), ("graph", "--format", "json"), ("timeline", "--json")],
                         ids=" ".join)
def test_other_answers_say_it_in_the_same_words(arguments, cpp_run):
    folder, hiding = cpp_run
    verb, *options = arguments
    file = one(folder, "*.recording" if verb == "timeline" else "*.exit.tscope")
    known, hidden = (harness.cli(verb, file, *options, *more, status=None) for more in ((), hiding))
    assert "could not be read here" not in known.stderr
    assert "could not be read here (" in hidden.stderr and ", so what depends on names of functions" in hidden.stderr
    if options:
        assert json.loads(known.stdout)["not_read"] is None
        lacks = json.loads(hidden.stdout)["not_read"]
        assert lacks["note"] in hidden.stderr and lacks["libraries"] and not lacks["no_symbols"]


@contextlib.contextmanager
def running(folder):
    """A C++ program that has allocated and goes on until it is ended."""
    command = harness.command("cpp_program", "wait", str(folder / "end"))
    process = subprocess.Popen(command, env=harness.environment(folder, quiet=1), cwd=folder, text=True, stdout=subprocess.PIPE)
    try:
        assert any(line.startswith("leak") for line in process.stdout)
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_top_says_it_as_it_ends(tmp_path):
    harness.needs_build_against_this_torch()
    (tmp_path / "empty").mkdir()
    with running(tmp_path) as process:
        hidden = harness.cli("top", process.pid, "--once", "--sysroot", tmp_path / "empty", "--no-cache")
        known = harness.cli("top", process.pid, "--once", "--no-cache")
    assert ", so what depends on names of functions" in hidden.stderr and "could not be read here" not in known.stderr
