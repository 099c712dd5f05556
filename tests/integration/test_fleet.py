# SPDX-License-Identifier: Apache-2.0
"""The questions of docs/fleet.md on a made fleet: real dumps of a job multiplied, with planted outliers and missing ranks.

DuckDB and, where it is installed, Spark have to find what `ranks` finds. By hand, with more:
TENSORSCOPE_FLEET=2500 pytest tests/integration/test_fleet.py -s (ranks; each has four dumps).
"""

import json
import os
import re
import sys
import time

import pytest

import harness
import test_ranks

duckdb = pytest.importorskip("duckdb")
pytest.importorskip("flatbuffers")

sys.path.insert(0, str(harness.ROOT / "tests" / "support"))
import fleet

RANKS = int(os.environ.get("TENSORSCOPE_FLEET", "40"))
OUTLIERS = [7, RANKS // 2, RANKS - 2]
MISSING = [3, 4, RANKS - 1]
KEPT = 4 << 20
QUESTIONS = dict(re.findall(r"```sql\n-- (\w+)\n(.*?)```", (harness.ROOT / "docs" / "fleet.md").read_text(), re.DOTALL))


def timed(what, work):
    begin = time.monotonic()
    result = work()
    print(f"{what}: {time.monotonic() - begin:.1f} s")
    return result


@pytest.fixture(scope="module")
def dumps(tmp_path_factory):
    """Of each rank four dumps, of the steps 2 to 5; those of an outlier are copies of rank 2, which keeps more and more."""
    harness.needs_torch(2, 1, "hooks of optimizers' steps")
    folder = tmp_path_factory.mktemp("job")
    test_ranks.ran(folder, "ddp")
    made = tmp_path_factory.mktemp("fleet")
    copies = {kind: [fleet.Copies(path) for path in harness.dumps(folder, f"*.rank{kind}.*.tscope")] for kind in (0, 2)}
    for rank in set(range(RANKS)) - set(MISSING):
        for number, copy in enumerate(copies[2 if rank in OUTLIERS else 0], 1):
            copy.write(made / f"job.rank{rank}.{number}.tscope", run=rank + 1, pid=100_000 + rank, rank=rank, local_rank=rank % 8,
                       world_size=RANKS)
    return made


@pytest.fixture(scope="module")
def said(dumps):
    return json.loads(timed("ranks", lambda: harness.cli("ranks", dumps, "--json", status=1)).stdout)


@pytest.fixture(scope="module")
def dataset(dumps, tmp_path_factory):
    folder = tmp_path_factory.mktemp("dataset")
    paths = sorted(dumps.glob("*.tscope"))
    timed("export", lambda: [harness.cli("export", *paths[begin:begin + 500], "--format", "parquet", "--partition", "-o", folder)
                             for begin in range(0, len(paths), 500)])
    return folder


def in_duckdb(folder):
    connection = duckdb.connect()
    for table in ("dumps", "memory"):
        connection.execute(f"create view {table} as select * from read_parquet('{folder}/{table}/**/*.parquet', "
                           "hive_partitioning = true, hive_types_autocast = false)")
    return lambda question: connection.execute(question).fetchall()


def in_spark(folder):
    sql = pytest.importorskip("pyspark.sql")
    spark = sql.SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config(
        "spark.sql.shuffle.partitions", "4").config("spark.driver.memory", "2g").getOrCreate()
    spark.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")
    for table in ("dumps", "memory"):
        spark.read.parquet(f"{folder}/{table}").createOrReplaceTempView(table)
    return lambda question: [tuple(row) for row in spark.sql(question).collect()]


def check(ask, said, name):
    answers = {question: timed(f"{name} {question}", lambda text=text: ask(text)) for question, text in QUESTIONS.items()}
    gaps = [rank for first, last in answers["missing"] for rank in range(first, last + 1)]
    assert gaps == MISSING == said["answer"]["missing"]
    assert answers["skew"] == [tuple(moment[key] for key in ("step", "ranks", "least", "median", "most")) for moment in said["moments"]]
    total = [row for row in said["outliers"] if row["of"] == "total"]
    assert [row[0] for row in answers["outliers"]] == [row["rank"] for row in total] == OUTLIERS
    assert [tuple(row[1:]) for row in answers["outliers"]] == [(row["bytes"], row["median"], row["difference"]) for row in total]
    sites = [(row["rank"], row["name"], row["bytes"], row["median"], row["difference"]) for row in said["outliers"] if row["of"] == "site"]
    assert answers["sites"] == sites
    assert {row[0] for row in sites} == set(OUTLIERS)
    assert answers["growth"] == [(row["site"], row["most"], row["ranks"]) for row in said["growth"]]
    assert answers["growth"][0][1:] == (3 * KEPT, len(OUTLIERS))
    assert answers["out_of_memory"] == []


def test_duckdb_finds_what_ranks_finds(dataset, said):
    assert set(QUESTIONS) == {"missing", "skew", "outliers", "sites", "growth", "out_of_memory"}
    check(in_duckdb(dataset), said, "DuckDB")


def test_spark_finds_what_ranks_finds(dataset, said):
    check(in_spark(dataset), said, "Spark")
