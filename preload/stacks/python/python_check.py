# SPDX-License-Identifier: Apache-2.0
"""Functions, a generator, calls over several lines and an exception; in each check() compares our walk with the interpreter's frames."""

TYPE_CHECKING = False
if TYPE_CHECKING:  # what python_check.cc gives
    def check(*_): ...


def outer():
    def inner(*_):
        return [check() for _ in
                range(2)]
    inner(
        check(), 2,
        3)
    list(map(inner, (1,)))
    yield inner()


for _ in outer():
    try:
        check()
        raise ValueError
    except ValueError:
        check()
