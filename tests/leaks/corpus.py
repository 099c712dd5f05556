"""The programs of this folder: what their headers say, and how they are run so that dumps are written.

A program is run as it is, in one of three ways. "steps": it trains, and TENSORSCOPE_DUMP_AT_STEP has it write a dump at
the end of given steps. "requests": it answers lines on standard input, and gets SIGUSR1 between two of them. "asks": it
asks for its dumps itself (rounds/ask.py).

Those of leaking/ and healthy/ are the corpus. Those of rounds/ were written for blind rounds (docs/leaks.md), and import libraries that
rounds/requirements.txt names.
"""

import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import sys
import time
import tomllib

FOLDER = pathlib.Path(__file__).resolve().parent
ROOT = FOLDER.parents[1]
ROUNDS = FOLDER / "rounds"
STEPS = (20, 40, 60)
TIMEOUT = 900  # a hang, not a speed limit: a busy machine may stop these programs for minutes
REPORT = r"^# ([\w.-]+/[\w.-]+#\d+: .+)$"
AFTER = r"^# after: (.+)$"
NAMES_OF_ROUNDS = ("first", "second", "third", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh", "twelfth", "thirteenth",
                   "fourteenth")
NAMES_LIMIT_MS = "300000"  # likewise; the profiler's own limits would leave out the names of a program that was stopped


@dataclasses.dataclass(frozen=True)
class Program:
    path: pathlib.Path
    about: str
    reports: tuple  # "repository#number: title"; of rounds: what it is after
    leaks: bool
    dumps: str
    kinds: tuple = ()
    holder: tuple = ()  # of each alternative the names that have to be said
    lines: tuple = ()  # numbers of lines: where most of the memory may be allocated; none: nothing records them
    least: int = 0     # bytes a step
    most: int = 0

    @property
    def name(self):
        return self.path.stem

    @property
    def round(self):
        """The blind round that it was written for, or ""."""
        return self.path.parents[1].name if ROUNDS in self.path.parents else ""

    def held_as_said(self, said):
        """Whether a finding, a suspect or a growing site names the holder. Its script's name, which is part of most names, is no answer.
        What holds the memory, too, counts only where several holders are asked for."""
        names = (said["held_by"] or "").replace(self.path.name, "")
        others = (said.get("also_held_by") or "").replace(self.path.name, "")
        return any(all(name in names or len(wanted) > 1 and name in others for name in wanted) for wanted in self.holder)


def lines_of(source, text):
    """The lines of code that begin with a text."""
    found = [number for number, line in enumerate(source.splitlines(), 1) if line.strip().startswith(text)]
    assert found, text
    return found


def holder_of(facts):
    """`holder`: a name, or a list of which one is enough; `holders`: a list of which all have to be said."""
    if "holders" in facts:
        return (tuple(facts.pop("holders")),)
    holder = facts.pop("holder")
    return tuple((name,) for name in ([holder] if isinstance(holder, str) else holder))


def read_program(path):
    source = path.read_text()
    about, rest = re.fullmatch(r'"""(.*?)"""\n(.*)', source, re.DOTALL).groups()
    comments = rest[:rest.index("# ///\n")]
    before, block = re.split(r"^# /// ", comments, flags=re.MULTILINE)
    kind, facts = block.split("\n", 1)
    facts = tomllib.loads("".join(line.removeprefix("# ") + "\n" for line in facts.splitlines()))
    reports = tuple(re.findall(AFTER if ROUNDS in path.parents else REPORT, before, re.MULTILINE))
    leaks = {"leak": True, "healthy": False}[kind]
    assert bool(reports) == leaks and facts["dumps"] in ("steps", "requests", "asks"), path
    if not leaks:
        return Program(path, about, reports, leaks, **facts)
    holder = holder_of(facts)
    assert set(facts) == {"dumps", "kinds", "lines", "bytes"}, path
    size = facts.pop("bytes")
    least, most = size if isinstance(size, list) else (size, size)
    lines = tuple(line for text in facts.pop("lines") for line in lines_of(source, text))
    return Program(path, about, reports, leaks, facts["dumps"], tuple(facts["kinds"]), holder, lines, least, most)


def programs_in(folder):
    return [read_program(path) for kind in ("leaking", "healthy") for path in sorted((folder / kind).glob("*.py"))]


def programs():
    return programs_in(FOLDER)


def programs_of_rounds():
    return [program for name in NAMES_OF_ROUNDS for program in programs_in(ROUNDS / name)]


def environment(library, folder):
    result = {key: value for key, value in os.environ.items() if not key.startswith("TENSORSCOPE")}
    result.update(PYTHONHASHSEED="0", OMP_NUM_THREADS="1", LD_PRELOAD=str(library), TENSORSCOPE_DIR=str(folder),
                  TENSORSCOPE_EXIT="never", TENSORSCOPE_LOW_MEMORY="off", TENSORSCOPE_NAMES_TIMEOUT_MS=NAMES_LIMIT_MS,
                  TENSORSCOPE_NAMES_GIL_MS=NAMES_LIMIT_MS)
    return result


def dumps_in(folder):
    """The dumps of one process, in order of time. Those of its children, which have no more than it, lie beside them: `leaks` finds these."""
    processes = {}
    for path in pathlib.Path(folder).glob("*.tscope"):
        processes.setdefault(int(path.name.split(".")[-3]), []).append(path)
    own = max((processes[process] for process in sorted(processes)), key=len, default=[])
    return sorted(own, key=lambda path: int(path.name.split(".")[-2]))


def wait_for_dump(process, folder, number):
    end = time.monotonic() + TIMEOUT
    while len(dumps_in(folder)) < number:
        assert process.poll() is None and time.monotonic() < end, f"dump {number} never came"
        time.sleep(0.01)


def ask_for_answers(program, settings, folder, python, after):
    """Has a program of requests answer all of them; calls after(process, number) after each."""
    errors = pathlib.Path(folder) / "stderr.txt"
    with errors.open("w") as stderr, subprocess.Popen([python, str(program.path)], env=settings, cwd=folder, stdin=subprocess.PIPE,
                                                       stdout=subprocess.PIPE, stderr=stderr, text=True) as process:
        for step in range(1, STEPS[-1] + 1):
            process.stdin.write(f"{step}\n")
            process.stdin.flush()
            assert process.stdout.readline(), f"{program.name} ended early: {errors.read_text()}"
            after(process, step)
        process.stdin.close()
        assert process.wait(TIMEOUT) == 0, f"{program.name}: {errors.read_text()}"


def run_steps(program, settings, folder, python):
    done = subprocess.run([python, str(program.path)], env=settings, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT,
                          stdin=subprocess.DEVNULL)
    assert done.returncode == 0, f"{program.name}: {done.stderr}"


def run(program, library, folder, python=sys.executable):
    """Runs a program to its end in `folder`; returns its dumps in order of time."""
    settings = environment(library, folder)
    if program.dumps == "steps":
        settings["TENSORSCOPE_DUMP_AT_STEP"] = ",".join(map(str, STEPS))
        run_steps(program, settings, folder, python)
    elif program.dumps == "asks":
        settings["PYTHONPATH"] = str(ROUNDS)
        run_steps(program, settings, folder, python)
    else:
        def dump(process, step):
            if step in STEPS:
                process.send_signal(signal.SIGUSR1)
                wait_for_dump(process, folder, STEPS.index(step) + 1)
        ask_for_answers(program, settings, folder, python, dump)
    dumps = dumps_in(folder)
    assert len(dumps) == len(STEPS), f"{program.name}: {dumps}"
    return dumps


def dump_of_shortage(program, kind, library, folder, python=sys.executable):
    """The dump that a program writes when it runs short of memory near its last step: `kind` is "oom" or "low-memory".
    A dump that is in `folder` already is taken."""
    def dumps():
        return sorted(pathlib.Path(folder).glob(f"*.{kind}-*.tscope"))
    if dumps():
        return dumps()[0]
    settings = environment(library, folder)
    settings.update(SHORT_OF_MEMORY=kind, SHORT_AT_STEP=str(STEPS[-1]), PYTHONPATH=str(FOLDER / "short_of_memory"))
    if kind == "low-memory":
        del settings["TENSORSCOPE_LOW_MEMORY"]
    if program.dumps == "steps":
        run_steps(program, settings, folder, python)
    else:
        def fall_short(process, step):
            if step == STEPS[-1] - 1:
                process.send_signal(signal.SIGUSR2)
                end = time.monotonic() + TIMEOUT
                while not dumps():
                    assert process.poll() is None and time.monotonic() < end, f"{program.name}: no dump came"
                    time.sleep(0.05)
        ask_for_answers(program, settings, folder, python, fall_short)
    assert dumps(), f"{program.name}: no {kind} dump"
    return dumps()[0]
