# SPDX-License-Identifier: Apache-2.0
"""Memory runs out: the dump at that moment says what failed, where, and who had the memory, and the program notices nothing.

A target fails at many places in one process, which is run once with the preload and once alone."""

# Covers: preload/hooks/torch/{out_of_memory,exception_type}.cc
# Covers: preload/oom/{failing_thread,reserve}.cc
# Covers: preload/dump/failure_chunk.cc
# Covers: preload/python/heap_inspector/collection_paused.cc

import pathlib
import re
import subprocess

import pytest

import dump_reader
import harness


class Failed:
    """One dump of a failure."""

    def __init__(self, path):
        self.path, self.failure, self.exported = path, dump_reader.failure(path), harness.load(path)
        self.number = int(re.search(r"\.oom-(\d+)\.tscope$", path.name)[1])

    def stack(self, language="python", site=None):
        if language == "python":
            harness.needs_gil("Python stacks")
        sites, stacks = ({row["id"]: row for row in self.exported[kind]} for kind in ("sites", "stacks"))
        row = sites[self.failure.site if site is None else site]
        return harness.frames({"stack": stacks[row["stack"]]["frames"]}, language)

    def functions(self, site=None):
        return [name.rsplit(".", 1)[-1] for name, _, _ in self.stack(site=site)]

    def place(self, site=None):
        """The function that the program's main part called."""
        outer = [name for name in self.functions(site) if name not in ("caught", "<module>")]
        return outer[-1] if outer else ""

    def forward_place(self):
        return self.place(self.node()["site"]) if self.failure.node else ""

    def node(self):
        return next(row for row in self.exported["nodes"] if row["id"] == self.failure.node)

    def named(self, wanted):
        return [tensor for tensor in self.exported["tensors"] if any(wanted in name for name in tensor["names"])]

    def has_the_program(self, temporaries=1, kept=10):
        """Names are complete, and what the failing call has made so far is still there."""
        references = dump_reader.References(self.path)
        assert references.complete, references.detail
        assert len(self.named("temporary")) == temporaries and len(self.named("kept[")) == kept
        assert harness.coverage(self.exported)["out of memory"].seen == "yes"


def dumps_of_failures(folder):
    return sorted((Failed(path) for path in pathlib.Path(folder).glob("*.oom-*.tscope")), key=lambda dump: dump.number)


class Both:
    """A target's run under the preload, beside the same without it."""

    def __init__(self, program, *places, folder, **options):
        self.folder = folder
        settings = {"quiet": 1, "oom_report": 0, "oom_dumps": 100, **options}
        self.seen, self.alone = (harness.run(program, *places, folder=folder, preload=preload, **settings)
                                 for preload in (True, False))
        self.dumps = dumps_of_failures(folder)

    def of(self, place):
        """The one dump of the failure at this place of the program."""
        (found,) = [dump for dump in self.dumps if place in (dump.place(), dump.forward_place())]
        return found

    def are_the_same(self, status):
        assert (self.seen.returncode, self.seen.stdout) == (self.alone.returncode, self.alone.stdout)
        assert self.seen.returncode == status
        # Torch's own warnings carry times and threads, Python's the process.
        lines = [[re.sub(r"^(\[W[^\]]*\]|W\d+ [\d:.]+ \d+) |\(pid=\d+\)", "", line) for line in done.stderr.splitlines()]
                 for done in (self.seen, self.alone)]
        assert lines[0] == lines[1]


def line_of(program, text):
    lines = (harness.PROGRAMS / program).read_text().splitlines()
    return 1 + next(index for index, line in enumerate(lines) if text in line)


# ---- the CPU ------------------------------------------------------------------------------------------------------------

@pytest.fixture(scope="module")
def host(tmp_path_factory):
    folder = tmp_path_factory.mktemp("host")
    with pytest.MonkeyPatch.context() as patch:
        programs = harness.BUILD / "tests" / "programs"
        patch.setenv("OOM_SAME_NAME", f"{programs / 'oom_same_name_bare.so'}:{programs / 'oom_same_name.so'}")
        return Both("oom_cpu.py", "plain", "custom_backward", "two_threads", "same_name", "in_a_child", "retry", "compiled",
                    "thousand", "uncaught", folder=folder)


def test_the_program_notices_nothing(host):
    host.are_the_same(1)
    assert "same name 1 1 1000" in host.seen.stdout and "a thousand" in host.seen.stdout
    assert "\nTraceback" in "\n" + host.seen.stderr and "in uncaught" in host.seen.stderr


def test_host_memory_runs_out(host):
    dump = next(dump for dump in host.dumps if dump.failure.failures == 1 and not dump.exported["process"]["forked_from"])
    failure = dump.failure
    assert re.fullmatch(r"oom_cpu\.\d+\.oom-1\.tscope", dump.path.name)
    assert (failure.kind, failure.device, failure.requested) == ("host", (0, -1), 64 << 30)
    assert (failure.failures, failure.without_dump, failure.node) == (1, 0, 0)
    # The limit, and what was left under it: 256 MiB when the program set it.
    assert failure.limit == "address_space"
    least = 128 if harness.free_threaded() else 200  # its own allocator maps 64 MiB at once
    assert least << 20 < failure.left_bytes < 257 << 20 and failure.limit_bytes > failure.left_bytes
    assert dump.exported["process"]["trigger"] == "out_of_memory"
    assert any("alloc" in (name or "") for name, _, _ in dump.stack("native"))


def test_the_call_that_failed_is_known(host):
    dump = host.of("plain")
    assert dump.failure.failures == 1
    assert dump.stack()[0][2] == line_of("oom_cpu.py", "torch.empty(TOO_MUCH")
    assert dump.functions() == ["fails", "plain", "caught", "<module>"]
    dump.has_the_program()


def test_in_a_custom_backward(host):
    dump = host.of("custom_backward")
    assert dump.functions()[:2] == ["fails", "backward"]
    assert dump.forward_place() == "custom_backward"
    dump.has_the_program()


def test_two_threads_at_once(host):
    dumps = [dump for dump in host.dumps if dump.functions()[1:2] == ["<lambda>"] and "work" in dump.functions()]
    assert len({dump.failure.thread for dump in dumps}) == 2
    for dump in dumps:
        dump.has_the_program(temporaries=len(dump.named("temporary")))


def test_a_forked_child_begins_anew(host):
    parent, child = (dump for dump in host.dumps if "in_a_child" in dump.functions() or dump.exported["process"]["forked_from"])
    if parent.exported["process"]["forked_from"]:
        parent, child = child, parent
    assert child.failure.failures == child.number == 1
    assert child.exported["process"]["forked_from"] == parent.exported["process"]["pid"]


def test_a_smaller_batch_is_tried(host):
    assert f"\n{1 << 22} 0.0\n" in host.seen.stdout
    assert host.of("retry").failure.kind == "host"


def test_in_compiled_code(host):
    dump = host.of("compiled")
    assert 60 << 30 < dump.failure.requested <= 64 << 30
    assert dump_reader.References(dump.path).complete


def test_one_dump_a_place_and_the_others_are_counted(host):
    thousand, last = host.of("thousand").failure, host.of("uncaught").failure
    assert last.failures == thousand.failures + 1000
    assert last.without_dump == thousand.without_dump + 999
    exported = harness.load(*host.folder.glob("*.exit.tscope"))
    said = harness.coverage(exported)["out of memory"]
    assert said.missed == last.without_dump and "TENSORSCOPE_OOM_DUMPS" in said.detail
    assert dump_reader.failure(*host.folder.glob("*.exit.tscope")) is None


def test_an_exception_of_the_same_name_makes_no_dump(host):
    assert not [dump for dump in host.dumps if "same_name" in dump.functions()]


def test_thrown_by_an_extension(tmp_path):
    """As by an allocator that is plugged into torch: nobody reports anything, the class alone says what it is."""
    harness.needs_build_against_this_torch()
    done = harness.run_source(
        "import ctypes, sys, torch\nkept = torch.ones(1000)\n"
        "def asks():\n    temporary = kept + 1\n    return ctypes.CDLL(sys.argv[1]).throw_and_catch()\nprint(asks())\n",
        str(harness.BUILD / "tests" / "programs" / "oom_thrower.so"), folder=tmp_path, exit="never")
    assert (done.returncode, done.stdout) == (0, "1\n"), done.stderr
    (dump,) = dumps_of_failures(tmp_path)
    assert (dump.failure.kind, dump.failure.error, dump.failure.requested) == ("unknown", "c10::OutOfMemoryError", 0)
    assert dump.functions() == ["asks", "<module>"]
    assert len(dump.named("temporary")) == 1


def test_at_most_so_many_dumps(tmp_path):
    harness.run("oom_cpu.py", "thousand", folder=tmp_path, exit="never", oom_interval_ms=0, oom_dumps=3)
    assert [(dump.number, dump.failure.failures) for dump in dumps_of_failures(tmp_path)] == [(1, 1), (2, 2), (3, 3)]


def test_switched_off(tmp_path):
    done = harness.run("oom_cpu.py", "plain", folder=tmp_path, oom_dumps=0)
    assert done.returncode == 0
    (path,) = tmp_path.glob("*.tscope")
    assert ".exit." in path.name
    assert harness.coverage(path)["out of memory"][:2] == ("no", "switched off by TENSORSCOPE_OOM_DUMPS")


@pytest.mark.cases(1)
@pytest.mark.parametrize("left", [0, 1 << 20, 16 << 20])
def test_with_no_memory_left_at_all(left, tmp_path, monkeypatch):
    """The profiler's own allocations fail but for what it has kept."""
    monkeypatch.setenv("OOM_LEAVE", str(left))
    done = harness.run("oom_cpu.py", "plain", folder=tmp_path, exit="never")
    assert done.returncode == 0 and "goes on 1000.0" in done.stdout
    (dump,) = dumps_of_failures(tmp_path)
    assert dump.functions() == ["fails", "plain", "caught", "<module>"]
    dump.has_the_program(temporaries=len(dump.named("temporary")))  # the first thing that fails may be the temporary


def cpp_frames(dump):
    return [name for name, _, _ in dump.stack("native")]


def test_in_a_cpp_program(tmp_path):
    harness.needs_build_against_this_torch()
    both = Both("oom_program", "cpu", folder=tmp_path, exit="never")
    both.are_the_same(0)
    assert both.seen.stdout.count("host: ") == 2
    (dump,) = both.dumps  # of two failures at one place
    assert (dump.failure.kind, dump.failure.requested) == ("host", 1 << 40)
    assert any(name.endswith("::fails") for name in cpp_frames(dump)) and "main" in cpp_frames(dump)
    assert len(dump.exported["tensors"]) == 11  # ten, and the temporary


# ---- CUDA, on the double of its libraries -----------------------------------------------------------------------------------

TOO_MUCH = 1 << 40


@pytest.fixture(scope="module", params=["", "expandable_segments:True", pytest.param("backend:cudaMallocAsync", marks=pytest.mark.cases(0))])
def device(under_the_cuda_build, request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("device")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTORCH_CUDA_ALLOC_CONF", request.param)
        both = Both("oom_cuda.py", "plain", "with_the_gil", "second_device", "python_backward", "native_backward", "compiled",
                    "two_threads", "retry", "thousand", "uncaught", folder=folder, fake_cuda_devices=2)
    both.reports = "Async" not in request.param
    return both


def is_what_failed(failure, requested=TOO_MUCH, device=(1, 0)):
    assert (failure.kind, failure.device, failure.requested) == ("device", device, requested)
    assert failure.error == "c10::OutOfMemoryError"


@harness.needs_fake_cuda
def test_the_program_notices_nothing_on_a_device(device):
    device.are_the_same(1)
    assert "a thousand" in device.seen.stdout and "torch.OutOfMemoryError: " in device.seen.stderr


@harness.needs_fake_cuda
@pytest.mark.parametrize("place, function", [("plain", "fails"), ("with_the_gil", "fails_with_the_gil")])
def test_device_memory_runs_out(place, function, device):
    dump = device.of(place)
    is_what_failed(dump.failure)
    assert dump.functions() == [function, place, "caught", "<module>"]
    assert any("alloc" in name.lower() for name, _, _ in dump.stack("native"))
    dump.has_the_program()
    if device.reports:
        assert dump.failure.allocated == 11 * 4096 and dump.failure.reserved % (2 << 20) == 0


@harness.needs_fake_cuda
def test_on_the_device_that_was_asked(device):
    dump = device.of("second_device")
    is_what_failed(dump.failure, device=(1, 1))
    assert [tensor["device"] for tensor in dump.named("temporary")] == ["cuda:1"]
    if device.reports:
        assert dump.failure.allocated == 2 * 4096


@harness.needs_fake_cuda
def test_in_a_python_backward(device):
    dump = device.of("python_backward")
    is_what_failed(dump.failure)
    assert dump.functions()[:2] == ["fails", "backward"]
    dump.has_the_program()


@harness.needs_fake_cuda
def test_in_a_native_backward(device):
    """On the engine's thread there is no Python; its node's forward stack says where it belongs."""
    dump = device.of("native_backward")
    is_what_failed(dump.failure, 12 << 20)
    assert dump.stack() == [] and dump.stack("native")
    assert "CumsumBackward" in dump.node()["name"]
    assert dump.functions(dump.node()["site"])[:2] == ["forward", "native_backward"]
    dump.has_the_program(temporaries=0)


@harness.needs_fake_cuda
def test_in_compiled_code_on_a_device(device):
    dump = device.of("compiled")
    is_what_failed(dump.failure, dump.failure.requested)
    assert dump_reader.References(dump.path).complete


@harness.needs_fake_cuda
def test_two_threads_at_once_on_a_device(device):
    """One holds the GIL, the other does not."""
    dumps = {dump.functions()[0]: dump for dump in device.dumps if "work" in dump.functions()}
    assert dumps.keys() == {"fails", "fails_with_the_gil"}
    assert len({dump.failure.thread for dump in dumps.values()}) == 2
    # cudaMallocAsync's allocator throws under its lock. Where the other thread waits for that with the GIL, the names wait
    # for the GIL as long as they may.
    without_names = dump_reader.References(dumps["fails"].path)
    if not device.reports and not without_names.complete:
        assert "TENSORSCOPE_NAMES_TIMEOUT_MS" in without_names.detail
        del dumps["fails"]
    for dump in dumps.values():
        dump.has_the_program(temporaries=len(dump.named("temporary")))


@harness.needs_fake_cuda
def test_one_dump_a_place_on_a_device(device):
    thousand, last = device.of("thousand").failure, device.of("uncaught").failure
    assert (last.failures, last.without_dump) == (thousand.failures + 1000, thousand.without_dump + 999)
    assert device.of("retry").failure.kind == "device"


@harness.needs_fake_cuda
def test_many_at_once_and_while_other_dumps_are_written(under_the_cuda_build, tmp_path):
    both = Both("oom_cuda.py", "four_threads_often", "during_a_dump", folder=tmp_path, oom_interval_ms=0, oom_dumps=30)
    both.are_the_same(0)
    assert [dump.number for dump in both.dumps] == list(range(1, 31))
    others = [path for path in tmp_path.glob("*.tscope") if ".oom-" not in path.name]
    assert len(others) > 1 and all(dump_reader.failure(path) is None for path in others)
    for path in tmp_path.glob("*.tscope"):
        assert dump_reader.References(path).complete


@pytest.mark.cases(1)
@harness.needs_fake_cuda
@pytest.mark.parametrize("setting", ["", "no cache"])
def test_calls_of_the_runtime_that_fail(setting, under_the_cuda_build, tmp_path):
    """Pinned memory, and a device's memory without torch's cache: torch throws what any failed call of CUDA leads to."""
    with pytest.MonkeyPatch.context() as patch:
        if setting:
            patch.setenv("PYTORCH_NO_CUDA_MEMORY_CACHING", "1")
        places = ["plain", "with_the_gil"] if setting else ["pinned", "pin_memory_thread"]
        both = Both("oom_cuda.py", *places, folder=tmp_path, exit="never")
    both.are_the_same(0)
    assert len(both.dumps) == 2
    for place in places:
        dump = both.of(place) if place != "pin_memory_thread" else both.dumps[1]
        failure = dump.failure
        if setting:
            assert (failure.kind, failure.device, failure.requested) == ("device", (1, 0), TOO_MUCH)
            assert failure.error == "cudaMalloc: out of memory"
            dump.has_the_program()
        else:
            assert failure.kind == "pinned" and failure.requested >= 32 * 4000 and "out of memory" in failure.error
            assert dump_reader.References(dump.path).complete
    if not setting:
        assert "_pin_memory_loop" in both.dumps[1].functions() or "pin_memory" in both.dumps[1].functions()


def compiled_for_the_cuda_build(torch, source, output, *options):
    abi = harness.asked("torch", "int(torch._C._GLIBCXX_USE_CXX11_ABI)", harness.FAKE_CUDA)
    subprocess.run(["g++", "-std=c++20", "-w", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", "-isystem", torch / "include", harness.PROGRAMS / source,
                    "-o", output, "-L", torch / "lib", *options], check=True)


@pytest.fixture(scope="module")
def cpp_on_cuda(under_the_cuda_build, tmp_path_factory):
    """The C++ program, linked with the CUDA build's libraries."""
    (torch,) = harness.FAKE_CUDA.parents[1].glob("lib/python*/site-packages/torch")
    program = tmp_path_factory.mktemp("cpp") / "oom_program"
    compiled_for_the_cuda_build(torch, "oom_program.cc", program, "-O0", f"-Wl,-rpath,{torch / 'lib'}", "-Wl,--no-as-needed", "-ltorch_cuda",
                                "-ltorch_cpu", "-lc10_cuda", "-lc10", "-Wl,--allow-shlib-undefined")
    return program


@harness.needs_fake_cuda
def test_in_a_cpp_program_on_a_device(cpp_on_cuda, tmp_path):
    """It catches torch's exception by its class, whose type_info is then the program's own for all the process."""
    outputs = []
    for preload in (True, False):
        settings = harness.environment(tmp_path, preload, exit="never", quiet=1, oom_report=0)
        done = subprocess.run([cpp_on_cuda, "cuda", "uncaught"], env=settings, cwd=tmp_path, capture_output=True, text=True,
                              timeout=harness.TIMEOUT)
        outputs.append((done.returncode, done.stdout, done.stderr.count("c10::OutOfMemoryError")))
    assert outputs[0] == outputs[1] and outputs[0][0] == -6 and outputs[0][1].count("device: ") == 2
    dumps = dumps_of_failures(tmp_path)
    assert [dump.failure.failures for dump in dumps] == [1, 3]  # main calls at two places
    for dump in dumps:
        assert (dump.failure.kind, dump.failure.device, dump.failure.requested) == ("device", (1, 0), TOO_MUCH)
        assert any(name.endswith("::fails") for name in cpp_frames(dump)) and "main" in cpp_frames(dump)


@harness.needs_fake_cuda
def test_an_allocator_that_the_program_plugs_in(under_the_cuda_build, tmp_path):
    """torch's allocator reports nothing then: the exception's class tells, and the runtime's calls have the memory."""
    (torch,) = harness.FAKE_CUDA.parents[1].glob("lib/python*/site-packages/torch")
    (runtime,) = (torch.parent / "nvidia").glob("*/lib/libcudart.so.*")
    library = tmp_path / "plugged.so"
    compiled_for_the_cuda_build(torch, "cuda_plugged.cc", library, "-O1", "-fPIC", "-shared", "-lc10", "-L", runtime.parent,
                                f"-l:{runtime.name}", f"-Wl,-rpath,{runtime.parent}")
    both = Both("cuda_plugged.py", str(library), folder=tmp_path, exit="never")
    both.are_the_same(0)
    assert "the plugged allocator has no 1048576000 bytes on 0" in both.seen.stdout
    (dump,) = both.dumps
    assert (dump.failure.error, dump.failure.failures) == ("c10::OutOfMemoryError", 1)
    assert dump.functions() == ["asks", "<module>"]
    storages = {row["id"]: row for row in dump.exported["storages"]}
    ours = [storages[tensor["storage"]] for tensor in dump.named("kept[") + dump.named("temporary")]
    assert sorted(row["nbytes"] >> 20 for row in ours) == [1, 20, 20, 20, 20]
    assert {row["kind"] for row in ours} == {"runtime"}


@harness.needs_fake_cuda
def test_standard_error_is_closed(under_the_cuda_build, tmp_path):
    command = ["sh", "-c", 'exec "$@" 2>&-', "sh", *harness.command("oom_cuda.py", "plain")]
    done = subprocess.run(command, env=harness.environment(tmp_path, exit="never"), cwd=tmp_path, stdout=subprocess.PIPE, text=True,
                          timeout=harness.TIMEOUT, stdin=subprocess.DEVNULL)
    assert done.returncode == 0 and "goes on 40960" in done.stdout and "tensorscope" not in done.stdout
    assert len(dumps_of_failures(tmp_path)) == 1


@harness.needs_fake_cuda
def test_no_device_is_visible(under_the_cuda_build, tmp_path):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CUDA_VISIBLE_DEVICES", "")
        done = harness.run("oom_cpu.py", "plain", folder=tmp_path, exit="never")
    assert done.returncode == 0
    (dump,) = dumps_of_failures(tmp_path)
    assert dump.failure.kind == "host"
    dump.has_the_program()
