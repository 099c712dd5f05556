# SPDX-License-Identifier: Apache-2.0
"""Tensors that get other memory while they live (resize_, set_, .data =): each moment has what the program had then."""
# Covers: preload/recording/seen_tensors.cc

import json

import harness
from test_recording_timeline import exported, only_recording

PROGRAM = """
import json, sys, time, torch, libtensorscope

resized, emptied, exchanged, set_to, unchanged = (torch.ones(1000 + i) for i in range(5))
transposed = torch.ones(30, 40).t()
sparse = torch.eye(7).to_sparse()
named = {name: globals()[name] for name in ("resized", "emptied", "exchanged", "set_to", "unchanged", "transposed")}
serials, truth = {}, []


def look():
    time.sleep(PAUSE)  # until the recording has looked, too
    row = {name: [list(t.shape), t.untyped_storage().nbytes(), t.untyped_storage().data_ptr(), t._cdata] for name, t in named.items()}
    truth.append([time.clock_gettime(time.CLOCK_MONOTONIC), row])
    time.sleep(0.05)


look()
resized.resize_(50_000)
look()
emptied.untyped_storage().resize_(0)
look()
exchanged.data = torch.zeros(3, 7)
look()
set_to.set_(unchanged.untyped_storage(), 10, (20,), (2,))
set_to.requires_grad_()
look()
emptied.untyped_storage().resize_(4004)
look()
json.dump(truth, open("truth.json", "w"))
"""


SHORT = """
import json, time, torch, libtensorscope

without_memory = torch.empty(5, device="meta")
libtensorscope.dump()  # where tensors have what is found, and none has memory
lasting = torch.ones(5)
libtensorscope.dump()
short = torch.ones(30, 40)[1:]
time.sleep(0.003)
now = time.clock_gettime(time.CLOCK_MONOTONIC)
time.sleep(0.003)
address = short._cdata
del short
json.dump([now, address], open("truth.json", "w"))
"""


def test_a_tensor_that_ends_before_a_look_is_known_as_soon_as_another_was_alive_at_one(tmp_path):
    done = harness.run_source(SHORT, folder=tmp_path, record=1, names=0)
    assert done.returncode == 0, done.stderr
    recording = only_recording(tmp_path)
    now, address = json.loads((tmp_path / "truth.json").read_text())
    found = exported(f"{recording}@{now - exported(recording)['process']['start_ns'] / 1e9:.6f}s")
    (tensor,) = [t for t in found["tensors"] if t["address"] == address]
    (storage,) = [s for s in found["storages"] if s["id"] == tensor["storage"]]
    assert tensor["shape"] == [29, 40] and storage["nbytes"] == 4800
    assert tensor["strides"] is None and tensor["storage_offset"] is None and tensor["is_view"] is None


def moments(folder, pause):
    done = harness.run_source(PROGRAM.replace("PAUSE", str(pause)), folder=folder, record=1)
    assert done.returncode == 0, done.stderr
    recording = only_recording(folder)
    start = exported(recording)["process"]["start_ns"]
    for now, row in json.loads((folder / "truth.json").read_text()):
        found = exported(f"{recording}@{now - start / 1e9:.6f}s")
        yield row, {t["address"]: t for t in found["tensors"]}, {s["id"]: s for s in found["storages"]}


def test_each_moment_has_the_storages_of_then(tmp_path):
    for row, tensors, storages in moments(tmp_path, 0.8):
        for name, (shape, nbytes, pointer, address) in row.items():
            tensor = tensors[address]
            assert tensor["shape"] == shape, name
            assert (storages[tensor["storage"]]["nbytes"] if nbytes else tensor["storage"]) == (nbytes or None), name
    assert tensors[row["transposed"][3]]["strides"] == [1, 40]
    assert tensors[row["set_to"][3]]["requires_grad"] and tensors[row["set_to"][3]]["storage_offset"] == 10
    assert tensors[row["set_to"][3]]["storage"] == tensors[row["unchanged"][3]]["storage"]


def test_without_time_to_look_no_tensor_is_given_memory_that_is_gone(tmp_path):
    for row, tensors, storages in moments(tmp_path, 0):
        for name, (shape, nbytes, pointer, address) in row.items():
            storage = tensors[address]["storage"]
            assert storage is None or storages[storage]["allocation"], name
