# SPDX-License-Identifier: Apache-2.0
"""Tensors that Python knows only by what was made of them: DLPack capsules, and arrays whose memory is such a capsule's."""
# Covers: preload/python/heap_inspector/foreign/dlpack_capsules.cc
import pytest

import harness

PROGRAM = """
import gc
import numpy
import torch
import libtensorscope

def tensor(kilobytes):
    return torch.ones(kilobytes * 256)

held = [numpy.from_dlpack(tensor(100))]
bare = torch.utils.dlpack.to_dlpack(tensor(110))
inside = ({"k": torch.utils.dlpack.to_dlpack(tensor(120))},)
both = tensor(130)
array_of_both = numpy.from_dlpack(both)
twice = tensor(140)
first, second = torch.utils.dlpack.to_dlpack(twice), torch.utils.dlpack.to_dlpack(twice)
del twice
taken = torch.utils.dlpack.to_dlpack(tensor(150))
consumer = torch.utils.dlpack.from_dlpack(taken)
named = tensor(160)
beside = torch.utils.dlpack.to_dlpack(named)
other = numpy.datetime_data  # and capsules of others: numpy's own table of functions
gc.collect()
libtensorscope.dump()
"""


@pytest.fixture(scope="module")
def tensors(tmp_path_factory):
    folder = tmp_path_factory.mktemp("exporters")
    done = harness.run_source(PROGRAM, folder=folder, exit="never")
    assert done.returncode == 0, done.stderr
    return [row for row in harness.load(harness.dumps(folder)[-1])["tensors"]]


def holders(tensors, kilobytes):
    rows = [row for row in tensors if row["nbytes"] == kilobytes * 1024]
    assert rows, kilobytes
    return {holder["text"] for row in rows for holder in row["holders"]}


@pytest.mark.parametrize("kilobytes, names", [
    (100, {"program.py: held[0]"}),
    (110, {"program.py: bare"}),
    (120, {"program.py: inside[0]['k']"}),
    (130, {"program.py: both", "program.py: array_of_both"}),
    (160, {"program.py: named", "program.py: beside"}),
    (140, {"program.py: first", "program.py: second"}),
])
def test_what_a_capsule_keeps_is_named_by_its_holder(tensors, kilobytes, names):
    assert {text.split(" (")[0] for text in holders(tensors, kilobytes)} >= names, holders(tensors, kilobytes)


def test_a_capsule_that_was_taken_holds_nothing(tensors):
    texts = holders(tensors, 150)
    assert not any("taken" in text for text in texts), texts
    assert any("consumer" in text for text in texts), texts
