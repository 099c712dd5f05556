#!/usr/bin/env python3
"""Applies what `tensorscope oom` advises to programs, runs them again and compares what was said with what the peak did.

    .venv/bin/python tests/remedies/try_remedies.py [PROGRAM ...] [--kind KIND] [--write docs/remedies.md]

Each program runs without the profiler for its peak and for the most memory with which it fails; then with that much under the profiler; each
remedy that `oom` names on the dump of the failure is applied, and the program runs again: once with as much memory as failed, to see whether
it fits, and for its peak. What was measured before is kept in build/remedies (--fresh: measured again); the analyzer is asked each time.
Exit status 1 where a figure is wrong. Needs the CUDA build of torch (scripts/fake-cuda)."""
import argparse
import ast
import hashlib
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BUILD = pathlib.Path(os.environ.get("TENSORSCOPE_BUILD", ROOT / "build"))
KEPT = pathlib.Path(os.environ.get("TENSORSCOPE_REMEDIES", BUILD / "remedies"))
FAKE = pathlib.Path(os.environ.get("TENSORSCOPE_TEST_FAKE_CUDA") or ROOT / ".cache" / "fake-cuda" / "bin" / "python")
TIMEOUT = 900
EXACT = 0.02
LATE = 1 << 10  # equal runs differ by a gradient of 1 KiB at one moment, presumably since autograd's thread frees it after backward
# Remedies that lie outside the program, and what they are here. What they give is seen in the memory with which it still fails.
OUTSIDE = {"expandable-segments": {"PYTORCH_ALLOC_CONF": "expandable_segments:True"},
           "other-process": {"TENSORSCOPE_FAKE_CUDA_OTHERS": "0"}}
# What an optimizer's step needs less, where it made the request: seen in the most that was in use during a step. It makes its blocks in
# another order then, so no number of blocks is the same moment.
IN_STEP = {"optimizer-step", "fused-step", "sharded-state", "half-model"}
# Others that order the blocks of a run anew: as many blocks are not the same moment.
REORDERS = {"step-in-backward"}
ABOUT_MEMORY = {"programs_allocator", "programs_holders"}
GRAIN = 2 << 20  # the driver's memory is asked for in multiples of it
# What expandable segments grow by (kSmallBuffer, kLargeBuffer and kSmallSize in c10/cuda/CUDACachingAllocator.cpp).
SMALL_REQUEST, SMALL_PAGE, LARGE_PAGE = 1 << 20, 2 << 20, 20 << 20
BEGIN, END = "<!-- table of tests/remedies/try_remedies.py -->", "<!-- end of table -->"


def literal(node):
    """A value of constants alone."""
    return eval(compile(ast.Expression(node), "decorator", "eval"), {"str": str, "MEBIBYTE": 1 << 20})


class Program:
    """What the decorator says, without importing torch here."""
    def __init__(self, path, function):
        self.path, self.name = path, function.name
        self.about = ast.get_docstring(function).split("\n")[0]
        options = next(one for one in function.decorator_list if isinstance(one, ast.Call) and one.func.id == "program")
        given = {one.arg: literal(one.value) for one in options.keywords}
        self.settings, self.asks = given.get("settings", {}), given.get("asks", False)
        self.imports = given.get("imports", ())
        text = path.read_text()
        self.version = hashlib.sha256(text.encode()).hexdigest()[:16]


def programs():
    found = []
    for path in sorted(HERE.glob("programs_*.py")):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and any(
                    isinstance(one, ast.Call) and getattr(one.func, "id", "") == "program" for one in node.decorator_list):
                found.append(Program(path, node))
    return found


def environment(**more):
    result = {key: value for key, value in os.environ.items()
              if not key.startswith(("TENSORSCOPE", "PYTORCH")) and key not in ("LD_PRELOAD", "CUDA_VISIBLE_DEVICES")}
    result |= {"PYTHONHASHSEED": "0", "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "HF_HUB_OFFLINE": "1"}
    return result | more


class Runner:
    """one_run.py, with or without the profiler."""
    def __init__(self, **settings):
        self.process, self.settings = None, settings

    def ask(self, program, settings=None, **asked):
        if self.process is None:
            self.process = subprocess.Popen([str(FAKE), str(HERE / "one_run.py")], env=environment(**self.settings), text=True,
                                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=open(KEPT / "stderr.txt", "a"))
        asked |= {"program": program.name, "imports": program.imports, "settings": program.settings | (settings or {})}
        print(json.dumps(asked), file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        if "error" in answer:
            raise RuntimeError(f"{program.name} {asked}: {answer['error']}")
        return answer


class NotMeasured(Exception):
    """And not to be measured now (--kept)."""


class Kept:
    """What was measured, by program, its text and the remedy."""
    def __init__(self, fresh, only):
        self.only = only
        KEPT.mkdir(parents=True, exist_ok=True)
        self.path = KEPT / "measured.json"
        self.rows = json.loads(self.path.read_text()) if self.path.exists() and not fresh else {}

    def of(self, program, what, measure):
        key = f"{program.name} {program.version} {what}"
        if key not in self.rows and self.only:
            raise NotMeasured
        if key not in self.rows:
            self.rows[key] = measure()
            self.path.write_text(json.dumps(self.rows, indent=1))
        return self.rows[key]


def failed(program, capacity, profiled):
    """The dump of the failure, and the memory with which it failed. The dump that the program asks for, where it does so."""
    if program.asks:
        dump = profiled.ask(program)["dump"]
        return {"dump": str(pathlib.Path(dump).rename(KEPT / f"{program.name}.tscope")), "capacity": 0}
    for percent in (100, 99, 98, 96):
        answer = profiled.ask(program, capacity=capacity * percent // 100)
        if not answer["enough"]:
            dump = next(KEPT.glob(f"*.{answer['pid']}.oom-1.tscope"))
            return {"dump": str(dump.rename(KEPT / f"{program.name}.tscope")), "capacity": capacity * percent // 100}
    raise RuntimeError(f"{program.name} does not fail under the profiler")


def failed_alone(program, capacity, alone):
    """The moment of the failure. Runs of several threads differ: one may fit where the one under the profiler failed."""
    for _ in range(1 if program.asks else 5):
        answer = alone.ask(program, capacity=capacity, history=True)
        if program.asks or not answer["enough"]:
            return answer
    raise RuntimeError(f"{program.name} does not fail without the profiler")


def asked(dump):
    cli = pathlib.Path(os.environ.get("TENSORSCOPE_TEST_PROGRAM", BUILD / "analyzer" / "tensorscope"))
    return json.loads(subprocess.run([str(cli), "oom", dump, "--json"], capture_output=True, text=True, check=True).stdout)


def part(tree, name):
    if tree["name"] == name:
        return tree
    return next((found for below in tree["parts"] if (found := part(below, name))), None)


def at_the_peak(answer, peak, kind):
    """Bytes by which a peak may fall further than what was said of the moment of the failure: what the program had not allocated yet (half of it
    in 16 bits, the request included) and unused ends of blocks."""
    request, in_use = answer["answer"]["request"] or 0, part(answer["balance"], "allocated")["bytes"]
    rounding = part(answer["balance"], "rounding")
    not_made = (peak - in_use) // 2 if kind == "lower-precision" else peak - in_use - request
    return max(0, not_made) + (rounding["bytes"] if rounding else 0)


def in_the_step(answer, most, kind):
    """The same of the most in a step: of what the step had not made yet, the request at the least, a model in 16 bits makes half, and unused ends
    of blocks may go. The others are said of the whole step."""
    if kind != "half-model":
        return 0
    rounding = part(answer["balance"], "rounding")
    not_made = max(answer["answer"]["request"] or 0, most - part(answer["balance"], "allocated")["bytes"])
    return not_made // 2 + (rounding["bytes"] if rounding else 0)


class Pair:
    """A program and a remedy: what was said, what came. `surely`: came at the moment of the failure, if not more."""
    def __init__(self, program, answer, remedy, before, after):
        self.program, self.remedy, self.enough = program, remedy, after["enough"]
        self.said, self.kind = remedy["bytes"], remedy["kind"]
        self.of_peak = None if "freed" in after else before["peak"] - after["peak"]
        self.slack, self.same_moment = 0, True
        if "freed" in after:
            self.came = self.surely = after["freed"]
        elif self.kind == "expandable-segments":
            # The request itself, and the whole pages that the device then need not have.
            request, unused = answer["answer"]["request"], before["failed_with"] - after["capacity"] - GRAIN
            page = SMALL_PAGE if request <= SMALL_REQUEST else LARGE_PAGE
            self.came = self.surely = request + unused // page * page if self.enough else 0
        elif self.kind in OUTSIDE:
            self.came = self.surely = before["capacity"] - after["capacity"]
        elif self.kind in IN_STEP and answer["answer"]["in_optimizer_step"]:
            self.slack = in_the_step(answer, before["in_step"], self.kind)
            self.came = self.surely = before["in_step"] - after["in_step"]
        elif before["blocks"] == after["blocks"] and self.kind not in REORDERS:
            self.came = self.surely = before["at"] - after["at"]
        elif after.get("like") is not None:
            self.came = self.surely = before["at"] - after["like"]
        else:
            self.slack = at_the_peak(answer, before["peak"], self.kind)
            self.same_moment = False
            # Half a batch halves the request as well, which a figure does not count.
            self.came = self.of_peak - (answer["answer"]["request"] or 0) // 2 if self.kind == "smaller-batch" else self.of_peak
            self.surely = before["at"] - after["peak"]

    def wrong(self):
        """What is not as it was said; "" where all is."""
        said, came, fits, enough = self.said, self.came, self.remedy["fits"], self.enough
        if fits == "yes" and not enough:
            return "does not fit"
        if fits == "no" and enough:
            return "fits"
        least, most = self.remedy["between"] or (None, None)
        if self.remedy["at_most"]:
            if came > said + self.slack + LATE:
                return "more than the bound"
        elif not self.remedy["estimate"]:
            if abs(came - said) > EXACT * said:
                return "not exact"
        if most is not None and came > most + self.slack + LATE:
            return "more than the range"
        if least is not None and came < least and self.same_moment:
            return "less than the range"
        return ""

    def lower_end(self):
        least = (self.remedy["between"] or (None, None))[0]
        if not least:
            return ""
        return "holds" if self.surely >= least else "below" if self.same_moment else "not seen"


def pairs_of(program, kept, alone, profiled, kinds):
    before = kept.of(program, "before", lambda: alone.ask(program, hunt="exactly" if program.path.stem in ABOUT_MEMORY else "near"))
    failure = kept.of(program, "failure", lambda: failed(program, before.get("capacity"), profiled))
    limited = kept.of(program, "limited", lambda: failed_alone(program, failure["capacity"], alone))
    before = before | kept.of(program, "moment", lambda: alone.ask(program, history=True, at=limited["blocks"])) | {"failed_with": failure["capacity"]}
    answer = asked(failure["dump"])
    for remedy in answer["remedies"]:
        kind, subject = remedy["kind"], remedy["subject"]
        if kinds and kind not in kinds:
            continue
        if kind in OUTSIDE and program.path.stem not in ABOUT_MEMORY:
            continue  # seen by many runs: where it is what the program is about
        after = kept.of(program, f"{kind} {subject}", lambda: alone.ask(
            program, OUTSIDE.get(kind), kind=kind, subject=subject, capacity=failure["capacity"], history=True, at=limited["blocks"],
            request=before.get("request") if kind == "smaller-batch" else None, hunt="exactly" if kind in OUTSIDE else ""))
        if after["applied"] or kind in OUTSIDE:
            yield Pair(program, answer, remedy, before, after)
        else:
            print(f"   {program.name}: not tried: {kind} {subject}, {said(remedy)}", flush=True)


def size(nbytes):
    return f"{nbytes / (1 << 20):,.1f} MiB"


def said(remedy):
    words = "up to " if remedy["at_most"] else "about " if remedy["estimate"] else ""
    between = f" ({remedy['between'][0] >> 20:,} to {remedy['between'][1] >> 20:,})" if remedy["between"] else ""
    return words + size(remedy["bytes"]) + between


def row(pair):
    fits = {"yes": "would fit", "may": "may fit", "no": "does not fit", "unknown": ""}[pair.remedy["fits"]]
    fitted = "fits" if pair.enough else "does not fit"
    return [pair.program.name, pair.kind, pair.remedy["subject"].replace("|", "\\|"), said(pair.remedy), size(pair.came),
            f"{100 * pair.came / pair.said:.0f} %", pair.lower_end(), "" if pair.of_peak is None else size(pair.of_peak),
            fits, fitted if fits else ""]


HEAD = ["program", "remedy", "of", "said", "measured", "of that", "lower end", "peak", "the request", "with it"]


def write(path, rows, asked, heads=HEAD, begin=BEGIN, end=END):
    """Rows of programs that were not asked for stay."""
    head, rest = path.read_text().split(begin)
    table, rest = rest.split(end)
    old = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in table.strip().splitlines()[2:]]
    order = [program.name for program in programs()]
    rows = sorted(rows + [one for one in old if one[0] not in asked], key=lambda one: order.index(one[0]))
    lines = ["| " + " | ".join(cells) + " |" for cells in [heads, ["---"] * len(heads), *rows]]
    path.write_text(head + begin + "\n\n" + "\n".join(lines) + "\n\n" + end + rest)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--kind", action="append")
    parser.add_argument("--write", type=pathlib.Path, help="into this table; rows of programs that are not measured stay")
    parser.add_argument("--fresh", action="store_true", help="measure everything again")
    parser.add_argument("--kept", action="store_true", help="measure nothing: what is kept is compared")
    arguments = parser.parse_args()
    if arguments.write and arguments.kind:
        parser.error("--write takes all kinds of a program")
    kept, rows, wrong, measured = Kept(arguments.fresh, arguments.kept), [], 0, set()
    alone = Runner()
    profiled = Runner(LD_PRELOAD=str(BUILD / "preload" / "libtensorscope.so"), TENSORSCOPE_DIR=str(KEPT), TENSORSCOPE_LOW_MEMORY="off",
                      TENSORSCOPE_EXIT="never", TENSORSCOPE_OOM_REPORT="0", TENSORSCOPE_NAMES_GIL_MS="60000")
    chosen = [one for one in programs() if not arguments.programs or one.name in arguments.programs]
    for program in sorted(chosen, key=lambda one: arguments.programs.index(one.name) if arguments.programs else 0):
        mine = []
        try:
            for pair in pairs_of(program, kept, alone, profiled, arguments.kind):
                fault = pair.wrong()
                wrong += bool(fault)
                mine.append(row(pair))
                print(("!! " if fault else "   ") + " | ".join(mine[-1]) + (f"  WRONG: {fault}" if fault else ""), flush=True)
            rows += mine
            measured.add(program.name)
        except NotMeasured:
            print(f"   {program.name}: not measured", flush=True)
        except (RuntimeError, subprocess.SubprocessError) as error:
            wrong += 1
            print(f"!! {program.name}: {error}", flush=True)
    print(f"{len(rows)} pairs, {wrong} wrong")
    if arguments.write:
        write(arguments.write, rows, measured)
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
