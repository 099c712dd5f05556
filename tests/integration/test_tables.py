# SPDX-License-Identifier: Apache-2.0
"""Dumps, values files and recordings as tables: SQL, and files that other programs read."""
# Covers: analyzer/cli/{query,export}.cc analyzer/export/query_rows.cc analyzer/tables/{parquet_writer,parquet_export}.cc

import csv
import json
import re
import shlex
import sqlite3

import pytest

from harness import ROOT, cli, load, run_source

PROGRAM = """
import torch, libtensorscope
model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 8))
optimizer = torch.optim.Adam(model.parameters())
kept = []
for step in range(3):
    loss = model(torch.randn(32, 64)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    kept.append(model(torch.randn(32, 64)).sum())
    libtensorscope.dump()
"""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A run's files, under the names that docs/queries.md uses."""
    folder = tmp_path_factory.mktemp("tables")
    done = run_source(PROGRAM, folder=folder, calls="on", record="on")
    assert done.returncode == 0, done.stderr
    for number in (1, 2, 3):
        [dump] = folder.glob(f"program.*.{number}.tscope")
        dump.rename(folder / f"train.4242.{number}.tscope")
    for kind in ("values", "recording"):
        [file] = folder.glob(f"*.{kind}")
        file.rename(folder / f"train.{kind}")
    return folder


def query(files, *words, **keywords):
    return json.loads(cli("query", *words, "--format", "json", cwd=files, **keywords).stdout)


def queries():
    page = (ROOT / "docs" / "queries.md").read_text()
    return re.findall(r"^```sh\n(.*?)```", page, re.MULTILINE | re.DOTALL)


def test_there_are_ten_queries():
    assert len(queries()) == 10


@pytest.mark.parametrize("number", range(10))
def test_each_query_of_the_page_finds_something(files, number):
    words = shlex.split(queries()[number])
    assert words[:2] == ["tensorscope", "query"]
    rows = query(files, *words[2:])
    assert rows
    assert any(value is not None for row in rows for value in row.values())


def test_sums_are_those_of_the_exported_dump(files):
    exported = load(files / "train.4242.3.tscope")
    [row] = query(files, "train.4242.3.tscope", "select count(*) as n, sum(bytes) as bytes from tensors")
    assert row == {"n": len(exported["tensors"]), "bytes": sum(tensor["nbytes"] for tensor in exported["tensors"])}
    categories = {row["tensor"]: row["category"] for row in query(files, "train.4242.3.tscope", "select tensor, category from tensors")}
    assert categories == {tensor["id"]: tensor["category"] for tensor in exported["tensors"]}


def test_growth_is_where_the_program_keeps_graphs(files):
    rows = query(files, "train.4242.1.tscope", "train.4242.2.tscope", "train.4242.3.tscope",
                 "select dump, place from growth_by_place where growth_bytes > 30000")
    assert [row["dump"] for row in rows] == [2, 3]
    assert all(row["place"].startswith("program.py:11") for row in rows)


def test_a_database_is_read_by_sqlite(files, tmp_path):
    database = tmp_path / "all.sqlite"
    cli("export", "train.4242.1.tscope", "train.4242.2.tscope", "train.values", "train.recording", "--format", "sqlite", "-o", database, cwd=files)
    with sqlite3.connect(database) as connection:
        assert connection.execute("pragma integrity_check").fetchone() == ("ok",)
        for dump, live, total in connection.execute(
                "select dump, live_bytes, (select sum(bytes) from by_category where by_category.dump = dumps.dump) from dumps"):
            assert live == total, dump
        names = [name for name, in connection.execute("select name from sqlite_master where type in ('table', 'view')")]
        for name in names:
            connection.execute(f'select * from "{name}"').fetchall()
        for name in ("tensors", "memory", "names", "holders", "sites", "frames", "nodes", "edges", "saved", "modules", "calls", "events", "steps"):
            assert connection.execute(f"select count(*) from {name}").fetchone()[0] > 0, name
    assert "use --force" in cli("export", files / "train.4242.1.tscope", "--format", "sqlite", "-o", database, status=2).stderr


def test_formats_of_a_result(files, tmp_path):
    sql = "select tensor, name, null as missing, 1.5 as number from tensors where name like '%weight' order by tensor"
    rows = query(files, "train.4242.1.tscope", sql)
    read = list(csv.DictReader(cli("query", "train.4242.1.tscope", sql, "--format", "csv", cwd=files).stdout.splitlines()))
    assert [row["name"] for row in rows] == [row["name"] for row in read] and len(rows) == 2
    assert rows[0]["missing"] is None and read[0]["missing"] == "" and read[0]["number"] == "1.5"
    (tmp_path / "q.sql").write_text(sql + ";\nselect 7 as seven")
    table = cli("query", "train.4242.1.tscope", "--file", tmp_path / "q.sql", cwd=files).stdout
    assert re.search(r"^tensor +name +missing +number$", table, re.MULTILINE) and "seven" in table
    assert "one statement" in cli("query", "train.4242.1.tscope", "--file", tmp_path / "q.sql", "--format", "csv", cwd=files, status=2).stderr


@pytest.mark.parametrize("words, said", [
    (["train.4242.1.tscope", "select missing from tensors"], "no such column: missing"),
    (["train.4242.1.tscope", "selct 1"], "syntax error"),
    (["train.4242.1.tscope", "delete from tensors"], "a query may only read"),
    (["train.4242.1.tscope", ""], "the query is empty"),
    (["select 1"], "at least one file"),
    (["missing.tscope", "select 1"], "missing.tscope"),
])
def test_a_mistake_is_one_line_and_status_2(files, words, said):
    done = cli("query", *words, cwd=files, status=2)
    assert said in done.stderr and done.stderr.count("\n") == 1 and not done.stdout


def test_tables_are_listed():
    listed = cli("query", "--tables").stdout
    assert re.search(r"^tensors: ", listed, re.MULTILINE) and re.search(r"^  own_bytes +int64 ", listed, re.MULTILINE)


def test_parquet_is_read_by_pyarrow_and_duckdb(files, tmp_path):
    duckdb, parquet = pytest.importorskip("duckdb"), pytest.importorskip("pyarrow.parquet")
    folder = tmp_path / "tables"
    cli("export", "train.4242.1.tscope", "train.4242.2.tscope", "train.values", "--format", "parquet", "-o", folder, cwd=files)
    expected = query(files, "train.4242.1.tscope", "train.4242.2.tscope", "select * from tensors order by dump, tensor")
    read = parquet.read_table(folder / "tensors.parquet").sort_by([("dump", "ascending"), ("tensor", "ascending")]).to_pylist()
    booleans = {"is_view", "requires_grad", "is_leaf"}
    assert [{key: value if key not in booleans or value is None else int(value) for key, value in row.items()} for row in read] == expected
    assert any(row["grad"] is None for row in read) and any(row["requires_grad"] for row in read)
    for file in folder.glob("*.parquet"):
        counted = duckdb.sql(f"select count(*) from '{file}'").fetchall()[0][0]
        assert counted == parquet.read_table(file).num_rows == query(files, "train.4242.1.tscope", "train.4242.2.tscope", "train.values",
                                                                     f'select count(*) as n from "{file.stem}"')[0]["n"], file
    assert duckdb.sql(f"select category, sum(bytes) from '{folder}/memory.parquet' where dump = 1 group by all order by all").fetchall() == [
        (row["category"], row["bytes"]) for row in query(files, "train.4242.1.tscope", "select category, sum(bytes) as bytes from memory group by 1 order by 1")]
    assert "not empty" in cli("export", files / "train.4242.1.tscope", "--format", "parquet", "-o", folder, status=2).stderr


def test_a_data_set_grows_with_each_export_and_duckdb_reads_it(files, tmp_path):
    duckdb = pytest.importorskip("duckdb")
    folder = tmp_path / "dataset"
    for dump in ("train.4242.1.tscope", "train.4242.2.tscope"):
        cli("export", dump, "--format", "parquet", "--partition", "-o", folder, cwd=files)
    [row] = query(files, "train.4242.1.tscope", "select run_id, rank, step from dumps")
    paths = sorted(str(path.relative_to(folder)) for path in (folder / "tensors").rglob("*.parquet"))
    rank = "__HIVE_DEFAULT_PARTITION__" if row["rank"] is None else row["rank"]
    assert len(paths) == 2 and paths[0].startswith(f"tensors/run={row['run_id']}/rank={rank}/step=")
    tables = f"read_parquet('{folder}/memory/**/*.parquet', hive_partitioning = true)"
    read = duckdb.sql(f"select run, rank, step, sum(bytes) from {tables} group by all").fetchall()
    expected = [query(files, dump, "select step, live_bytes from dumps")[0] for dump in ("train.4242.1.tscope", "train.4242.2.tscope")]
    assert sum(row[3] for row in read) == sum(row["live_bytes"] for row in expected)
    assert all(run == row["run_id"] and rank == row["rank"] for run, rank, *_ in read)
    assert {(step, total) for _, _, step, total in read} == {(row["step"], row["live_bytes"]) for row in expected}
    columns = duckdb.sql(f"describe select * from read_parquet('{folder}/dumps/**/*.parquet', hive_partitioning = true)").fetchall()
    assert sorted(name for name, *_ in columns if name in ("run", "rank", "step")) == ["rank", "run", "step"]


def test_partitions_are_of_parquet_alone(files, tmp_path):
    assert "--format parquet" in cli("export", files / "train.4242.1.tscope", "--format", "sqlite", "--partition", "-o", tmp_path / "x", status=2).stderr
