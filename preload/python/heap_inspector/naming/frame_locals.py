# SPDX-License-Identifier: Apache-2.0
"""outer() calls inner(), whose locals, cell and free variables probe() reads."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # what frame_locals.cc gives
    a, b = object(), object()

    def probe(*variables): ...


def outer(probe, a, b):
    c = b
    def inner(d, e):
        f = lambda: d  # noqa: F841 (d is a cell by this)
        return probe(a, b, c, d, e)
    return inner(b, a)


outer(probe, a, b)
