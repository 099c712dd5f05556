#!/usr/bin/env python3
"""Measures what remedies cost, beside what `tensorscope oom` says of it: time of a step, and whether the losses stay the same.

    .venv/bin/python tests/remedies/prices.py [PROGRAM ...] [--write docs/remedies.md]

What the advice is about are the dumps that try_remedies.py has kept (run it first). Numbers in the tensors of the double mean nothing, so
a program runs on the CPU here, as it is and with each remedy in turn, twice in one process (one_price.py). Processor time of one thread, the
lower of the two. Exit status 1 where losses are not what is said of them; of times nothing is asserted."""
import argparse
import json
import pathlib
import subprocess
import sys

import try_remedies

PYTHON = try_remedies.ROOT / ".venv" / "bin" / "python"
BEGIN, END = "<!-- table of tests/remedies/prices.py -->", "<!-- end of prices -->"
HEAD = ["program", "remedy", "of", "said of time", "step", "more, in forward passes", "of these modules",
        "said of results", "losses"]
# Widest difference of losses that is called rounding: bfloat16 has 8 bits.
ROUNDING = 0.02
# By what their batch is divided: a step takes half a minute of a CPU otherwise.
LARGE = {"gpt2_training": 4, "bert_training": 4, "t5_training": 4, "llama_training": 2, "vit_training": 4, "convnext_training": 4,
         "unet_training": 4}
# Those that change a program's steps.
PRICED = {"checkpoint", "smaller-batch", "lower-precision", "optimizer-step", "fused-step", "step-in-backward", "less-state", "half-model",
          "drop-holder", "running-sum", "carried-state", "no-grad", "collect-garbage",
          "break-graph-cycle", "gradient-graph"}


def measured(program, remedies):
    """Of the program as it is, then with each remedy: time of a step, of its forward pass, losses."""
    asked = {"program": program.name, "imports": program.imports, "part": LARGE.get(program.name, 1),
             "remedies": [[one["kind"], one["subject"]] for one in remedies]}
    # What was freed stays with the process, as torch's allocator keeps it on a GPU: else a step's large blocks are mapped and cleared anew.
    done = subprocess.run([str(PYTHON), str(try_remedies.HERE / "one_price.py"), json.dumps(asked)], text=True, capture_output=True,
                          env=try_remedies.environment(CUDA_VISIBLE_DEVICES="", MALLOC_MMAP_MAX_="0", MALLOC_TRIM_THRESHOLD_=str(1 << 40)))
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[-1])
    before, *after = json.loads(done.stdout.splitlines()[-1])
    if "error" in before:
        raise RuntimeError(before["error"])
    return before, after


def difference(before, after):
    """Of the losses, as a part of them; None: they are not as many."""
    if len(before) != len(after):
        return None
    return max((abs(a - b) / max(abs(a), 1e-9) for a, b in zip(before, after)), default=0)


def losses_words(before, after):
    off = difference(before, after)
    if off is None:
        return "others"
    if not before:
        return ""
    return "identical" if off == 0 else f"{100 * off:.2g} % apart"


def agrees(said, before, after):
    """Losses before a parameter was changed are of the same parameters: results that differ show later, if at all."""
    off = difference(before, after)
    return said == "other" or (off is not None and off <= (ROUNDING if said == "rounding" else 0))


def part(time, of):
    return f"{time / of:.1f}" if of else ""


def rows_of(program):
    dump = try_remedies.KEPT / f"{program.name}.tscope"
    if not dump.exists():
        print(f"   {program.name}: no dump, try_remedies.py was not run", flush=True)
        return
    remedies = [one for one in try_remedies.asked(str(dump))["remedies"] if one["kind"] in PRICED]
    if not remedies:
        return
    try:
        before, others = measured(program, remedies)
    except RuntimeError as error:
        print(f"   {program.name}: {error}", flush=True)
        return
    for remedy, after in zip(remedies, others):
        if "error" in after:
            print(f"   {program.name} {remedy['kind']}: {after['error']}", flush=True)
        if not after.get("applied"):
            continue
        price, ratio = remedy["price"], after["step"] / before["step"]
        # Half the batch: two steps take the place of one.
        step = f"2 x {ratio:.2f}" if remedy["kind"] == "smaller-batch" else f"{ratio:.2f}"
        more = after["step"] - before["step"]
        added = [part(more, before["forward"]), part(more, after["modules"])] if remedy["kind"] == "checkpoint" else ["", ""]
        good = agrees(price["results"], before["losses"], after["losses"])
        cells = [program.name, remedy["kind"], remedy["subject"].replace("|", "\\|"), price["time"], step, *added, price["results"],
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
