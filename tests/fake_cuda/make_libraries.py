#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_libraries.py TORCH_LIB OUT: builds a stand-in for every NVIDIA library that the torch in TORCH_LIB needs.

What is needed is read from the wheel itself: the SONAMEs, the undefined names, and their version nodes. The functions that
matter are written by hand in the sources beside this file; each other name gets a function that does nothing and answers
"fine" or "not supported". So a new version of torch needs no new list.
"""
import collections
import concurrent.futures
import mmap
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent

# Whose a name is, by how it begins; the first that fits counts.
FAMILIES = [
    ("cublasLt", "libcublasLt"), ("cublas", "libcublas"), ("cudnn", "libcudnn"), ("cufft", "libcufft"),
    ("curand", "libcurand"), ("cusolver", "libcusolver"), ("cusparseLt", "libcusparseLt"), ("cusparse", "libcusparse"),
    ("p?nccl", "libnccl"), ("nvrtc", "libnvrtc"), ("nvshmem", "libnvshmem_host"), ("cupti", "libcupti"),
    ("cuFile", "libcufile"), ("nvtx", "libnvToolsExt"), ("(__)?cuda", "libcudart"), ("cu[A-Z]", "libcuda"),
]
WRITTEN = {
    "libcudart": ["fake_device.cc", "activity.cc", "runtime_memory.cc", "runtime_device.cc", "runtime_stream.cc", "runtime_kernels.cc"],
    "libcuda": ["driver.cc"],
    "libnvidia-ml": ["nvml.cc"],
    "libcudnn": ["library_cudnn.cc"],
    "libcublasLt": ["library_blas.cc"],
    "libnccl": ["library_nccl.cc"],
    "libcupti": ["cupti.cc"],
}
ON_THE_RUNTIME = {"libcuda", "libnvidia-ml", "libcupti"}  # these ask it about the devices, or are told by it
ASKED_FOR_BY_NAME = {"libcuda.so.1", "libnvidia-ml.so.1"}  # opened while running: no library needs them

# What a generated function answers: where nothing is done all is fine; runtime and driver say cudaErrorNotSupported,
# CUPTI CUPTI_ERROR_NOT_INITIALIZED, the others 1, an error in each of them.
FINE = {"libcublas", "libcublasLt", "libcudnn", "libcufft", "libcurand", "libcusolver", "libcusparse", "libnccl"}
HANDLES = {"libcublas", "libcublasLt", "libcudnn", "libcusolver", "libcusparse", "libcusparseLt"}
REFUSAL = {"libcudart": 801, "libcuda": 801, "libcupti": 15}

# Names of driver functions that torch has as text, to ask for them while running.
DRIVER_NAME = re.compile(rb"\0(cu(?:Ctx|Dev|Device|Event|Func|Get|Green|Init|Kernel|Launch|Library|Link|Logs|Mem|Module|"
                         rb"Multicast|Occupancy|Pointer|Stream|Tensor)[A-Z]?[A-Za-z0-9_]{0,60})(?=\0)")


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def family(soname):
    return soname.split(".so")[0]


def needed_by(folder):
    """SONAMEs, and for each family its undefined names with their version nodes."""
    sonames, names, defined = set(ASKED_FOR_BY_NAME), collections.defaultdict(dict), set()
    for library in sorted(folder.glob("*.so*")):
        sonames.update(re.findall(r"\(NEEDED\).*\[(lib(?:cu|nccl|nv)[^\]]*)\]", output("readelf", "-dW", str(library))))
        for line in output("nm", "-D", str(library)).splitlines():
            found = re.search(r" (\w) ([A-Za-z_]\w*)(?:@+(\S+))?$", line)
            if not found:
                continue
            kind, name, version = found.groups()
            if kind not in "Uw":
                defined.add(name)
            else:
                owner = next((stem for begin, stem in FAMILIES if re.match(begin, name)), None)
                if owner:
                    names[owner].setdefault(name, version)
    for name in ("libc10_cuda.so", "libtorch_cuda.so", "libtorch_python.so"):
        with open(folder / name, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            for found in DRIVER_NAME.finditer(text):
                names["libcuda"].setdefault(found[1].decode(), None)
    sonames -= {library.name for library in folder.iterdir()}  # older wheels bring some of them
    return sonames, {stem: {name: at for name, at in all.items() if name not in defined} for stem, all in names.items()}


def generated(stem, name):
    """A function that does nothing."""
    if stem in HANDLES and "Create" in name:  # the first argument is where the handle goes
        return f"int {name}(void** handle) {{ *handle = calloc(1, 256); return 0; }}"
    if name.endswith(("GetErrorString", "GetStatusString", "GetStatusName", "GetLastError")):
        return f'const char* {name}(void) {{ return "the double knows no more of it"; }}'
    if name == "nvrtcVersion":
        return f"int {name}(int* major, int* minor) {{ *major = 13; *minor = 0; return 0; }}"
    return f'int {name}(void) {{ return called("{name}", {0 if stem in FINE else REFUSAL.get(stem, 1)}); }}'


TRACED = """#include <stdio.h>
#include <stdlib.h>
static int called(const char* name, int answer) {
  if (getenv("TENSORSCOPE_FAKE_CUDA_TRACE")) fprintf(stderr, "fake CUDA: %s answers %d\\n", name, answer);
  return answer;
}
"""


def build(soname, names, runtime, work, out, define):
    stem = family(soname)
    objects = []
    for source in WRITTEN.get(stem, []):
        objects.append(work / f"{source}.o")
        subprocess.run(["c++", "-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-fPIC", "-fvisibility=hidden", define,
                        "-c", HERE / source, "-o", objects[-1]], check=True)
    present = {line.split()[-1] for path in objects for line in output("nm", "--defined-only", str(path)).splitlines()}
    missing = sorted(set(names) - present)
    text = work / f"{stem}.c"
    text.write_text(TRACED + "\n".join(generated(stem, name) for name in missing) + "\n")
    # Every name is in the first version node; further nodes are there, and empty: the loader asks for no more.
    versions = sorted({version for version in names.values() if version})
    script = work / f"{stem}.map"
    script.write_text("".join(f"{node} {{ {'global: *;' if i == 0 else ''} }};\n" for i, node in enumerate(versions)))
    plain = work / f"{stem}.o"
    subprocess.run(["cc", "-O1", "-w", "-fPIC", "-c", text, "-o", plain], check=True)
    subprocess.run(["c++", "-shared", f"-Wl,-soname,{soname}", "-Wl,-rpath,$ORIGIN", "-o", out / soname, plain, *objects,
                    *([f"-Wl,--version-script={script}"] if versions else []),
                    *([f"-L{out}", f"-l:{runtime}"] if stem in ON_THE_RUNTIME else []), "-ldl", "-lpthread"], check=True)
    return f"{soname}: {len(names)} names that torch needs, {len(missing)} of them do nothing"


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: make_libraries.py TORCH_LIB OUT")
    folder, out = map(pathlib.Path, sys.argv[1:])
    sonames, names = needed_by(folder)
    runtime = next((name for name in sonames if family(name) == "libcudart"), None)
    if runtime is None:
        sys.exit(f"make_libraries.py: {folder} holds no torch that needs CUDA")
    work = out / "fake_cuda"
    work.mkdir(parents=True, exist_ok=True)
    define = f"-DFAKE_CUDA_VERSION={12040 if runtime.endswith('.12') else 13000}"
    others = sorted(sonames - {runtime})
    print(build(runtime, names["libcudart"], runtime, work, out, define))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for line in pool.map(lambda soname: build(soname, names.get(family(soname), {}), runtime, work, out, define), others):
            print(line)


if __name__ == "__main__":
    main()
