# SPDX-License-Identifier: Apache-2.0
"""Callbacks with sys.monitoring, under a number that other tools do not use: 0 is a debugger's, 1 of coverage, 2 a profiler's, 5 an optimizer's."""

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:  # what code_monitoring.cc gives
    def starts(code, offset): ...
    def line(code, line): ...
    def returns(code, offset, value): ...
    def yields(code, offset, value): ...
    def unwinds(code, offset, error): ...


monitoring = sys.monitoring  # type: ignore[attr-defined]
tool = next((each for each in (4, 3) if monitoring.get_tool(each) is None), None)
if tool is not None:
    monitoring.use_tool_id(tool, 'tensorscope')
    events = monitoring.events
    for event, function in ((events.PY_START, starts), (events.LINE, line), (events.PY_RETURN, returns),
                            (events.PY_YIELD, yields), (events.PY_UNWIND, unwinds)):
        monitoring.register_callback(tool, event, function)
    numbers = (events.LINE, events.PY_RETURN, events.PY_YIELD)
    set_local_events, disable = monitoring.set_local_events, monitoring.DISABLE

    def switch_on():
        monitoring.set_events(tool, events.PY_START | events.PY_UNWIND)
