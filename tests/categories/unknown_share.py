"""What share of the live bytes has no category, at three moments of a step, in the programs of this folder.

    .venv/bin/python tests/categories/unknown_share.py [PROGRAM ...]

Exit status 1 where a share is above 2 %.
"""

import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("TENSORSCOPE_BUILD", ROOT / "build"))
MOMENTS = ("forward", "backward", "after the step")
MOST = 0.02


def bytes_by_category(dump):
    rows = subprocess.run([BUILD / "analyzer" / "tensorscope", "query", dump, "--format", "csv", "select category, sum(bytes) from by_category group by category"],
                          capture_output=True, text=True, check=True).stdout
    return {name: int(size) for name, size in list(csv.reader(io.StringIO(rows)))[1:]}


def shares(name, folder):
    """By moment: the share of `unknown`, and the bytes by category."""
    environment = {**os.environ, "LD_PRELOAD": str(BUILD / "preload" / "libtensorscope.so"), "TENSORSCOPE_DIR": str(folder), "TENSORSCOPE_EXIT": "never",
                   "TENSORSCOPE_QUIET": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    done = subprocess.run([sys.executable, pathlib.Path(__file__).with_name("one_program.py"), name], env=environment, cwd=folder, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(f"{name}: {done.stderr[-3000:]}")
    found = {}
    for moment, dump in json.loads(done.stdout.splitlines()[-1]).items():
        sizes = bytes_by_category(dump)
        found[moment] = (sizes.get("unknown", 0) / sum(sizes.values()), sizes)
    return found


def main():
    import one_program

    worst = 0
    names = sys.argv[1:] or list(one_program.all_programs())
    print(f"{'program':32}" + "".join(f"{moment:>16}" for moment in MOMENTS) + "   live, MiB")
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found = shares(name, folder)
        worst = max(worst, *(share for share, _ in found.values()))
        live = " ".join(f"{sum(found[moment][1].values()) / 2**20:.1f}" for moment in MOMENTS if moment in found)
        print(f"{name:32}" + "".join(f"{found[moment][0]:16.2%}" if moment in found else f"{'missing':>16}" for moment in MOMENTS) + "   " + live, flush=True)
    return worst > MOST


if __name__ == "__main__":
    sys.exit(main())
