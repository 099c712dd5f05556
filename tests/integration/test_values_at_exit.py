# SPDX-License-Identifier: Apache-2.0
"""What waits to be written when a process ends by os._exit() is in its file, as far as the writer has a second for it."""

# Covers: preload/hooks/process/process.cc preload/values_file/value_store.cc

import harness
import pytest
import values_reader

pytest.importorskip("flatbuffers")

MODEL = "import multiprocessing, os, subprocess, sys, torch\nmodel = torch.nn.Linear(2, 2)\ndef work(n):\n    for _ in range(n):\n        model(torch.ones(2))\n"


def run(folder, source):
    (folder / "watch.toml").write_text('flush = "10min"\n[[watch]]\npath = "model"\n')
    done = harness.run_source(MODEL + source, folder=folder, exit="never", watch=folder / "watch.toml")
    files = [values_reader.Values(path) for path in sorted(folder.glob("*.values"))]
    return done, files


def test_os_exit(tmp_path):
    done, (values,) = run(tmp_path, "work(7)\nos._exit(3)\n")
    assert done.returncode == 3 and len(values.named("model")) == 7 and not values.ended, done.stderr


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_children_of_multiprocessing(tmp_path, method):
    source = f"""
if __name__ == "__main__":
    work(1)
    children = [multiprocessing.get_context("{method}").Process(target=work, args=(n,)) for n in (3, 5)]
    for child in children:
        child.start()
    for child in children:
        child.join()
    sys.exit(sum(child.exitcode for child in children))
"""
    done, files = run(tmp_path, source)
    assert done.returncode == 0, done.stderr
    assert sorted(len(values.named("model")) for values in files) == [1, 3, 5]


def test_a_child_of_vfork_is_not_the_program(tmp_path):
    source = """
work(2)
try:
    subprocess.run(["/nonexistent"])
except FileNotFoundError:
    pass
child = os.fork()
if child == 0:
    os._exit(0)
os.waitpid(child, 0)
work(2)
"""
    done, files = run(tmp_path, source)
    assert done.returncode == 0, done.stderr
    (values,) = files
    assert len(values.named("model")) == 4 and values.ended
