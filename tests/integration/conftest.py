import pytest


def pytest_addoption(parser):
    parser.addoption("--long", action="store_true", help="the full soak and kill tests")


@pytest.fixture
def long(request):
    return request.config.getoption("--long")
