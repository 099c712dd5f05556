# SPDX-License-Identifier: Apache-2.0
import collections

import pytest

import harness
import interpreters


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="the full soak and kill tests, and each case of every test")


def pytest_configure(config):
    config.addinivalue_line("markers", "cases(n): without --long only n of this test's cases run, spread evenly over them; 0: none, for a test or a parameter")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--long"):
        return
    left, tests = set(), collections.defaultdict(list)
    for item in items:
        n = min((mark.args[0] for mark in item.iter_markers("cases")), default=None)
        if n == 0:
            left.add(item)
        elif n:
            tests[item.nodeid.split("[")[0], n].append(item)
    for (_, n), cases in tests.items():
        kept = {number * len(cases) // n for number in range(min(n, len(cases)))}
        left.update(case for number, case in enumerate(cases) if number not in kept)
    if left:
        config.hook.pytest_deselected(items=[item for item in items if item in left])
        items[:] = [item for item in items if item not in left]


@pytest.fixture
def long(request):
    return request.config.getoption("--long")


@pytest.fixture
def python(request):
    """The interpreter of the series, or at the path, that the test is parametrized with."""
    return request.param if request.param.startswith("/") else interpreters.interpreter(request.param)


@pytest.fixture(scope="module")
def under_the_cuda_build():
    """Targets run with the CUDA build of torch, on one device unless a test says otherwise."""
    with pytest.MonkeyPatch.context() as patch:
        harness.use_fake_cuda(patch)
        yield


@pytest.fixture(params=["cpu", harness.CUDA])
def device(request, monkeypatch):
    if request.param == "cuda":
        harness.use_fake_cuda(monkeypatch)
    return request.param
