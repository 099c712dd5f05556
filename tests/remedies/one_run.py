"""Runs programs of this folder, each time in a fork of its own, and says what their memory did. Started by try_remedies.py: one line of JSON
in, one out. Torch and the libraries are imported once, and CUDA is initialised by the forks alone.

The programs run on the double of a GPU, which is told how much memory it has. Without a `capacity` it has plenty. What comes back: whether
it was `enough`, the peak, and how many blocks were allocated before the failure. `at`: what was allocated when the program asked for a block
after that many: the same moment of its run. `hunt`: the most memory, roughly, with which the program still fails, so that a dump of that
failure is one of the peak."""
import ctypes
import gc
import importlib
import json
import os
import pathlib
import sys
import sysconfig
import traceback

import torch

ENOUGH = 1 << 38
GRAIN = 2 << 20  # the smallest segment of torch's allocator
HUNTED = 3
HERE = pathlib.Path(__file__).resolve().parent


def import_programs(name=""):
    """All of them, or the file with the one of that name."""
    # The CUDA build's environment has torch alone; the other packages are those beside the CPU build.
    sys.path += map(str, (HERE.parents[1] / ".venv" / "lib").glob("python3*/site-packages"))
    import remedy_trial
    for path in sorted(HERE.glob("programs_*.py")):
        if f"def {name}" in path.read_text():
            importlib.import_module(path.stem)
    return remedy_trial


def library():
    path = pathlib.Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "lib" / "libcudart.so.13"
    double = ctypes.CDLL(str(path))
    double.fake_cuda_set_capacity.argtypes = [ctypes.c_int, ctypes.c_size_t]
    return double


class Device:
    """Of the double."""
    def __init__(self, program, trial):
        self.program, self.trial, self.double = program, trial, library()

    def ran(self, capacity, at=None, history=False):
        gc.collect()
        torch.cuda.synchronize()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        self.double.fake_cuda_set_capacity(0, capacity)
        torch.manual_seed(0)
        if history:
            torch.cuda.memory._record_memory_history("all", context=None, max_entries=1 << 24)
        enough = True
        try:
            self.program.function(self.trial)
        except torch.OutOfMemoryError:
            enough = False
        self.double.fake_cuda_set_capacity(0, ENOUGH)
        result = {"enough": enough, "peak": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}
        if history:
            result["blocks"], result["at"] = moment(torch.cuda.memory._snapshot()["device_traces"][0], at)
        return result

    def largest_that_fails(self, peak, reserved):
        """Not to the byte: a few runs."""
        others = int(os.environ.get("TENSORSCOPE_FAKE_CUDA_OTHERS", 0))
        fails, middle, passes = peak + others - GRAIN, reserved + others - GRAIN, reserved + others
        for _ in range(HUNTED):
            if self.ran(middle)["enough"]:
                passes = middle
            else:
                fails = middle
            if passes - fails <= GRAIN:
                break
            middle = (passes + fails) // 2
        return fails


def moment(events, at):
    """How many blocks were allocated, and the bytes in use when there were `at` of them."""
    count, bytes_in_use, found = 0, 0, None
    for event in events:
        if event["action"] == "alloc":
            if count == at:
                found = bytes_in_use
            count += 1
            bytes_in_use += rounded(event["size"])
        elif event["action"] == "free_requested":
            bytes_in_use -= rounded(event["size"])
    return count, found if count != at else bytes_in_use


def rounded(nbytes):
    return -(-nbytes // 512) * 512


def measured(program, trial, asked):
    device = Device(program, trial)
    result = device.ran(asked.get("capacity") or program.capacity or ENOUGH, asked.get("at"), "history" in asked)
    if asked.get("kind") and not result["enough"] and not program.capacity:
        result = device.ran(ENOUGH, asked.get("at"), "history" in asked) | {"enough": False}
    result["applied"] = trial.applied
    if trial.dump:
        result["dump"] = str(trial.dump)
    if trial.given is not None:
        result["freed"] = trial.given
    if asked.get("hunt") and not program.asks:
        result["capacity"] = program.capacity or device.largest_that_fails(result["peak"], result["reserved"])
    return result


def in_a_fork(trials, asked):
    reader, writer = os.pipe()
    child = os.fork()  # its dumps have its number
    if child == 0:
        try:
            os.environ.update(asked["settings"])
            program = trials.PROGRAMS[asked["program"]]
            trial = trials.Trial(program.device, asked.get("kind", ""), asked.get("subject", ""))
            answer = measured(program, trial, asked)
        except BaseException:
            answer = {"error": traceback.format_exc()[-3000:]}
        os.write(writer, json.dumps(answer).encode())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.dumps((json.loads(text) if text else {"error": "the program was killed"}) | {"pid": child})


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the programs print is no answer
    trials = import_programs()
    for line in sys.stdin:
        print(in_a_fork(trials, json.loads(line)), file=answers, flush=True)


if __name__ == "__main__":
    main()
