# SPDX-License-Identifier: Apache-2.0
"""How large the page of `tensorscope html` is, and how fast it opens and filters in Chromium (docs/benchmarks.md).

Makes `--tensors` live tensors in the real torch under the preload, each in a list, writes the page and prints: its size, the time to write it,
and in the browser the time from opening the file to the overview, and of a filter of the table (median of `--filters` texts, each for the first time).
With `--events` the program trains under `--record` until about so many events are recorded; then of the timeline: its size, the time from opening
the file to the drawn chart, and of a range and another grouping. `--lines` instead of training: a program with so many allocation sites.
"""

import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench_history
import dump_speed


def target(tensors):
    """Runs in the process that is profiled."""
    import torch

    kept = [torch.zeros(4 + i % 7) for i in range(tensors)]
    dump_speed.timed_dumps(1)
    assert len(kept) == tensors


EVENTS_A_STEP = 1530


def train(steps):
    """Runs in the process that is profiled: eight layers with Adam; each step keeps one tensor, every fiftieth evaluates a large batch."""
    import torch

    torch.set_num_threads(1)
    model = torch.nn.Sequential(*(layer for _ in range(8) for layer in (torch.nn.Linear(16, 16), torch.nn.ReLU())))
    optimizer = torch.optim.Adam(model.parameters(), foreach=False)
    kept = []
    for step in range(steps):
        out = model(torch.randn(4, 16))
        out.pow(2).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        kept.append(out.detach())
        if step % 50 == 49:
            model(torch.randn(2000, 16))


EVENTS_A_LINE = 5


def replace(events, lines):
    """The same: a program of so many lines, each of which replaces a tensor of its own by one of another size."""
    import torch

    kept = [None] * lines
    program = compile("".join(f"kept[{i}] = empty({i} + 64 * (turn % 97))\n" for i in range(lines)), "many.py", "exec")
    for turn in range(events // (EVENTS_A_LINE * lines)):
        exec(program, {"kept": kept, "empty": torch.empty, "turn": turn})


OPEN = """text => new Promise(done => {
  const begin = performance.now();
  addEventListener('hashchange', () => requestAnimationFrame(() => done(performance.now() - begin)), {once: true});
  location.hash = text;
})"""


@contextlib.contextmanager
def in_browser(page_file, state, ready):
    """The page, and the median time of three openings until `ready` is there."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play, play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"]) as browser:
        opened = []
        for _ in range(3):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            begin = time.monotonic()
            page.goto(page_file.as_uri() + state)
            page.wait_for_selector(ready, timeout=120_000)
            opened.append(time.monotonic() - begin)
        yield page, statistics.median(opened)


def of_tensors(page_file, filters):
    with in_browser(page_file, "", "html[data-ready]") as (page, opened):
        table = page.evaluate(OPEN, "tensors")
        return opened, table, statistics.median(page.evaluate(OPEN, f"tensors?q=kept[{i}") for i in range(1, filters + 1))


def of_events(page_file):
    with in_browser(page_file, "#timeline", ".area svg path") as (page, opened):
        begin, end = (float(box.input_value()) for box in page.query_selector_all(".tools input"))
        third = (end - begin) / 3
        return opened, page.evaluate(OPEN, f"timeline?from={begin + third}&to={end - third}"), page.evaluate(OPEN, "timeline?by=module")


def written(*files, folder):
    page = pathlib.Path(folder) / "report.html"
    begin = time.monotonic()
    subprocess.run([dump_speed.BUILD / "analyzer" / "tensorscope", "html", *files, "-o", page], check=True)
    return page, f"{page.stat().st_size / 2**20:.1f} MiB, written in {time.monotonic() - begin:.1f} s"


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tensors", type=int, default=100_000)
    options.add_argument("--events", type=int, help="of a recording, instead of tensors")
    options.add_argument("--lines", type=int, help="of the program that is recorded: each is an allocation site")
    options.add_argument("--filters", type=int, default=9)
    options.add_argument("--in-target", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.in_target:
        if not given.events:
            return target(given.tensors)
        return replace(given.events, given.lines) if given.lines else train(given.events // EVENTS_A_STEP)
    with tempfile.TemporaryDirectory() as folder:
        if given.events:
            os.environ["TENSORSCOPE_RECORD"] = "1"
            dump_speed.run_target(__file__, "--in-target", folder=folder)
            [recording] = pathlib.Path(folder).glob("*.recording")
            page, size = written(recording, folder=folder)
            opened, ranged, grouped = of_events(page)
            for what, value, unit in (("opened", opened, "s"), ("a range", ranged, "ms"), ("by module", grouped, "ms")):
                bench_history.keep(f"{given.events} events: {what}", value, unit)
            print(f"{json.loads(subprocess.run([dump_speed.BUILD / 'analyzer' / 'tensorscope', 'timeline', recording, '--json'], check=True, capture_output=True).stdout)['events']:,} "
                  f"events, recording of {recording.stat().st_size / 2**20:.1f} MiB: {size}; timeline opened in {opened:.2f} s, a range {ranged:.0f} ms, by module {grouped:.0f} ms")
            return 0
        [[_, dump]] = dump_speed.rows_of(dump_speed.run_target(__file__, "--in-target", folder=folder))
        page, size = written(dump, folder=folder)
        opened, table, filtered = of_tensors(page, given.filters)
        for what, value, unit in (("opened", opened, "s"), ("table", table, "ms"), ("filter", filtered, "ms")):
            bench_history.keep(f"{given.tensors} tensors: {what}", value, unit)
        print(f"{given.tensors:,} tensors: {size}; opened in {opened:.2f} s, table in {table:.0f} ms, a filter {filtered:.0f} ms")
    return 0


if __name__ == "__main__":
    sys.exit(main())
