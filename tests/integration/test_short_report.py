# SPDX-License-Identifier: Apache-2.0
"""The short report on standard error at an out-of-memory, against what the analyzer finds in the same dump."""

# Covers: preload/oom/{frame_facts,report_facts}.cc preload/dump/places.cc

import collections
import re

import pytest

import harness

MOST_LINES = 25
MOST_CATEGORIES = 8

# What the report cannot tell by the shared rule is "other" there: whether a result left a call of a module, and, where a thread of
# autograd's has no Python stack, what C++ alone holds.
UNDECIDED = {"cpu": {"output", "unknown"}, "cuda": {"output", "unknown", "backward temporary", "communication bucket", "temporary"}}
STRONGEST_FIRST = ["parameter", "buffer", "gradient", "optimizer state", "dataset", "input batch", "KV cache", "saved activation",
                   "container", "communication bucket", "backward temporary", "output", "variable", "cache", "temporary", "unknown"]


def fail(folder, device, *how, **options):
    """Runs the program; what the profiler said on standard error, line by line, and the dumps."""
    done = harness.run("oom_report.py", device, *how, folder=folder, exit="never", **options)
    assert done.returncode == 0, done.stderr
    error = "RuntimeError" if device == "cpu" else "OutOfMemoryError"
    assert done.stdout == f"caught {error}\n"
    lines = done.stderr.splitlines()
    begin = next((i for i, line in enumerate(lines) if line.startswith("tensorscope: ")), len(lines))
    return [line for line in lines[begin:] if not line.startswith("[W")], harness.dumps(folder)


def byte_text(value):
    unit = 0
    while value >= (1023.95 if unit else 1024):
        value, unit = value / 1024, unit + 1
    return f"{value:.{(0, 1, 1, 2, 2)[unit]}f} {('B', 'KiB', 'MiB', 'GiB', 'TiB')[unit]}"


def categories_by_analyzer(dump, device):
    exported = harness.load(dump)
    where = "cpu" if device == "cpu" else "cuda:0"
    category_of = {tensor["id"]: tensor["category"] for tensor in exported["tensors"]}
    sizes = {row["id"]: row["nbytes"] for row in exported["allocations"] if row["device"] == where}
    used = collections.Counter()
    sums = collections.Counter()
    for storage in exported["storages"]:
        if storage["device"] != where or storage["allocation"] not in sizes:
            continue
        found = {category_of[tensor] for tensor in storage["tensors"]}
        category = next(name for name in STRONGEST_FIRST if name in found)
        sums["other" if category in UNDECIDED[device] else category] += storage["own_nbytes"]
        used[storage["allocation"]] += storage["own_nbytes"]
    sums["in no tensor"] = sum(size for block, size in sizes.items() if block not in used)
    sums["rounding"] = sum(sizes[block] - bytes for block, bytes in used.items())
    totals = {row["device"]: row["live_bytes"] for row in exported["totals"]["devices"]}
    assert sum(sums.values()) == sum(sizes.values()) == totals[where]
    return {name: byte_text(value) for name, value in sums.items() if value}, byte_text(totals[where])


def rows(lines, heading):
    begin = next(i for i, line in enumerate(lines) if line.startswith(heading)) + 1
    end = next(i for i in range(begin, len(lines)) if not lines[i].startswith("    "))
    return lines[begin:end]


def categories_of(lines):
    found = (re.fullmatch(r"    (\S.*\S) +([\d.]+ (?:[KMG]i)?B) +(?:<?\d+) %  \d+ \w+", row) for row in rows(lines, "  who has the ")
             if not row.startswith("    the rest "))
    return {match[1].strip(): match[2] for match in found}


@pytest.mark.parametrize("options", [{}, {"names": 0}], ids=["names", "no names"])
def test_says_what_the_analyzer_will_say(tmp_path, device, options):
    lines, (dump,) = fail(tmp_path, device, **options)
    assert len(lines) <= MOST_LINES
    headline = "CUDA out of memory on cuda:0" if device == "cuda" else "out of memory on the CPU"
    assert lines[0] == f"tensorscope: {headline} while asking for 4.00 TiB"
    assert re.fullmatch(r"  at \S*oom_report.py:\d+ ask_for_too_much", lines[1])
    sums, whole = categories_by_analyzer(dump, device)
    assert any(line.startswith(f"  who has the {whole} on {device}") for line in lines)
    shown = categories_of(lines)
    assert len(shown) == min(len(sums), MOST_CATEGORIES) and shown.items() <= sums.items()
    assert any(line.startswith("    the rest ") for line in lines) == (len(sums) > MOST_CATEGORIES)
    assert {"parameter", "gradient", "saved activation", "other"} <= sums.keys()
    assert lines[-2].startswith(f"  wrote {dump.name} (")
    assert lines[-1] == f"  read more: tensorscope oom {dump}"
    places = rows(lines, "  largest allocation sites:")
    assert len(places) == 5
    if options:
        assert any("unknown: switched off by TENSORSCOPE_NAMES" in line for line in lines)
        assert re.fullmatch(r" +24\.\d MiB +8 x  \S*oom_report.py:\d+ <(listcomp|module)>", places[0])
    else:
        assert {"buffer", "optimizer state"} <= sums.keys()
        assert re.fullmatch(r" +24\.\d MiB +8 x  \S*oom_report.py:\d+ <(listcomp|module)>   oom_report.py: losses\[0\.\.7\] (\(list\)|\.\.\.)", places[0])
        assert any("4.0 MiB in unreachable cycles" in line for line in lines)


def test_switched_off(tmp_path):
    lines, (dump,) = fail(tmp_path, "cpu", oom_report=0)
    assert len(lines) == 1 and lines[0].startswith(f"tensorscope: wrote {dump.name} (")


def test_quiet(tmp_path):
    lines, dumps = fail(tmp_path, "cpu", quiet=1)
    assert lines == [] and len(dumps) == 1


def test_another_file_in_the_place_of_standard_error(tmp_path):
    lines, dumps = fail(tmp_path, "cpu", "other-file")
    assert lines == [] and len(dumps) == 1
    assert (tmp_path / "data").read_bytes() == b""


def test_next_to_no_memory(tmp_path):
    lines, dumps = fail(tmp_path, "cpu", "starved")
    assert 0 < len(lines) <= MOST_LINES
    assert any(line.startswith("tensorscope: out of memory on the CPU while asking for 4.00 TiB") for line in lines)
    assert any("ask_for_too_much" in line for line in lines)
    if dumps:
        assert lines[-1] == f"  read more: tensorscope oom {dumps[0]}"


GROWS = """
import libtensorscope, torch

kept = [torch.ones(1 << 20) for _ in range(4)]
libtensorscope.dump()
objects = [[] for _ in range(2_000_000)]  # more than the memory for names has room for
try:
    torch.empty(1 << 40)
except RuntimeError:
    print("caught")
"""


def test_without_all_names_an_earlier_dump_that_has_them_is_told(tmp_path):
    done = harness.run_source(GROWS, folder=tmp_path, exit="never", names_memory="64M")
    assert (done.returncode, done.stdout) == (0, "caught\n"), done.stderr
    earlier, failed = harness.dumps(tmp_path)
    lines = done.stderr[done.stderr.index("tensorscope: out of memory"):].splitlines()
    assert any(line.startswith("  names and unreachable cycles are unknown: the memory limit for finding names") for line in lines), lines
    (told,) = [line for line in lines if line.startswith("  names: see ")]
    assert re.fullmatch(rf"  names: see {re.escape(str(earlier))}, written [\d.]+ m?s earlier", told)
    assert lines[-1] == f"  read more: tensorscope oom {failed}"
