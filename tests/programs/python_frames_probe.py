"""What the programs that capture their own Python stacks share: the probe library, and the comparison of a stack that it read with
the one that the interpreter tells. sys.argv[1] is the library's path. Any CPython from 3.8 on.
"""
import ctypes
import sys
import threading

VERSION = sys.version_info[:2]


class Frame(ctypes.Structure):
    _fields_ = [("module_object", ctypes.c_uint64), ("file", ctypes.c_char_p), ("name", ctypes.c_char_p),
                ("parent", ctypes.c_uint32), ("first_line", ctypes.c_int32), ("line", ctypes.c_int32),
                ("entry", ctypes.c_int32)]


probe = ctypes.CDLL(sys.argv[1])     # releases the GIL
with_gil = ctypes.PyDLL(sys.argv[1])  # keeps it
probe.probe_capture.restype = probe.probe_capture_both.restype = ctypes.c_uint32
probe.probe_detail.restype = ctypes.c_char_p
probe.probe_missed.restype = probe.probe_memory.restype = ctypes.c_uint64
probe.probe_cost.restype = ctypes.c_double
capture = probe.probe_capture_both if "--both" in sys.argv else probe.probe_capture

results = {"version": sys.version, "labels": [], "captures": 0, "failures": []}
count_lock = threading.Lock()


def raw_frames(leaf):
    frames = []
    while leaf:
        frame = Frame()
        with_gil.probe_frame(ctypes.c_uint32(leaf), ctypes.byref(frame))
        frames.append(frame)
        leaf = frame.parent
    return frames


def qualified(code):
    return code.co_qualname if VERSION >= (3, 11) else code.co_name


def true_frames(frame):
    frames = []
    while frame is not None:
        code = frame.f_code
        frames.append((code.co_filename, qualified(code), code.co_firstlineno, frame.f_lineno or 0))
        frame = frame.f_back
    return frames


def compare(label, leaf, frame):
    raw = raw_frames(leaf)
    ours = [(f.file.decode(), f.name.decode(), f.first_line, f.line) for f in raw]
    truth = true_frames(frame)
    with count_lock:
        results["captures"] += 1
        if label not in results["labels"]:
            results["labels"].append(label)
        if ours != truth:
            results["failures"].append({"label": label, "ours": ours[:8], "truth": truth[:8], "depth": [len(ours), len(truth)]})
        elif not raw or not raw[-1].entry:
            results["failures"].append({"label": label, "problem": "the outermost frame is no entry"})
    return raw


def require(label, condition, problem):
    if not condition:
        results["failures"].append({"label": label, "problem": problem})


def entry_names(raw):
    return [f.name.decode().rpartition(".")[2] for f in raw if f.entry]


def here(label, *_):
    return compare(label, *(capture(), sys._getframe()))
