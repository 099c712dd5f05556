# SPDX-License-Identifier: Apache-2.0
"""The fuzzers' seeds (tests/fuzz/corpus): small, of no machine, and files as this version reads them."""

import re
import struct
import sys

import pytest

import harness

sys.path.append(str(harness.ROOT / "tests/damaged_files"))
import damage
from dump_reader import xxh3

CORPUS = harness.ROOT / "tests/fuzz/corpus"
SEEDS = sorted(CORPUS.glob("*/*.seed"))
# The fuzzer's folder: magic, version and suffix of its files, and the verb that reads one.
FILES = {"reader": (b"TSCOPE\r\n", 1, "tscope", "info"), "recording": (b"TSRECO\r\n", 1, "recording", "timeline"),
         "values": (b"TSVALU\r\n", 1, "values", "values")}


def chunks_of(seed):
    data, at, chunks = seed.read_bytes(), 1, []
    while at < len(data):
        name, length = struct.unpack_from("<4sI", data, at)
        chunks.append([name, bytearray(data[at + 8:at + 8 + length])])
        at += 8 + length
    return chunks


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Each seed as a file with right checksums: {seed: path}."""
    folder, files = tmp_path_factory.mktemp("seeds"), {}
    for seed in SEEDS:
        magic, major, suffix, _ = FILES[seed.parent.name]
        head = magic + struct.pack("<II", major, 0)
        files[seed] = folder / f"{seed.stem}.{suffix}"
        files[seed].write_bytes(damage.put_together(head + struct.pack("<Q", xxh3(head)), chunks_of(seed)))
    return files


def test_each_fuzzer_has_small_seeds():
    assert {seed.parent.name for seed in SEEDS} == set(FILES)
    assert all(seed.stat().st_size <= 12 << 10 for seed in SEEDS)


@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.stem)
def test_a_seed_is_of_no_machine(seed):
    folders = re.findall(rb"/(?:[\w.+@-]+/)+", seed.read_bytes())
    assert not [folder for folder in folders if set(folder) != set(b"/d")]


# A dump without its end is shown as far as it goes, with exit status 2; one that is not understood is not.
@pytest.mark.parametrize("seed", SEEDS, ids=lambda seed: seed.stem)
def test_a_seed_is_read(seed, built):
    said = harness.cli(FILES[seed.parent.name][3], built[seed], status=None)
    everything = said.stdout + said.stderr
    assert said.stdout and not re.search(r"malformed|damaged|checksum|were not read", everything), everything


def test_the_first_seed_of_a_dump_has_its_tensors(built):
    for seed, path in built.items():
        if seed.parent.name == "reader" and seed.stem.endswith("-1"):
            assert re.search(r"^  tensors +9 .*\n  storages +8$", harness.cli("info", path, status=2).stdout, re.MULTILINE), seed
