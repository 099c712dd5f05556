# SPDX-License-Identifier: Apache-2.0
"""`tensorscope html` in Chromium: its numbers are the command line's, every page opens without a mistake and without the network, texts of a
dump stay texts, and axe-core finds nothing serious."""

# Covers: analyzer/cli/html.cc

import csv
import os
import re
import shutil
import subprocess

import pytest

import harness

CHROMIUM = shutil.which("chromium")
NPM = shutil.which("npm")
sync_api = pytest.importorskip("playwright.sync_api")
WEB = harness.ROOT / "analyzer" / "web"
MARKUP = "<img src=x onerror=window.bad=1><script>window.bad=1</script>"

PROGRAM = f'''
import sys
sys.path.insert(0, {str(harness.ROOT / "include" / "tensorscope")!r})
import libtensorscope, torch
from torch import nn

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(32, 32) for _ in range(3))
    def forward(self, x):
        for layer in self.layers:
            x = torch.relu(layer(x))
        return x

def train():
    model, losses = Net(), []
    optimizer = torch.optim.Adam(model.parameters())
    for step in range(9):
        loss = model(torch.randn(8, 32)).pow(2).mean()
        losses.append(loss)
        optimizer.zero_grad()
        loss.backward(retain_graph=True)
        optimizer.step()
        if step % 3 == 2:
            libtensorscope.dump()
    return losses

kept = {{{MARKUP!r}: torch.zeros(1000), "y" * 100_000: torch.zeros(2000)}}
views = [kept[{MARKUP!r}][i:i + 10] for i in range(0, 100, 20)]
losses = train()
'''


def printed(*arguments, status=0):
    """What the command line prints, no line cut."""
    return harness.cli(*arguments, status=status, env={**os.environ, "COLUMNS": "2000"}).stdout


def have_a_page():
    if CHROMIUM is None:
        pytest.skip("no chromium: apt install chromium")
    if harness.cli("html", "/dev/null", "-o", "/nowhere/x.html", status=2).stderr.find("this build has no web report") >= 0:
        pytest.skip("this build has no web report")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    have_a_page()
    folder = tmp_path_factory.mktemp("html")
    done = harness.run_source(PROGRAM, folder=folder, exit="never", calls="1", watch="**")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def dumps(run):
    return sorted(run.glob("*.tscope"), key=lambda path: int(path.name.split(".")[-2]))


@pytest.fixture(scope="module")
def report(run, dumps):
    assert len(dumps) == 3
    harness.cli("html", *dumps, *run.glob("*.values"), "-o", run / "report.html")
    return run / "report.html"


@pytest.fixture(scope="module")
def browser():
    have_a_page()
    with sync_api.sync_playwright() as play:
        with play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"]) as launched:
            yield launched


class Opened:
    """The report in a window, and what went wrong in it."""

    def __init__(self, browser, path, width=1280, height=800, **options):
        self.context = browser.new_context(viewport={"width": width, "height": height}, **options)
        self.page, self.wrong, self.requests = self.context.new_page(), [], []
        self.page.on("pageerror", lambda error: self.wrong.append(str(error)))
        self.page.on("console", lambda message: self.wrong.append(message.text) if message.type in ("error", "warning") else None)
        self.page.on("dialog", lambda dialog: (self.wrong.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]", timeout=60_000)

    def go(self, state):
        self.page.evaluate("state => { location.hash = state }", state)
        self.page.wait_for_selector(f"html[data-page='{state.split('?')[0]}']")
        self.page.wait_for_timeout(100)
        return self.page

    def pages(self):
        return [link.get_attribute("href").lstrip("#") for link in self.page.query_selector_all("#pages a")]

    def text(self, selector):
        return self.page.inner_text(selector)


@pytest.fixture
def opened(browser, report):
    window = Opened(browser, report)
    yield window
    window.context.close()


@pytest.fixture(scope="module")
def tools(tmp_path_factory):
    """The packages for development, of the versions in package-lock.json."""
    if NPM is None:
        pytest.skip("no npm")
    folder = tmp_path_factory.mktemp("web") / "web"
    shutil.copytree(WEB, folder)
    subprocess.run([NPM, "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder, check=True, capture_output=True, timeout=harness.TIMEOUT)
    return folder


def test_the_overview_says_what_report_says(opened, dumps):
    opened.go("overview")
    assert opened.text(".lead") == printed("report", dumps[-1]).splitlines()[0]


def test_the_overview_draws_the_run_from_the_dump_alone(opened, dumps):
    page = opened.go("overview")
    assert "Over the run" in opened.text(".page")
    chart = page.query_selector(".area")
    assert len(chart.query_selector_all("path.layer")) == 2
    chart.focus()
    page.keyboard.press("End")
    said = []
    while len(said) < 60:
        said.append(opened.text(".tip"))
        page.keyboard.press("ArrowLeft")
    assert any(re.search(r"end of step \d+: .* live, at most ", tip) for tip in said), said
    assert "cpu" in chart.get_attribute("aria-label") and "range" not in chart.get_attribute("aria-label")


def test_what_could_not_be_read_is_said_on_the_overview(browser, opened, dumps, tmp_path):
    hidden = harness.cli("html", dumps[-1], "-o", tmp_path / "hidden.html", "--sysroot", tmp_path, "--no-cache")
    opened.go("overview")
    assert not opened.page.query_selector_all(".problem")
    window = Opened(browser, tmp_path / "hidden.html")
    said = window.text(".problem")
    window.context.close()
    assert "could not be read here" in said and said in hidden.stderr, (said, hidden.stderr)


def test_sums_are_the_command_lines(opened, dumps):
    live, tensors = re.match(r"(.*) live in (.* tensors)", printed("report", dumps[-1])).groups()
    opened.go("tensors")
    assert opened.text("#sum") == f"{tensors}, {live}"


@pytest.mark.parametrize("by", ["category", "dtype", "device", "module", "shape"])
def test_groups_are_the_command_lines(opened, dumps, by):
    opened.go(f"tensors?by={by}")
    rows = [row.inner_text().split("\n") for row in opened.page.query_selector_all(".grid .body .row")]
    text = printed("report", dumps[-1], "--by", by, "--top", "0", "--sort", "name")
    lines = [line.split() for line in text.splitlines()]
    assert rows
    for size, _, tensors, key in rows:
        assert any(line[:2] == size.split() and " ".join(key.split()) in " ".join(line) for line in lines), (size, key, text)


def test_leaks_are_the_command_lines(opened, dumps):
    opened.go("leaks")
    text = printed("leaks", *dumps, status=1)
    titles = re.findall(r"^   finding +(.*)$", text, re.MULTILINE)
    assert titles
    assert [re.sub(r"^\d+\. ", "", each.inner_text()) for each in opened.page.query_selector_all(".finding h3")] == titles


def test_the_overview_says_what_leaks_and_what_to_do(opened, dumps):
    opened.go("overview")
    text = printed("leaks", *dumps, status=1)
    assert [link.inner_text() for link in opened.page.query_selector_all(".todo-list a")] == re.findall(r"^\d  (.*)$", text, re.MULTILINE)
    assert [each.inner_text() for each in opened.page.query_selector_all(".todo-list .todo")] == \
        [f"what to do: {line}" for line in re.findall(r"^   what to do +(.*)$", text, re.MULTILINE)]


def test_every_page_opens_without_a_mistake_and_without_the_network(opened, report):
    pages = opened.pages()
    assert pages == ["overview", "leaks", "diff", "map", "flame", "tensors", "graph", "values", "calls"]
    states = ["flame?kind=native&inverted=1", "flame?kind=Python", "map?by=category", "map?at=model", "diff?inverted=1", "values?name=model.layers.0.output",
              "tensor?id=1", "tensors?q=%3Cimg", "tensors?sort=1&order=up", "tensors?min=1K&category=parameter"]
    for state in [*pages, *states]:
        opened.go(state)
        assert opened.page.query_selector("#main h2"), state
    assert opened.wrong == []
    assert all(url.startswith((report.as_uri(), "blob:")) for url in opened.requests), opened.requests


def test_texts_of_a_dump_stay_texts(opened):
    opened.go("tensors?q=onerror")
    assert "1 tensor" in opened.text("#sum") or "tensors" in opened.text("#sum")
    opened.page.focus(".grid .view")
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector("html[data-page=tensor]")
    assert MARKUP in opened.text("#main")
    for state in opened.pages():
        opened.go(state)
        assert opened.page.query_selector_all("#main img, #main script") == []
    assert opened.page.evaluate("window.bad") is None
    assert opened.wrong == []


def of_show(dump, tensor, label):
    """The lines of `show` with this label."""
    block, taken = printed("show", dump, str(tensor)).splitlines(), []
    for line in block[1:]:
        if line[2:11].strip():
            taken.append(line[2:11].strip() == label)
        if taken[-1]:
            yield line[13:].strip()


def first_of(opened, state):
    """The number of the first tensor of a table."""
    opened.go(state)
    return int(opened.page.inner_text(".grid .body .row >> nth=0").split("#")[-1])


def test_holders_are_the_command_lines_as_a_tree(opened, dumps):
    tensor = first_of(opened, "tensors?category=saved+activation&sort=8&order=up")
    opened.go(f"tensor?id={tensor}")
    tree = opened.page.query_selector("h3:text('Held by') + ul")
    shown = " ".join(tree.inner_text().split())
    held = list(of_show(dumps[-1], tensor, "held by"))
    assert any(" <- " in line for line in held)
    for line in held:
        for part in line.split(" <- "):
            assert part in shown, (line, shown)
    assert len(tree.query_selector_all("ul")) >= 2


def test_a_tensor_shows_its_neighbours_in_the_graph(opened, dumps):
    """A loss that is kept: made by a node that leads on; what the last layers saved is led to by it."""
    losses = first_of(opened, "tensors?category=container&q=losses%5B0%5D")
    opened.go(f"tensor?id={losses}")
    graph = opened.page.query_selector("h3:text('In the autograd graph') + div")
    assert next(of_show(dumps[-1], losses, "grad_fn")) in graph.inner_text()
    opened.page.click("h3:text('In the autograd graph') + div summary >> nth=0")
    opened.page.wait_for_function("([graph, text]) => graph.innerText.includes(text)", arg=[graph, "PowBackward0"])
    saved = first_of(opened, "tensors?category=saved+activation&sort=8&order=up")
    opened.go(f"tensor?id={saved}")
    graph = opened.page.query_selector("h3:text('In the autograd graph') + div")
    for _ in range(12):
        closed = [summary for summary in graph.query_selector_all("details:not([open]) > summary") if summary.is_visible()]
        for summary in closed:
            summary.click()
    assert "MeanBackward0" in graph.inner_text() and "an output or a loss" in graph.inner_text()


def test_the_address_is_the_state_and_the_back_button_works(opened, browser, report):
    opened.go("tensors")
    all_tensors = opened.text("#sum")
    opened.page.select_option("label:has-text('category') select", "parameter")
    opened.page.wait_for_function("text => document.querySelector('#sum').innerText !== text", arg=all_tensors)
    address, some = opened.page.url, opened.text("#sum")
    opened.page.go_back()
    opened.page.wait_for_function("text => document.querySelector('#sum').innerText === text", arg=all_tensors)
    other = Opened(browser, report)
    other.page.goto(address)
    other.page.wait_for_function("text => document.querySelector('#sum').innerText === text", arg=some)
    other.context.close()


def test_keys(opened):
    opened.go("overview")
    opened.page.keyboard.press("/")
    opened.page.keyboard.type("exp_avg")
    opened.page.keyboard.press("Enter")
    opened.page.wait_for_selector("html[data-page=search]")
    opened.page.click("a:has-text('all of them in the table')")
    opened.page.wait_for_selector("html[data-page=tensors]")
    assert opened.page.query_selector(".grid .body .row")
    opened.page.focus(".grid .view")
    for key in ("End", "Home", "ArrowDown", "PageDown", "ArrowUp", "Enter"):
        opened.page.keyboard.press(key)
    opened.page.wait_for_selector("html[data-page=tensor]")
    opened.page.keyboard.press("1")
    opened.page.wait_for_selector("html[data-page=overview]")


@pytest.mark.parametrize("text, page, shown", [
    ("layers.1", "tensors", "model.layers.1"), ("torch.relu", "tensors", "Net.forward"), ("losses", "leaks", ""), ("losses[*]", "tensors", "losses[*]"),
    ("AddmmBackward", "graph", "AddmmBackward0"), ("layers.2", "values", "model.layers.2"), ("ModuleList", "", ""), ("Net", "calls", ""), ("diff", "diff", "Diff")])
def test_search_finds_in_every_page(opened, text, page, shown):
    opened.go(f"search?q={text}")
    links = [(link.get_attribute("href").lstrip("#").split("?")[0], link.inner_text()) for link in opened.page.query_selector_all("#main table a")]
    if page == "":
        assert opened.page.query_selector("#nothing") or links
    else:
        assert any(to == page and shown in what for to, what in links), links
    for to, _ in links[:3]:
        opened.go(f"search?q={text}")
        opened.page.click(f"#main table a[href^='#{to}'] >> nth=0")
        opened.page.wait_for_selector(f"html[data-page={to}]")
    assert opened.wrong == []


def test_search_says_what_it_did_not_find(opened):
    opened.go("search?q=no+such+thing")
    assert "Nothing found" in opened.text("#nothing")


def test_every_table_is_saved_with_its_numbers(opened):
    for state in opened.pages():
        opened.go(state)
        tables = len(opened.page.query_selector_all("#main table, #main .grid"))
        assert len(opened.page.query_selector_all("#main button:text('save as CSV')")) >= tables, state
    opened.go("overview")
    with opened.page.expect_download() as download:
        opened.page.click(".plain:has(td .note, td a) button:text('save as CSV') >> nth=0")
    with open(download.value.path(), newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["bytes", "%", "count", "where"]
    assert all(row[0].isdigit() for row in rows[1:])
    assert "layer" in rows[1][3] or "Net" in rows[1][3] or "program.py" in rows[1][3]


def test_a_long_table_is_printed_whole(opened):
    opened.go("tensors")
    count = int(opened.text("#sum").split(" ")[0].replace(",", ""))
    rows = "document.querySelectorAll('.grid .body .row').length"
    assert opened.page.evaluate(rows) < count
    opened.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    opened.page.emulate_media(media="print")
    assert opened.page.evaluate(rows) == count
    assert opened.page.evaluate("document.querySelector('.grid').offsetHeight") >= 20 * count
    opened.page.emulate_media(media="screen")
    opened.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert opened.page.evaluate(rows) < count


def test_the_dump_at_a_normal_exit_is_not_what_a_page_begins_with(browser, tmp_path):
    """Nothing is alive in it, and leaks leaves it out: its tensors' numbers would be another dump's."""
    done = harness.run_source(PROGRAM + "\ndel losses, kept, views\n", folder=tmp_path, exit="always")
    assert done.returncode == 0, done.stderr
    dumps = harness.dumps(tmp_path)
    assert "exit" in dumps[-1].name
    harness.cli("html", *dumps, "-o", tmp_path / "report.html")
    window = Opened(browser, tmp_path / "report.html")
    with_tensors = [dump for dump in dumps if not printed("report", dump).startswith(("0 B live", "Everything was freed"))]
    assert len(with_tensors) == 3
    assert window.text(".lead") == printed("report", with_tensors[-1]).splitlines()[0]
    window.go("leaks")
    window.page.click(".finding .note a")
    window.page.wait_for_selector("dl.facts")
    window.context.close()


CYCLES = f'''
import gc, sys
sys.path.insert(0, {str(harness.ROOT / "include" / "tensorscope")!r})
import libtensorscope, torch

class Batch:
    def __init__(self):
        self.this, self.x = self, torch.randn(64, 512)

gc.disable()
for step in range(1, 61):
    Batch()
    if step % 20 == 0:
        libtensorscope.dump()
    if step % 8 == 0:
        gc.collect()
'''


def test_cycles_that_pass_are_on_the_page_of_leaks(browser, tmp_path):
    done = harness.run_source(CYCLES, folder=tmp_path)
    assert done.returncode == 0, done.stderr
    dumps = harness.dumps(tmp_path)
    harness.cli("html", *dumps, "-o", tmp_path / "report.html")
    window = Opened(browser, tmp_path / "report.html")
    window.go("leaks")
    said = window.page.query_selector_all(".passing p")
    line, = re.findall("^.*garbage collector frees such cycles here.$", printed("leaks", *dumps), re.MULTILINE)
    assert said[0].inner_text() == line and "512.0 KiB held by unreachable cycle of Batch" in line
    assert "Batch.__init__" in said[1].inner_text()
    window.page.click(".passing .note a")
    window.page.wait_for_selector("dl.facts")
    assert "[64, 512]" in window.text("dl.facts")
    window.context.close()


def test_a_phone_scrolls_in_one_direction(browser, report):
    window = Opened(browser, report, width=390, height=844)
    for state in window.pages():
        window.go(state)
        assert window.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), state
    window.context.close()


def serious_findings(browser, report, tools, scheme, states):
    """What axe-core finds in the states that `states(window)` names."""
    window = Opened(browser, report, color_scheme=scheme, bypass_csp=True)
    window.page.add_script_tag(path=str(tools / "node_modules" / "axe-core" / "axe.min.js"))
    found = []
    for state in states(window):
        window.go(state)
        for violation in window.page.evaluate("axe.run(document).then(result => result.violations)"):
            if violation["impact"] in ("serious", "critical"):
                found.append((state, violation["id"], violation["nodes"][0]["html"][:200], violation["nodes"][0]["failureSummary"][:200]))
    window.context.close()
    return found


@pytest.mark.cases(1)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, report, tools, scheme):
    states = lambda window: [*window.pages(), "tensor?id=1", "tensors?by=category", "search?q=layers"]
    assert serious_findings(browser, report, tools, scheme, states) == []
