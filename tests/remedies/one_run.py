"""Runs programs of this folder, each time in a fork of its own, and says what their memory did. Started by try_remedies.py: one line of JSON
in, one out. Torch and the libraries are imported once, and CUDA is initialised by the forks alone.

The programs run on the double of a GPU, which is told how much memory it has, or on a real one, where torch's allocator is told how much it may take.
Without a `capacity` it has plenty. What comes back: whether it was
`enough`, the peak, and how many blocks were allocated before the failure. `at`: what was allocated when the program asked for a block after that
many: the same moment of its run. `request`: that block, where another run is to find it by what it is. `hunt`: the most memory with which the
program still fails: "near", so that a dump of that failure is one of the peak, or "exactly", to a segment of the allocator."""
import ctypes
import gc
import importlib
import itertools
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
FEW = 16  # blocks by which the same moment may be earlier or later with a smaller batch
HERE = pathlib.Path(__file__).resolve().parent


def import_program(asked):
    """Its file, and what it needs, so that no fork has to."""
    import remedy_trial
    for path in sorted(HERE.glob("programs_*.py")):
        if f"def {asked['program']}(" in path.read_text():
            importlib.import_module(path.stem)
    for name in asked["imports"]:
        importlib.import_module(name)
    return remedy_trial


def double():
    """The library that stands in for NVIDIA's; None on a real device."""
    path = pathlib.Path(sysconfig.get_path("purelib")) / "nvidia" / "cu13" / "lib" / "libcudart.so.13"
    library = ctypes.CDLL(str(path))
    if not hasattr(library, "fake_cuda_set_capacity"):
        return None
    library.fake_cuda_set_capacity.argtypes = [ctypes.c_int, ctypes.c_size_t]
    return library


class Device:
    def __init__(self, program, trial):
        self.program, self.trial, self.double = program, trial, double()

    def limit(self, capacity):
        if self.double:
            self.double.fake_cuda_set_capacity(0, capacity)
        else:
            total = torch.cuda.get_device_properties(0).total_memory
            torch.cuda.set_per_process_memory_fraction(min(1.0, (capacity + 0.5) / total))  # which rounds down to bytes

    def ran(self, capacity, at=None, history=False, request=None):
        gc.collect()
        torch.cuda.synchronize()
        torch._C._cuda_clearCublasWorkspaces()  # else only the first run of a fork allocates them
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        self.limit(capacity)
        torch.manual_seed(0)
        if history:
            torch.cuda.memory._record_memory_history("all", context="alloc", stacks="python", max_entries=1 << 24,
                                                    clear_history=True)
        enough = True
        try:
            self.program.function(self.trial)
        except torch.OutOfMemoryError:
            enough = False
        self.limit(ENOUGH)
        result = {"enough": enough, "peak": torch.cuda.max_memory_allocated(), "reserved": torch.cuda.max_memory_reserved()}
        if history:
            result |= moment(torch.cuda.memory._snapshot()["device_traces"][0], at, request)
        return result

    def largest_that_fails(self, peak, reserved, exactly):
        """The allocator asks the driver for multiples of GRAIN."""
        others = int(os.environ.get("TENSORSCOPE_FAKE_CUDA_OTHERS", 0))
        fails, passes = (peak - GRAIN) // GRAIN * GRAIN + others, reserved + others
        middle = passes - GRAIN
        for tried in itertools.count():
            if passes - fails <= GRAIN or (tried == HUNTED and not exactly):
                return fails
            if self.ran(middle)["enough"]:
                passes = middle
            else:
                fails = middle
            middle = fails + max(1, (passes - fails) // GRAIN // 2) * GRAIN


def moment(events, at, request):
    """How many blocks were allocated, the bytes in use when there were `at` of them, and the most while an optimizer stepped. What
    checkpointing computes again is in use, but not counted: so the same number is the same moment with it and without. `request`: what the
    block after them was, size and stack; with a smaller batch a few blocks may come or go before it, and `like` is the bytes in use at the
    nearest request for as much or half as much by the same lines."""
    blocks, bytes_in_use, in_step = [], 0, 0
    for event in events:
        if event["action"] == "alloc":
            frames = [(frame["filename"].rpartition("/torch/")[2], frame["name"]) for frame in event["frames"]]
            if ("utils/checkpoint.py", "unpack_hook") not in frames:
                blocks.append((bytes_in_use, [rounded(event["size"]), frames]))
            bytes_in_use += rounded(event["size"])
            if any(file.startswith("optim/") for file, _ in frames):
                in_step = max(in_step, bytes_in_use)
        elif event["action"] == "free_requested":
            bytes_in_use -= rounded(event["size"])
    result = {"blocks": len(blocks), "at": None, "in_step": in_step}
    if at is None or at > len(blocks):
        return result
    asked = blocks[at] if at < len(blocks) else (bytes_in_use, None)
    result |= {"at": asked[0], "request": asked[1]}
    if request is not None:
        size, frames = request
        wanted = [[other, list(map(tuple, frames))] for other in (size, rounded(size // 2))]
        near = [number for number in range(max(0, at - FEW), min(len(blocks), at + FEW + 1)) if blocks[number][1] in wanted]
        if near:
            result["like"] = blocks[min(near, key=lambda number: abs(number - at))][0]
    return result


def rounded(nbytes):
    return -(-nbytes // 512) * 512


def measured(program, trial, asked):
    device = Device(program, trial)
    result = device.ran(asked.get("capacity") or program.capacity or ENOUGH, asked.get("at"), "history" in asked,
                        asked.get("request"))
    result["applied"] = trial.applied
    if trial.dump:
        result["dump"] = str(trial.dump)
    if trial.given is not None:
        result["freed"] = trial.given
    if asked.get("hunt") and not program.asks:
        result["capacity"] = program.capacity or device.largest_that_fails(result["peak"], result["reserved"], asked["hunt"] == "exactly")
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
    answer = (json.loads(text) if text else {"error": "the program was killed"}) | {"pid": child}
    # A run that failed may leave memory behind (hooks of parameters are no garbage), so its peak with enough is another fork's.
    if asked.get("kind") and "capacity" in asked and answer.get("enough") is False and not trials.PROGRAMS[asked["program"]].capacity:
        enough = {key: value for key, value in asked.items() if key != "capacity"}
        return in_a_fork(trials, enough) | {"enough": False}
    return answer


def main():
    # The CUDA build's environment has torch alone; the other packages are those beside the CPU build.
    sys.path += map(str, (HERE.parents[1] / ".venv" / "lib").glob("python3*/site-packages"))
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the programs print is no answer
    for line in sys.stdin:
        asked = json.loads(line)
        print(json.dumps(in_a_fork(import_program(asked), asked)), file=answers, flush=True)


if __name__ == "__main__":
    main()
