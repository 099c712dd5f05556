# SPDX-License-Identifier: Apache-2.0
"""Models of real libraries: every parameter, buffer, gradient and optimizer state has the name that the program itself gives it."""

import harness
import pytest

TENSORS = {  # how many there are at least
    "transformers": {"parameter": 90, "buffer": 2, "gradient": 90, "optimizer state": 200},
    "lightning": {"parameter": 6, "buffer": 3, "gradient": 6, "optimizer state": 18},
}


@pytest.fixture(scope="module", params=TENSORS)
def real(request, tmp_path_factory):
    """The library's name, what the program knows, and its dump as exported."""
    harness.needs_package(request.param)
    folder = tmp_path_factory.mktemp(request.param)
    done = harness.run("real_models.py", request.param, folder=folder, exit="never")
    assert done.returncode == 0, done.stderr
    known = harness.truth(folder, request.param)
    return request.param, known, harness.load(known["dump"])


@pytest.mark.parametrize("category", ("parameter", "buffer", "gradient"))
def test_tensors_have_the_names_that_the_program_gives(real, category):
    library, known, exported = real
    found = harness.by_address(exported)
    assert len(known["names"][category]) >= TENSORS[library][category]
    for address, names in known["names"][category].items():
        tensor = found[int(address)]
        assert tensor["category"] == category, tensor
        assert sorted(tensor["names"][:len(names)]) == sorted(names), tensor  # tied weights have several


def test_optimizer_state_is_named_after_the_first_name_of_its_parameter(real):
    library, known, exported = real
    found = harness.by_address(exported)
    assert len(known["keys"]) >= TENSORS[library]["optimizer state"]
    for address, names in known["names"]["optimizer state"].items():
        tensor, parameter = found[int(address)], found[known["keys"][address]]
        assert tensor["category"] == "optimizer state", tensor
        assert tensor["names"][0] in names, tensor
        assert f"['{parameter['names'][0]}']" in tensor["names"][0]
        assert tensor["module"] == parameter["module"]


def test_no_other_tensor_is_of_such_a_category(real):
    _, known, exported = real
    for category, names in known["names"].items():
        others = {tensor["address"]: tensor for tensor in exported["tensors"] if tensor["category"] == category}
        assert set(others) == set(map(int, names)), [others[address] for address in set(others) - set(map(int, names))]


def test_tensors_belong_to_their_modules(real):
    _, known, exported = real
    found = harness.by_address(exported)
    for category in ("parameter", "buffer", "gradient"):
        for address, names in known["names"][category].items():
            owners = {name.removesuffix(".grad").rpartition(".")[0] for name in names}
            assert found[int(address)]["module"] in owners
            assert owners <= set(known["modules"])
