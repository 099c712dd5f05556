# SPDX-License-Identifier: Apache-2.0
"""Every byte of a training has a category, at any moment of a step: a part of the programs of tests/categories."""

import pathlib
import re
import sys

import pytest

import harness

FOLDER = harness.ROOT / "tests" / "categories"
sys.path.append(str(FOLDER))

import unknown_share

CHOSEN = ["unet_with_averaged_copy", "checkpoint_reentrant", "lora", "fully_sharded", "generation", "packed_autocast", "diffusion_with_ema", "mixtral_accelerated"]


@pytest.mark.cases(2)
@pytest.mark.parametrize("name", CHOSEN)
def test_at_most_two_percent_are_unknown(name, tmp_path):
    harness.needs_torch(2, 6, "fully_shard, and no transformers for it")
    found = unknown_share.shares(name, tmp_path)
    assert set(found) == set(unknown_share.MOMENTS)
    for moment, (share, sizes) in found.items():
        assert share <= unknown_share.MOST, (moment, sizes)
        assert sum(sizes.values()) > 1 << 20


def test_the_page_has_a_row_for_each_program():
    text = pathlib.Path(harness.ROOT / "docs" / "names.md").read_text().split("### How much has no category")[1]
    programs = {name for module in FOLDER.glob("*_programs.py") for name in re.findall(r"^def (\w+)\((?:reentrant=True)?\):", module.read_text(), re.MULTILINE)}
    helpers = {"gpt2_model", "alone", "layers", "tokens", "train"}
    rows = set(re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE))
    assert rows == programs - helpers
