# SPDX-License-Identifier: Apache-2.0
"""What one capture of a Python stack costs, without torch.
usage: python_stack_bench.py [PYTHON...]          default: the python that runs this
Per depth: nanoseconds where nothing has changed since the thread's last capture / where the innermost frame has moved on.
"""

import json
import os
import pathlib
import subprocess
import sys

import bench_history

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROBE = pathlib.Path(os.environ.get("TENSORSCOPE_BUILD", ROOT / "build")) / "tests" / "programs" / "python_frames_probe.so"

for python in sys.argv[1:] or [sys.executable]:
    version = subprocess.run([python, "-c", "import platform; print(platform.python_version())"], check=True,
                             capture_output=True, text=True).stdout.strip()
    done = subprocess.run([python, ROOT / "tests" / "programs" / "python_frames.py", PROBE, "--cost"], check=True,
                          capture_output=True, text=True)
    cells = [f"{depth} frames {same:5.1f} / {moved:5.1f} ns" for depth, (same, moved) in json.loads(done.stdout).items()]
    for depth, (same, moved) in json.loads(done.stdout).items():
        bench_history.keep(f"{version} {depth} frames, the same", same, "ns")
        bench_history.keep(f"{version} {depth} frames, moved on", moved, "ns")
    print(f"{version:8}", "   ".join(cells), flush=True)
