"""Beside other libraries that are preloaded, before and behind: allocators, and unwinders that take over C++ exceptions."""

# Covers: preload/stacks/native/libunwind_loader.cc

import pathlib
import subprocess
import sysconfig

import pytest

import harness

PROGRAM = """
import os, signal, sys, threading
import torch
torch.manual_seed(0)
torch.set_num_threads(1)
model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 4))
optimizer = torch.optim.Adam(model.parameters())
def step():
    optimizer.zero_grad()
    loss = model(torch.randn(32, 8)).square().mean()
    loss.backward()
    optimizer.step()
    return loss.item()
losses = [step() for _ in range(20)]
kept = []
def work():
    for i in range(200):
        kept.append(torch.ones(100 + i))
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
try:
    torch.empty(1 << 50)
except RuntimeError as error:
    print("caught", "allocate" in str(error))
child = os.fork()
if child == 0:
    step()
    os._exit(3)
print(os.WEXITSTATUS(os.waitpid(child, 0)[1]), losses[-1].hex(), len(kept))
sys.exit(5)
"""
LIBRARIES = ["libjemalloc.so.2", "libtcmalloc_minimal.so.4", "libmimalloc.so.2", "libunwind.so.8", "libunwind.so.1"]


def run(folder, *preloads, **options):
    environment = harness.environment(folder, preload=False, **options) | {"LD_PRELOAD": ":".join(map(str, preloads))}
    path = folder / "program.py"
    path.write_text(PROGRAM)
    done = subprocess.run([harness.PYTHON, path], cwd=folder, env=environment, text=True, capture_output=True, timeout=harness.TIMEOUT)
    return done.returncode, done.stdout


@pytest.mark.cases(0)
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_program_is_the_same_beside_it_and_its_dump_whole(name, tmp_path):
    library = pathlib.Path("/usr/lib") / sysconfig.get_config_var("MULTIARCH") / name
    if not library.exists():
        pytest.skip(f"{name} is not installed")
    alone = run(tmp_path, library)
    assert alone[0] == 5 and alone[1].startswith("caught True\n3 "), alone
    for order in ((harness.LIBRARY, library), (library, harness.LIBRARY)):
        assert run(tmp_path, *order) == alone
        dump, = harness.dumps(tmp_path, "*.exit.tscope")
        exported = harness.load(dump)
        assert sum(row["shape"] in ([100 + i] for i in range(200)) for row in exported["tensors"]) == 1600
        assert harness.coverage(dump)["native stacks"].seen == "yes"
        for written in harness.dumps(tmp_path):
            written.unlink()
