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
import compare
import harness
import statements

BATCH = 25
MOST_DIMENSIONS = 6  # whose strides an event of a recording has room for, too
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
    steps = [other["step"] for other in looks if other["program"] == look["program"] and other["dump"] and other["pid"] == look["pid"]
             and other["kind"] != "meanwhile"]
    first = max([step for step in steps if step <= look["step"]], default=0)
    last = min([step for step in steps if step > look["step"]], default=look["step"])
    found = []
    for life in lives:
        looked_at_once = any(len(state.get("shape", [])) > MOST_DIMENSIONS for _, state in life["states"])
        begin = 0 if looked_at_once else first
        begun = [state for step, state in life["states"] if step < begin][-1:]
        found.append(begun + [state for step, state in life["states"] if begin <= step <= last])
    return found


def seen_in(name, whole):
    """What is exported of a look's file. None: a moment after the last flush of a recording that was not ended."""
    try:
        return exported(name)
    except Ended:
        if whole or "@" not in name:
            raise
        return None


def read(look, folder, start_ns, whole):
    """Pairs of a look and what is exported of it; of a dump that a call made also the recording at that instant, when it has just looked at all."""
    file = seen_in(name_of(look, folder, start_ns), whole)
    pairs = [(look, file)]
    if look["kind"] == "call" and not look["last"] and not look["churn"]:
        moment = {**look, "kind": "recording at a call", "dump": None, "time": file["process"]["dump_ns"]}
        pairs.append((moment, seen_in(name_of(moment, folder, start_ns), whole)))
    return pairs


def compared(folder, whole):
    """Differences of each program that came to its end: {program: [line, ...]}. `whole`: so did the target."""
    rows = [json.loads(line) for line in (folder / "truth.jsonl").read_text().splitlines()]
    lives = {row["program"]: row["lives"] for row in rows if row["kind"] == "lives"}
    begin, *looks = [row for row in rows if row["kind"] != "lives" and row["program"] in ("begin", *lives)]
    at_begin = exported(begin["dump"])
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        pairs = list(pool.map(lambda look: read(look, folder, at_begin["process"]["start_ns"], whole), looks))
    wrong, before = {seed: [] for seed in lives}, ids(at_begin)
    for look, file in [pair for one in pairs for pair in one if pair[1] is not None]:
        of_program = lives[look["program"]]
        lines = compare.lasting_differences(file, look, of_program) if look["kind"] == "meanwhile" else \
            compare.differences(file, look, before, states_around(look, looks, of_program))
        wrong[look["program"]] += [f"{look['kind']} before statement {look['step']}: {line}" for line in lines]
        if look["last"]:
            before |= ids(file)  # what one program leaves behind is not the next one's
    return wrong


def run(folder, arguments, **options):
    """Differences of each program, and the target's process as it ended."""
    if folder.exists():
        shutil.rmtree(folder)
    folder.mkdir(parents=True)
    done = run_target(folder, arguments, **options)
    if not (folder / "truth.jsonl").exists():
        raise Ended(done.stderr)
    return compared(folder, done.returncode == 0), done


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


def first_that_differs(folder, programs):
    """The first of these programs that differs when they run one after the other in a process, and its differences; none: None."""
    files = [folder.parent / f"{number}.txt" for number in range(len(programs))]
    for file, lines in zip(files, programs):
        file.write_text("\n".join(lines) + "\n")
    wrong, done = run(folder, ["--files", *files])
    for file, lines in zip(files, programs):
        if wrong.get(str(file)):
            return lines, wrong[str(file)]
    if done.returncode != 0:
        ended = files.index(pathlib.Path(json.loads((folder / "running").read_text())))
        return programs[ended], [f"exit status {done.returncode}: {done.stderr[-500:]}"]
    return None


def smaller(folder, lines):
    """Leaves statements out, halves first, as long as the program differs."""
    size = len(lines) // 2
    while size:
        parts = [lines[:at] + lines[at + size:] for at in range(0, len(lines), size)]
        found = first_that_differs(folder, [part for part in parts if part])
        if found:
            lines = found[0]
        if not found or size > len(lines):
            size //= 2
    return lines


def show(folder, seed, before, lines):
    """Prints a program that differs alone; of `before`, the seeds that ran before it, only what it needs for that."""
    print(f"program {seed} differs:", *lines[:6], sep="\n    ")
    whole = statements.Generator(seed).program()
    if not first_that_differs(folder, [whole]):
        whole = [line for one in [*before, seed] for line in statements.Generator(one).program()]
    if not first_that_differs(folder, [whole]):
        print(f"  not alone, and not as one program with those before it: only as --first {min(before, default=seed)} --programs {len(before) + 1}", flush=True)
        return
    whole = smaller(folder, whole)
    print("  made smaller:", *whole, sep="\n    ")
    found = first_that_differs(folder, [whole])
    print("  which differs alone:" if found else "  which differs only after others", *(found or ([], []))[1][:6], sep="\n    ", flush=True)


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
            found = first_that_differs(folder / "one", [given.file.read_text().splitlines()])
            print(*(found[1] if found else ["agrees"]), sep="\n")
            return bool(found)
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
                first = given.first + (seed - given.first) // BATCH * BATCH
                show(folder / "one", seed, range(first, seed), lines)
        print(f"{len(seeds) - len(different) - len(skipped)} programs agree, {len(different)} differ, {len(skipped)} end without the library, too {skipped or ''}")
        return bool(different)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
