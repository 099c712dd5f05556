#!/usr/bin/env python3
"""Runs PyTorch's own tests without and with the preload, and compares what became of each: the library may change nothing.

    scripts/endurance torch-tests               # Debian's PyTorch with the tests of its source
    tests/endurance/torch_tests.py --tests FOLDER --python PYTHON [FILE ...]

A file with a test whose outcome differs is run again, both ways, up to three times; the test counts where it differs each time. Every dump
that was written is opened. Exit status 1 where a test differs, a run with the preload has another exit status, or a dump cannot be read."""
import argparse
import collections
import os
import pathlib
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "integration"))
import harness

# Those that need nothing but torch, and make processes, threads, hooks, subclasses, custom Functions or much memory.
FILES = """test_autograd test_multiprocessing test_multiprocessing_spawn test_dataloader test_torch test_nn test_view_ops
test_python_dispatch test_serialization test_futures test_jit test_fx test_optim test_subclass test_functionalization
test_autocast test_namedtensor test_openmp test_stateless test_sparse test_logging test_utils test_monitor test_throughput_benchmark
test_nestedtensor test_fake_tensor test_indexing test_linalg test_modules test_foreach""".split()
TIMES_AGAIN = 3
Run = collections.namedtuple("Run", "outcomes status seconds")


def outcomes(report):
    """Of each test of a junit file, by class and name without addresses: passed, skipped, failure or error."""
    try:
        cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
    except (OSError, xml.etree.ElementTree.ParseError):
        return {}
    return {f"{case.get('classname')}.{re.sub('0x[0-9a-f]+', '0x', case.get('name'))}":
            next((part.tag for part in case if part.tag in ("failure", "error", "skipped")), "passed") for case in cases}


def processor_seconds():
    """Of this process's children that have ended, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(options, file, preload):
    place = options.dumps / file
    place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder) / "report.xml"
        extra = {"LD_PRELOAD": str(harness.LIBRARY), "TENSORSCOPE_DIR": str(place), "TENSORSCOPE_QUIET": "1"} if preload else {}
        before = processor_seconds()
        done = subprocess.run(["timeout", "--kill-after=30", str(options.limit), options.python, "-m", "pytest", f"{file}.py", "-q",
                               "-p", "no:cacheprovider", f"--junitxml={report}", "-k", "not cuda"],
                              cwd=options.tests, env=os.environ | extra, capture_output=True, text=True, errors="replace")
        took = processor_seconds() - before
        (place / f"{'with' if preload else 'without'}.log").write_text(done.stdout + done.stderr)
        return Run(outcomes(report), done.returncode, took)


def differing(before, after):
    return [test for test in sorted(before.keys() | after.keys()) if before.get(test) != after.get(test)]


def settled(options, file, tests):
    """Those of `tests` that differ each time the file is run again, with what became of them."""
    for _ in range(TIMES_AGAIN):
        if not tests:
            return []
        without, with_it = (run(options, file, preload).outcomes for preload in (False, True))
        tests = [test for test in differing(without, with_it) if test in tests]
    return [f"{test}: {without.get(test)} without, {with_it.get(test)} with it" for test in tests]


def unreadable_dumps(folder):
    """How many dumps there are, and a line for each that cannot be read. Only these are left."""
    count, wrong = 0, []
    for dump in sorted(folder.glob("*.tscope")):
        count += 1
        done = subprocess.run([str(harness.CLI), "report", str(dump)], capture_output=True, text=True, errors="replace")
        if done.returncode == 0:
            dump.unlink()
        else:
            wrong.append(f"{dump.name}: exit status {done.returncode} of report: {done.stderr.strip()}")
    return count, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--python", default=sys.executable, help="a Python with torch and pytest")
    parser.add_argument("--tests", type=pathlib.Path, required=True, help="the folder test of torch's source")
    parser.add_argument("--dumps", type=pathlib.Path, help="where logs stay, and dumps that cannot be read (default: nowhere)")
    parser.add_argument("--limit", type=int, default=1800, help="seconds for one file")
    parser.add_argument("files", nargs="*", default=FILES, help="names of test files, without .py")
    options = parser.parse_args()
    kept = options.dumps is not None
    options.dumps = (options.dumps if kept else pathlib.Path(tempfile.mkdtemp())).resolve()
    wrong, total = [], collections.Counter()
    for file in options.files:
        without, with_it = run(options, file, False), run(options, file, True)
        differ = differing(without.outcomes, with_it.outcomes)
        found = settled(options, file, differ)
        if not differ and without.status != with_it.status:
            found.append(f"{file}: exit status {without.status} without, {with_it.status} with it")
        dumps, unreadable = unreadable_dumps(options.dumps / file)
        wrong += found + unreadable
        counts = collections.Counter(with_it.outcomes.values())
        total += counts + collections.Counter(tests=len(without.outcomes), dumps=dumps)
        print(f"{file:28} {len(without.outcomes):5} tests, {counts['passed']} passed with it, {len(differ)} differed once, {len(found)} each time; "
              f"{dumps} dumps; exit status {without.status} and {with_it.status}; "
              f"{without.seconds:.0f} and {with_it.seconds:.0f} s of the processor", flush=True)
    if not kept:
        shutil.rmtree(options.dumps)
    print(f"{total['tests']} tests, {total['passed']} passed with it; {total['dumps']} dumps were read; {len(wrong)} wrong")
    print(*wrong, sep="\n", end="\n" if wrong else "")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
