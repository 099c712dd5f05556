"""What `leaks` and `oom` say of the dump that a program wrote when it ran short of memory, for programs of this folder.

    .venv/bin/python tests/leaks/check_short.py [NAME...] [--build build] [--keep FOLDER]

Each program runs twice, once into an out-of-memory error and once near a limit (short_of_memory/sitecustomize.py). Exit
status 1: the holder of a leak in tensors is neither a finding nor the first suspect, or of a healthy program something is
called a leak or suspected.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import corpus
import corpus_answers

KINDS = ("oom", "low-memory")


def ask(cli, verb, dump):
    done = subprocess.run([str(cli), verb, str(dump), "--json"], capture_output=True, text=True, timeout=corpus.TIMEOUT)
    assert done.returncode in (0, 1), done.stderr
    return json.loads(done.stdout)


def first(program, leaks):
    """"finding", "first", the first suspect where it is another one, "nothing"."""
    if any(finding["kind"] in program.kinds and program.held_as_said(finding) for finding in leaks["findings"]):
        return "finding"
    if not leaks["suspects"]:
        return "nothing"
    top = leaks["suspects"][0]
    return "first" if corpus_answers.is_leak(program, top) else f"first suspect: {top['held_by']}"


def bytes_each_step(program, leaks):
    """Of all suspects that are the leak, by steps of the program: each has one backward pass or a few, which count as steps."""
    told = [suspect for suspect in leaks["suspects"] if corpus_answers.is_leak(program, suspect)]
    return sum(suspect["bytes_each_step"] * max(1, round(suspect["of_steps"] / corpus.STEPS[-1])) for suspect in told)


def check(program, dump, cli):
    """What is said; whether it is right."""
    leaks, oom = ask(cli, "leaks", dump), ask(cli, "oom", dump)
    assert oom["suspects"] == leaks["suspects"], "oom has other suspects than leaks"
    if not program.leaks:
        return ("ALARM" if leaks["answer"]["found"] else "quiet") + "".join(", suspect " + s["held_by"] for s in leaks["suspects"]), \
            not leaks["answer"]["found"] and not leaks["suspects"]
    if program.kinds == ("process-memory",):  # in no tensor: that there is such memory is all that one dump says
        return "outside tensors", bool(leaks["answer"]["process"]) and not leaks["suspects"] and not leaks["findings"]
    said = first(program, leaks)
    each = bytes_each_step(program, leaks) if said == "first" else 0
    return said + (f", {each:,} B a step (header: {program.least:,}..{program.most:,})" if each else ""), said in ("finding", "first")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help="programs; without: all")
    parser.add_argument("--build", type=pathlib.Path, default=corpus.ROOT / "build")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the dumps; those that are there are taken")
    options = parser.parse_args()
    library = os.environ.get("TENSORSCOPE_TEST_LIBRARY") or options.build.resolve() / "preload" / "libtensorscope.so"
    cli = os.environ.get("TENSORSCOPE_TEST_PROGRAM") or options.build.resolve() / "analyzer" / "tensorscope"
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        for program in corpus.programs():
            if options.names and program.name not in options.names:
                continue
            for kind in KINDS:
                folder = pathlib.Path(options.keep or temporary, kind, program.name)
                folder.mkdir(parents=True, exist_ok=True)
                try:
                    said, right = check(program, corpus.dump_of_shortage(program, kind, library, folder), cli)
                except (AssertionError, subprocess.TimeoutExpired) as error:
                    said, right = str(error).replace("\n", " "), False
                wrong += not right
                print(f"{program.name:28} {kind:12} {said}{'' if right else '  WRONG'}", flush=True)
    print(f"{wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
