"""tensorscope: a memory profiler for PyTorch programs."""

__version__ = "0.1.0"  # of meson.build: tests/integration/test_wheel.py compares them
