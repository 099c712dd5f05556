#!/usr/bin/env python3
"""Measures what remedies cost, beside what `tensorscope oom` says of it: time of a step, and whether the losses stay the same.

    .venv/bin/python tests/remedies/prices.py [PROGRAM ...] [--write docs/remedies.md]

What the advice is about are the dumps that try_remedies.py has kept (run it first). Numbers in the tensors of the double mean nothing, so
a program runs on the CPU here, with and without the remedy in turn, each twice in one process. Processor time of one thread, the lower of
the two. Exit status 1 where losses are not what is said of them; of times nothing is asserted."""
import argparse
import json
import pathlib
import subprocess
import sys

import try_remedies

PYTHON = try_remedies.ROOT / ".venv" / "bin" / "python"
BEGIN, END = "<!-- table of tests/remedies/prices.py -->", "<!-- end of prices -->"
HEAD = ["program", "remedy", "of", "said of time", "step", "more, in forward passes", "said of results", "losses"]
# Widest difference of losses that is called rounding: bfloat16 has 8 bits.
ROUNDING = 0.02
# Those that change a program's steps.
PRICED = {"checkpoint", "smaller-batch", "lower-precision", "optimizer-step", "fused-step", "step-in-backward", "less-state", "half-model",
          "drop-holder", "running-sum", "carried-state", "no-grad", "collect-garbage",
          "break-graph-cycle", "gradient-graph"}


def measured(program, kind, subject):
    """Of the program as it is, then with the remedy: time of a step, of its forward pass, losses."""
    asked = {"program": program.name, "imports": program.imports, "kind": kind, "subject": subject}
    done = subprocess.run([str(PYTHON), str(try_remedies.HERE / "one_price.py"), json.dumps(asked)], text=True, capture_output=True,
                          env=try_remedies.environment(CUDA_VISIBLE_DEVICES=""))
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    return json.loads(done.stdout.splitlines()[-1])


def difference(before, after):
    """Of the losses, as a part of them; None: they are not as many."""
    if len(before) != len(after):
        return None
    return max((abs(a - b) / max(abs(a), 1e-9) for a, b in zip(before, after)), default=0)


def losses_words(before, after):
    off = difference(before, after)
    if off is None:
        return "others"
    return "identical" if off == 0 else f"{100 * off:.2g} % apart"


def agrees(said, before, after):
    """Losses before a parameter was changed are of the same parameters: results that differ show later, if at all."""
    off = difference(before, after)
    return said == "other" or (off is not None and off <= (ROUNDING if said == "rounding" else 0))


def rows_of(program):
    dump = try_remedies.KEPT / f"{program.name}.tscope"
    if not dump.exists():
        print(f"   {program.name}: no dump, try_remedies.py was not run", flush=True)
        return
    for remedy in try_remedies.asked(str(dump))["remedies"]:
        if remedy["kind"] not in PRICED:
            continue
        try:
            before, after = measured(program, remedy["kind"], remedy["subject"])
        except RuntimeError as error:
            print(f"   {program.name} {remedy['kind']}: {error}", flush=True)
            continue
        if not after["applied"]:
            continue
        price, ratio = remedy["price"], after["step"] / before["step"]
        # Half the batch: two steps take the place of one.
        step = f"2 x {ratio:.2f}" if remedy["kind"] == "smaller-batch" else f"{ratio:.2f}"
        more = f"{(after['step'] - before['step']) / before['forward']:.1f}" if remedy["kind"] == "checkpoint" and before["forward"] else ""
        good = agrees(price["results"], before["losses"], after["losses"])
        cells = [program.name, remedy["kind"], remedy["subject"].replace("|", "\\|"), price["time"], step, more, price["results"],
                 losses_words(before["losses"], after["losses"])]
        print(("   " if good else "!! ") + " | ".join(cells), flush=True)
        yield good, cells


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--write", type=pathlib.Path, help="into this table; rows of programs that are not measured stay")
    arguments = parser.parse_args()
    rows, wrong, asked = [], 0, set()
    for program in try_remedies.programs():
        if arguments.programs and program.name not in arguments.programs:
            continue
        for good, cells in rows_of(program):
            rows.append(cells)
            wrong += not good
            asked.add(program.name)
    print(f"{len(rows)} pairs, {wrong} wrong")
    if arguments.write:
        try_remedies.write(arguments.write, rows, asked, HEAD, BEGIN, END)
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
