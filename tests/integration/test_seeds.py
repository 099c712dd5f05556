# SPDX-License-Identifier: Apache-2.0
"""What the listing tools that came before get wrong, on one program: each row of theirs must come out right here."""

import harness
import pytest


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    folder = tmp_path_factory.mktemp("seeds")
    done = harness.run("seeds.py", folder=folder, quiet=1)
    assert done.returncode == 0, done.stderr
    first, second = harness.truth(folder, "first"), harness.truth(folder, "second")
    return {"facts": first["facts"], "saved": harness.truth(folder, "saved"), "dumps": [first["dump"], second["dump"]],
            "first": harness.load(first["dump"]), "second": harness.load(second["dump"])}


def test_what_cpp_alone_saved_is_listed_with_its_slot(seeds):
    slots = set(seeds["saved"].values())
    assert len(seeds["saved"]) >= 3
    assert any("LayerNorm" in slot for slot in slots) and any("Mul" in slot for slot in slots)
    storages = [(storage["data_ptr"], storage["data_ptr"] + storage["nbytes"], storage["id"]) for storage in seeds["first"]["storages"]]
    for address, slot in seeds["saved"].items():
        (inside,) = {number for begin, end, number in storages if begin <= int(address) < end}
        holders = [holder["text"] for tensor in seeds["first"]["tensors"] if tensor["storage"] == inside for holder in tensor["holders"]]
        assert any("saved by " + slot.split(".")[0] in holder for holder in holders), (slot, holders)


def test_gradients_belong_to_their_parameter_though_they_are_equal(seeds):
    tensors = harness.by_address(seeds["first"])
    one, two = (tensors[address] for address in seeds["facts"]["gradients"])
    assert one["category"] == two["category"] == "gradient"
    assert one["names"][0].startswith("one.grad") and two["names"][0].startswith("two.grad")
    assert tensors[seeds["facts"]["none"]]["category"] == "parameter"


def test_tensors_in_tuples_and_dictionaries_that_a_module_returns(seeds):
    names = {name for tensor in seeds["first"]["tensors"] for name in tensor["names"]}
    assert "net.pair.out" in {name.split(" (")[0] for name in names}


def test_a_view_keeps_its_bytes_apart_from_its_storage(seeds):
    tensors = harness.by_address(seeds["first"])
    small, large = tensors[seeds["facts"]["small"]], tensors[seeds["facts"]["large"]]
    assert small["nbytes"] == 4096 and large["nbytes"] == 4 << 20 and small["storage"] == large["storage"]


def test_two_dumps_have_the_same_tensors_and_no_filter_makes_one_gone(seeds):
    assert len(seeds["first"]["tensors"]) > 20
    assert [t["id"] for t in seeds["first"]["tensors"]] == [t["id"] for t in seeds["second"]["tensors"]]
    for question in ([], ["--device", "cpu"], ["--dtype", "float32"], ["--device", "cuda"]):
        text = harness.cli("diff", *seeds["dumps"], *question).stdout
        assert "gone 0" in text or "nothing matches --device 'cuda'" in text, text
