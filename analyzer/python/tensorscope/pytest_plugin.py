# SPDX-License-Identifier: Apache-2.0
"""pytest: memory that tests leave behind.

    @pytest.mark.tensorscope(max_growth="10 MiB", leaks=0)

A test fails that leaves more live tensor memory behind than `max_growth`, or memory that grows each time it runs, in more
than `leaks` findings of `tensorscope leaks`. Memory that is only there since the first run is a cache that is warm now: a
function that passes its limit runs again, and what the second run adds counts. `leaks` runs it three times.

pytest has to run under tensorscope: tensorscope run -- python -m pytest. Without it the tests run as ever, and the summary
says that nothing was measured. --tensorscope measures every test, one without limits once.
"""

import gc
import inspect
import os
import re

import pytest

from ._answers import _bytes, leaks, query
from ._live import _recorder

_GROWTH, _MISSING = "tensorscope_growth_bytes", "tensorscope_not_measured"
_SIZES = {"": 1, "B": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_WORST = 10


def parse_size(text):
    """Bytes of 4096, "64K", "10 MiB"."""
    if isinstance(text, int):
        return text
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?\s*", str(text), re.IGNORECASE)
    if not found:
        raise pytest.UsageError("invalid size {!r} for max_growth; sizes look like 4096, '64 KiB', '10 MiB'".format(text))
    return int(float(found[1]) * _SIZES[found[2].upper()])


class _Dumps:
    """Dumps of one test, which are deleted at its end."""

    def __init__(self, recorder):
        self.recorder, self.paths = recorder, []

    def take(self):
        """None before torch is loaded."""
        gc.collect()
        self.paths.append(self.recorder.dump() or None)

    def growth(self):
        """Bytes by which memory grew since the dump before the last one, as `tensorscope leaks` says."""
        before, now = self.paths[-2:]
        if now is None:
            return 0
        return leaks(before, now)["growth_bytes"] if before else query(now, "select live_bytes from dumps")[0]["live_bytes"]

    def leaks(self):
        """What leaks in the last three dumps, None of fewer than two."""
        paths = [path for path in self.paths[-3:] if path]
        return leaks(*paths) if len(paths) > 1 else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for path in self.paths:
            if path and os.path.exists(path):
                os.remove(path)


def pytest_addoption(parser):
    parser.getgroup("tensorscope").addoption("--tensorscope", action="store_true", help="measure what each test leaves behind in tensor memory")


def pytest_configure(config):
    config.addinivalue_line("markers", "tensorscope(max_growth=None, leaks=None): limits on the memory that the test leaves behind")
    config.pluginmanager.register(_Summary(), "tensorscope-summary")


def _limits(item):
    """(bytes or None, findings or None), None where the test is not measured."""
    mark = item.get_closest_marker("tensorscope")
    if mark is None:
        return (None, None) if item.config.getoption("--tensorscope") else None
    unknown = set(mark.kwargs) - {"max_growth", "leaks"}
    if unknown or mark.args:
        raise pytest.UsageError("tensorscope takes max_growth= and leaks=, not {}".format(", ".join(sorted(unknown)) or "positions"))
    growth = mark.kwargs.get("max_growth")
    return None if growth is None else parse_size(growth), mark.kwargs.get("leaks")


def _again(item):
    item.obj(**{name: item.funcargs[name] for name in item._fixtureinfo.argnames})


def _measured(item, dumps, limits):
    """What is wrong with what the test left behind, or None; it has run once."""
    most, findings = limits
    dumps.take()
    growth, runs = dumps.growth(), 1
    while runs < 3 and (findings is not None or (most is not None and growth > most)):
        _again(item)
        dumps.take()
        growth, runs = dumps.growth(), runs + 1
    item.user_properties.append((_GROWTH, growth))
    if most is not None and growth > most:
        found = dumps.leaks()
        return "the test left {} behind in its run {}; max_growth is {}{}".format(
            _bytes(growth), runs, _bytes(most), "\n{!r}".format(found) if found and found["findings"] else "")
    if findings is not None:
        found = dumps.leaks()
        if found and len(found["findings"]) > findings:
            return "more leaks than {}:\n{!r}".format(findings, found)
    return None


@pytest.hookimpl(hookwrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    limits = _limits(pyfuncitem)
    if limits is None or inspect.iscoroutinefunction(pyfuncitem.obj):
        yield
        return
    recorder = _recorder()
    if recorder is None:
        pyfuncitem.user_properties.append((_MISSING, 1))
        yield
        return
    with _Dumps(recorder) as dumps:
        dumps.take()
        outcome = yield
        if outcome.excinfo is not None:
            return
        try:
            problem = _measured(pyfuncitem, dumps, limits)
            if problem:
                pytest.fail(problem, pytrace=False)
        except BaseException as error:  # of pytest.fail, too, which is no Exception
            outcome.force_exception(error)


class _Summary:
    def __init__(self):
        self.grown, self.missing = [], 0

    def pytest_runtest_logreport(self, report):
        if report.when != "call":
            return
        for name, value in report.user_properties:
            if name == _GROWTH:
                self.grown.append((value, report.nodeid))
            self.missing += name == _MISSING

    def pytest_terminal_summary(self, terminalreporter):
        if self.missing:
            terminalreporter.section("tensorscope")
            terminalreporter.write_line("{} test{} not measured: pytest does not run under tensorscope; start it with: tensorscope run -- python -m pytest".format(
                self.missing, " was" if self.missing == 1 else "s were"))
        worst = sorted((grown for grown in self.grown if grown[0] > 0), reverse=True)
        if not self.grown:
            return
        terminalreporter.section("tensorscope: memory that tests left behind")
        rest = worst[_WORST:]
        for growth, test in worst[:_WORST]:
            terminalreporter.write_line("{:>12}  {}".format(_bytes(growth), test))
        if rest:
            terminalreporter.write_line("{:>12}  in {} more tests".format(_bytes(sum(growth for growth, _ in rest)), len(rest)))
        terminalreporter.write_line("{} of {} measured tests left nothing behind".format(len(self.grown) - len(worst), len(self.grown)))
