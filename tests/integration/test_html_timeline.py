# SPDX-License-Identifier: Apache-2.0
"""The timeline page of `tensorscope html`: its numbers are the command line's, a range can be chosen in every way, texts of a recording stay
texts, and axe-core finds nothing serious."""

# Covers: analyzer/cli/html.cc analyzer/html/recording_data.cc

import base64
import csv
import json
import re
import zlib

import pytest

import harness
from test_html import Opened, browser, have_a_page, printed, serious_findings, tools  # noqa: F401 (fixtures)

MARKUP = "<img src=x onerror=window.bad=1>"
PROGRAM = f'''
import torch

def make(n):
    return torch.zeros(n)

make.__code__ = make.__code__.replace(co_name={MARKUP!r}, **({{"co_qualname": {MARKUP!r}}} if hasattr(make.__code__, "co_qualname") else {{}}))

def train():
    kept = []
    model = torch.nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(12):
        temporary = torch.zeros(250_000 * (3 if step == 7 else 1))
        del temporary
        kept.append(make(10_000 + step))
        model(torch.ones(4, 64)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    return kept

kept = train()
'''


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    have_a_page()
    folder = tmp_path_factory.mktemp("timeline")
    done = harness.run_source(PROGRAM, folder=folder, exit="never", record=1)
    assert done.returncode == 0, done.stderr
    [path] = folder.glob("*.recording")
    return path


@pytest.fixture(scope="module")
def report(recording):
    harness.cli("html", recording, "-o", recording.parent / "report.html")
    return recording.parent / "report.html"


@pytest.fixture(scope="module")
def known(recording):
    return json.loads(harness.cli("timeline", recording, "--json").stdout)


@pytest.fixture
def opened(browser, report):  # noqa: F811
    window = Opened(browser, report)
    yield window
    window.context.close()


def saved(window, number=0):
    """The rows of a table, as the page saves them."""
    with window.page.expect_download() as download:
        window.page.query_selector_all("button:text('save as CSV')")[number].click()
    with open(download.value.path(), newline="") as file:
        return list(csv.DictReader(file))


def size(number):
    """As the page writes bytes."""
    for unit, digits in (("B", 0), ("KiB", 1), ("MiB", 1)):
        if number < 1024:
            return f"{number:.{digits}f} {unit}"
        number /= 1024
    return f"{number:.2f} GiB"


def curve(known):
    return next(each for each in known["curves"] if each["device"] == known["device"])


def test_it_says_what_the_command_line_says(opened, recording):
    opened.go("timeline")
    assert opened.text(".lead") == printed("timeline", recording).splitlines()[0]


def test_sites_add_up_to_the_peak_and_to_what_was_allocated(opened, known):
    opened.go("timeline")
    rows = saved(opened)
    assert sum(int(row["at_peak"]) for row in rows) == curve(known)["peak_bytes"]
    assert sum(int(row["end"]) for row in rows) == curve(known)["end_bytes"]
    assert sum(int(row["allocated"]) for row in rows) == sum(site["allocated_bytes"] for site in known["sites"])
    by_module = opened.go("timeline?by=module") and saved(opened)
    assert sum(int(row["at_peak"]) for row in by_module) == curve(known)["peak_bytes"]


def test_categories_of_the_chart_are_the_command_lines(opened, known):
    opened.go("timeline")
    legend = opened.text(".legend")
    categories = curve(known)["peak_by_category"]
    assert categories and sum(categories.values()) == curve(known)["peak_bytes"]
    for category, number in categories.items():
        assert f"{category} {size(number)}" in legend, legend
    assert opened.page.query_selector_all(".area .layer")


def test_what_a_spike_consists_of(opened, known):
    opened.go("timeline")
    row = opened.text("h3:text('Highest spikes') ~ .plain tbody tr >> nth=0")
    assert size(known["spikes"][0]["bytes"]) in row
    parts = {}
    for part in known["spikes"][0]["parts"]:
        where = part["place"]["where"]
        parts[where] = parts.get(where, 0) + part["bytes"]
    for where, number in sorted(parts.items(), key=lambda part: -part[1])[:3]:
        assert f"{size(number)} {where}" in row


def test_steps_are_the_command_lines(opened, known):
    opened.go("timeline")
    rows = {int(row["step"]): row for row in saved(opened, 1)}
    assert {step["step"]: (step["peak_bytes"], step["allocations"]) for step in known["steps"]} == \
        {number: (int(row["peak"]), int(row["allocations"])) for number, row in rows.items()}
    assert rows[7]["unusual"] == "1"


def test_a_click_on_a_step_chooses_its_time_and_back_leaves_it(opened, known):
    opened.go("timeline")
    step = next(step for step in known["steps"] if step["step"] == 7)
    opened.page.click(".grid[aria-label=steps] .body .row:has-text('more than its neighbours') >> nth=0")
    opened.page.wait_for_selector("#range-says")
    opened.page.evaluate("number => location.hash = number", f"timeline?from={(step['begin_ns'] - known['process_start_ns']) / 1e9}&to={(step['end_ns'] - known['process_start_ns']) / 1e9}")
    opened.page.wait_for_function("peak => document.querySelector('#range-says').innerText.startsWith('Peak ' + peak)", arg=size(step["peak_bytes"]))
    assert "in step 7" in opened.text("#range-says")
    opened.page.go_back()
    opened.page.go_back()
    opened.page.wait_for_selector("#range-says", state="detached")


def test_a_range_is_chosen_with_the_pointer_and_with_keys(opened):
    opened.go("timeline")
    area = opened.page.query_selector(".area").bounding_box()
    opened.page.mouse.move(area["x"] + 400, area["y"] + 100)
    opened.page.mouse.down()
    opened.page.mouse.move(area["x"] + 800, area["y"] + 120, steps=4)
    opened.page.mouse.up()
    opened.page.wait_for_selector("#range-says")
    assert len(opened.page.query_selector_all(".area")) == 2
    opened.page.focus(".area >> nth=0")
    opened.page.keyboard.press("Escape")
    opened.page.wait_for_selector("#range-says", state="detached")
    opened.page.focus(".area")
    for key in ("Home", "Shift+ArrowRight", "Space", "Shift+ArrowRight", "Shift+ArrowRight", "Enter"):
        opened.page.keyboard.press(key)
    opened.page.wait_for_selector("#range-says")
    times = [float(box.input_value()) for box in opened.page.query_selector_all(".tools input")]
    assert times[0] < times[1]
    assert opened.wrong == []


def test_growth_of_a_range_is_what_was_allocated_and_kept(opened, known):
    begin, end = ((known["steps"][i]["begin_ns"] - known["process_start_ns"]) / 1e9 for i in (2, 10))
    opened.go(f"timeline?from={begin}&to={end}")
    [made] = [row for row in saved(opened) if "onerror" in row["allocation site"]]
    assert int(made["allocated"]) >= 8 * 40_000
    assert int(made["end"]) - int(made["begin"]) == int(made["allocated"])


def test_one_site_shows_its_stack(opened):
    opened.go("timeline")
    opened.page.click(".grid .body .row:has-text('onerror')")
    opened.page.wait_for_selector("h3:has-text('onerror')")
    assert "train" in opened.text(".wide-table")


@pytest.mark.cases(2)
@pytest.mark.parametrize("inverted", ["", "&inverted=1"])
@pytest.mark.parametrize("kind", ["merged", "Python", "native"])
def test_flame_graphs_of_the_peak_and_of_what_was_allocated(opened, known, inverted, kind):
    opened.go(f"flame?of=peak&kind={kind}{inverted}")
    assert opened.text("output") == f"live at the peak: {size(curve(known)['peak_bytes'])}"
    opened.go(f"flame?of=made&kind={kind}{inverted}")
    assert opened.text("output") == f"allocated: {size(sum(site['allocated_bytes'] for site in known['sites']))}"
    opened.go(f"flame?of=temporary&kind={kind}{inverted}")
    assert opened.text("output").endswith(size(sum(site["temporary_bytes"] for site in known["sites"])))


def test_flame_graph_of_growth(opened, known):
    begin, end = ((known["steps"][i]["begin_ns"] - known["process_start_ns"]) / 1e9 for i in (2, 10))
    opened.go(f"flame?of=grown&from={begin}&to={end}")
    assert ", +" in opened.text("output")
    assert any("onerror" in row.inner_text() for row in opened.page.query_selector_all("tbody tr"))


def test_pages_open_without_a_mistake_and_texts_stay_texts(opened, report):
    assert opened.pages() == ["overview", "timeline", "leaks", "map", "flame", "tensors"]
    for state in [*opened.pages(), "timeline?by=module", "timeline?from=x&to=-1", "timeline?pick=nothing", "timeline?sort=9", "timeline?rec=7&on=cuda:3", "tensors?born=0-1"]:
        opened.go(state)
        assert opened.page.query_selector("#main h2"), state
        assert opened.page.query_selector_all("#main img, #main script") == []
    assert opened.page.evaluate("window.bad") is None
    assert opened.wrong == []
    assert all(url.startswith((report.as_uri(), "blob:")) for url in opened.requests), opened.requests


def test_search_finds_allocation_sites_of_the_recording(opened):
    opened.go("search?q=onerror")
    opened.page.click("h3:has-text('of the recording') + .plain a")
    opened.page.wait_for_selector("h3:has-text('onerror')")
    assert opened.page.query_selector("html[data-page=timeline]")
    assert opened.wrong == []


def test_the_dump_beside_it_is_the_peak(opened, recording):
    opened.go("overview")
    assert opened.text(".lead") == printed("report", f"{recording}@peak").splitlines()[0]
    assert printed("timeline", recording).splitlines()[0] in opened.text("#main")
    opened.page.click("#main a:text('timeline')")
    opened.page.wait_for_selector(".area svg path")


def test_a_moment_is_a_dump(browser, recording):  # noqa: F811
    page = recording.parent / "moments.html"
    harness.cli("html", f"{recording}@step=2", f"{recording}@step=9", "-o", page)
    window = Opened(browser, page)
    assert "timeline" not in window.pages()
    window.go("diff")
    before, after = (re.match(r"(.*?) live", printed("report", f"{recording}@step={step}")).group(1) for step in (2, 9))
    assert window.text(".lead").startswith(f"live bytes {before} -> {after}")
    window.context.close()


def test_dumps_of_the_same_run_are_marked_and_their_tensors_found_by_time(browser, tmp_path):  # noqa: F811
    source = f"import sys\nsys.path.insert(0, {str(harness.ROOT / 'include' / 'tensorscope')!r})\nimport libtensorscope, torch, time\n" \
        "early = torch.zeros(1000)\ntime.sleep(.2)\nlate = torch.zeros(2000)\ntime.sleep(.1)\nlibtensorscope.dump()\ntime.sleep(.1)\n"
    done = harness.run_source(source, folder=tmp_path, exit="never", record=1)
    assert done.returncode == 0, done.stderr
    page = tmp_path / "report.html"
    harness.cli("html", *tmp_path.glob("*.tscope"), *tmp_path.glob("*.recording"), "-o", page)
    window = Opened(browser, page)
    window.go("timeline")
    assert "dump 1" in window.page.inner_html(".area")
    [dump] = tmp_path.glob("*.tscope")
    process = json.loads(harness.cli("export", dump, "--format", "json").stdout)["process"]
    at = (process["dump_ns"] - process["start_ns"]) / 1e9
    window.go(f"timeline?from={at - .2}&to={at}")
    window.page.click("a:has-text('alive in')")
    window.page.wait_for_selector("html[data-page=tensors]")
    assert "late" in window.text(".grid .body") and "early" not in window.text(".grid .body")
    window.context.close()


def test_recordings_of_two_processes_are_chosen_from(browser, tmp_path):  # noqa: F811
    source = "import os, torch\nif os.fork() == 0:\n    torch.zeros(1_000_000)\nelse:\n    os.wait()\n    torch.zeros(3_000_000)\n"
    done = harness.run_source(source, folder=tmp_path, exit="never", record=1)
    assert done.returncode == 0, done.stderr
    recordings = sorted(tmp_path.glob("*.recording"), key=lambda path: path.stat().st_mtime_ns)
    assert len(recordings) == 2
    harness.cli("html", *recordings, "-o", tmp_path / "report.html")
    window = Opened(browser, tmp_path / "report.html")
    window.go("timeline")
    for number, path in enumerate(recordings):
        window.page.select_option("label:has-text('recording') select", str(number))
        line = printed("timeline", path).splitlines()[0]
        window.page.wait_for_function("line => document.querySelector('.lead').innerText === line", arg=line)
        window.page.click("a:text('this peak')")
        window.page.wait_for_selector("html[data-page=flame]")
        assert window.text("output") == "live at the peak: " + re.match(r"Peak (\S+ \S+) ", line).group(1)
        window.page.click("#pages a:text('Timeline')")
        window.page.wait_for_function("line => document.querySelector('.lead').innerText === line", arg=line)
    assert window.wrong == []
    window.context.close()


def test_a_confidential_page_has_no_folders_and_no_source(recording):
    page = recording.parent / "confidential.html"
    harness.cli("html", recording, "-o", page, "--confidential")
    data = re.search(r'id="data">([^<]*)', page.read_text()).group(1)
    unpacked = zlib.decompress(base64.b64decode(data))
    assert b"program.py" in unpacked and b"train" in unpacked
    assert str(recording.parent).encode() not in unpacked
    assert b"250_000" not in unpacked


def test_a_confidential_page_takes_no_source_from_dumps_beside_the_recording(tmp_path):
    have_a_page()
    done = harness.run_source(PROGRAM + "\n", folder=tmp_path, exit="always", record=1)
    assert done.returncode == 0, done.stderr
    [recording], page = tmp_path.glob("*.recording"), tmp_path / "report.html"
    lines = [line.strip().encode() for line in (tmp_path / "program.py").read_text().splitlines() if "torch.zeros(" in line or "kept.append" in line or "model(" in line]
    assert len(lines) == 4
    for options, there in (((), True), (("--confidential", "--force"), False)):
        harness.cli("html", recording.name, f"{recording.name}@peak", "-o", page, *options, cwd=tmp_path)
        data = zlib.decompress(base64.b64decode(re.search(r'id="data">([^<]*)', page.read_text()).group(1)))
        assert any(line in data for line in lines) == there


def test_a_phone_scrolls_in_one_direction(browser, report):  # noqa: F811
    window = Opened(browser, report, width=390, height=844)
    for state in ["timeline", "timeline?from=0&to=1.5", "flame?of=peak"]:
        window.go(state)
        assert window.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), state
    window.context.close()


@pytest.mark.cases(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, report, tools, scheme):  # noqa: F811
    states = ["timeline", "timeline?from=0&to=1.5", "flame?of=peak", "flame?of=grown", "overview"]
    assert serious_findings(browser, report, tools, scheme, lambda window: states) == []
