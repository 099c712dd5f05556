# SPDX-License-Identifier: Apache-2.0
"""The class libtensorscope.scope: names within a scope begin with those of the scopes around; each thread and each coroutine has its own."""

import contextvars

TYPE_CHECKING = False
if TYPE_CHECKING:  # what api_values.cc gives
    def use(function): ...


current = contextvars.ContextVar('tensorscope_scope', default=('', ''))


class scope:
    """scope(prefix='', module='')

    In a with statement: names of save() begin with the prefix, as 'prefix/name'; they belong to this module, where it is given."""
    __module__ = 'libtensorscope'
    def __init__(self, prefix='', module=''):
        self.prefix, self.module, self.entered = str(prefix), str(module), []
    def __enter__(self):
        prefix, module = current.get()
        self.entered.append(current.set((prefix + self.prefix + '/' if self.prefix else prefix, self.module or module)))
        return self
    def __exit__(self, *error):
        current.reset(self.entered.pop())


use(current.get)
