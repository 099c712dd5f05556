# SPDX-License-Identifier: Apache-2.0
"""What is in no file of the profiler: what looks like a secret, and what TENSORSCOPE_CONFIDENTIAL leaves out."""

import socket

import harness

SECRET = "hunter2hunter2"
PROGRAM = """
import torch
model = torch.nn.Linear(2, 2)
batch = torch.full((2, 2), 0.5)  # a comment that nobody else should see
result = model(batch) / torch.zeros(2)
"""
OPTIONS = {"record": 1, "watch": "**", "find_nan": "on", "quiet": 1}


def files_of(folder, *arguments, **options):
    done = harness.run_source(PROGRAM, *arguments, folder=folder, **OPTIONS, **options)
    assert done.returncode == 0, done.stderr
    (dump,) = harness.dumps(folder)
    files = {path.suffix: path.read_bytes() for path in folder.iterdir() if path.suffix in (".tscope", ".recording", ".values")}
    assert len(files) == 3
    return dump, files


def test_secrets_are_stars_in_every_file(tmp_path):
    dump, files = files_of(tmp_path, "--epochs", "3", "--api-key", SECRET, f"HF_TOKEN={SECRET}", f"https://me:{SECRET}@host/")
    assert not [suffix for suffix, content in files.items() if SECRET.encode() in content]
    assert harness.load(dump)["process"]["command_line"][-5:] == ["3", "--api-key", "***", "HF_TOKEN=***", "https://me:***@host/"]


def test_confidential_files_have_no_command_line_no_source_and_no_host(tmp_path):
    dump, files = files_of(tmp_path, "--name", "of-a-project", confidential=1)
    host = socket.gethostname().encode()
    words = [b"of-a-project", b"a comment that nobody else should see", b"torch.full((2, 2), 0.5)"] + [host] * (len(host) > 4)
    assert not [(suffix, word) for suffix, content in files.items() for word in words if word in content]
    told = harness.cli("info", dump).stdout
    for line in ("command", "host"):
        assert any(each.split() == [line, "not", "recorded"] for each in told.splitlines()), told
    assert "left out by TENSORSCOPE_CONFIDENTIAL" in told
