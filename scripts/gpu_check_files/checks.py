# SPDX-License-Identifier: Apache-2.0
"""The checks of scripts/gpu-check: runs the programs of targets.py under the preload on a real GPU, and compares what the dumps say with
what torch and the driver say. One line a check on standard output. Exit status: 0 all well, 1 something failed, 2 nothing to check on.

Standard library alone; PyTorch is needed by the targets.
"""
import argparse
import json
import os
import pathlib
import pickle
import shutil
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TIMEOUT = 300  # seconds: a hang, not a speed limit
MEBIBYTE = 1 << 20
REPORT_LINES = 25


class Failed(Exception):
    pass


class Skipped(Exception):
    pass


CHECKS: list = []


def check(title):
    def add(function):
        CHECKS.append((title, function))
        return function
    return add


def expect(condition, what):
    if not condition:
        raise Failed(what)


def expect_native_stacks(dump):
    """Native stacks need libunwind on that machine: without it the dump says why."""
    row = next((row for row in dump["coverage"] if row["subject"] == "native stacks"), None)
    expect(row is not None and row["seen"] == "yes", f"native stacks: {row['detail'] if row else 'not in the dump'}")


def same(what, ours, theirs):
    expect(ours == theirs, f"{what}: {ours} in the dump, {theirs} by torch")


class Machine:
    """Where targets run, and what is known of it."""

    def __init__(self, python, library, cli, folder):
        self.python, self.library, self.cli, self.folder = python, library, cli, folder
        self.about = {}

    @property
    def double(self):
        return self.about["double"]

    def try_target(self, name, *arguments, preload=True, **environment):
        settings = {key: value for key, value in os.environ.items()
                    if not key.startswith("TENSORSCOPE") or key.startswith("TENSORSCOPE_FAKE_")}
        settings.pop("LD_PRELOAD", None)
        settings.update(TENSORSCOPE_DIR=self.folder, TENSORSCOPE_EXIT="never", OMP_NUM_THREADS="1", **environment)
        if preload:
            settings["LD_PRELOAD"] = str(self.library)
        return subprocess.run([self.python, str(HERE / "targets.py"), name, *arguments], env=settings, cwd=self.folder,
                              capture_output=True, text=True, timeout=TIMEOUT, stdin=subprocess.DEVNULL)

    def target(self, name, *arguments, **keywords):
        """What a target printed as JSON, and its standard error."""
        done = self.try_target(name, *arguments, **keywords)
        if done.returncode != 0:
            raise Failed(f"the program ended with status {done.returncode}: {last_line(done.stderr)}")
        return json.loads(done.stdout.splitlines()[-1]), done.stderr

    def run_cli(self, *arguments):
        done = subprocess.run([str(self.cli), *map(str, arguments)], capture_output=True, text=True, timeout=TIMEOUT)
        expect(done.returncode == 0, f"tensorscope {arguments[0]} ended with status {done.returncode}: {last_line(done.stderr)}")
        return done.stdout

    def load(self, dump):
        return json.loads(self.run_cli("export", dump, "--format", "json"))

    def new_dump(self, pattern):
        found = sorted(pathlib.Path(self.folder).glob(pattern), key=lambda path: path.stat().st_mtime_ns)
        expect(found, "no dump was written")
        return found[-1]


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "(it said nothing)"


def blocks_of(facts, device):
    number = int(device.split(":")[1])
    return sorted((address, size) for segment in facts["segments"] if segment["device"] == number
                  for address, size, state in segment["blocks"] if state == "active_allocated")


def compare_with_torch(machine, facts):
    """The live table against torch's own account, on every device."""
    dump = machine.load(facts["dump"])
    totals = {row["device"]: row for row in dump["totals"]["devices"]}
    compared = 0
    for device, known in facts["devices"].items():
        if known["reserved"] == 0:
            continue
        row = totals.get(device)
        expect(row is not None, f"{device} is not in the dump")
        same(f"{device}, allocated bytes", row["live_bytes"], known["allocated"])
        same(f"{device}, reserved bytes", row["allocator_reserved"], known["reserved"])
        if "segments" in facts:
            ours = sorted((row["pointer"], row["nbytes"]) for row in dump["allocations"] if row["device"] == device)
            same(f"{device}, blocks", ours, blocks_of(facts, device))
            compared += len(ours)
    return dump, f"{compared} blocks"


@check("live table equals torch's own account")
def live_table(machine):
    facts, _ = machine.target("train")
    dump, text = compare_with_torch(machine, facts)
    weight = next((tensor for tensor in dump["tensors"] if tensor["address"] == facts["weight"]), None)
    expect(weight is not None, "a parameter is missing")
    same("its category", weight["category"], "parameter")
    expect(any(frame["language"] == "python" for frame in weight["stack"]), "a parameter has no Python stack")
    expect_native_stacks(dump)
    expect(any(frame["language"] == "native" for frame in weight["stack"]), "a parameter has no native stack")
    return text


@check("the program's results are the same with and without the preload")
def same_results(machine):
    ours, _ = machine.target("numbers")
    theirs, _ = machine.target("numbers", preload=False)
    expect(ours == theirs, f"{ours} with, {theirs} without")
    return "the allocator's counts alone: kernels do nothing here" if machine.double else f"{len(ours['losses'])} losses to the last bit"


def out_of_memory(machine, where, **environment):
    facts, said = machine.target("out_of_memory", where, **environment)
    same("the exception", facts["error"], "OutOfMemoryError")
    path = machine.new_dump("*.oom*.tscope")
    dump = machine.load(path)
    failure = dump["failure"]
    expect(failure is not None, "the dump does not say what failed")
    same("what was asked for", failure["requested"], facts["asked"])
    same("the device", failure["device"], "cuda:0")
    site = next((site for site in dump["sites"] if site["id"] == failure["site"]), None)
    expect(site is not None, "the failing call has no stack")
    report = [line for line in said[said.find("tensorscope: "):].splitlines() if not line.startswith("[W")]
    expect(report and "out of memory" in report[0], "no report on standard error")
    expect(len(report) <= REPORT_LINES, f"the report has {len(report)} lines")
    expect(any("ask_for_too_much" in line for line in report), "the report does not name the failing function")
    story = machine.run_cli("oom", path)
    expect("ask_for_too_much" in story, "tensorscope oom does not name the failing function")
    path.unlink()
    return report[0].removeprefix("tensorscope: ")


@check("out of memory: dump, report and story")
def out_of_memory_main(machine):
    return out_of_memory(machine, "main")


@check("out of memory in an autograd worker")
def out_of_memory_backward(machine):
    return out_of_memory(machine, "backward")


@check("cudaMallocAsync: live memory")
def malloc_async(machine):
    done = machine.try_target("train", PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")
    if "not supported" in done.stderr:
        raise Skipped(last_line(done.stderr))
    expect(done.returncode == 0, last_line(done.stderr))
    facts = json.loads(done.stdout.splitlines()[-1])
    dump = machine.load(facts["dump"])
    blocks = [row["nbytes"] for row in dump["allocations"] if row["device"] == "cuda:0"]
    # torch asks the driver's pool, which rounds each block.
    theirs = facts["devices"]["cuda:0"]["allocated"]
    expect(0 <= theirs - sum(blocks) <= 4096 * len(blocks), f"{sum(blocks)} bytes in {len(blocks)} blocks of the dump, {theirs} by torch")
    return f"{sum(blocks)} bytes in {len(blocks)} blocks, {theirs} in the driver's pool"


@check("cudaMallocAsync: out of memory")
def malloc_async_out_of_memory(machine):
    return out_of_memory(machine, "main", PYTORCH_CUDA_ALLOC_CONF="backend:cudaMallocAsync")


@check("expandable segments")
def expandable(machine):
    facts, said = machine.target("train", PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    if not any(segment["expandable"] for segment in facts["segments"]):
        raise Skipped(f"torch makes none here: {last_line(said)}")
    dump, text = compare_with_torch(machine, facts)
    compare_segments(dump, facts)
    return text


def compare_segments(dump, facts):
    """Segments, streams and pools as torch's snapshot reports them."""
    memory = next((row for row in dump["device_memory"] if row["device"] == "cuda:0"), None)
    expect(memory is not None, "the dump has no memory of the device")
    if memory["segments_from"] != "snapshot":
        raise Failed(f"segments from {memory['segments_from']}: {memory['segments_detail']}")
    ours = sorted((row["address"], row["size"], row["stream"], row["pool"], row["expandable"]) for row in memory["segments"])
    theirs = sorted((row["address"], row["size"], row["stream"], row["pool"], row["expandable"])
                    for row in facts["segments"] if row["device"] == 0)
    same("segments", ours, theirs)
    return memory


@check("segments and fragmentation as torch's snapshot")
def segments(machine):
    facts, _ = machine.target("train")
    memory = compare_segments(machine.load(facts["dump"]), facts)
    return f"{len(memory['segments'])} segments"


@check("private pool of a CUDA graph")
def private_pool(machine):
    facts, _ = machine.target("graph")
    pools = {tuple(segment["pool"]) for segment in facts["segments"]} - {(0, 0)}
    if not pools:
        raise Skipped("torch made no private pool here")
    dump, _ = compare_with_torch(machine, facts)
    compare_segments(dump, facts)
    return f"pool {', '.join(map(str, sorted(pools)))}"


@check("streams: own blocks, and blocks that wait for another")
def streams(machine):
    facts, _ = machine.target("streams")
    dump = machine.load(facts["dump"])
    memory = next((row for row in dump["device_memory"] if row["device"] == "cuda:0"), None)
    expect(memory is not None, "the dump has no memory of the device")
    states = {block["address"]: block["state"] for segment in memory["segments"] for block in segment["blocks"]}
    stream = next((segment["stream"] for segment in memory["segments"] for block in segment["blocks"]
                   if block["address"] == facts["own"]), None)
    same("stream of a block", stream, facts["own_stream"])
    if facts["lent_state"] not in ("active_pending_free", "active_awaiting_free"):
        return f"the lent block is {facts['lent_state']} already"
    same("state of the lent block", states.get(facts["lent"]), "pending_free")
    return "a block waits for its stream"


def runtime_block(machine, target):
    facts, _ = machine.target(target)
    dump = machine.load(facts["dump"])
    for block in dump["runtime_blocks"]:
        if block["pointer"] <= facts["pointer"] < block["pointer"] + block["nbytes"]:
            expect(block["nbytes"] >= facts["nbytes"], f"{block['nbytes']} bytes, asked for {facts['nbytes']}")
            expect(block["site"] is not None, "it has no stack")
            return block
    raise Failed(f"not among the {len(dump['runtime_blocks'])} blocks of the runtime")


@check("pinned host memory")
def pinned(machine):
    block = runtime_block(machine, "pinned")
    expect(block["kind"] in ("pinned", "registered"), f"its kind is {block['kind']}")
    return f"{block['nbytes']} bytes"


@check("memory that torch does not know of")
def outside(machine):
    block = runtime_block(machine, "outside")
    expect(block["kind"] == "device" and not block["by_torch"], f"kind {block['kind']}, by torch: {block['by_torch']}")
    return f"{block['nbytes']} bytes by cudaMalloc"


def nvidia_smi(query):
    if shutil.which("nvidia-smi") is None:
        return None
    done = subprocess.run(["nvidia-smi", "-i", "0", f"--query-{query}", "--format=csv,noheader,nounits"], capture_output=True, text=True,
                          timeout=60)
    return done.stdout.strip().splitlines() if done.returncode == 0 else None


@check("the driver's numbers")
def driver(machine):
    facts, _ = machine.target("train")
    known = facts["devices"]["cuda:0"]
    memory = next((row for row in machine.load(facts["dump"])["device_memory"] if row["device"] == "cuda:0"), None)
    expect(memory is not None, "the dump has no memory of the device")
    same("total bytes", memory["driver_total"], known["total"])
    expect(abs(memory["driver_free"] - known["free"]) <= 256 * MEBIBYTE, f"free: {memory['driver_free']} against {known['free']}")
    same("name", memory["name"], known["name"])
    text = "as torch.cuda.mem_get_info says"
    total = nvidia_smi("gpu=memory.total") if not machine.double else None
    if total:
        # nvidia-smi's total has what the driver keeps for itself.
        difference = int(total[0]) * MEBIBYTE - memory["driver_total"]
        expect(0 <= difference < 4096 * MEBIBYTE, f"nvidia-smi: {total[0]} MiB in all, the dump {memory['driver_total']} bytes")
        text += f"; nvidia-smi has {difference // MEBIBYTE} MiB more in all, the driver's own"
    return text


@check("export --format memory-viz")
def memory_viz(machine):
    facts, _ = machine.target("train")
    out = pathlib.Path(machine.folder) / "snapshot.pickle"
    machine.run_cli("export", facts["dump"], "--format", "memory-viz", "--output", out)
    snapshot = pickle.loads(out.read_bytes())
    ours = sum(block["size"] for segment in snapshot["segments"] if segment["device"] == 0 for block in segment["blocks"]
               if block["state"] == "active_allocated")
    same("allocated bytes", ours, facts["devices"]["cuda:0"]["allocated"])
    done = subprocess.run([machine.python, "-c", "import pickle, sys; from torch.cuda import _memory_viz as v; "
                           "s = pickle.load(open(sys.argv[1], 'rb')); v.segsum(s); print(len(v.trace_plot(s)), len(v.segment_plot(s)))",
                           str(out)], capture_output=True, text=True, timeout=TIMEOUT)
    expect(done.returncode == 0, f"torch.cuda._memory_viz: {last_line(done.stderr)}")
    return f"{out.stat().st_size} bytes; torch.cuda._memory_viz reads it"


def cupti_refusal(said):
    return next((line for line in said.splitlines() if line.startswith("tensorscope: ") and "CUPTI" in line), None)


@check("CUPTI: memory records")
def cupti(machine):
    facts, said = machine.target("train", TENSORSCOPE_CUPTI="1")
    compare_with_torch(machine, facts)
    refusal = cupti_refusal(said)
    if refusal is not None and ("this build has no CUPTI" in refusal or machine.double):
        raise Skipped(refusal.removeprefix("tensorscope: "))
    expect(refusal is None, refusal)
    dump = machine.load(facts["dump"])
    rows = [row for row in dump["coverage"] if "driver" in row["subject"]]
    expect(rows and rows[0]["seen"] == "yes", rows[0]["detail"] if rows else "the dump says nothing of it")
    ours = sum(row["nbytes"] for row in dump["driver_memory"]["blocks"] if row["device"] == "cuda:0")
    reserved = facts["devices"]["cuda:0"]["reserved"]
    expect(ours >= reserved, f"{ours} bytes on cuda:0, torch alone has {reserved}")
    return f"{ours} bytes on cuda:0, {reserved} of them torch's"


@check("CUPTI: kernels by place")
def cupti_activity(machine):
    facts, said = machine.target("train", TENSORSCOPE_CUPTI="activity")
    refusal = cupti_refusal(said)
    if refusal is not None and ("this build has no CUPTI" in refusal or machine.double):
        raise Skipped(refusal.removeprefix("tensorscope: "))
    expect(refusal is None, refusal)
    dump = machine.load(facts["dump"])
    expect_native_stacks(dump)
    rows = dump["launches"]
    kernels, placed = (sum(row["kernels"] for row in rows if row["site"] or all_rows) for all_rows in (True, False))
    expect(kernels > 0, "no kernel was recorded")
    expect(placed == kernels, f"{kernels - placed} of {kernels} kernels have no place")
    return f"{kernels} kernels from {len(rows)} places"


@check("CUPTI beside torch.profiler")
def cupti_profiler(machine):
    facts, said = machine.target("profiled", TENSORSCOPE_CUPTI="1")
    refusal = cupti_refusal(said)
    alone, _ = machine.target("profiled", preload=False)
    return f"torch saw {facts['kernels']} kernels ({alone['kernels']} without the preload); {refusal or 'both recorded'}"


@check("torch.profiler without CUPTI of ours")
def profiler(machine):
    facts, _ = machine.target("profiled")
    compare_with_torch(machine, facts)
    return f"torch saw {facts['kernels']} kernels"


def compared_target(machine, name, skippable=("",)):
    """Compares a target's dump with torch. Skipped where it fails without the preload, too, with one of these words in what it says."""
    done = machine.try_target(name)
    if done.returncode != 0 and any(word in done.stderr for word in skippable):
        plain = machine.try_target(name, preload=False)
        if plain.returncode != 0:
            raise Skipped(f"it does not run here without the preload either: {last_line(plain.stderr)}")
    expect(done.returncode == 0, last_line(done.stderr))
    _, text = compare_with_torch(machine, json.loads(done.stdout.splitlines()[-1]))
    return text


@check("DistributedDataParallel over NCCL, one rank")
def distributed(machine):
    return compared_target(machine, "distributed", skippable=("NCCL", "nccl", "Distributed"))


@check("torch.compile with Triton")
def compiled(machine):
    return compared_target(machine, "compiled")


@check("values of what a module returned")
def values(machine):
    facts, _ = machine.target("watched", TENSORSCOPE_WATCH="model")
    file = machine.new_dump("*.values")
    rows = json.loads(machine.run_cli("query", file, "--format", "json", "select min, max, mean, std, l2 from captures order by capture"))
    same("how many", len(rows), len(facts["outputs"]))
    if machine.double:
        return f"{len(rows)} values; their numbers are not compared: kernels do nothing here"
    worst = 0
    for row, said in zip(rows, facts["outputs"]):
        for name, value in said.items():
            off = abs(row[name] - value) / max(said["std"], abs(value))
            expect(off < 5e-5, f"{name}: {row[name]} in the file, {value} by torch")
            worst = max(worst, off)
    return f"{len(rows)} values, at most {worst:.1g} of their size apart"


@check("first NaN of a module")
def first_nan(machine):
    _, said = machine.target("nan", TENSORSCOPE_FIND_NAN="1")
    if machine.double:
        raise Skipped("kernels do nothing here")
    line = next((line for line in said.splitlines() if "first NaN" in line), None)
    expect(line is not None, f"nothing was found: {last_line(said)}")
    expect("step 2" in line and "Quotient" in said, f"{line}: not the third step, or not its module")
    return line.removeprefix("tensorscope: ")


@check("what cuDNN works in (printed, not judged)")
def scratch(machine):
    facts, said = machine.target("scratch", "2048")
    return (f"a convolution and its backward pass: peak {facts['plenty']} bytes, {facts['least']} where no more than {facts['limit']} may be "
            f"reserved; failures reported: {said.count('out of memory')}")


@check("overhead of a training loop (printed, not judged)")
def overhead(machine):
    kinds = {"with the preload": {}, "and --find-nan": {"TENSORSCOPE_FIND_NAN": "1"},
             "and values of all modules": {"TENSORSCOPE_WATCH": "model.*"}, "and --record": {"TENSORSCOPE_RECORD": "1"}}
    ratios = {kind: [] for kind in kinds}
    for _ in range(machine.overhead_pairs):
        bare = machine.target("loop", str(machine.overhead_seconds), preload=False)[0]["ns"]
        for kind, settings in kinds.items():
            ratios[kind].append(machine.target("loop", str(machine.overhead_seconds), **settings)[0]["ns"] / bare)
    return f"{bare / 1e6:.2f} ms a step; " + ", ".join(f"{kind} {statistics.median(all):.3f}" for kind, all in ratios.items())


def built(given, *places):
    """A built file: as given, in the build folder, or beside the scripts."""
    candidates = [pathlib.Path(given)] if given else [HERE.parent.parent / "build" / place for place in places] + [
        HERE.parent / pathlib.Path(place).name for place in places]
    return next((path.resolve() for path in candidates if path.is_file()), None)


def nothing_to_check(why):
    print(f"gpu-check: {why}")
    return 2


def run_all(machine, wanted):
    failed = 0
    for title, function in CHECKS:
        if wanted and not any(word in f"{function.__name__} {title}" for word in wanted):
            continue
        try:
            outcome, detail = "ok", function(machine)
        except Skipped as why:
            outcome, detail = "skipped", why
        except Failed as why:
            outcome, detail = "FAILED", why
        except subprocess.TimeoutExpired as hang:
            outcome, detail = "FAILED", f"no end within {hang.timeout:.0f} s"
        except Exception as error:  # a check that breaks is a check that failed
            outcome, detail = "FAILED", f"{type(error).__name__}: {error}"
        failed += outcome == "FAILED"
        text = " ".join(str(detail).split())
        print(f"{outcome:8}{title}: {text if len(text) <= 300 else text[:300] + '...'}", flush=True)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(prog="scripts/gpu-check", description="Checks tensorscope on a real GPU.")
    parser.add_argument("check", nargs="*", help="only checks whose name has one of these words")
    parser.add_argument("--python", help="a Python with a CUDA build of PyTorch (python3)")
    parser.add_argument("--library", help="libtensorscope.so (build/preload/libtensorscope.so, or beside the script)")
    parser.add_argument("--tensorscope", help="tensorscope (build/analyzer/tensorscope, or beside the script)")
    parser.add_argument("--overhead-pairs", type=int, default=5, help="runs with and without the preload")
    parser.add_argument("--overhead-seconds", type=float, default=5)
    arguments = parser.parse_args()
    library = built(arguments.library, "preload/libtensorscope.so")
    cli = built(arguments.tensorscope, "analyzer/tensorscope")
    if library is None or cli is None:
        return nothing_to_check("libtensorscope.so or tensorscope is not there: build first, or say where (--library, --tensorscope)")
    version = subprocess.run([cli, "--version"], capture_output=True, text=True, timeout=TIMEOUT)
    if version.returncode != 0:
        return nothing_to_check(f"{cli} does not run here: {last_line(version.stderr)}")
    # Not resolved: a virtual environment's python is a link.
    python = shutil.which(arguments.python or "python3")
    if python is None:
        return nothing_to_check(f"there is no {arguments.python or 'python3'}")
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        machine = Machine(os.path.abspath(python), library, cli, folder)
        machine.overhead_pairs, machine.overhead_seconds = arguments.overhead_pairs, arguments.overhead_seconds
        about = machine.try_target("about", preload=False)
        if about.returncode != 0:
            return nothing_to_check(f"{python} has no CUDA build of PyTorch that sees a GPU: {last_line(about.stderr)}")
        machine.about = json.loads(about.stdout.splitlines()[-1])
        print("gpu-check: {name}, compute capability {0}.{1}, {devices} in all; torch {torch}, CUDA {cuda}{2}".format(
            *machine.about["capability"], " (a double of NVIDIA's libraries)" if machine.double else "", **machine.about), flush=True)
        return run_all(machine, arguments.check)


if __name__ == "__main__":
    sys.exit(main())
