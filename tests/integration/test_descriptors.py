# SPDX-License-Identifier: Apache-2.0
"""A program's descriptors are its own: none is added, closed, read or written, whatever the program does with them."""

import harness


def test_no_descriptor_is_kept(tmp_path):
    without = harness.run("descriptors.py", "cpu", folder=tmp_path, preload=False)
    done = harness.run("descriptors.py", "cpu", folder=tmp_path, quiet=1, log=tmp_path / "log.txt", oom_report=0)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == without.stdout
    assert len(harness.dumps(tmp_path)) == 3


def test_a_daemons_files_stay_its_own(tmp_path):
    done = harness.run("daemon.py", folder=tmp_path, quiet=1, log=tmp_path / "log.txt", oom_report=0)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"own: {list(range(3, 11))}\n"
    for i in range(8):
        assert (tmp_path / f"own-{i}.bin").read_bytes() == b"mi all mine"
    by_signal = harness.dumps(tmp_path, "daemon.*.[0-9].tscope")
    assert len(by_signal) == 3
    assert all(harness.load(dump)["tensors"] for dump in by_signal)
