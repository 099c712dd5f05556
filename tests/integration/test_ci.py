# SPDX-License-Identifier: Apache-2.0
"""The pytest plugin, and what docs/ci.md shows: each runs as it stands there."""

import os
import re
import shlex

import pytest

from harness import BUILD, CLI, LIBRARY, ROOT, run_source

pytest_plugins = ["pytester"]
PACKAGE = ROOT / "analyzer" / "python"

TESTS = """
import pytest, torch
kept, cache = [], {}

@pytest.mark.tensorscope(max_growth="100 KiB")
def test_that_keeps_more_each_time():
    kept.append(torch.ones(100_000))

@pytest.mark.tensorscope(max_growth="100 KiB")
def test_that_warms_a_cache():
    cache.setdefault("table", torch.ones(100_000))

@pytest.mark.tensorscope(leaks=0)
def test_that_leaks():
    kept.append(torch.ones(50_000))

@pytest.mark.tensorscope(leaks=0, max_growth=0)
def test_that_frees():
    torch.ones(100_000).sum()

@pytest.mark.tensorscope(max_growth="1 MiB")
def test_that_fails_by_itself():
    assert False, "its own reason"

def test_without_limits():
    kept.append(torch.ones(25_000))
"""


@pytest.fixture
def plugin(pytester, monkeypatch):
    """Runs pytest with the plugin; preload: under tensorscope; package: a folder where it is installed."""
    pytester.makepyfile(test_program=TESTS)

    def run(*words, preload=True, package=None):
        for name in [name for name in os.environ if name.startswith("TENSORSCOPE_")]:
            monkeypatch.delenv(name)
        monkeypatch.setenv("PYTHONPATH", str(package or PACKAGE))
        monkeypatch.setenv("TENSORSCOPE_PROGRAM", str(CLI))
        monkeypatch.setenv("TENSORSCOPE_READER", str(BUILD / "analyzer" / "libtensorscope_reader.so"))
        if preload:
            monkeypatch.setenv("LD_PRELOAD", str(LIBRARY))
            monkeypatch.setenv("TENSORSCOPE_LOW_MEMORY", "off")
            monkeypatch.setenv("TENSORSCOPE_EXIT", "never")
        return pytester.runpytest_subprocess(*([] if package else ["-p", "tensorscope.pytest_plugin"]), "-p", "no:cacheprovider", *words)

    return run


def test_limits_are_passed_by_growth_and_not_by_a_warm_cache(plugin, pytester):
    result = plugin("--tensorscope")
    result.assert_outcomes(passed=3, failed=3)
    result.stdout.fnmatch_lines(["*left 390.6 KiB behind in its run 3; max_growth is 100.0 KiB*", "leaks: +781.2 KiB; 1 finding", "*kept[[]*test_program.py:*", "*more leaks than 0*", "*tensorscope: memory that tests left behind*",
                                 "*390.6 KiB  test_program.py::test_that_keeps_more_each_time", "*97.7 KiB  test_program.py::test_without_limits", "2 of 5 measured tests left nothing behind"])
    output = result.stdout.str()
    assert "its own reason" in output
    assert not re.search(r"KiB  .*test_that_(warms|frees)", output)
    assert not list(pytester.path.glob("*.[0-9].tscope"))


def test_an_installed_plugin_measures(plugin, pytester):
    """pytest looks for the modules of an installed plugin itself, by their files: for the stand-in before the built-in module."""
    site = pytester.mkdir("site")
    information = site / "tensorscope_profiler-0.1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: tensorscope-profiler\nVersion: 0.1.0\n")
    (information / "RECORD").write_text("libtensorscope.py,,\ntensorscope/pytest_plugin.py,,\n")
    (information / "entry_points.txt").write_text("[pytest11]\ntensorscope = tensorscope.pytest_plugin\n")
    (site / "tensorscope").symlink_to(PACKAGE / "tensorscope")
    (site / "libtensorscope.py").symlink_to(ROOT / "include" / "tensorscope" / "libtensorscope.py")
    result = plugin("-k", "keeps", package=site)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*390.6 KiB  test_program.py::test_that_keeps_more_each_time"])


def test_without_tensorscope_nothing_is_measured_and_that_is_said(plugin):
    result = plugin(preload=False)
    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["*5 tests were not measured: pytest does not run under tensorscope; start it with: tensorscope run -- python -m pytest*"])


def test_workers_are_measured(plugin):
    pytest.importorskip("xdist")
    result = plugin("-n", "2", "-k", "warms or keeps")
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*390.6 KiB  test_program.py::test_that_keeps_more_each_time"])


@pytest.mark.parametrize("mark, said", [('max_growth="much"', "invalid size 'much'"), ("growth=1", "takes max_growth= and leaks=, not growth")])
def test_a_mistake_in_a_mark_is_said(plugin, pytester, mark, said):
    pytester.makepyfile(test_program=f"import pytest\n@pytest.mark.tensorscope({mark})\ndef test(): pass\n")
    result = plugin(preload=False)
    assert result.ret != 0 and said in result.stdout.str() + result.stderr.str()


def blocks(language):
    return re.findall(rf"^```{language}\n(.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.MULTILINE | re.DOTALL)


def test_the_line_of_the_action_runs(plugin, pytester, monkeypatch):
    [line] = re.findall(r"- run: (.*)", blocks("yaml")[0])
    bin_folder = pytester.mkdir("bin")
    (bin_folder / "tensorscope").symlink_to(CLI)
    (bin_folder / "python").symlink_to(os.sys.executable)
    monkeypatch.setenv("PATH", f"{bin_folder}:{os.path.dirname(os.sys.executable)}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(PACKAGE))
    monkeypatch.setenv("PYTEST_PLUGINS", "tensorscope.pytest_plugin")
    monkeypatch.setenv("TENSORSCOPE_LIB", str(LIBRARY))
    monkeypatch.setenv("TENSORSCOPE_PROGRAM", str(CLI))
    pytester.makepyfile(test_program=TESTS)
    result = pytester.run("sh", "-c", line.replace("python ", shlex.quote(os.sys.executable) + " "))
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*memory that tests left behind*"])


LIGHTNING = """
import torch
class Model(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
        self.kept = []
    def training_step(self, batch, index):
        if {leaks}:
            self.kept.append(torch.ones(1_000_000))
        return self.layer(batch).sum()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.01)
data = torch.utils.data.DataLoader(torch.randn(64, 8), batch_size=8)
trainer = lightning.Trainer(max_epochs=3, accelerator="cpu", logger=False, enable_checkpointing=False, enable_progress_bar=False,
                            enable_model_summary=False, callbacks=[MemoryGrowth()])
trainer.fit(Model(), data)
print("trained to the end")
"""

TRANSFORMERS = """
import torch
kept = []
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
    def forward(self, x, labels=None):
        if {leaks}:
            kept.append(torch.ones(1_000_000))
        return {{"loss": self.layer(x).sum()}}
data = [{{"x": torch.randn(8), "labels": torch.zeros(1)}} for _ in range(64)]
arguments = transformers.TrainingArguments(output_dir="out", num_train_epochs=3, per_device_train_batch_size=8, report_to=[], save_strategy="no",
                                           use_cpu=True, disable_tqdm=True, logging_strategy="no")
transformers.Trainer(Model(), arguments, train_dataset=data, callbacks=[MemoryGrowth()]).train()
print("trained to the end")
"""


@pytest.mark.parametrize("leaks", [False, True])
@pytest.mark.parametrize("framework, program", [("lightning", LIGHTNING), ("transformers", TRANSFORMERS)])
def test_the_callbacks_end_a_training_that_leaks(tmp_path, framework, program, leaks):
    pytest.importorskip(framework)
    [callback] = [block for block in blocks("python") if f"import {framework}\n" in block]
    assert len([line for line in callback.splitlines() if line]) <= 10
    source = f"import os, sys\nsys.path.insert(0, {str(PACKAGE)!r})\nos.environ['TENSORSCOPE_PROGRAM'] = {str(CLI)!r}\n" + callback + program.format(leaks=leaks)
    done = run_source(source, folder=tmp_path)
    if leaks:
        assert re.search(r"MemoryError: leaks: \+\S+ MiB; ", done.stderr) and "trained to the end" not in done.stdout
    else:
        assert done.returncode == 0 and "trained to the end" in done.stdout, done.stderr[-3000:]
