# SPDX-License-Identifier: Apache-2.0
"""File names of dumps: what is really written, and every example in README, docs and --help."""

import re
import subprocess

import pytest

import harness

# PROGRAM[.rankR].PID.N[-ATTEMPT].tscope (preload/dump/dump_name.cc); N says what the dump is, where it was not asked for.
NAME = re.compile(r"[^./]+(\.rank\d+)?\.\d+\.(?P<kind>\d+|exit|(?:oom|low-memory|growth)-\d+)(-\d+)?\.tscope")
KINDS = {"1", "exit", "oom-1", "low-memory-1", "growth-1"}
ASK = "import os, signal, torch, truth\nkept = torch.ones(3)\ntruth.moment()\n"
FAIL = "import torch\ntry:\n    torch.empty(1 << 62, dtype=torch.uint8)\nexcept RuntimeError:\n    pass\n"
GROW = ("import os, pathlib, time, torch\nkept = torch.ones(40 << 20, dtype=torch.uint8)\n"
        "while not list(pathlib.Path('.').glob('*.tscope')):\n    time.sleep(0.01)\n")
# Of 64 GiB of address space 40 are taken.
NEAR = ("import mmap, resource\nresource.setrlimit(resource.RLIMIT_AS, (64 << 30, 64 << 30))\n"
        "taken = mmap.mmap(-1, 40 << 30, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)\n")


def kind_of(name):
    match = NAME.fullmatch(name)
    assert match, f"no dump is ever called {name}"
    return match["kind"]


def test_what_is_written_follows_the_grammar(tmp_path, monkeypatch, long):
    ways = {"asked": (ASK, {"exit": "never"}), "ends": ("import torch\nkept = torch.ones(3)\n", {}),
            "fails": (FAIL, {"exit": "never"}), "grows": (GROW, {"exit": "never", "dump_at_growth": "32M"}),
            "nears a limit": (NEAR + GROW, {"exit": "never", "low_memory": "30G"})}
    found = set()
    for rank in (None, "3"):
        if rank is not None:
            monkeypatch.setenv("RANK", rank)
        # A rank changes the first part of a name, the way the last.
        for way, (source, options) in ways.items() if long or rank is None else [("asked", ways["asked"])]:
            folder = tmp_path / f"{way}{rank}"
            folder.mkdir()
            done = harness.run_source(source, folder=folder, quiet=1, **options)
            assert done.returncode == 0, done.stderr
            names = [path.name for path in harness.dumps(folder)]
            assert names, way
            assert all(name.startswith("program.rank3." if rank else "program.") for name in names)
            found |= {kind_of(name) for name in names}
    assert found == KINDS


def examples():
    """(where, name) of every name of a dump in texts for people."""
    texts = {path.relative_to(harness.ROOT): path.read_text()
             for path in [*harness.ROOT.glob("*.md"), *harness.ROOT.glob("docs/**/*.md")]}
    verbs = re.findall(r"^  ([a-z]+) +\S", harness.cli("--help").stdout.split("Verbs:")[1], re.MULTILINE)
    assert len(verbs) >= 12
    for verb in ([], *([verb] for verb in verbs)):
        texts[" ".join([*verb, "--help"])] = harness.cli(*verb, "--help").stdout
    preload_help = subprocess.run(["true"], env={**harness.environment(help=1)}, capture_output=True, text=True)
    texts["TENSORSCOPE_HELP=1"] = preload_help.stderr + preload_help.stdout
    return [(str(where), name) for where, text in texts.items() for name in re.findall(r"[\w.*{}-]+\.tscope\b", text)]


def test_every_example_is_a_name_that_is_written():
    found = examples()
    assert len(found) > 80
    sources = {where for where, _ in found}
    assert {"README.md", "docs/cli/oom.md", "docs/oom-report.md", "--help", "oom --help", "leaks --help"} <= sources
    wrong = []
    for where, name in found:
        # PROGRAM, PID, N and * stand for what is written there.
        if not NAME.fullmatch(re.sub(r"\bPROGRAM\b", "train", re.sub(r"\b(PID|N)\b|\*", "1", name))):
            wrong.append(f"{where}: {name}")
    assert not wrong


@pytest.mark.parametrize("name", ["train.4242.oom.1.tscope", "train.4242.oom.tscope", "before.tscope", "train.1.tscope",
                                  "train.4242.growth.tscope", "train.4242.1.dump"])
def test_the_grammar_can_refuse(name):
    assert not NAME.fullmatch(name)
