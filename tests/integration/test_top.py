# SPDX-License-Identifier: Apache-2.0
"""tensorscope top: plain lines, and a screen on a terminal (a pty that pyte draws)."""
# Covers: analyzer/cli/top.cc analyzer/top/{sampler,screen,view,report}.cc analyzer/process/asked_process.cc
# Covers: preload/collector/request_file.cc

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios

import harness
import pyte
import pytest

PROGRAM = """
import os, sys, torch
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = torch.nn.Linear(300, 300, bias=False)
net = Net()
kept = [torch.zeros(1000) for _ in range(100)]
print("ready", flush=True)
more = []
for line in sys.stdin:
    if line.strip() == "more":
        more.append(torch.zeros(500_000))
        print("made", flush=True)
    else:
        break
"""


@contextlib.contextmanager
def program(folder):
    path = folder / "program.py"
    path.write_text(PROGRAM)
    with open(folder / "stderr.txt", "w") as errors:
        process = subprocess.Popen([harness.PYTHON, str(path)], env=harness.environment(folder), cwd=folder, text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    try:
        assert process.stdout.readline().strip() == "ready"
        yield process
    finally:
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()


def more(process):
    process.stdin.write("more\n")
    process.stdin.flush()
    assert process.stdout.readline().strip() == "made"


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    folder = tmp_path_factory.mktemp("program")
    with program(folder) as process:
        yield process, folder


class Screen:
    """`top` on a terminal of its own."""

    def __init__(self, *arguments, term="xterm", rows=24, columns=100):
        self.screen = pyte.Screen(columns, rows)
        self.stream = pyte.ByteStream(self.screen)
        self.raw = b""
        self.terminal, theirs = pty.openpty()
        self.resize(rows, columns)
        self.before = termios.tcgetattr(theirs)
        self.theirs = theirs  # stays open, so that its settings can be looked at when the program has ended
        environment = {key: value for key, value in os.environ.items() if key not in ("COLUMNS", "LINES")}
        self.process = subprocess.Popen([str(harness.CLI), "top", *map(str, arguments)], stdin=theirs, stdout=theirs,
                                        stderr=subprocess.PIPE, env={**environment, "TERM": term}, start_new_session=True,
                                        preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))

    def resize(self, rows, columns):
        self.screen.resize(rows, columns)
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        while select.select([self.terminal], [], [], 0.05)[0]:
            data = os.read(self.terminal, 65536)
            self.raw += data
            self.stream.feed(data)

    def text(self):
        self.read()
        return "\n".join(self.screen.display)

    def until(self, pattern):
        return harness.until(lambda: re.search(pattern, self.text(), re.M), f"{pattern} in\n{self.text()}")

    def press(self, keys):
        os.write(self.terminal, keys.encode())

    def ends(self):
        status = self.process.wait(harness.TIMEOUT)
        self.read()
        errors = self.process.stderr.read().decode()
        restored = termios.tcgetattr(self.theirs) == self.before
        return status, errors, restored

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        self.process.stderr.close()
        os.close(self.terminal)
        os.close(self.theirs)


@pytest.fixture
def screen():
    opened = []

    def open_screen(*arguments, **keywords):
        opened.append(Screen(*arguments, **keywords))
        return opened[-1]

    yield open_screen
    for each in opened:
        each.close()


def test_once_agrees_with_a_dump(running):
    process, folder = running
    text = harness.cli("top", process.pid, "--once", "--bytes", "--lines", "2").stdout
    dump = harness.cli("snapshot", process.pid).stdout.strip()
    report = harness.cli("report", dump, "--bytes").stdout
    live = re.match(r"([\d,]+ B) live in (\d+) tensors", text)
    assert live[0] in report.splitlines()[0]
    rows = text.splitlines()[text.splitlines().index(next(l for l in text.splitlines() if "since mark" in l)) + 1:]
    assert len(rows) == 2
    assert "400,000 B" in rows[0] and "program.py:8" in rows[0] and " 100 " in rows[0]
    assert "360,000 B" in rows[1]
    os.unlink(dump)
    assert not list(folder.glob("*.tscope")), "top leaves no dump behind"


def test_by_module_filter_and_cost(running):
    process, _ = running
    text = harness.cli("top", process.pid, "--once", "--by", "module", "--filter", "INNER").stdout
    assert re.search(r"351\.6 KiB +\d+ % +- +1 +net\.inner$", text, re.M)
    assert "module)" not in text and "module not known" not in text
    assert re.search(r"a refresh costs the program .* paused, .* with Python's lock", text)


def test_a_refresh_without_names_leaves_pythons_objects_alone(tmp_path):
    with program(tmp_path) as process:
        started = open(f"/proc/{process.pid}/stat").read().rpartition(")")[2].split()[19]
        with open(f"/dev/shm/tensorscope-request.{process.pid}.{started}", "w") as request:
            request.write("top-cheap\n")
        [dump] = harness.until(lambda: list(tmp_path.glob("*.tscope")), "the dump")
        dump = json.loads(harness.cli("export", dump, "--format", "json").stdout)
        assert (dump["references"]["gil_ns"], dump["references"]["detail"]) == (0, "not asked for")
        assert [tensor["names"] for tensor in dump["tensors"]] == [[]] * 101
        assert dump["process"]["trigger_detail"] == "tensorscope top"
        assert "wrote" not in (tmp_path / "stderr.txt").read_text()


def blocks_of(text):
    """Refreshes of plain lines, the whole ones."""
    return text.split("\n\n")[:-1]


def lines_until(process, by, wanted):
    """What top prints in a pipe while one tensor more is made after its first refresh, until that is in it."""
    top = subprocess.Popen([str(harness.CLI), "top", str(process.pid), "--interval", "100ms", "--by", by],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                           env={**os.environ, "COLUMNS": "140"})
    text = ""
    for line in top.stdout:
        text += line
        if line == "\n" and len(blocks_of(text)) == 1:
            more(process)
        if line == "\n" and (wanted in text or len(blocks_of(text)) > 20):
            break
    top.kill()
    top.communicate()
    return text


def test_names_are_kept_for_tensors_that_stay_and_their_age_is_said(tmp_path):
    with program(tmp_path) as process:
        text = lines_until(process, "module", "1 tensor newer")
    first, last = blocks_of(text)[0], blocks_of(text)[-1]
    assert " old" not in first
    assert re.search(r"by module, sorted by bytes; names \S+ \S+ old, 1 tensor newer$", last, re.M)
    assert re.search(r"; \d\.\d % of the program's time: .* paused; names every .*: .* with Python's lock$", last, re.M), last
    assert re.search(r"351\.6 KiB +\d+ % +- +1 +net\.inner$", last, re.M), last


def test_views_by_names_look_at_them_each_time(tmp_path):
    with program(tmp_path) as process:
        text = lines_until(process, "holder", "+1.9 MiB")
    assert " old" not in text
    assert re.search(r"\+1\.9 MiB +1 +program\.py: more$", text, re.M), text


def test_keys_that_look_at_names(tmp_path, screen):
    with program(tmp_path) as process:
        top = screen(process.pid, "--interval", "1h", columns=120)
        top.until(r"program\.py:8")
        more(process)
        top.press("r")
        top.until(r"names \S+ \S+ old, 1 tensor newer")
        top.press("n")
        top.until(r"sorted by bytes *$")
        more(process)
        top.press("r")
        top.until(r"old, 1 tensor newer")
        top.press("vv")  # by module, by category
        top.until(r"by category, sorted by bytes *$")
        top.press("vvvv")  # by line
        more(process)
        top.press("r")
        top.until(r"by line, .* old, 1 tensor newer")
        top.press("m")
        top.until(r"by line, sorted by bytes *$")
        top.until(r"live in 104 tensors *$")  # a mark, with the names of its refresh
        top.press("q")
        assert top.ends() == (0, "", True)


def test_a_pipe_gets_plain_lines_until_the_program_ends(tmp_path):
    with program(tmp_path) as process:
        top = subprocess.Popen([str(harness.CLI), "top", str(process.pid), "--interval", "100ms", "--sort", "growth"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        seen = []
        for line in top.stdout:
            seen.append(line)
            if "since mark" in line and len([l for l in seen if "since mark" in l]) == 1:
                more(process)
            if "+1.9 MiB" in line and "program.py:13" in line:
                break
        else:
            raise AssertionError("".join(seen))
        assert "\033" not in "".join(seen)
        process.stdin.write("end\n")
        process.stdin.flush()
        process.wait()
        rest, errors = top.communicate(timeout=harness.TIMEOUT)
        assert top.returncode == 0
        assert f"process {process.pid} has ended." in errors


def test_dumps_of_others_stay_and_its_own_are_not_told(tmp_path):
    with program(tmp_path) as process:
        top = subprocess.Popen([str(harness.CLI), "top", str(process.pid), "--interval", "100ms"],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        blocks = (line for line in top.stdout if "since mark" in line)
        next(blocks)
        taken = []
        for _ in range(4):
            taken.append(harness.cli("snapshot", process.pid).stdout.strip())
            next(blocks)
        process.stdin.write("end\n")
        process.stdin.flush()
        process.wait()
        top.communicate(timeout=harness.TIMEOUT)
    assert len(set(taken)) == 4 and [path.rsplit(".", 2)[1] for path in taken] == ["1", "2", "3", "4"]
    assert sorted(str(path) for path in tmp_path.glob("*.tscope") if ".exit." not in path.name) == taken
    said = (tmp_path / "stderr.txt").read_text().splitlines()
    assert len([line for line in said if " wrote " in line]) == 5, said


@pytest.mark.cases(1)
@pytest.mark.parametrize("term", ["xterm", "screen-256color"])
def test_the_screen_and_its_keys(tmp_path, screen, term):
    with program(tmp_path) as process:
        top = screen(process.pid, "--interval", "100ms", term=term)
        top.until(r"390\.6 KiB +\d+ % +- +100 +program\.py:8")
        assert "q quit" in top.screen.display[-1]
        more(process)
        top.press("r")
        top.until(r"1\.9 MiB +\d+ % +\+1\.9 MiB +1 +program\.py:13")
        top.press("m")
        top.until(r"1\.9 MiB +\d+ % +- +1 +program\.py:13")
        top.press("v")
        top.until(r"by module, sorted by bytes")
        top.until(r" net\.inner")
        top.press("s")
        top.until(r"sorted by growth")
        top.press("/inner\r")
        top.until(r"with 'inner'")
        assert "module)" not in top.text()
        top.press("/\x1b")
        top.until(r"\(in no known module\)")
        top.press(" ")
        top.until(r"paused")
        top.press("q")
        status, errors, restored = top.ends()
        assert (status, errors, restored) == (0, "", True)
        harness.until(lambda: not list(tmp_path.glob("*.tscope")), "no dump left")


def test_resize_and_scroll(running, screen):
    process, _ = running
    top = screen(process.pid, "--by", "shape", rows=24, columns=100)
    top.until(r"q quit")
    top.until(r"by shape")
    top.resize(8, 60)
    top.process.send_signal(signal.SIGWINCH)
    top.until(r"1 to 1 of 2")
    assert all(len(line.rstrip()) <= 60 for line in top.screen.display)
    top.press("\x1bOB")  # as a terminal in keypad mode says it
    top.until(r"2 to 2 of 2")
    top.press("q")
    assert top.ends() == (0, "", True)


@pytest.mark.parametrize("key", ["\x03", None])
def test_ctrl_c_and_a_signal_restore_the_terminal(running, screen, key):
    process, _ = running
    top = screen(process.pid)
    top.until(r"program\.py:8")
    if key:
        top.press(key)
    else:
        top.process.send_signal(signal.SIGTERM)
    assert top.ends() == (0, "", True)


def test_a_program_that_ends_is_said_after_the_screen_is_gone(tmp_path, screen):
    with program(tmp_path) as process:
        top = screen(process.pid)
        top.until(r"program\.py:8")
        process.stdin.write("end\n")
        process.stdin.flush()
        process.wait()
        status, errors, restored = top.ends()
        assert status == 0 and restored
        assert f"process {process.pid} has ended." in errors


def test_a_terminal_that_cannot_be_drawn_on_gets_lines(running, screen):
    process, _ = running
    top = screen(process.pid, "--interval", "100ms", term="dumb")
    harness.until(lambda: top.text() and top.raw.count(b"since mark") >= 2, "two refreshes")
    assert b"\x1b" not in top.raw
    top.press("\x03")
    assert top.ends()[0] == 0


def test_processes_that_cannot_be_asked(tmp_path):
    ended = subprocess.Popen(["true"])
    ended.wait()
    assert "no such process" in harness.cli("top", ended.pid, "--once", status=2).stderr
    sleeping = subprocess.Popen(["sleep", "1000"])
    try:
        found = harness.cli("top", sleeping.pid, "--once", status=2).stderr
        assert "does not run under tensorscope" in found
    finally:
        sleeping.kill()
        sleeping.wait()
