# SPDX-License-Identifier: Apache-2.0
"""The web report beside memray's and torch's: the same program, how large each page is and how long until it is drawn (docs/benchmarks.md).

    .venv/bin/python tests/bench/html_peers.py [--steps 40]

Needs Chromium and Playwright; memray (pip) and the CUDA build of torch (scripts/fake-cuda) where they are to be compared. What is absent is left out.
memray's pages are those of `--no-web`, with its scripts in the file. torch's page loads its viewer from the network.
"""

import argparse
import importlib.util
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import bench_history

HERE = pathlib.Path(__file__).resolve().parent
BUILD = pathlib.Path(os.environ.get("TENSORSCOPE_BUILD", HERE.parents[1] / "build"))
WITH_CUDA = HERE.parents[1] / ".cache" / "fake-cuda" / "bin" / "python"


def train(device, steps, snapshot):
    """Four blocks with Adam; keeps the output of each step with its graph, and evaluates a large batch now and then."""
    import torch
    from torch import nn

    def block():
        return nn.Sequential(nn.LayerNorm(256), nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 256))

    if snapshot:
        torch.cuda.memory._record_memory_history(max_entries=10_000_000)
    model = nn.Sequential(*(block() for _ in range(4)), nn.Linear(256, 10)).to(device)
    optimizer = torch.optim.Adam(model.parameters())
    kept = []
    for step in range(steps):
        out = model(torch.randn(128, 256, device=device))
        loss = nn.functional.cross_entropy(out, torch.zeros(128, dtype=torch.long, device=device))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        kept.append(out)
        if step % 15 == 14:
            with torch.no_grad():
                model(torch.randn(4096, 256, device=device))
    if snapshot:
        torch.cuda.memory._dump_snapshot(snapshot)


def run(*command, **environment):
    begin = time.monotonic()
    subprocess.run([str(part) for part in command], env=os.environ | environment, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - begin


def opened(browser, page, state, ready):
    """How long until it is drawn; what it asked the network for."""
    seconds, asked = [], set()
    for _ in range(3):
        tab = browser.new_page(viewport={"width": 1280, "height": 800})
        tab.on("request", lambda request: asked.add(request.url) if request.url.startswith("http") else None)
        begin = time.monotonic()
        tab.goto(page.as_uri() + state)
        if ready:
            tab.wait_for_selector(ready, state="attached", timeout=300_000)
        seconds.append(time.monotonic() - begin)
        tab.close()
    return f"drawn in {statistics.median(seconds):5.2f} s" if ready else "not drawn without a network", asked


def pages(folder, steps):
    """What, its page, the time to write it, the address in it and what is there once it is drawn."""
    program = [__file__, "--in-target", "--steps", steps]
    run(sys.executable, *program, LD_PRELOAD=str(BUILD / "preload" / "libtensorscope.so"), TENSORSCOPE_RECORD="1", TENSORSCOPE_DIR=str(folder),
        TENSORSCOPE_EXIT="never", TENSORSCOPE_QUIET="1")
    [recording] = folder.glob("*.recording")
    ours = folder / "tensorscope.html"
    written = run(BUILD / "analyzer" / "tensorscope", "html", recording, "-o", ours)
    for what, state, ready in (("timeline", "#timeline", ".area svg path"), ("flame graph", "#flame?of=peak", ".boxes canvas[width]"), ("table", "#tensors", ".grid .body .row")):
        yield f"tensorscope html, {what}", ours, written, state, ready
    if importlib.util.find_spec("memray"):
        records = folder / "memray.bin"
        run(sys.executable, "-m", "memray", "run", "--native", "-q", "-o", records, *program)
        for what, ready in (("flamegraph", "#chart svg rect"), ("flamegraph --temporal", "#chart svg rect"), ("table", "#the_table_wrapper")):
            page = folder / f"{what.replace(' ', '')}.html"
            yield f"memray {what}", page, run(sys.executable, "-m", "memray", *what.split(), "--no-web", "-o", page, records), "", ready
    if WITH_CUDA.exists():
        snapshot = folder / "snapshot.pickle"
        run(WITH_CUDA, *program, "--device", "cuda", "--snapshot", snapshot)
        page = folder / "torch.html"
        yield "torch's memory_viz trace_plot (CUDA)", page, run(WITH_CUDA, "-m", "torch.cuda._memory_viz", "trace_plot", snapshot, "-o", page), "", None


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--steps", type=int, default=40)
    options.add_argument("--keep", help="folder for the pages")
    options.add_argument("--device", default="cpu", help=argparse.SUPPRESS)
    options.add_argument("--snapshot", help=argparse.SUPPRESS)
    options.add_argument("--in-target", action="store_true", help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.in_target:
        return train(given.device, given.steps, given.snapshot)
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as play, \
            play.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"]) as browser:
        for what, page, written, state, ready in pages(pathlib.Path(given.keep or folder), given.steps):
            drawn, asked = opened(browser, page, state, ready)
            bench_history.keep(f"{what}: written", written, "s")
            bench_history.keep(f"{what}: size", page.stat().st_size, "bytes")
            print(f"{what:38} {page.stat().st_size / 2**20:7.2f} MiB   written in {written:5.1f} s   {drawn}   {len(asked)} requests to the network", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
