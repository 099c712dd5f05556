# SPDX-License-Identifier: Apache-2.0
"""What watching values costs a training loop, as ratios of interleaved processes: the bare program, the preload alone, and with each of the ways to watch.

    .venv/bin/python tests/bench/watch_speed.py [--rounds N] [--loop mlp|gpt2] [WAY ...]

mlp: 150 linear layers of width 32, 100 of their outputs watched with statistics. gpt2: a GPT-2 of about 200 ms a step, all outputs of its
modules. calls: each call of a module (--calls); outputs: names of what modules returned (TENSORSCOPE_MODULE_OUTPUTS). Each process tells the least processor time of its training thread among its blocks; the ratio is of the smallest over all rounds, with the preload alone in brackets.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import bench_history

ROOT = pathlib.Path(__file__).resolve().parents[2]
LIBRARY = ROOT / "build" / "preload" / "libtensorscope.so"
LOOPS = {
    "mlp": """
model = torch.nn.Sequential(*[torch.nn.Linear(32, 32) for _ in range(150)])
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
data, steps, blocks = torch.randn(16, 32), 20, 12
def step():
    optimizer.zero_grad()
    model(data).square().mean().backward()
    optimizer.step()
""",
    "gpt2": """
from transformers import GPT2Config, GPT2LMHeadModel

model = GPT2LMHeadModel(GPT2Config(n_layer=4, n_head=4, n_embd=128, vocab_size=2000, n_positions=128, attn_implementation='eager'))
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
data, steps, blocks = torch.randint(0, 2000, (14, 128)), 2, 8
def step():
    optimizer.zero_grad()
    model(data, labels=data).loss.backward()
    optimizer.step()
""",
}
CLOCK = """
step()
step()
took = []
for _ in range(blocks):
    begin = time.thread_time()
    for _ in range(steps):
        step()
    took.append((time.thread_time() - begin) / steps)
print(min(took))
"""


def ways(loop):
    watched = ",".join(f"model.{i}" for i in range(100)) if loop == "mlp" else "model.**"
    full = ",".join("full:" + path for path in watched.split(","))
    return {
        "bare": None,
        "preload": {},
        "watch": {"TENSORSCOPE_WATCH": watched},
        "full": {"TENSORSCOPE_WATCH": full},
        "calls": {"TENSORSCOPE_CALLS": "1"},
        "outputs": {"TENSORSCOPE_MODULE_OUTPUTS": "1"},
        "find-nan": {"TENSORSCOPE_FIND_NAN": "1"},
    }


def run(loop, settings, folder):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "TENSORSCOPE_DIR": folder, "TENSORSCOPE_QUIET": "1", "TENSORSCOPE_EXIT": "never"}
    if settings is not None:
        environment.update(settings, LD_PRELOAD=str(LIBRARY))
    source = "import time, torch\ntorch.manual_seed(0)\ntorch.set_num_threads(1)\n" + LOOPS[loop] + CLOCK
    done = subprocess.run([sys.executable, "-c", source], env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    return float(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--loop", choices=LOOPS, action="append")
    parser.add_argument("ways", nargs="*")
    arguments = parser.parse_args()
    for loop in arguments.loop or LOOPS:
        chosen = {name: way for name, way in ways(loop).items() if not arguments.ways or name in arguments.ways or name in ("bare", "preload")}
        best = {}
        for _ in range(arguments.rounds):
            for name, settings in chosen.items():
                with tempfile.TemporaryDirectory() as folder:
                    best[name] = min(best.get(name, float("inf")), run(loop, settings, folder))
        print(f"{loop}: bare {best['bare'] * 1000:.2f} ms a step")
        for name, took in best.items():
            bench_history.keep(f"{loop} {name}", took / best["bare"], "times bare")
            print(f"  {name:9} {took / best['bare']:.3f}  (over the preload {took / best['preload']:.3f})")


if __name__ == "__main__":
    main()
