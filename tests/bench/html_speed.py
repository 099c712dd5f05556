"""How large the page of `tensorscope html` is, and how fast it opens and filters in Chromium (docs/benchmarks.md).

Makes `--tensors` live tensors in the real torch under the preload, each in a list, writes the page and prints: its size, the time to write it,
and in the browser the time from opening the file to the overview, and of a filter of the table (median of `--filters` texts, each for the first time).
"""

import argparse
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import dump_speed


def target(tensors):
    """Runs in the process that is profiled."""
    import torch

    kept = [torch.zeros(4 + i % 7) for i in range(tensors)]
    dump_speed.timed_dumps(1)
    assert len(kept) == tensors


OPEN = """text => new Promise(done => {
  const begin = performance.now();
  addEventListener('hashchange', () => requestAnimationFrame(() => done(performance.now() - begin)), {once: true});
  location.hash = text;
})"""


def in_browser(page_file, filters):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play, play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"]) as browser:
        opened = []
        for _ in range(3):
            page = browser.new_page(viewport={"width": 1280, "height": 800})
            begin = time.monotonic()
            page.goto(page_file.as_uri())
            page.wait_for_selector("html[data-ready]", timeout=120_000)
            opened.append(time.monotonic() - begin)
        table = page.evaluate(OPEN, "tensors")
        return statistics.median(opened), table, statistics.median(page.evaluate(OPEN, f"tensors?q=kept[{i}") for i in range(1, filters + 1))


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--tensors", type=int, default=100_000)
    options.add_argument("--filters", type=int, default=9)
    options.add_argument("--in-target", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.in_target:
        return target(given.tensors)
    with tempfile.TemporaryDirectory() as folder:
        [[_, dump]] = dump_speed.rows_of(dump_speed.run_target(__file__, "--in-target", folder=folder))
        page = pathlib.Path(folder) / "report.html"
        begin = time.monotonic()
        subprocess.run([dump_speed.BUILD / "analyzer" / "tensorscope", "html", dump, "-o", page], check=True)
        written = time.monotonic() - begin
        opened, table, filtered = in_browser(page, given.filters)
        print(f"{given.tensors:,} tensors: {page.stat().st_size / 2**20:.1f} MiB, written in {written:.1f} s; opened in {opened:.2f} s, "
              f"table in {table:.0f} ms, a filter {filtered:.0f} ms")


if __name__ == "__main__":
    sys.exit(main())
