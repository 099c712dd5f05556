# SPDX-License-Identifier: Apache-2.0
"""Beside other libraries that are preloaded, before and behind: allocators, and unwinders that take over C++ exceptions."""

# Covers: preload/stacks/native/libunwind_loader.cc

import pathlib
import shutil
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


def test_what_the_unwinder_lacks_is_said(tmp_path):
    """The library itself is there, what it needs is not: the reason is the loader's."""
    unwinder, needed = tmp_path / "libunwind-x86_64.so.8", tmp_path / "libneeded.so.7"
    for library, links in ((needed, []), (unwinder, [needed])):
        subprocess.run(["cc", "-shared", "-o", library, f"-Wl,-soname,{library.name}", "-Wl,--no-as-needed", *links, "-xc", "/dev/null"], check=True)
    needed.unlink()
    beside = shutil.copy(harness.LIBRARY, tmp_path / "libtensorscope.so")
    environment = harness.environment(tmp_path, preload=False) | {"LD_PRELOAD": str(beside), "LD_LIBRARY_PATH": str(tmp_path)}
    done = subprocess.run([harness.PYTHON, "-c", "import torch; kept = torch.ones(3)"], cwd=tmp_path, env=environment, capture_output=True,
                          text=True, timeout=harness.TIMEOUT)
    assert done.returncode == 0, done.stderr
    (dump,) = harness.dumps(tmp_path)
    seen = harness.coverage(dump)["native stacks"]
    assert seen.seen == "no"
    assert seen.detail.startswith("libunwind-x86_64.so.8 is there, but cannot be loaded: libneeded.so.7: cannot open shared object file"), seen.detail
