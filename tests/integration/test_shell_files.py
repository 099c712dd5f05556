# SPDX-License-Identifier: Apache-2.0
"""Completion in the shells themselves, and the manual page as man formats it."""
# Covers: analyzer/cli/shell_files.cc

import os
import pty
import re
import select
import shutil
import subprocess
import time

import pytest

from harness import CLI, TIMEOUT, cli


def needs(program):
    if not shutil.which(program):
        pytest.skip(f"no {program}")


@pytest.fixture
def in_path(tmp_path, monkeypatch):
    """`tensorscope` in PATH, and a folder with one dump."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "tensorscope").symlink_to(CLI)
    (tmp_path / "train.1.tscope").write_text("")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verbs():
    listed = re.findall(r"^  ([a-z]+) {2,}", cli("--help").stdout, re.MULTILINE)
    assert {"run", "report", "completion"} <= set(listed)
    return set(listed) - {"tensorscope"}


def options(verb):
    text = cli(verb, "--help").stdout
    return {word for names in re.findall(r"^  (-[^ ]+)", text, re.MULTILINE) for word in names.split("=")[0].split(",") if word.startswith("--")}


def bash(*words):
    script = 'source <(tensorscope completion bash); COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _tensorscope; printf "%s\\n" "${COMPREPLY[@]}"'
    done = subprocess.run(["bash", "--norc", "-c", script, "bash", *words], capture_output=True, text=True, timeout=TIMEOUT)
    assert done.stderr == ""
    return set(done.stdout.split())


def test_bash(in_path):
    assert verbs() <= bash("tensorscope", "")
    assert bash("tensorscope", "rep") == {"report"}
    assert bash("tensorscope", "--color", "") == {"auto", "always", "never"} == bash("tensorscope", "--color", "=", "")
    assert bash("tensorscope", "--color", "never", "rep") == {"report"} == bash("tensorscope", "--color", "=", "never", "rep")
    for verb in verbs():
        assert options(verb) <= bash("tensorscope", verb, "--"), verb
    assert bash("tensorscope", "run", "--exit", "") == {"auto", "always", "never"}
    assert bash("tensorscope", "report", "train") == set()  # files, by bash itself
    assert bash("tensorscope", "report", "--sysroot", "") == set()


def fish(line):
    done = subprocess.run(["fish", "--no-config", "-c", "tensorscope completion fish | source; complete -C $argv[1]", line],
                          capture_output=True, text=True, timeout=TIMEOUT)
    assert done.stderr == ""
    return {row.split("\t")[0] for row in done.stdout.splitlines()}


def test_fish(in_path):
    needs("fish")
    assert verbs() <= fish("tensorscope ")
    assert fish("tensorscope rep") == {"report"}
    for verb in ("run", "report", "values", "check"):
        assert options(verb) <= fish(f"tensorscope {verb} --"), verb
    assert fish("tensorscope run --exit a") == {"auto", "always"}
    assert "train.1.tscope" in fish("tensorscope report tr")


class Zsh:
    """An interactive zsh: what it shows after keys."""

    def __init__(self):
        self.pid, self.terminal = pty.fork()
        if self.pid == 0:
            os.environ["TERM"] = "dumb"
            os.execvp("zsh", ["zsh", "-f", "-i"])
        self.send("unsetopt zle_bracketed_paste; PS1='%% '; LISTMAX=1000; autoload -U compinit && compinit -u -D; "
                  "source <(tensorscope completion zsh); stty columns 400 rows 500; echo rea''dy\n", "\nready")

    def send(self, keys, expected):
        os.write(self.terminal, keys.encode())
        shown, end = "", time.monotonic() + TIMEOUT
        while expected not in shown.replace("\r", ""):
            assert time.monotonic() < end, shown
            if select.select([self.terminal], [], [], 1)[0]:
                shown += os.read(self.terminal, 1 << 16).decode(errors="replace")
        return shown

    def close(self):
        os.close(self.terminal)
        os.kill(self.pid, 9)
        os.waitpid(self.pid, 0)


def test_zsh(in_path):
    needs("zsh")
    zsh = Zsh()
    try:
        zsh.send("tensorscope rep\t", "tensorscope report ")
        zsh.send("\x15tensorscope run --exi\t", "--exit")
        shown = zsh.send("\x15tensorscope run --exit=\t\t", "always")
        assert "auto" in shown and "never" in shown
        zsh.send("\x15tensorscope report train\t", "train.1.tscope")
        # What follows `run --` is a command line of its own: programs, their options, their files.
        zsh.send("\x15tensorscope run -- tensorsc\t", "run -- tensorscope ")
        zsh.send("\x15tensorscope run -- tensorscope rep\t", "run -- tensorscope report ")
        zsh.send("\x15tensorscope run --exit auto -- tensorscope report --sysr\t", "report --sysroot=")
        zsh.send("\x15tensorscope run -- cat train\t", "cat train.1.tscope")
        zsh.send("\x15tensorscope run tensorscope rep\t", "run tensorscope report ")
        shown = zsh.send("\x15tensorscope \t\t", "would record")
        assert {verb for verb in verbs() if verb not in shown} == set()
    finally:
        zsh.close()


def test_the_manual_page(in_path):
    needs("man")
    (in_path / "tensorscope.1").write_text(cli("manual").stdout)
    done = subprocess.run(["man", "--warnings", "-l", "tensorscope.1"], capture_output=True, text=True, timeout=TIMEOUT,
                          env={**os.environ, "MANWIDTH": "100", "PAGER": "cat", "LC_ALL": "C.UTF-8"})
    assert done.returncode == 0 and done.stderr == "", done.stderr
    text = re.sub(r".\x08", "", done.stdout).replace("‐", "-").replace("−", "-")
    for verb in verbs():
        assert re.search(rf"^   {verb}$", text, re.MULTILINE), verb
        for option in options(verb):
            assert option in text, (verb, option)
    assert "tensorscope run -- python train.py" in text


def test_unknown_shells_are_refused():
    assert "csh" in cli("completion", "csh", status=2).stderr
