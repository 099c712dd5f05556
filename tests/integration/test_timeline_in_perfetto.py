# SPDX-License-Identifier: Apache-2.0
"""The trace of `tensorscope timeline --trace` in Perfetto: its counters and slices are what `timeline --json` says."""

# Covers: analyzer/export/profiles/timeline_trace.cc

import collections
import json

import pytest

import harness

pytest.importorskip("flatbuffers")
pytest.importorskip("playwright.sync_api")

from test_calls_in_perfetto import browser, perfetto  # noqa: F401
from test_recording_timeline import STEPS, only_recording

COUNTERS = "select name, ts, value from counter join process_counter_track on track_id = process_counter_track.id order by counter.id"
SLICES = "select name, ts, dur, extract_arg(arg_set_id, 'args.peak bytes') as peak from slice order by ts"
MISTAKES = "select name from stats where severity in ('error', 'data_loss') and value != 0"


def test_counters_and_steps(browser, tmp_path):  # noqa: F811
    done = harness.run_source(STEPS, folder=tmp_path, exit="never", record=1)
    assert done.returncode == 0, done.stderr
    recording, trace = only_recording(tmp_path), tmp_path / "memory.trace.json"
    harness.cli("timeline", recording, "--trace", trace)
    assert "already exists" in harness.cli("timeline", recording, "--trace", trace, status=2).stderr
    said = json.loads(harness.cli("timeline", recording, "--json").stdout)
    with perfetto(browser, trace.read_bytes()) as ask:
        counters, slices, mistakes = ask(COUNTERS), ask(SLICES), ask(MISTAKES)
    assert mistakes == []
    held = collections.defaultdict(list)
    for row in counters:
        held[row["name"].removesuffix(" bytes")].append(row["value"])
    for curve in said["curves"]:
        assert held[f"{curve['device']} live"] == curve["highest"]
        assert max(held[f"{curve['device']} live"]) == curve["peak_bytes"]
        for category in curve["peak_by_category"]:
            assert max(held[f"{curve['device']} {category}"]) == max(curve["categories"][category])
    assert [row["name"] for row in slices] == [f"step {step['step']}" for step in said["steps"]]
    assert [row["peak"] for row in slices] == [step["peak_bytes"] for step in said["steps"]]
