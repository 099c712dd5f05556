"""What a target program itself knows about its tensors, written as JSON next to a dump taken at the same moment.

`moment()` is called by every program of this folder once it holds what it wants to show. Without the preload it writes only
what the program knows. It makes no tensor and keeps none.
"""

import ctypes
import gc
import json
import os
import sys
import threading

import torch

try:
    import libtensorscope
except ImportError:
    libtensorscope = None


VERSION = tuple(int(part) for part in torch.__version__.split(".")[:2])


def storage(tensor):
    """Its untyped storage, which torch 1.13 calls by another name."""
    return tensor.untyped_storage() if VERSION >= (2, 0) else tensor._storage()


def _row(tensor):
    row = {"address": tensor._cdata, "class": type(tensor).__name__}

    def put(name, read):
        try:
            row[name] = read()
        except Exception as error:  # an exotic tensor may refuse any of these
            row.setdefault("refused", {})[name] = type(error).__name__

    plain = type(tensor) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer if hasattr(torch.nn, "Buffer") else torch.Tensor)
    if plain:
        put("shape", lambda: [int(size) for size in tensor.shape])
        put("dtype", lambda: str(tensor.dtype).split(".")[-1])
        put("device", lambda: str(tensor.device))
        put("layout", lambda: str(tensor.layout).split(".")[-1])
        put("requires_grad", lambda: tensor.requires_grad)
        put("is_leaf", lambda: tensor.is_leaf)
        if tensor.layout is torch.strided:
            put("strides", lambda: list(tensor.stride()))
            if "strides" in row:  # a nested tensor has neither
                put("storage_offset", lambda: tensor.storage_offset())
            put("storage_nbytes", lambda: storage(tensor).nbytes())
            if tensor.device.type in ("cpu", "cuda"):
                put("storage_data_ptr", lambda: storage(tensor).data_ptr())
    return row


def tensors():
    """Every tensor the garbage collector knows: a lower bound of what is alive."""
    found = []
    for candidate in gc.get_objects():
        if issubclass(type(candidate), torch.Tensor):
            found.append(_row(candidate))
    return found


def dump():
    """The dump's path. Where the interpreter is none that the preload knows, there is no module, but the C function."""
    if libtensorscope:
        return libtensorscope.dump()
    function = getattr(ctypes.CDLL(None), "tensorscope_dump", None)
    path = ctypes.create_string_buffer(4096)
    return path.value.decode() if function and function(path, ctypes.c_size_t(len(path))) == 0 else None


def moment(name="1", **facts):
    """Writes TRUTH_DIR/NAME.json and takes a dump; returns the dump's path, None without the preload."""
    gc.collect()
    folder = os.environ.get("TRUTH_DIR")
    if folder:
        known = {"pid": os.getpid(), "tid": threading.get_native_id(), "tensors": tensors(), "facts": facts}
    path = dump()
    if folder:
        known["dump"] = path
        with open(os.path.join(folder, f"{name}.json"), "w") as file:
            json.dump(known, file)
    return path


def here():
    """File and line of the caller, to compare with a stack."""
    frame = sys._getframe(1)
    return [frame.f_code.co_filename, frame.f_lineno]
