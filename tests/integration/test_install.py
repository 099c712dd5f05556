# SPDX-License-Identifier: Apache-2.0
"""`meson install` gives a stripped tree, separate debug files, and a program that finds its own library."""

import os
import re
import shutil
import subprocess

import pytest

import harness
from harness import BUILD, PYTHON, TIMEOUT


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """The prefix of an installation that was staged and then moved, as a package manager does it."""
    if not shutil.which("meson"):
        pytest.skip("no meson")
    stage = tmp_path_factory.mktemp("stage")
    subprocess.run(["meson", "install", "-C", str(BUILD), "--no-rebuild", "--quiet", "--destdir", str(stage)],
                   check=True, timeout=TIMEOUT, stdout=subprocess.DEVNULL)
    program = next(stage.rglob("bin/tensorscope"))
    prefix = tmp_path_factory.mktemp("moved") / "prefix"
    shutil.move(program.parents[1], prefix)
    return prefix


def build_id(path):
    notes = subprocess.run(["readelf", "-n", str(path)], capture_output=True, text=True, check=True).stdout
    return re.search(r"Build ID: (\w+)", notes)[1]


def sections(path):
    return subprocess.run(["readelf", "-SW", str(path)], capture_output=True, text=True, check=True).stdout


def test_installed_binaries_are_stripped_and_have_debug_files(installed):
    binaries = [path for path in installed.rglob("*") if path.is_file() and path.suffix != ".debug" and path.read_bytes()[:4] == b"\x7fELF"]
    assert {path.name for path in binaries} == {"libtensorscope.so", "libtensorscope_reader.so", "tensorscope"}
    for binary in binaries:
        identity = build_id(binary)
        debug = installed / "lib" / "debug" / ".build-id" / identity[:2] / f"{identity[2:]}.debug"
        assert ".symtab" not in sections(binary) and ".debug_line" not in sections(binary)
        assert ".symtab" in sections(debug) and ".debug_line" in sections(debug)
        assert build_id(debug) == identity
        assert binary.stat().st_size < 16 << 20


def test_the_installed_program_on_path_finds_its_library(installed, tmp_path):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TENSORSCOPE")}
    environment["PATH"] = f"{installed / 'bin'}:{environment['PATH']}"
    source = "import torch; kept = torch.ones(1000, 1000); print('trained')"
    done = subprocess.run(["tensorscope", "run", "--quiet", "--", PYTHON, "-c", source], env=environment, cwd=tmp_path,
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, done.stdout, done.stderr) == (0, "trained\n", "")
    dump, = harness.dumps(tmp_path)
    report = subprocess.run(["tensorscope", "report", dump], env=environment, capture_output=True, text=True, timeout=TIMEOUT)
    assert report.returncode == 0 and "3.8 MiB" in report.stdout, report.stdout + report.stderr


def test_the_manual_page_and_the_completions_are_where_each_shell_looks(installed):
    for name in ("man/man1/tensorscope.1", "bash-completion/completions/tensorscope", "zsh/site-functions/_tensorscope",
                 "fish/vendor_completions.d/tensorscope.fish"):
        assert "snapshot" in (installed / "share" / name).read_text(), name


def test_what_programs_are_compiled_with_is_installed(installed):
    folder = installed / "include" / "tensorscope"
    assert sorted(path.name for path in folder.iterdir()) == ["libtensorscope.py", "tensorscope.h"]
