#!/usr/bin/env python3
"""Runs random programs under the library and compares what they know with their dumps and recordings.

    tests/random_programs/fuzz.py --programs 1000 [--first 1]    # exit status 1 where one differs; it is made smaller and printed
    tests/random_programs/fuzz.py --file PROGRAM                 # one program, a statement a line

A program that ends by a signal is run without the library, too: if it ends there as well, it is torch's, and counts as skipped.
"""

import argparse
import concurrent.futures
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]
import compare  # noqa: E402
import harness  # noqa: E402
import statements  # noqa: E402

BATCH = 25
OPTIONS = dict(record=1, quiet=1, names=0, oom_report=0, oom_dumps=0)


class Ended(Exception):
    """The target ended by a signal or an error of its own."""


def run_target(folder, arguments, preload=True, **options):
    command = [harness.PYTHON, str(HERE / "target.py"), str(folder), *map(str, arguments)]
    settings = harness.environment(folder, preload, **{**OPTIONS, **options} if preload else {})
    return subprocess.run(command, env=settings, cwd=folder, capture_output=True, text=True, timeout=harness.TIMEOUT, stdin=subprocess.DEVNULL)


def exported(name):
    done = subprocess.run([str(harness.CLI), "export", name, "--format", "json", "--stacks", "by-id", "--no-symbols"], capture_output=True, text=True,
                          timeout=harness.TIMEOUT)
    if done.returncode != 0:
        raise Ended(f"{name} cannot be read: {done.stderr}")
    return json.loads(done.stdout)


def name_of(look, folder, start_ns):
    """Of a look's dump, or of its moment."""
    if look["dump"]:
        return look["dump"]
    (recording,) = [path for path in folder.glob("*.recording") if f".{look['pid']}." in path.name]
    return f"{recording}@{(look['time'] - start_ns) / 1e9:.6f}s"


def ids(file):
    return {row["id"] for kind in ("tensors", "allocations") for row in file[kind]}


def states_around(look, looks, lives):
    """Of each life the states between the last dump before this look and the first after it: there the recording has looked at all tensors."""
    steps = [other["step"] for other in looks if other["program"] == look["program"] and other["dump"] and other["pid"] == look["pid"]]
    first = max([step for step in steps if step <= look["step"]], default=0)
    last = min([step for step in steps if step > look["step"]], default=look["step"])
    found = []
    for life in lives:
        begun = [state for step, state in life if step < first][-1:]
        found.append(begun + [state for step, state in life if first <= step <= last])
    return found


def compared(folder):
    """Differences of each program that left looks in a folder: {program: [line, ...]}."""
    rows = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
    looks = [row for row in rows if row["kind"] != "lives"]
    lives = {row["program"]: row["lives"] for row in rows if row["kind"] == "lives"}
    start_ns = exported(looks[0]["dump"])["process"]["start_ns"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        files = list(pool.map(exported, [name_of(look, folder, start_ns) for look in looks]))
    wrong, before = {}, ids(files[0])
    for look, file in zip(looks[1:], files[1:]):
        states = states_around(look, looks, lives.get(look["program"], []))
        lines = [f"{look['kind']} before statement {look['step']}: {line}" for line in compare.differences(file, look, before, states)]
        wrong.setdefault(look["program"], []).extend(lines)
        if look["last"]:
            before |= ids(file)  # what one program leaves behind is not the next one's
    return wrong


def run(folder, arguments, **options):
    """Differences of each program, and how the target ended: 0, or as it ended without the library, or a line in the differences."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    done = run_target(folder, arguments, **options)
    wrong = compared(folder)
    return wrong, done


def run_seeds(folder, seeds, report):
    """Runs programs in one process; after one that ends the process the others go on in another."""
    seeds = list(seeds)
    while seeds:
        wrong, done = run(folder, seeds)
        finished = [seed for seed in seeds if seed in wrong]
        ended = None
        if done.returncode != 0:
            ended = json.loads((folder / "running").read_text())
            finished = [seed for seed in seeds[:seeds.index(ended)]]
        for seed in finished:
            report(seed, wrong[seed])
        if ended is not None:
            bare = run_target(folder, [ended], preload=False)
            report(ended, None if bare.returncode == done.returncode else [f"exit status {done.returncode}, without the library {bare.returncode}: {done.stderr[-2000:]}"])
            finished.append(ended)
        assert finished, done.stderr
        seeds = [seed for seed in seeds if seed not in finished]


def differs(folder, lines):
    """Whether this program still differs, and how."""
    folder.mkdir(parents=True, exist_ok=True)
    program = folder.parent / "smaller.txt"
    program.write_text("\n".join(lines) + "\n")
    wrong, done = run(folder, ["--file", program])
    if done.returncode != 0:
        return [f"exit status {done.returncode}: {done.stderr[-500:]}"]
    return wrong.get("file", [])


def smaller(folder, lines, tries=40):
    """Leaves statements out, halves first, as long as the program differs."""
    size = len(lines) // 2
    while size:
        at = 0
        while at < len(lines) and tries:
            candidate = lines[:at] + lines[at + size:]
            tries -= 1
            if differs(folder, candidate):
                lines = candidate
            else:
                at += size
        size //= 2
    return lines


def show(folder, seed, lines):
    """Prints a program that differs alone."""
    whole = statements.Generator(seed).program()
    print(f"program {seed} differs:", *lines[:6], sep="\n    ")
    if differs(folder, whole):
        whole = smaller(folder, whole)
    else:
        print("  not when it runs alone: --first and --programs of this run find it again")
    print("  made smaller:", *whole, sep="\n    ")
    print("  which differs:", *differs(folder, whole)[:6], sep="\n    ", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--programs", type=int, default=30)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--file", type=pathlib.Path)
    parser.add_argument("--keep-whole", action="store_true", help="does not make programs smaller")
    given = parser.parse_args()
    folder = pathlib.Path(tempfile.mkdtemp(prefix="random-programs-"))
    try:
        if given.file:
            lines = differs(folder / "one", given.file.read_text().splitlines())
            print(*lines, sep="\n")
            return bool(lines)
        different, skipped = {}, []

        def report(seed, lines):
            if lines is None:
                skipped.append(seed)
            elif lines:
                different[seed] = lines
        seeds = range(given.first, given.first + given.programs)
        for at in range(0, len(seeds), BATCH):
            run_seeds(folder / "batch", seeds[at:at + BATCH], report)
        for seed, lines in different.items():
            if given.keep_whole:
                print(f"program {seed} differs:", *lines[:6], sep="\n    ")
            else:
                show(folder / "one", seed, lines)
        print(f"{len(seeds) - len(different) - len(skipped)} programs agree, {len(different)} differ, {len(skipped)} end without the library, too {skipped or ''}")
        return bool(different)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
