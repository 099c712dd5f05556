# SPDX-License-Identifier: Apache-2.0
"""A tensor whose fields could not be read: what is not known of it is never shown as zero or none."""

import re

import harness

# No plain tensor is alive at the dump: nothing tells where this torch has the fields of its tensors.
OPAQUE = """
import torch, libtensorscope
kept = torch.ones(46).untyped_storage()
opaque = torch.ones(4, 4).to_mkldnn()
libtensorscope.dump()
"""
QUANTIZED = """
import warnings
warnings.simplefilter("ignore")
import torch, libtensorscope
quantized = torch.quantize_per_tensor(torch.ones(184), 0.1, 0, torch.qint8)
libtensorscope.dump()
"""


def dump_of(source, folder):
    done = harness.run_source(source, folder=folder, exit="never", quiet=1)
    assert done.returncode == 0, done.stderr
    (dump,) = harness.dumps(folder)
    return dump


def test_what_could_not_be_read_is_not_known(tmp_path):
    harness.needs_torch(2, 0, "storages without a type")
    dump = dump_of(OPAQUE, tmp_path)
    report = harness.cli("report", dump).stdout
    assert re.search(r"^  device not known +1 +\? +\? +could not be read: their", report, re.M), report
    assert re.search(r"in tensors +0 +- +0 B +or more", report, re.M), report
    assert "allocated; perhaps used" in report
    assert "no memory" not in report and "used by no tensor" not in report
    listed = harness.cli("list", dump).stdout
    assert re.search(r"^#\d+ +\? ", listed, re.M) and "without 1 tensor that could not be read" in " ".join(listed.split()), listed
    assert re.search(r"^  storages +0 +not known for 1 tensor that could not be read$", harness.cli("info", dump).stdout, re.M)
    (tensor,) = harness.load(dump)["tensors"]
    assert (tensor["memory_is_known"], tensor["storage"], tensor["nbytes"]) == (False, None, None)


def test_a_quantized_tensor_alone_is_read(tmp_path):
    (tensor,) = harness.load(dump_of(QUANTIZED, tmp_path))["tensors"]
    assert (tensor["memory_is_known"], tensor["nbytes"], tensor["dtype"], tensor["shape"]) == (True, 184, "qint8", [184])
