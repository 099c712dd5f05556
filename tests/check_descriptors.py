# SPDX-License-Identifier: Apache-2.0
"""The descriptor table of the program's threads is the program's: each source of preload/ that opens something is named here, with
the reason why what it opens is not in that table (preload/support/private_descriptor_table.h).

Prints each call in another file, and names that no longer open anything; exit status 1 where there are any.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
OPENS = re.compile(r"(?<![\w.>:])(?:::)?(open|openat|openat2|opendir|fopen|fdopen|freopen|popen|memfd_create|shm_open|mkstemp|tmpfile|pipe|pipe2|socket|"
                   r"socketpair|accept4|dup[23]?|eventfd|epoll_create1?|timerfd_create|signalfd|inotify_init1?|userfaultfd|perf_event_open|"
                   r"dlopen|dlmopen|load_library)\(|\bSYS_(open|openat|openat2|pipe2?|memfd_create|dup[23]?|socket|eventfd2?)\b|\bF_DUPFD|"
                   r"std::(i|o)?fstream\b|\bwith open\(")
COLLECTOR = "called on the collector thread alone"
WRAPPED = "within with_own_descriptors() or run_with_own_descriptors()"
REASONS = {
    "support/private_descriptor_table.cc": "a table of our own, and how a number is moved out of the way without one",
    "support/load_library.cc": "dlopen() for those who call it, which are in this list",
    "support/load_library.h": "the same",
    "support/small_file.cc": WRAPPED,
    "support/log.cc": WRAPPED,
    "collector/step_dumps.cc": WRAPPED,
    "find_nan/nan_report.cc": WRAPPED,
    "stacks/native/libunwind_loader.cc": WRAPPED + "; on the program's thread if its malloc is not libc's (docs/limits.md)",
    "collector/request_file.cc": COLLECTOR,
    "collector/settings_file.cc": COLLECTOR,
    "collector/wake.cc": COLLECTOR,
    "dump/disk_limit.cc": COLLECTOR,
    "dump/dump_file.cc": COLLECTOR,
    "dump/appended_file.cc": COLLECTOR,
    "dump/mappings.cc": COLLECTOR,
    "dump/child_processes.cc": COLLECTOR,
    "dump/shared_files.cc": "a thread that the collector makes",
    "dump/source/source_file.cc": "a thread that the collector makes",
    "devices/nvml.cc": "a thread that the collector makes, unless the program itself has started NVML",
    "devices/driver.cc": "the same",
    "devices/cupti/cupti_library.cc": "CUPTI's descriptors are the driver's, which are the program's (docs/limits.md)",
    "hooks/torch/throw_function.cc": "RTLD_NOLOAD of the path that the loader has: nothing is opened",
}
# Classes with a function of that name, which opens no file.
OWN_OPEN = {"python/heap_inspector/graph/steps.cc", "find_nan/nan_candidates.h", "find_nan/nan_candidates.cc"}
DECLARATION = re.compile(r"^ *(bool|int|Status|\w+\*) (\w+::)?open\(")


def calls(path, own_open):
    """(line, text) of each call."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        code = DECLARATION.sub("", re.sub(r"//.*", "", line))
        if own_open:
            code = re.sub(r"\bopen\(", "", code)
        if OPENS.search(code):
            yield number, line.strip()


def main():
    wrong, opening = [], set()
    for path in sorted((ROOT / "preload").rglob("*")):
        if path.suffix not in (".cc", ".h"):
            continue
        name = str(path.relative_to(ROOT / "preload"))
        found = list(calls(path, name in OWN_OPEN))
        if found:
            opening.add(name)
        if name not in REASONS:
            wrong += [f"preload/{name}:{number}: opens something, and is not in tests/check_descriptors.py: {text}" for number, text in found]
    wrong += [f"tests/check_descriptors.py: {name} opens nothing" for name in REASONS if name not in opening]
    print("\n".join(wrong) or f"{len(REASONS)} sources open something, each where it is not the program's")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
