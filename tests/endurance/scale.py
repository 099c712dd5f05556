"""How long dumps of a large program take and how much memory, and what the analyzer needs for them (docs/endurance.md).

    .venv/bin/python tests/endurance/scale.py FOLDER [--tensors 1000000] [--modules 50000] [--sites 10000000] [--stack-memory 4G]

The program is scale_program.py. `leaks` compares its two dumps. FOLDER keeps the dumps; --analyze only reads those again.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "integration"))
import harness


def mib(count):
    return f"{count / (1 << 20):,.0f} MiB"


def show(what, wall, processor, memory, more=""):
    print(f"{what:34} {wall:8.1f} s {processor:8.1f} s {memory:>12}  {more}".rstrip(), flush=True)


def run_program(folder, chosen):
    options = {"max_stack_memory": chosen.stack_memory} if chosen.stack_memory else {}
    settings = harness.environment(folder, exit="never", quiet=1, names_gil_ms=600_000, **options)
    command = [sys.executable, str(HERE / "scale_program.py"), *map(str, (chosen.tensors, chosen.modules, chosen.sites))]
    done = subprocess.run(command, env=settings, cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    made, *dumps = map(json.loads, done.stdout.splitlines())
    (folder / "dumps.json").write_text(json.dumps([made, dumps]))
    return made, dumps


def measured(what, *arguments):
    """Runs the command-line program, and shows time, processor time and the most memory it had. Status 1: `leaks` found some."""
    began = time.monotonic()
    process = subprocess.Popen([str(harness.CLI), *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    text = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    show(what, time.monotonic() - began, usage.ru_utime + usage.ru_stime, mib(usage.ru_maxrss * 1024),
         "" if process.returncode in (0, 1) else f"exit status {process.returncode}: {text[-300:]}")
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--tensors", type=int, default=1_000_000)
    parser.add_argument("--modules", type=int, default=50_000)
    parser.add_argument("--sites", type=int, default=10_000_000)
    parser.add_argument("--stack-memory", help="TENSORSCOPE_MAX_STACK_MEMORY")
    parser.add_argument("--analyze", action="store_true")
    chosen = parser.parse_args()
    folder = chosen.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    made, dumps = json.loads((folder / "dumps.json").read_text()) if chosen.analyze else run_program(folder, chosen)
    print(f"{made['tensors']:,} tensors, {made['modules']:,} modules, made in {made['processor']:.0f} s of the processor; "
          f"{mib(made['resident'])} resident")
    print(f"{'':34} {'time':>10} {'processor':>10} {'memory':>12}")
    for row in dumps:
        show("dump", row["seconds"], row["processor"], "+" + mib(row["peak"] - row["before"]),
             f"{mib(row['size'])} on disk; kept {mib(row['after'] - row['before'])}")
    first, second = (row["dump"] for row in dumps)
    info = measured("info", "info", second)
    measured("report", "report", second)
    measured("report, again", "report", second)
    measured("report --modules", "report", second, "--modules")
    leaks = measured("leaks", "leaks", first, second)
    measured("html", "html", second, "-o", folder / "page.html")
    print(f"page: {mib((folder / 'page.html').stat().st_size)}\n\n{info}\n{leaks[:2000]}")


if __name__ == "__main__":
    main()
