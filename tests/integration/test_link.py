# SPDX-License-Identifier: Apache-2.0
"""The preload library's link: a name that is defined twice by mistake is an error, not silently the first one."""

import shlex
import shutil
import subprocess

import pytest

import harness


def link_command(output):
    """How the build links libtensorscope.so, with another output, and without link-time optimisation: that takes a minute."""
    ninja = shutil.which("ninja")
    if ninja is None or not (harness.BUILD / "build.ninja").exists():
        pytest.skip("not a build folder of Ninja's")
    commands = subprocess.run([ninja, "-t", "commands", "preload/libtensorscope.so"], cwd=harness.BUILD, capture_output=True,
                              text=True, check=True).stdout.splitlines()
    words = shlex.split(commands[-1])
    words[words.index("-o") + 1] = str(output)
    return [*words, "-fno-lto"]  # the objects are fat ones


@pytest.mark.parametrize("name, fails", [("hook_of_nobody", False), ("cudaMalloc", True),
                                         ("_ZN11tensorscope17unload_generationEv", True)])
def test_a_name_that_is_defined_twice_does_not_link(name, fails, tmp_path):
    source, added = tmp_path / "added.c", tmp_path / "added.o"
    source.write_text(f"int {name}(void) {{ return 1; }}\n")
    subprocess.run(["cc", "-fPIC", "-c", source, "-o", added], check=True)
    done = subprocess.run([*link_command(tmp_path / "linked.so"), str(added)], cwd=harness.BUILD, capture_output=True, text=True,
                          timeout=harness.TIMEOUT)
    assert (done.returncode != 0) == fails, done.stderr
    assert ("multiple definition of" in done.stderr) == fails
