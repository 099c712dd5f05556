# SPDX-License-Identifier: Apache-2.0
"""An instance whose attributes are in no __dict__, and one that was asked for its __dict__."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # what attributes.cc gives
    a, b = object(), object()


class Probe:
    def __init__(self, a, b):
        self.first = a
        self.second = b


probe, asked = Probe(a, b), Probe(a, b)
attributes = asked.__dict__
names = tuple(attributes)
