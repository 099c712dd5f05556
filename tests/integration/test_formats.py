# SPDX-License-Identifier: Apache-2.0
"""Exports of dumps, read back by the programs that they are for: speedscope, pprof, Prometheus' parser."""

# Covers: analyzer/export/profiles/{speedscope,pprof}.cc
# Covers: analyzer/export/profiles/openmetrics.cc
# Covers: analyzer/export/profiles/{site_sums,frame_table}.cc
# Covers: analyzer/cli/metrics_server.cc

import collections
import contextlib
import http.client
import json
import re
import shutil
import subprocess
import urllib.request

import pytest

import harness

PROGRAM = """
import time
import torch
import libtensorscope

def one():
    return torch.zeros(1 << 18)

def two():
    return [torch.ones(1 << 16) for _ in range(5)]

kept = [one(), two()]
libtensorscope.dump()
print("ready", flush=True)
"""
ONE, TWO = 1 << 20, 5 << 18  # bytes


@pytest.fixture(scope="module")
def dump(tmp_path_factory):
    folder = tmp_path_factory.mktemp("formats")
    done = harness.run_source(PROGRAM, folder=folder, exit="never")
    assert done.returncode == 0, done.stderr
    (path,) = harness.dumps(folder)
    return path


def exported(dump, form, folder):
    path = folder / f"x.{form}"
    harness.cli("export", dump, "--format", form, "-o", path)
    return path


def live(dump):
    return sum(device["live_bytes"] for device in harness.load(dump)["totals"]["devices"])


def test_speedscope_by_its_own_schema(dump, tmp_path):
    file = exported(dump, "speedscope", tmp_path)
    profile = json.loads(file.read_text())
    sampled, blocks = profile["profiles"]
    frames = profile["shared"]["frames"]
    by_function = collections.Counter()
    for sample, weight in zip(sampled["samples"], sampled["weights"], strict=True):
        for name in {frames[index]["name"] for index in sample}:
            by_function[name] += weight
    assert (by_function["one"], sum(blocks["weights"])) == (ONE, 6)
    assert by_function["two"] + by_function["two.<locals>.<listcomp>"] in (TWO, 2 * TWO)
    assert sampled["endValue"] == sum(sampled["weights"]) == live(dump)
    assert all(set(frame) <= {"name", "file", "line", "col"} for frame in frames)
    schema = harness.ROOT / ".venv/speedscope/node_modules/speedscope/dist/release/file-format-schema.json"
    if not schema.is_file():
        pytest.skip("no speedscope: npm install --prefix .venv/speedscope speedscope@1.25.0")
    pytest.importorskip("jsonschema").validate(profile, json.loads(schema.read_text()))


def test_pprof_by_gos_own(dump, tmp_path):
    if shutil.which("go") is None:
        pytest.skip("no pprof: apt install golang-go")
    file = exported(dump, "pprof", tmp_path)
    settings = harness.environment(preload=False) | {"HOME": str(tmp_path)}

    def ask(*arguments):
        done = subprocess.run(["go", "tool", "pprof", *arguments, str(file)], env=settings, capture_output=True, text=True, timeout=harness.TIMEOUT)
        assert done.returncode == 0, done.stderr
        return done.stdout

    top = ask("-top", "-unit=b")
    assert f"Showing nodes accounting for {live(dump)}B, 100%" in top and "Type: inuse_space" in top
    rows = {line.split(maxsplit=5)[5]: line.split() for line in top.splitlines() if re.match(r"\s*\d+B? ", line)}
    assert rows["one"][3] == f"{ONE}B"
    (two,) = [row[3] for name, row in rows.items() if name == "two"]
    assert two == f"{TWO}B"
    counts = ask("-top", "-sample_index=inuse_objects")
    assert "6, 100%" in counts and re.search(r"^\s*\S+\s+\S+\s+\S+\s+5\s+\S+\s+two$", counts, re.MULTILINE)
    assert "program.py:9" in ask("-traces", "-lines") or "program.py:7" in ask("-traces", "-lines")


def metrics_of(text):
    parser = pytest.importorskip("prometheus_client.openmetrics.parser")
    return {family.name: family for family in parser.text_string_to_metric_families(text)}


def check_metrics(text):
    families = metrics_of(text)
    held = {sample.labels["category"]: sample.value for sample in families["tensorscope_live_bytes"].samples}
    assert sum(held.values()) == ONE + TWO and held["container"] == ONE + TWO
    tensors = {sample.labels["category"]: sample.value for sample in families["tensorscope_live_tensors"].samples}
    assert tensors["container"] == 6
    sites = {sample.labels["site"].split()[-1]: sample.value for sample in families["tensorscope_site_live_bytes"].samples}
    assert sites["one"] == ONE
    assert families["tensorscope_live_bytes"].unit == "bytes"


def test_openmetrics_by_prometheus_parser(dump, tmp_path):
    check_metrics(exported(dump, "openmetrics", tmp_path).read_text())


@contextlib.contextmanager
def served(pid, *arguments):
    server = subprocess.Popen([str(harness.CLI), "top", str(pid), "--serve", "0", *arguments], stdout=subprocess.PIPE, text=True)
    try:
        yield server, server.stdout.readline().strip()
    finally:
        server.terminate()
        server.communicate()


def test_top_serves_metrics_on_loopback_only(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM + "time.sleep(600)\n")
    with harness.running(tmp_path / "program.py", folder=tmp_path, exit="never") as process, served(process.pid) as (server, address):
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/metrics", address)
        with urllib.request.urlopen(address, timeout=harness.TIMEOUT) as answer:
            assert answer.headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
            check_metrics(answer.read().decode())
        port = int(address.split(":")[2].split("/")[0])
        for path, host, status in (("/other", "localhost", 404), ("/metrics", "elsewhere.example", 403)):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=harness.TIMEOUT)
            connection.request("GET", path, headers={"Host": host})
            assert connection.getresponse().status == status
            connection.close()
        with open("/proc/net/tcp") as table:
            (listening,) = {row.split()[1] for row in table if row.split()[1].endswith(f":{port:04X}") and row.split()[3] == "0A"}
        assert listening == f"0100007F:{port:04X}"  # 127.0.0.1
        process.kill()
        assert server.wait(harness.TIMEOUT) == 0


def test_serve_refuses_an_address(tmp_path):
    done = harness.cli("top", "1", "--serve", "0.0.0.0:9400", status=2)
    assert "on loopback only" in done.stderr
