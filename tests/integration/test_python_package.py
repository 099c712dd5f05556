# SPDX-License-Identifier: Apache-2.0
"""The Python package: tables for Arrow libraries, answers as data, notebooks, tracking inside a program."""
# Covers: analyzer/tables/{arrow_stream,reader_library}.cc

import gc
import json
import re
import subprocess
import sys

import pytest

from harness import CLI, LIBRARY, ROOT, BUILD, cli, environment, run_source
from test_tables import files  # a fixture

PACKAGE = ROOT / "analyzer" / "python"


@pytest.fixture
def ts(monkeypatch):
    monkeypatch.syspath_prepend(str(PACKAGE))
    monkeypatch.setenv("TENSORSCOPE_PROGRAM", str(CLI))
    monkeypatch.setenv("TENSORSCOPE_READER", str(BUILD / "analyzer" / "libtensorscope_reader.so"))
    import tensorscope

    return tensorscope


def query(files, sql, *names):
    return json.loads(cli("query", *(names or ["train.4242.1.tscope"]), sql, "--format", "json", cwd=files).stdout)


def test_every_table_is_read_by_pyarrow(ts, files):
    pyarrow = pytest.importorskip("pyarrow")
    d = ts.load(files / "train.4242.1.tscope")
    assert {"tensors", "memory", "sites", "frames", "nodes", "edges", "holders", "devices", "findings"} <= set(d.tables)
    for name in d.tables:
        table = pyarrow.table(getattr(d, name))
        table.validate(full=True)
        assert table.num_rows == query(files, f'select count(*) as n from "{name}"')[0]["n"], name
    expected = query(files, "select tensor, name, category, own_bytes, is_leaf, grad from tensors order by tensor")
    read = pyarrow.table(d.tensors).select(["tensor", "name", "category", "own_bytes", "is_leaf", "grad"]).sort_by("tensor").to_pylist()
    assert [{**row, "is_leaf": None if row["is_leaf"] is None else int(row["is_leaf"])} for row in read] == expected


def test_values_and_recordings_are_tables_too(ts, files):
    d = ts.load(files / "train.values", files / "train.recording")
    assert d.calls.to_pandas()["duration_ns"].sum() > 0
    assert d.events.to_pandas()["type"].value_counts()["allocated"] > 100
    assert len(d.steps.to_pandas()) > 0 and d.problems == []
    peak = ts.load(f"{files / 'train.recording'}@peak")
    assert "events" not in peak.tables and peak.memory.to_pandas()["bytes"].sum() >= d.memory.to_pandas()["bytes"].sum() > 0


def test_pandas_polars_and_duckdb_agree(ts, files):
    polars, duckdb = pytest.importorskip("polars"), pytest.importorskip("duckdb")
    d = ts.load(files / "train.4242.1.tscope", files / "train.4242.2.tscope")
    frame = d.memory.to_pandas()
    assert frame.groupby("dump")["bytes"].sum().to_dict() == dict(d.memory.polars().group_by("dump").agg(polars.col("bytes").sum()).rows())
    memory = d.memory.arrow()
    assert dict(duckdb.sql("select dump, sum(bytes) from memory group by dump").fetchall()) == frame.groupby("dump")["bytes"].sum().to_dict()
    assert memory.num_rows == len(frame)


def test_tables_outlive_what_they_were_read_from(ts, files):
    pytest.importorskip("pyarrow")
    d = ts.load(files / "train.4242.1.tscope")
    table = d.tensors.arrow()
    names = table["name"].to_pylist()
    unread = d.names.__arrow_c_stream__()
    d.close()
    del d
    gc.collect()
    del unread
    assert table["name"].to_pylist() == names and any(names)


def test_a_damaged_dump_is_read_as_far_as_it_goes(ts, files, tmp_path):
    whole = (files / "train.4242.1.tscope").read_bytes()
    (tmp_path / "cut.tscope").write_bytes(whole[:-200])
    d = ts.load(tmp_path / "cut.tscope")
    assert len(d.problems) == 1 and ts.report(d)["tensors"] == len(d.tensors.to_pandas()) > 0


def test_the_package_alone_loads_nothing():
    code = "import sys, tensorscope; assert 'ctypes' not in sys.modules and 'load' in dir(tensorscope); tensorscope.load; print(*tensorscope.__all__)"
    done = subprocess.run([sys.executable, "-S", "-c", code], env={"PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True)
    assert done.returncode == 0 and "track" in done.stdout, done.stderr


def test_mistakes_say_what_is_wrong(ts, files, monkeypatch):
    with pytest.raises(ts.Error, match="missing.tscope"):
        ts.load(files / "missing.tscope")
    d = ts.load(files / "train.4242.1.tscope")
    with pytest.raises(AttributeError, match="tensors"):
        d.nothing  # noqa: B018
    with pytest.raises(ts.Error, match="no such column"):
        d.query("select x from tensors")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ts.Error, match="needs pyarrow: pip install pyarrow"):
        d.tensors.arrow()
    d.close()
    with pytest.raises(ts.Error, match="closed"):
        d.tensors.__arrow_c_stream__()


def test_answers_are_data_and_are_shown(ts, files):
    one, two, three = (ts.load(files / f"train.4242.{number}.tscope") for number in (1, 2, 3))
    report = ts.report(one)
    assert report["live_bytes"] == query(files, "select live_bytes from dumps")[0]["live_bytes"]
    assert sum(row["bytes"] for row in report["categories"]) == report["live_bytes"]
    assert "parameter" in repr(report) and "<table>" in report._repr_html_() and "KiB live" in repr(report)
    growth = ts.diff(one, two)
    assert growth["growth_bytes"] == sum(row["growth_bytes"] for row in growth["places"]) > 30000
    assert "program.py:11" in repr(growth) and "program.py:11" in growth._repr_html_()
    assert re.search(r"program\.py:11\S*( \S+)*  +\+[0-9.]+ [KM]iB  +[0-9.]+ [KMi]*B  +[0-9.]+ [KM]iB\n", repr(growth)), repr(growth)
    found = ts.leaks(one, two, three)
    assert [each["kind"] for each in found["findings"]] == ["accumulated-graph"] and "kept" in repr(found)
    assert one.query("select count(*) as n from tensors")[0]["n"] == report["tensors"]


def test_an_out_of_memory_error_is_answered(ts, tmp_path):
    run_source("import torch\nkept = torch.ones(1_000_000)\ntry:\n    torch.empty(1 << 50)\nexcept RuntimeError:\n    pass\n", folder=tmp_path)
    [dump] = tmp_path.glob("*.oom-1.tscope")
    answer = ts.oom(dump)
    assert answer["failure"]["requested"] >= 1 << 50
    assert "asked for on cpu, at program.py:4" in repr(answer) and "program.py:2" in repr(answer) and "<table>" in answer._repr_html_()


SERIES = """
import sys
sys.path.insert(0, {package!r})
import tensorscope as ts
d = ts.load({dump!r})
capsules = [getattr(d, name).__arrow_c_stream__() for name in d.tables]
assert "arrow_array_stream" in repr(capsules[0])
del capsules[::2]
print(len(d.tables), ts.report(d)["tensors"])
"""


@pytest.mark.cases(2)
@pytest.mark.parametrize("python", ["3.8", "3.12", "3.14"], indirect=True)
def test_every_python_reads(ts, files, tmp_path, python):
    (tmp_path / "program.py").write_text(SERIES.format(package=str(PACKAGE), dump=str(files / "train.4242.1.tscope")))
    done = subprocess.run([python, str(tmp_path / "program.py")], capture_output=True, text=True, timeout=300,
                          env={**environment(preload=False), "TENSORSCOPE_PROGRAM": str(CLI), "TENSORSCOPE_READER": str(BUILD / "analyzer" / "libtensorscope_reader.so")})
    assert done.returncode == 0 and not done.stderr, done.stderr
    assert int(done.stdout.split()[1]) == query(files, "select count(*) as n from tensors")[0]["n"]


TRACKED = """
import sys
sys.path.insert(0, {package!r})
import torch, tensorscope as ts
first = torch.ones(1000)
assert ts.is_recording()
with ts.track() as block:
    kept = torch.ones(100_000)
print(block.diff()["growth_bytes"])
print(ts.snapshot())
"""


def test_a_tracked_block_shows_what_it_left(ts, tmp_path):
    done = run_source(TRACKED.format(package=str(PACKAGE)), folder=tmp_path, program=CLI)
    assert done.returncode == 0, done.stderr
    growth, path = done.stdout.split()
    assert int(growth) >= 400_000 and path.endswith(".3.tscope")


def test_without_tensorscope_tracking_says_so(ts):
    with pytest.warns(RuntimeWarning, match="does not run under tensorscope"):
        with ts.track() as block:
            pass
    assert block.diff() is None and not ts.is_recording()
    with pytest.warns(RuntimeWarning, match="tensorscope run"):
        assert ts.snapshot() is None


NOTEBOOK = ["%load_ext tensorscope\nimport torch\nfirst = torch.ones(1)", "%%tensorscope\nimport torch\nkept = [torch.ones(1000) for _ in range(50)]",
            "import tensorscope as ts\nd = ts.load({dump!r})\nts.report(d)", "d.tensors", "ts.leaks(d)"]


@pytest.mark.parametrize("preload", [False, True])
def test_a_notebook_is_executed(ts, files, tmp_path, preload):
    nbformat = pytest.importorskip("nbformat")
    pytest.importorskip("nbconvert")
    pytest.importorskip("ipykernel")
    notebook = nbformat.v4.new_notebook()
    notebook.cells = [nbformat.v4.new_code_cell(source.format(dump=str(files / "train.4242.1.tscope"))) for source in NOTEBOOK]
    nbformat.write(notebook, tmp_path / "a.ipynb")
    settings = {**environment(tmp_path, preload=preload), "PYTHONPATH": str(PACKAGE), "TENSORSCOPE_PROGRAM": str(CLI), "TENSORSCOPE_LIB": str(LIBRARY),
                "TENSORSCOPE_READER": str(BUILD / "analyzer" / "libtensorscope_reader.so"), "IPYTHONDIR": str(tmp_path / "ipython"), "HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-m", "nbconvert", "--to", "notebook", "--execute", "--output", "b", "a.ipynb"],
                          env=settings, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-4000:]
    cells = nbformat.read(tmp_path / "b.ipynb", as_version=4).cells
    shown = ["".join(output["data"].get("text/html", "") for output in cell.outputs if "data" in output) for cell in cells]
    assert "<b>diff</b>" in shown[1] if preload else "<b>report</b>" in shown[1]
    assert "<b>report</b>" in shown[2] and "parameter" in shown[2]
    assert "<table" in shown[3] and "<b>leaks</b>" in shown[4]
