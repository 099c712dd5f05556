#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the verbs on damaged files: no crash, no hang, the right exit status, one line for what is wrong, and nothing half-written.

    tests/damaged_files/run.py --minutes 60 [--seed 1]      # exit status 1 where something is found; such files are kept in --keep
    tests/damaged_files/run.py --runs 100 --seed 7
    TENSORSCOPE_TEST_PROGRAM=.../tensorscope tests/damaged_files/run.py --sanitized    # of a build with -Db_sanitize=address,undefined
"""

import argparse
import json
import os
import pathlib
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]
import damage
import harness

# A sanitizer's own address space has no limit, and what it finds ends the run.
SANITIZER_OPTIONS = {"ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1", "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1"}
SECONDS, BYTES = 60, 6 << 30  # of the processor, of address space: what more takes is a hang, or believes a number in the file
VERBS_A_FILE = 4
sanitized = False
PROGRAM = """
import torch, libtensorscope
from torch import nn
model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.LayerNorm(16), nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters())
losses, others = [], [torch.eye(3).to_sparse(), torch.ones(4, 4).t(), torch.quantize_per_tensor(torch.zeros(3), 0.1, 0, torch.qint8)]
for step in range(3):
    loss = model(torch.randn(SIZE, 8)).square().mean()
    losses.append(loss)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    libtensorscope.dump()
try:
    torch.empty(1 << 58)
except RuntimeError:
    pass
"""

DUMP_VERBS = """report FILE|report FILE --modules|report FILE --by site|report FILE --by category|report FILE --by holder|report FILE --by module|list FILE|
list FILE --category gradient|show FILE model.0.weight model.2.bias|list FILE --with-grad|diff FILE OTHER|diff OTHER FILE|leaks FILE OTHER LAST|leaks OTHER FILE LAST --json|leaks FILE|
ranks FILE OTHER|oom FILE|oom FILE --json|check FILE --max-live 1K|check OTHER FILE --max-growth 1K|info FILE|graph FILE|graph FILE --format json|graph FILE --format dot|graph FILE --keeps losses[0]|
graph FILE --path losses[0] model.0.weight|query FILE .TABLES|query FILE 'select * from tensors'|query FILE 'select * from holders' --format json|html FILE -o OUT.html|
html OTHER FILE -o OUT.html|export FILE --format json|export FILE --format csv|export FILE --format folded|export FILE --format memory-viz -o OUT.pickle|
export FILE --format speedscope|export FILE --format pprof -o OUT.pb.gz|export FILE --format openmetrics|
export FILE --format sqlite -o OUT.sqlite|export FILE --format parquet -o OUT.folder|forecast FILE SECOND"""
RECORDING_VERBS = """timeline FILE|timeline FILE --json|timeline FILE --lines|timeline FILE --trace OUT.trace.json|timeline FILE --plot OUT.svg|report FILE|
report FILE@peak|report FILE@step=2|report FILE@oom|list FILE@peak|info FILE|diff FILE@step=1 FILE@end|leaks FILE@step=1 FILE@step=2 FILE@step=3|
oom FILE@peak|export FILE@peak --format json|export FILE --format sqlite -o OUT.sqlite|forecast FILE SECOND|
forecast FILE SECOND --as bfloat16 --optimizer sgd|query FILE 'select type, count(*) from events group by 1'|html FILE -o OUT.html|list FILE@step=2"""
VALUES_VERBS = """values FILE|values FILE --stat mean,std,max|values FILE --show model.0 --json|values FILE --json|values FILE --export OUT.npz|values FILE --export OUT.h5|
values FILE --export OUT.csv|values FILE --export OUT.safetensors|values FILE --export OUT.parquet|values FILE --plot OUT.svg|compare FILE OTHER|
compare OTHER FILE|calls FILE|calls FILE --order|calls FILE --json|calls FILE --format dot|calls FILE -o OUT.trace.json|html FILE -o OUT.html|
query FILE 'select * from calls'|export FILE --format sqlite -o OUT.sqlite"""
VERBS = {".tscope": DUMP_VERBS, ".recording": RECORDING_VERBS, ".values": VALUES_VERBS}
FINDS = ("check", "leaks", "ranks", "graph", "compare")  # exit status 1 is an answer


def real_files(folder, sizes=(8, 16)):
    """Runs of one program with all that it can write: {suffix: [files of the first, files of the last]}."""
    for size in sizes:
        run = folder / f"run{size}"
        run.mkdir(parents=True)
        done = harness.run_source(PROGRAM.replace("SIZE", str(size)), folder=run, record=1, calls=1, watch="full:quantiles:model.**", quiet=1, oom_report=0)
        if done.returncode != 0:
            raise SystemExit(f"the program that makes the files failed: {done.stderr}")
    return {suffix: [sorted((folder / run).glob(f"*{suffix}")) for run in (f"run{sizes[0]}", f"run{sizes[-1]}")] for suffix in VERBS}


def command_of(line, file, others, second, out):
    """The arguments of a verb, with names put in."""
    words = line.replace(".TABLES", "'select * from sites'").split("'")
    arguments = [part for i, word in enumerate(words) for part in ([word] if i % 2 else word.split())]
    names = {"FILE": str(file), "OTHER": str(others[0]), "LAST": str(others[-1]), "SECOND": str(second), "OUT": str(out)}
    result = []
    for word in arguments:
        for name in ("FILE", "OTHER", "LAST", "SECOND"):
            if word == name or word.startswith(name + "@"):
                word = names[name] + word[len(name):]
        result.append(names["OUT"] + word[3:] if word.startswith("OUT.") else word)
    return result


def verbs_of(suffix):
    return VERBS[suffix].replace("\n", "").split("|")


def limit_itself():
    slower = 10 if sanitized else 1
    resource.setrlimit(resource.RLIMIT_CPU, (slower * SECONDS, slower * SECONDS + 5))
    if not sanitized:
        resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def judged(arguments, folder):
    """What is wrong with this run of the program; none: nothing."""
    done = subprocess.run([str(harness.CLI), *arguments], capture_output=True, stdin=subprocess.DEVNULL, cwd=folder, preexec_fn=limit_itself,
                          env={**os.environ, **SANITIZER_OPTIONS})
    errors = done.stderr.decode(errors="replace").splitlines()
    found = []
    allowed = (0, 1, 2) if arguments[0] in FINDS else (0, 2)
    if done.returncode not in allowed:
        found.append(f"exit status {done.returncode}: {' / '.join(errors[-3:])[:400]}")
    elif done.returncode == 2 and not errors:
        found.append("exit status 2, and not a line that says why")
    if any("terminate called" in line or "Sanitizer" in line or "runtime error:" in line or "what()" in line or "std::" in line for line in errors):
        found.append(f"not a line for people: {' / '.join(errors)[:400]}")
    if len(errors) > 60:
        found.append(f"{len(errors)} lines of what is wrong, such as {errors[0]}")
    return found + unfinished(done, arguments, folder)


def unfinished(done, arguments, folder):
    """What was written is whole."""
    wants_json = "json" in arguments or "--json" in arguments
    return (not_json(done.stdout, "standard output") if wants_json and done.stdout.strip() else []) + unfinished_files(folder)


def unfinished_files(folder):
    found = []
    for path in folder.glob("OUT*"):
        if path.suffix == ".html" and not path.read_text(errors="replace").rstrip().endswith("</html>"):
            found.append(f"{path.name} is cut")
        elif path.suffix == ".json":
            found += not_json(path.read_bytes(), path.name)
        elif path.is_file() and path.stat().st_size == 0 and path.suffix not in (".csv",):
            found.append(f"{path.name} is empty")
    strays = [path.name for path in folder.iterdir() if not path.name.startswith(("OUT", "damaged"))]
    return found + [f"left behind: {strays}"] * bool(strays)


def not_json(text, where):
    try:
        json.loads(text)
    except ValueError as error:
        return [f"{where} is no JSON: {error}"]
    return []


def remove_written(folder):
    for path in folder.iterdir():
        if not path.name.startswith("damaged"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def one_file(seed, files, folder, keep, verbs=VERBS_A_FILE):
    """Makes the damaged file of a seed, and runs some verbs on it. Returns lines of what is wrong."""
    choice = random.Random(seed)
    suffix = choice.choice((".tscope", ".tscope", ".recording", ".values"))
    first, second = files[suffix]
    original = choice.choice(first)
    for old in folder.glob("damaged*"):
        old.unlink()
    damaged = folder / f"damaged{suffix}"
    damaged.write_bytes(damage.damaged(choice, original.read_bytes()))
    if suffix == ".recording":  # whose names come from the dumps beside it
        (folder / "damaged.tscope").write_bytes(damage.damaged(choice, choice.choice(files[".tscope"][0]).read_bytes()))
    others = [path for path in first if path != original] or second
    found = []
    for line in choice.sample(verbs_of(suffix), verbs):
        arguments = command_of(line, damaged, others, second[first.index(original)], folder / "OUT")
        if arguments[0] not in ("query", "values", "compare", "calls", "check"):
            arguments.append("--no-cache")
        wrong = judged(arguments, folder)
        if wrong:
            keep.mkdir(parents=True, exist_ok=True)
            for path in folder.glob("damaged*"):
                shutil.copy(path, keep / f"{seed}{path.suffix}")
            found += [f"{line} on {seed}{suffix} (of {original.name}): {what}" for what in wrong]
        remove_written(folder)
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--runs", type=int, help="damaged files, instead of --minutes")
    parser.add_argument("--seed", type=int, default=1, help="of the first file; those after it have the next ones")
    parser.add_argument("--keep", type=pathlib.Path, default=harness.ROOT / "build-endurance" / "damaged")
    parser.add_argument("--sanitized", action="store_true", help="the program is a build with sanitizers: no limit of address space, ten times the time")
    given = parser.parse_args()
    global sanitized
    sanitized = given.sanitized
    folder = pathlib.Path(tempfile.mkdtemp(prefix="damaged-files-"))
    try:
        files = real_files(folder / "real")
        (folder / "work").mkdir()
        end = time.monotonic() + 60 * (given.minutes or 1)
        seed, wrong = given.seed, 0
        while seed - given.seed < given.runs if given.runs else time.monotonic() < end:
            for line in one_file(seed, files, folder / "work", given.keep):
                print(line, flush=True)
                wrong += 1
            seed += 1
        print(f"{seed - given.seed} damaged files, {VERBS_A_FILE} verbs on each: {wrong} findings")
        return bool(wrong)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    sys.exit(main())
