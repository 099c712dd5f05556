import pytest

import interpreters


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="the full soak and kill tests")


@pytest.fixture
def long(request):
    return request.config.getoption("--long")


@pytest.fixture
def python(request):
    """The interpreter of the series, or at the path, that the test is parametrized with."""
    return request.param if request.param.startswith("/") else interpreters.interpreter(request.param)
