# SPDX-License-Identifier: Apache-2.0
"""Writes element_texts.h: tensors of every dtype and form, and what torch prints of them."""

import math
import pathlib

import torch

CODES = [torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.float32, torch.float64,
         torch.complex32, torch.complex64, torch.complex128, torch.bool]
CODES = {dtype: code for code, dtype in enumerate(CODES)} | {
    torch.bfloat16: 15, torch.float8_e5m2: 23, torch.float8_e4m3fn: 24, torch.float8_e5m2fnuz: 25, torch.float8_e4m3fnuz: 26,
    torch.uint16: 27, torch.uint32: 28, torch.uint64: 29}


def tensors():
    yield torch.tensor(3.5)
    yield torch.tensor([1.0, 2.0, -3.0])
    yield torch.tensor([[1.0, 0.25], [-0.0001, 3e7]])
    yield torch.tensor([1e-5, 2e-5])
    yield torch.tensor([0.0, 0.0])
    yield torch.tensor([math.nan, 1.0, math.inf, -math.inf])
    yield torch.tensor([math.nan, 0.5, math.inf, -math.inf])
    yield torch.tensor([1.0, 100000.0])
    yield torch.tensor([2e9, 1.0])
    yield torch.arange(24).reshape(2, 3, 4)
    yield torch.arange(24, dtype=torch.float32).reshape(2, 3, 2, 2) / 7
    yield torch.arange(40, dtype=torch.float32) / 7
    yield torch.arange(40, dtype=torch.int16) * -3
    yield torch.tensor([True, False])
    yield torch.tensor([[1 + 2j, -3.5 - 0.25j]])
    yield torch.tensor([1 + 2j, 3 - 4j], dtype=torch.complex128)
    yield torch.arange(20).to(torch.complex64) * (1 - 0.5j)
    yield torch.tensor([1 + 2j], dtype=torch.complex32)
    yield torch.tensor([255, 0], dtype=torch.uint8)
    yield torch.tensor([2**64 - 1, 0], dtype=torch.uint64)
    yield torch.tensor([1, 65535], dtype=torch.uint16)
    yield torch.tensor([1, 2**32 - 1], dtype=torch.uint32)
    for dtype in (torch.float16, torch.float64, torch.bfloat16, torch.float8_e5m2, torch.float8_e4m3fn,
                  torch.float8_e5m2fnuz, torch.float8_e4m3fnuz):
        yield torch.tensor([0.5, -1.75, 3.0, 0.0]).to(dtype)
    yield torch.empty(0)
    yield torch.empty(0, 3)
    yield torch.empty(2, 0, dtype=torch.int64)
    yield torch.empty(0, dtype=torch.float16)
    yield torch.arange(13, dtype=torch.float64) / 3
    yield torch.tensor([1.5, -2.5]).repeat(1000)
    yield torch.tensor([1.5, -2.5]).repeat(1000).reshape(20, 100)
    yield torch.tensor([1, -2]).repeat(600).reshape(12, 4, 25)
    yield torch.tensor([1 - 1j, -2.5 + 3j]).repeat(600).reshape(12, 100)


def once(tensor):
    """The bytes of a tensor, and how often they are repeated."""
    data = bytes(tensor.contiguous().flatten().view(torch.uint8).tolist()) if tensor.numel() else b""
    for repeat in (1000, 600):
        part = data[:len(data) // repeat]
        if len(data) > 4000 and part * repeat == data:
            return part, repeat
    return data, 1


def main():
    rows = []
    for tensor in tensors():
        data, repeat = once(tensor.reshape(-1) if tensor.dim() == 0 else tensor)
        shape = ", ".join(map(str, tensor.shape))
        rows.append(f'    {{{CODES[tensor.dtype]}, {{{shape}}}, "{data.hex()}", {repeat}, R"({str(tensor)})"}},\n')
    text = ("// Written by element_texts.py: tensors, and what torch " + torch.__version__ + " prints of them.\n#pragma once\n\n"
            "#include <cstdint>\n#include <vector>\n\nstruct PrintedTensor {\n  int8_t dtype;\n  std::vector<int64_t> shape;\n"
            "  const char* hex;  // of its elements\n  size_t repeat;    // so often\n  const char* printed;\n};\n\n// clang-format off\n"
            "inline const std::vector<PrintedTensor> kPrintedTensors = {\n" + "".join(rows) + "};\n// clang-format on\n")
    pathlib.Path(__file__).with_suffix(".h").write_text(text)


main()
