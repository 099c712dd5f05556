# SPDX-License-Identifier: Apache-2.0
"""Calls the functions of the user's file: take(), step_ends() and end().

What a callback draws from random generators is given back, no graph is recorded, and what follows the operations of the program by a
mode does not see the callback's. A KeyboardInterrupt is the program's: it passes through.
"""

import atexit, contextlib, os, random, sys, types
import torch

TYPE_CHECKING = False
if TYPE_CHECKING:  # what callbacks.cc gives
    settings = ''

    def file_bytes(path): ...
    def record(token, value, unchanged): ...
    def forget(token): ...
    def lose(token): ...
    def not_kept(): ...
    def fail(number, text): ...
    def at_exit(): ...


try:
    from torch.utils._python_dispatch import _disable_current_modes as without_modes
except ImportError:
    without_modes = contextlib.nullcontext
MOST_BYTES = 256 << 20  # of what is kept for post_trace


# All but those of torch.set_default_device(), by which the program decides where tensors are made.
@contextlib.contextmanager
def without_function_modes():
    length, pop, push = (getattr(torch._C, name, None) for name in (
        '_len_torch_function_stack', '_pop_torch_function_stack', '_push_on_torch_function_stack'))
    if not (length and pop and push):
        yield
        return
    modes = [pop() for _ in range(length())]
    kept = [each for each in reversed(modes) if type(each).__name__ == 'DeviceContext']
    for each in kept:
        push(each)
    try:
        yield
    finally:
        for _ in kept:
            pop()
        for each in reversed(modes):
            push(each)


class Quiet:
    def __enter__(self):
        self.stack = contextlib.ExitStack()
        self.stack.enter_context(without_function_modes())
        self.stack.enter_context(without_modes())
        self.stack.enter_context(torch.no_grad())
        generators = [torch.default_generator]
        if torch.cuda.is_initialized() and not torch.cuda.is_current_stream_capturing():
            generators += torch.cuda.default_generators
        self.torch = [(each, each.get_state()) for each in generators]
        self.python = random.getstate()
        numpy = sys.modules.get('numpy')
        self.numpy = numpy.random if hasattr(numpy, 'random') else None
        self.numpy_state = self.numpy and self.numpy.get_state()
    def __exit__(self, *error):
        for generator, state in self.torch:
            generator.set_state(state)
        random.setstate(self.python)
        if self.numpy:
            self.numpy.set_state(self.numpy_state)
        self.stack.close()


class Failed(Exception):
    pass


class Result:
    def __init__(self, name, values, iterations):
        self.name, self.values, self.iterations, self.ranks = name, values, iterations, None


files: dict = {}


def function_of(path, name):
    if path not in files:
        stem = os.path.splitext(os.path.basename(path))[0]
        module = types.ModuleType(f'tensorscope_callbacks_{stem}')
        module.__file__ = path
        text = file_bytes(path)
        if isinstance(text, int):
            raise OSError(text, os.strerror(text), path)
        code = compile(text, path, 'exec')
        sys.modules[module.__name__] = module
        exec(code, module.__dict__)
        files[path] = module
    function = files[path]
    for part in name.split('.'):
        function = getattr(function, part)
    return function


def rank():
    distributed = sys.modules.get('torch.distributed')
    if distributed and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    text = os.environ.get('RANK', '')
    return int(text) if text.isdigit() else 0


class Watch:
    def __init__(self, number, gather):
        self.number, self.interval = number, gather
        self.functions = {'pre_save': [], 'pre_gather': [], 'post_gather': [], 'post_trace': []}
        self.failed, self.loaded, self.kept = False, False, 0
        self.reset()
    def reset(self):
        self.waiting, self.due, self.results = {}, None, {}
    def load(self):
        self.loaded = True
        for moment, functions in self.functions.items():
            loaded = []
            for path, name in functions:
                text = f'{moment} {os.path.basename(path)}:{name}'
                loaded.append((text, self.run(text, function_of, path, name)))
            self.functions[moment] = loaded
    def run(self, text, function, *arguments):
        try:
            with Quiet():
                return function(*arguments)
        except (Exception, SystemExit, GeneratorExit) as error:
            self.fail(text, error)
            raise Failed from None
    def fail(self, text, error):
        self.failed = True
        try:
            what = f'{type(error).__name__}: {error}'
        except Exception:
            what = type(error).__name__
        fail(self.number, f'{text} failed: {" ".join(what.split())[:200]}')
    def each(self, moment, *arguments):
        for text, function in self.functions[moment]:
            self.run(text, function, *arguments)

    def take(self, name, value, gradient, step, mode, token):
        if not self.loaded:
            self.load()
        with Quiet():
            if gradient:
                value = value.grad
            given = value.detach() if isinstance(value, torch.Tensor) else value
        result = given
        for text, function in self.functions['pre_save']:
            result = self.run(text, function, name, result, step)
        if not self.gathers():
            return record(token, value if result is given else result, result is given)
        due = (mode, step // self.interval)
        if self.waiting and self.due != due:
            self.gather()
        self.due = due
        if isinstance(result, torch.Tensor):
            with Quiet():
                result = result.detach().clone()
        self.waiting.setdefault(name, []).append((result, step, token))
    def gathers(self):
        return self.functions['pre_gather'] or self.functions['post_gather'] or self.functions['post_trace']
    def gather(self):
        waiting, self.waiting = self.waiting, {}
        try:
            for name in list(waiting):
                rows = waiting[name]
                result = Result(name, [row[0] for row in rows], [row[1] for row in rows])
                self.each('pre_gather', name, result)
                result.ranks = [rank()] * len(result.iterations)
                self.each('post_gather', name, result)
                if self.functions['post_trace']:
                    self.keep(name, result)
                del waiting[name]
                self.record(result, rows)
        except Failed:
            for rows in waiting.values():
                for row in rows:
                    lose(row[2])
    def record(self, result, rows):
        values, rows = result.values, list(rows)
        if isinstance(values, (list, tuple)) and len(values) == len(result.iterations):
            for value, iteration in zip(values, result.iterations):
                at = next((i for i, row in enumerate(rows) if row[1] == iteration), None)
                if at is None:
                    continue
                record(rows.pop(at)[2], value, False)
        else:
            record(rows.pop()[2], values, False)
        for row in rows:
            forget(row[2])
    def keep(self, name, result):
        values = result.values if isinstance(result.values, (list, tuple)) else [result.values]
        size = sum(value.numel() * value.element_size() for value in values if isinstance(value, torch.Tensor))
        if self.kept + size > MOST_BYTES:
            return not_kept()
        self.kept += size
        whole = self.results.setdefault(name, Result(name, [], []))
        whole.ranks = whole.ranks or []
        whole.values.extend(values)
        whole.iterations.extend(result.iterations)
        whole.ranks.extend(result.ranks)
    def step_ends(self, step):
        if self.waiting and (step + 1) % self.interval == 0:
            self.gather()
    def end(self):
        if self.loaded and not self.failed:
            self.gather()
        try:
            for name, result in self.results.items():
                self.each('post_trace', name, result)
        except Failed:
            pass
        self.reset()


watches: dict = {}
for line in settings.split('\x1e'):
    number, gather, moment, path, name = line.split('\x1f')
    watch = watches.setdefault(int(number), Watch(int(number), int(gather)))
    watch.functions[moment].append((path, name))


def take(number, name, value, gradient, step, mode, token):
    watch = watches[number]
    try:
        if watch.failed:
            raise Failed
        watch.take(name, value, gradient, step, mode, token)
    except BaseException as error:
        if not isinstance(error, (Failed, KeyboardInterrupt)):
            watch.fail('callbacks', error)
        lose(token)
        if isinstance(error, KeyboardInterrupt):
            raise


def step_ends(step):
    for watch in watches.values():
        watch.step_ends(step)


def end():
    for watch in watches.values():
        watch.end()


def after_fork():
    for watch in watches.values():
        watch.reset()


os.register_at_fork(after_in_child=after_fork)
atexit.register(at_exit)
