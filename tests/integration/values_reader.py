# SPDX-License-Identifier: Apache-2.0
"""A second reader of values files, in Python, written from the schema's generated code alone. Needs flatc and flatbuffers."""

import pathlib
import struct
import types

import dump_reader
import torch

ROOTS = {"PROC": "Process", "STRS": "Strings", "WTCH": "Watches", "VDAT": "ValueData", "VALU": "ValueBatch", "CALL": "Calls",
         "FIND": "NonFinite", "LOSS": "Losses", "NOMT": "Unmatcheds", "VEND": "ValuesEnd"}
DTYPES = {0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64, 5: torch.float16, 6: torch.float32,
          7: torch.float64, 9: torch.complex64, 10: torch.complex128, 11: torch.bool, 15: torch.bfloat16}
STATISTICS, ELEMENTS, UNCHANGED, SLICED, NOT_READ = 1, 2, 4, 8, 16
RAISED, BACKWARD, UNFINISHED = 1, 2, 4


def text(value):
    return (value or b"").decode()


VALUE_FIELDS = ("integer number imaginary serial time_ns same_as tensor call data_begin data_size name module operation site note watch step pass index thread shape "
                "statistics mode kind place ndim dtype flags kept_shape kept_ndim stored_dtype device_type").split()
CALL_FIELDS = ("id parent thread begin_ns end_ns live_before live_after peak saved module class_name site step pass index mode flags").split()
STATISTIC_FIELDS = "count nan positive_infinity negative_infinity zeros minimum maximum mean deviation sum l1 l2 hash".split()


def fields(row, names):
    result = types.SimpleNamespace()
    for name in names:
        method = "".join(part.capitalize() for part in name.split("_"))
        setattr(result, name, getattr(row, method if hasattr(row, method) else method + "_")())  # a keyword of Python
    return result


def finding(root):
    result = fields(root, "step pass backward operation module site headline dtype".split())
    for name in ("operation", "module", "site", "headline"):
        setattr(result, name, text(getattr(result, name)))
    result.stack = [text(root.Stack(i)) for i in range(root.StackLength())]
    result.sizes = [root.Sizes(i) for i in range(root.SizesLength())]
    result.statistics = fields(root.Statistics(), STATISTIC_FIELDS)
    inputs = [root.Inputs(i) for i in range(root.InputsLength())]
    result.inputs = [(text(row.Text()), row.Statistics() and fields(row.Statistics(), STATISTIC_FIELDS)) for row in inputs]
    return result


class Values:
    """One file: values, calls, losses, unmatched, findings, ended."""

    def __init__(self, path):
        self.values, self.calls, self.losses, self.unmatched, self.ended, self.watches = [], [], {}, {}, False, []
        self.findings = []
        strings, elements = [], b""
        for kind, payload in chunks(pathlib.Path(path).read_bytes()):
            root = dump_reader.table(ROOTS[kind]).GetRootAs(payload, 4)
            if kind == "PROC":
                self.process = root
            elif kind == "STRS":
                strings += [text(root.Values(i)) for i in range(root.ValuesLength())]
            elif kind == "WTCH":
                self.watches = [text(root.Values(i).Path()) for i in range(root.ValuesLength())]
            elif kind == "VDAT":
                elements += root.DataAsNumpy().tobytes()
            elif kind == "VALU":
                series = {}
                for i in range(root.SeriesLength()):
                    one = root.Series(i)
                    series.setdefault(one.Value(), {})[text(one.What())] = [one.Numbers(j) for j in range(one.NumbersLength())]
                for i in range(root.RowsLength()):
                    self.add_value(root, fields(root.Rows(i), VALUE_FIELDS), strings, elements, series)
                elements = b""
            elif kind == "CALL":
                for i in range(root.RowsLength()):
                    call = fields(root.Rows(i), CALL_FIELDS)
                    for name in ("module", "class_name", "site"):
                        setattr(call, name, strings[getattr(call, name)])
                    self.calls.append(call)
            elif kind == "FIND":
                self.findings.append(finding(root))
            elif kind == "LOSS":
                rows = [root.Values(i) for i in range(root.ValuesLength())]
                self.losses = {(text(row.What()), text(row.Detail())): row.Count() for row in rows}
            elif kind == "NOMT":
                rows = [root.Values(i) for i in range(root.ValuesLength())]
                self.unmatched = {self.watches[row.Watch()]: [text(row.Nearest(i)) for i in range(row.NearestLength())] for row in rows}
            elif kind == "VEND":
                self.ended = True
                assert root.Values() == len(self.values) and root.Calls() == len(self.calls)

    def add_value(self, batch, value, strings, elements, series):
        for name in ("name", "module", "operation", "site", "note"):
            setattr(value, name, strings[getattr(value, name)])
        value.watch = self.watches[value.watch] if value.watch < len(self.watches) else None
        value.shape = tuple(batch.Sizes(value.shape + i) for i in range(value.ndim))
        value.kept_shape = tuple(batch.Sizes(value.kept_shape + i) for i in range(value.kept_ndim)) if value.flags & SLICED else value.shape
        value.series = series.get(value.serial, {})
        value.statistics = fields(batch.Statistics(value.statistics), STATISTIC_FIELDS) if value.flags & STATISTICS else None
        value.data = elements[value.data_begin:value.data_begin + value.data_size] if value.flags & ELEMENTS else None
        self.values.append(value)

    def named(self, name):
        return [value for value in self.values if value.name == name]

    def tensor(self, value):
        """The elements, those of the value that it repeats where it is unchanged."""
        if value.flags & UNCHANGED:
            (value,) = [other for other in self.values if other.serial == value.same_as]
        if not value.data:
            return torch.empty(value.kept_shape, dtype=DTYPES[value.stored_dtype])
        return torch.frombuffer(bytearray(value.data), dtype=DTYPES[value.stored_dtype]).reshape(value.kept_shape)


def chunks(data):
    """(type, payload) of every whole chunk."""
    magic, major, _minor, _checksum = struct.unpack_from("<8sIIQ", data)
    assert magic == b"TSVALU\r\n" and major == 1
    at = 24
    while at < len(data):
        kind, reserved, length, _checksum = struct.unpack_from("<4sIQQ", data, at)
        assert reserved == 0
        payload = data[at + 24:at + 24 + length]
        assert len(payload) == length, "a chunk is cut"
        yield kind.decode(), payload
        at += 24 + (length + 7) // 8 * 8


def read(folder):
    (path,) = pathlib.Path(folder).glob("*.values")
    return Values(path)
