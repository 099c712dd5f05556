# SPDX-License-Identifier: Apache-2.0
"""Nothing that a program can see of itself, and nothing that others see of it, differs with the preload, but for what is listed
here with its reason."""

import json
import os
import re
import shutil
import subprocess

import pytest

import harness

SIGUSR1 = 1 << 9  # in the kernel's masks
OF_THE_C_LIBRARY = 0b11 << 31  # signals 32 and 33, which glibc keeps for itself
ALL_SIGNALS = (1 << 64) - 1 - OF_THE_C_LIBRARY - (1 << 8) - (1 << 18)  # but SIGKILL and SIGSTOP, which cannot be blocked

EVERYTHING = {"TENSORSCOPE_CALLS": "1", "TENSORSCOPE_WATCH": "**", "TENSORSCOPE_FIND_NAN": "on", "TENSORSCOPE_RECORD": "1",
              "TENSORSCOPE_MODULE_OUTPUTS": "1", "TENSORSCOPE_LOG": "log"}
LAST_WORDS = [{"registered": "last"}, {"registered": "first"}]

# Programs that end by themselves and do the same in every run.
PYTHON_PROGRAMS = ["train_mlp.py", "views.py", "sparse.py", "exotic.py", "autocast.py", "checkpoint.py", "custom_function.py",
                   "transforms.py", "foreign_memory.py", "dataloader.py", "threads.py", "compile_cpu.py", "forks.py"]
ENDINGS = ["return", "status", "exception", "os_exit", "kill", "thread"]
OTHER_PROGRAMS = [("cpp_program", "return"), ("cpp_program", "exit"), ("no_torch", "plain"), ("no_torch", "closes"), ("no_torch", "fork"),
                  ("no_torch", "handler"), ("no_torch_static", "plain")]


def without_known(portrait, preloaded):
    """A copy of what a process saw of itself, without what is known to differ. One reason each."""
    seen = json.loads(json.dumps(portrait))
    # Pipes, sockets, temporary files and shared memory have other numbers and names in each run.
    seen["descriptors"] = {number: plain_path(target) for number, target in seen["descriptors"].items()}
    seen["mappings"] = sorted([plain_path(path), parts] for path, parts in seen["mappings"].items())
    # The loader is told by LD_PRELOAD, the preload by its own variables: both are the user's doing. The rest is this test's.
    ours = re.compile(r"LD_PRELOAD=|TENSORSCOPE_|PORTRAIT_DUMPS=|PORTRAIT_AT_EXIT=|PORTRAIT_PARENT=")
    # (PyTorch's compiler puts an address there.)
    seen["environment"] = {name: re.sub(r"^\d{12,}$", "ADDRESS", value) for name, value in seen["environment"].items() if not ours.match(name + "=")}
    for name in ("first environment", "environ"):
        seen[name] = [re.sub(r"=\d{12,}$", "=ADDRESS", entry) for entry in seen[name] if not ours.match(entry)]
    # Our library, the unwinder that checks its stacks, and what that is linked to.
    assert any("/libtensorscope.so" in path for path, _ in seen["mappings"]) == preloaded
    seen["mappings"] = [each for each in seen["mappings"] if not re.search(r"/(libtensorscope|libunwind|libunwind-x86_64|liblzma)\.so|^/memfd:tensorscope-wake-1 ", each[0])]
    # The kernel calls our handler for the one signal that asks for a dump; sigaction() tells the program its own.
    # glibc handles two signals of its own from the first thread that is made in the process, which may be the collector thread.
    caught = int(seen["status"]["SigCgt"], 16)
    assert bool(caught & SIGUSR1) == preloaded
    seen["status"]["SigCgt"] = caught & ~SIGUSR1 & ~OF_THE_C_LIBRARY
    # The collector thread, and the one that found names for the last dump: all signals are blocked there, so that none of the
    # program's is delivered to them, from before they have their names.
    mine = [thread for thread in seen["threads"] if int(thread[1], 16) & ALL_SIGNALS == ALL_SIGNALS]
    assert len(mine) <= 3 * preloaded
    assert all(thread[0] in ("tensorscope", "tensorscope+own", "tensorscope-out", "tensorscope-gil", seen["name"].strip()) for thread in mine)
    seen["threads"] = [thread for thread in seen["threads"] if thread not in mine]
    # The function that writes the exit dump while Python still runs.
    seen["exit functions"] -= preloaded
    # The built-in module, where the program imports it.
    seen["modules"] = [name for name in seen["modules"] if name != "libtensorscope"]
    return seen


def plain_path(path):
    if path.startswith((f"{harness.ROOT}/", f"{harness.BUILD}/")):
        return path  # a checkout may lie among temporary files
    return re.sub(r"\[\d+\]$|^/dev/shm/\S+|^/tmp/\S+", "*", path)


def differences(with_preload, without, where=""):
    """Paths at which two pieces of data differ, with both values."""
    if isinstance(without, dict) and isinstance(with_preload, dict):
        return [line for key in sorted({*without, *with_preload})
                for line in differences(with_preload.get(key), without.get(key), f"{where}.{key}")]
    if isinstance(without, list) and isinstance(with_preload, list):
        more = [each for each in with_preload if each not in without]
        less = [each for each in without if each not in with_preload]
        if more or less:
            return [f"{where}: {more} only with the preload, {less} only without"]
    return [] if with_preload == without else [f"{where}: {with_preload} with the preload, {without} without"]


def portraits(output):
    """The lines of self_portrait.py: [(moment, portrait)], and the other lines."""
    lines = output.splitlines()
    return ([json.loads(line) for line in lines if line.startswith("[")], [line for line in lines if not line.startswith("[")])


def run(program, *arguments, folder, preload, **variables):
    settings = harness.environment(folder, preload=preload, **({"quiet": 1} if preload else {}))
    settings["TENSORSCOPE_DIR"] = str(folder)
    settings.update(variables)
    return subprocess.run(harness.command(program, *arguments), env=settings, cwd=folder, capture_output=True, text=True,
                          timeout=harness.TIMEOUT, stdin=subprocess.DEVNULL)


def test_a_program_sees_itself_as_it_does_without(tmp_path):
    told = {}
    for how, options in {"bare": None, "preloaded": {}, "everything on": EVERYTHING}.items():
        variables = {} if options is None else {"PORTRAIT_DUMPS": "1", **options}
        done = run("self_portrait.py", folder=tmp_path, preload=options is not None, **variables)
        said = [line for line in done.stderr.splitlines() if not line.startswith("tensorscope: --find-nan: no NaN or infinity")]
        assert (done.returncode, said) == (0, []), done.stderr
        seen, others = portraits(done.stdout)
        assert [words for _, words in seen[-2:]] == LAST_WORDS  # the exit functions' order is what matters of their last lines
        told[how] = seen[:-2], others
        dumps = harness.dumps(tmp_path)
        assert len(dumps) == (0 if options is None else 2)  # by the signal, and at the end
        for dump in dumps:
            dump.unlink()
    bare, others = told.pop("bare")
    assert [moment for moment, _ in bare] == ["import", "trained", "allocated", "thread", "dumped", "child", "forked"] and len(others) == 2
    for how, (seen, with_preload) in told.items():
        assert with_preload == others, how  # the loss, the child's status
        assert [moment for moment, _ in seen] == [moment for moment, _ in bare]
        for (moment, portrait), (_, without) in zip(seen, bare):
            assert not differences(without_known(portrait, True), without_known(without, False)), (how, moment)


@pytest.mark.cases(7)
@pytest.mark.parametrize("program", PYTHON_PROGRAMS + [f"ends.py {how}" for how in ENDINGS])
def test_a_python_program_is_the_same_to_itself_and_to_others(program, tmp_path):
    if program == "compile_cpu.py":
        harness.needs_torch(2, 0, "torch.compile")
    done, portrait = {}, {}
    for preload in (False, True):
        path, compiled = tmp_path / f"portrait-{preload}.json", tmp_path / "compiled"
        shutil.rmtree(compiled, ignore_errors=True)  # the compiler's modules are imported only where something is left to compile
        done[preload] = run(*program.split(), folder=tmp_path, preload=preload, PORTRAIT_AT_EXIT=str(path), PORTRAIT_PARENT=str(os.getpid()),
                            TORCHINDUCTOR_CACHE_DIR=str(compiled),
                            PYTHONPATH=str(harness.PROGRAMS / "portrait_at_exit"))
        portrait[preload] = json.loads(path.read_text()) if path.exists() else None
    same_to_others(done)
    assert harness.dumps(tmp_path) or program in ("ends.py os_exit", "ends.py kill")  # it was recorded
    assert (portrait[False] is None) == (portrait[True] is None) == (program in ("ends.py os_exit", "ends.py kill"))
    if portrait[False] is not None:
        assert not differences(without_known(portrait[True], True), without_known(portrait[False], False))


@pytest.mark.cases(3)
@pytest.mark.parametrize("program", OTHER_PROGRAMS, ids=" ".join)
def test_other_programs_are_the_same_to_others(program, tmp_path):
    if program[0].startswith("cpp"):
        harness.needs_build_against_this_torch()
    done = {preload: run(*program, folder=tmp_path, preload=preload) for preload in (False, True)}
    for each in done.values():
        each.stdout = re.sub(r"\b\d{6,}\b", "ADDRESS", each.stdout)
    same_to_others(done)


def same_to_others(done):
    assert done[True].stdout == done[False].stdout
    # CPython's warning of forks among threads (other libraries' threads, here) names the process.
    errors = {preload: re.sub(r"\(pid=\d+\)", "(pid=N)", each.stderr) for preload, each in done.items()}
    assert errors[True] == errors[False]
    assert done[True].returncode == done[False].returncode
