"""Runs the models of tests/forecast out of memory on the double of a GPU, and asks `tensorscope leaks` about the dump of the failure.

    .venv/bin/python tests/leaks/check_failures.py [MODEL...] [--keep FOLDER]

Each model has room for 60 % and then for 95 % of what it reserves, so that it fails in a forward pass, a backward pass or the first
step of its optimizer. None of them leaks: exit status 1 where one has a finding or a suspect. --keep leaves the dumps in
FOLDER/MODEL/PART, and takes those that are there already. Models that do not run on the double are left out, and named.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "forecast"))

import forecast_accuracy as accuracy
import forecast_programs

PARTS = 0.6, 0.95
PLENTY = 8 << 30


def run(folder, model, capacity):
    """What the program printed at its end; None where it failed. Its dumps are in the folder then."""
    process = accuracy.run(folder, model, "--device", "cuda", python=accuracy.FAKE_CUDA, TENSORSCOPE_EXIT="never",
                           TENSORSCOPE_FAKE_CUDA_CAPACITY=str(capacity))
    output, _ = process.communicate()
    return output if process.returncode == 0 else None


def dumps_of(folder, model):
    """The dump of the first failure, by the part of the memory that there was. Nothing: the model does not run on the double."""
    found = {part: sorted((folder / model / str(part)).glob("*.oom-1.tscope")) for part in PARTS}
    if not all(found.values()):
        said = run(folder / model / "full", model, PLENTY)
        if said is None:
            return {}
        for part in PARTS:
            run(folder / model / str(part), model, int(json.loads(said.splitlines()[-1])["reserved"] * part))
            found[part] = sorted((folder / model / str(part)).glob("*.oom-1.tscope"))
    return {part: dumps[0] for part, dumps in found.items() if dumps}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", help="without: all")
    parser.add_argument("--keep", type=pathlib.Path, help="folder for the dumps")
    options = parser.parse_args()
    asked, wrong, left_out = 0, 0, []
    with tempfile.TemporaryDirectory() as folder:
        for model in options.models or forecast_programs.MODELS:
            dumps = dumps_of(options.keep or pathlib.Path(folder), model)
            if not dumps:
                left_out.append(model)
            for part, dump in dumps.items():
                done = subprocess.run([accuracy.CLI, "leaks", dump, "--json"], capture_output=True, text=True)
                answer = json.loads(done.stdout)
                said = [one["kind"] for one in answer["findings"] + answer["suspects"]]
                print(f"{model:20} {part:.0%}  {', '.join(said) or 'quiet'}", flush=True)
                asked, wrong = asked + 1, wrong + bool(said)
    print(f"{asked} failures, {wrong} with a finding or a suspect; left out: {', '.join(left_out) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
