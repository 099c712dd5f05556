# SPDX-License-Identifier: Apache-2.0
"""How long `tensorscope ranks` takes for the dumps of many ranks, and how much memory (docs/benchmarks.md).

Writes one real dump of `--tensors` tensors and `--dumps` copies of it, each of a rank of its own, and reads them from the
disk: the copies are dropped from the page cache first. They take 0.3 KB a tensor each: 30 GB for the defaults.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

import bench_history
import fleet

PROGRAM = """
import sys, torch, libtensorscope
from torch import nn
torch.set_num_threads(1)
tensors = int(sys.argv[1])

class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight, self.bias = nn.Parameter(torch.ones(16)), nn.Parameter(torch.zeros(4))
    def forward(self, x):
        return x * self.weight

model = nn.ModuleList([Scale() for _ in range(tensors // 20)])
for parameter in model.parameters():
    parameter.grad = torch.zeros_like(parameter)
cache = {i: [torch.empty(8) for _ in range(8)] for i in range(tensors // 16)}
x = torch.ones(16)
outputs = [layer(x) for layer in model]
batch = [torch.empty(64) for _ in range(tensors // 4)]
libtensorscope.dump()
"""


def drop_from_page_cache(folder):
    for path in folder.iterdir():
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dumps", type=int, default=1024)
    parser.add_argument("--tensors", type=int, default=100_000)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", help="where the dumps are written; default: a temporary one")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        folder = pathlib.Path(name)
        (folder / "big.py").write_text(PROGRAM)
        settings = {**os.environ, "LD_PRELOAD": str(ROOT / "build/preload/libtensorscope.so"), "TENSORSCOPE_EXIT": "never",
                    "TENSORSCOPE_DIR": name, "TENSORSCOPE_QUIET": "1", "RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2",
                    "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
        subprocess.run([ROOT / ".venv/bin/python", folder / "big.py", str(options.tensors)], env=settings, check=True)
        (source,) = folder.glob("*.tscope")
        (folder / "ranks").mkdir()
        fleet.made_fleet(folder / "ranks", [source], [0] * options.dumps)
        drop_from_page_cache(folder / "ranks")
        size = source.stat().st_size
        begin = time.monotonic()
        process = subprocess.Popen([ROOT / "build/analyzer/tensorscope", "ranks", folder / "ranks", "--threads", str(options.threads),
                                    "--top", "3"], stdout=subprocess.PIPE, text=True)
        text = process.stdout.read()
        _pid, status, used = os.wait4(process.pid, 0)
        took = time.monotonic() - begin
        print(text)
        print(f"{options.dumps} dumps of {size / 1e6:.1f} MB, {options.threads} threads, exit status {os.waitstatus_to_exitcode(status)}")
        bench_history.keep(f"{options.dumps} dumps, {options.threads} threads", took, "s")
        bench_history.keep(f"{options.dumps} dumps, {options.threads} threads: memory", used.ru_maxrss / 1024, "MiB")
        print(f"{took:.1f} s, processor time {used.ru_utime + used.ru_stime:.1f} s, memory {used.ru_maxrss / 1024:.0f} MiB at most, "
              f"read from the disk {used.ru_inblock * 512 / 1e9:.1f} GB")


if __name__ == "__main__":
    main()
