"""What TENSORSCOPE_MODULE_OUTPUTS costs a training loop: alternating blocks with the hook registered and not, inside one process.

    LD_PRELOAD=build/preload/libtensorscope.so TENSORSCOPE_MODULE_OUTPUTS=1 TENSORSCOPE_EXIT=never \
        .venv/bin/python tests/bench/module_outputs.py [LOOP ...]
"""

import statistics
import sys
import time

import loops
import torch

PAIRS = 60


def calls_of(step):
    """How many calls of modules a step makes."""
    calls = []
    handle = torch.nn.modules.module.register_module_forward_hook(lambda module, arguments, result: calls.append(None))
    step()
    handle.remove()
    return len(calls)


def measure(name, hooks):
    step, steps = loops.make(name)
    calls, steps, registered = calls_of(step), max(1, steps // 8), dict(hooks)
    ratios, plain = [], []
    for pair in range(PAIRS + 2):
        took = {}
        for on in (True, False) if pair % 2 else (False, True):
            hooks.clear()
            hooks.update(registered if on else {})
            begin = time.perf_counter()
            for _ in range(steps):
                step()
            took[on] = (time.perf_counter() - begin) / steps
        hooks.update(registered)
        if pair >= 2:  # the first ones warm up
            ratios.append(took[True] / took[False])
            plain.append(took[False])
    ratios.sort()
    median, base = statistics.median(ratios), statistics.median(plain)
    print(f"{name:18} {base * 1e3:8.3f} ms a step, {calls} calls   with/without {median:.3f}"
          f"   (quartiles {ratios[PAIRS // 4]:.3f} to {ratios[-1 - PAIRS // 4]:.3f})   {(median - 1) * base / calls * 1e6:.1f} us a call")


def main():
    hooks = torch.nn.modules.module._global_forward_hooks
    end = time.monotonic() + 10
    while not hooks and time.monotonic() < end:  # registered by another thread
        time.sleep(0.01)
    if not hooks:
        raise SystemExit("module_outputs: run this under LD_PRELOAD=.../libtensorscope.so with TENSORSCOPE_MODULE_OUTPUTS=1")
    for name in sys.argv[1:] or ("tiny", "transformer-small"):
        measure(name, hooks)


if __name__ == "__main__":
    main()
