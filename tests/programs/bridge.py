"""Opens the bridge's probe (tests/unit/preload/python/bridge_probe.cc) inside this interpreter; imported by other programs."""
import ctypes
import time


def open_probe(path):
    probe = ctypes.CDLL(str(path))
    probe.probe_names.restype = ctypes.c_char_p
    probe.probe_names.argtypes = [ctypes.c_uint]
    return probe


def attached(path):
    """The probe, once the bridge has done what it does when torch appears."""
    return attached_to(open_probe(path))


def attached_to(probe):
    while not probe.probe_attach():
        time.sleep(0.001)
    return probe


def forked(probe):
    probe.probe_after_fork_in_child()


def names(probe, timeout_ms=60_000):
    """The first line of the answer, and {address: (class, path)}."""
    first, *lines = probe.probe_names(timeout_ms).decode().splitlines()
    return first, {int(address): (kind, path) for address, kind, path in (line.split("\t") for line in lines)}


def register_tensor(probe, address):
    """Makes the probe take this address for that of a live TensorImpl."""
    probe.probe_register_tensor(ctypes.c_void_p(address))


def heap(probe, timeout_ms=60_000):
    """Bytes of Python's arenas, bytes in objects, and why they are not known."""
    probe.probe_heap.restype = ctypes.c_char_p
    arenas, in_use, detail = probe.probe_heap(timeout_ms).decode().split(" ", 2)
    return int(arenas), int(in_use), detail


def references(probe, timeout_ms=60_000):
    """The first line of the answer, and {address: [[root, scope, text], ...]}."""
    probe.probe_references.restype = ctypes.c_char_p
    first, *lines = probe.probe_references(timeout_ms).decode().splitlines()
    rows = {}
    for line in lines:
        address, *row = line.split("\t")
        rows.setdefault(int(address), []).append(row)
    return first, rows
