"""How the ranks of a DDP program end, many times over: without the profiler, with it, watched, and looking for a NaN.

    ends.py FOLDER [--library libtensorscope.so] [--minutes 10] [--lanes 4] [--python PYTHON] [--kind KIND ...]

Kinds take turns, each with destroy_process_group() and without. A table at the end counts the endings of each kind;
what a rank printed that ended by a signal, with the stacks of all its threads, is kept in FOLDER, and its core, if
cores are written to the current folder. Needs Python and torch alone: the library may lie anywhere. Exit status 1 if
any rank ended by a signal, or did not end.
"""

import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import resource
import shutil
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
RANKS = 2
KINDS = {
    "without": None,
    "preload": {},
    "watch": {"TENSORSCOPE_WATCH": "*"},
    "find-nan": {"TENSORSCOPE_FIND_NAN": "1"},
}


def environment(kind, library, folder):
    settings = KINDS[kind]
    chosen = {name: value for name, value in os.environ.items() if not name.startswith(("TENSORSCOPE", "LD_PRELOAD"))}
    chosen |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "TORCH_CPP_LOG_LEVEL": "ERROR"}
    return chosen if settings is None else chosen | {"LD_PRELOAD": str(library), "TENSORSCOPE_DIR": str(folder)} | settings


def ending(process, seconds):
    try:
        output = process.communicate(timeout=seconds)[0]
    except subprocess.TimeoutExpired:
        process.kill()
        return "did not end", process.communicate()[0]
    code = process.returncode
    return f"signal {-code}" if code < 0 else f"status {code}", output


def run_once(arguments, kind, how):
    """The endings of the ranks of one run, and the folder that is kept if one of them is not status 0."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{kind}-{how}-", dir=arguments.folder))
    command = [arguments.python, str(ROOT / "tests" / "endurance" / "ends_program.py"), str(folder / "rendezvous")]
    ranks = [subprocess.Popen([*command, str(rank), str(RANKS), how], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=environment(kind, arguments.library, folder)) for rank in range(RANKS)]
    endings = []
    for rank, process in enumerate(ranks):
        end, output = ending(process, arguments.seconds)
        after = " after its last line" if b"last line" in output else ""
        endings.append(end + after if end != "status 0" else end)
        (folder / f"rank{rank}.txt").write_bytes(output)
    if all(end == "status 0" for end in endings):
        shutil.rmtree(folder)
    else:
        print(f"{kind}, {how}: {endings}, see {folder}", flush=True)
    return kind, how, endings


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--library", type=pathlib.Path, default=ROOT / "build" / "preload" / "libtensorscope.so")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--lanes", type=int, default=2, help="runs at the same time, of two processes each")
    parser.add_argument("--seconds", type=float, default=300, help="after which a rank counts as one that does not end")
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--kind", action="append", choices=KINDS)
    arguments = parser.parse_args()
    arguments.folder = arguments.folder.resolve()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    arguments.library = arguments.library.resolve(strict=True)
    resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)

    end = time.monotonic() + 60 * arguments.minutes
    counts = collections.defaultdict(collections.Counter)
    turns = itertools.cycle(itertools.product(arguments.kind or KINDS, ("destroyed", "left")))
    with concurrent.futures.ThreadPoolExecutor(arguments.lanes) as lanes:
        running = set()
        while running or time.monotonic() < end:
            while len(running) < arguments.lanes and time.monotonic() < end:
                running.add(lanes.submit(run_once, arguments, *next(turns)))
            done, running = concurrent.futures.wait(running, return_when=concurrent.futures.FIRST_COMPLETED)
            for kind, how, endings in (future.result() for future in done):
                counts[kind, how].update(endings)

    for (kind, how), found in sorted(counts.items()):
        print(f"{kind:9} {how:10}", ", ".join(f"{count} {end}" for end, count in found.most_common()))
    return any(not end.startswith("status") for found in counts.values() for end in found)


if __name__ == "__main__":
    sys.exit(main())
