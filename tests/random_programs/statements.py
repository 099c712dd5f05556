"""Random programs of tensor operations, as text: a list of statements over the variables v0 to v5 and what target.py provides.

A statement may fail, for its tensor has another shape or kind than it wants: that is part of the program. So any subset of a program's
statements is a program, too, and one that fails can be made smaller by leaving statements out.
"""

import random

VARIABLES = 6
DTYPES = ("float32", "float64", "float16", "int64", "uint8", "bool", "complex64")


class Generator:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.made = set()  # variables that were given a value

    def program(self, statements=24):
        """The statements; each program looks at itself once within and once at its end."""
        kinds = [(made, 5), (viewed, 6), (given_memory, 6), (changed, 3), (differentiated, 3), (shared, 2), (foreign, 2), (sparse, 3),
                 (quantized, 2), (subclassed, 3), (held, 4), (freed, 4), (failed, 2), (threaded, 2), (copied, 2), (looked, 2)]
        makers, weights = zip(*kinds)
        lines = [made(self) for _ in range(4)]
        lines += [self.random.choices(makers, weights)[0](self) for _ in range(statements)]
        lines.insert(self.random.randrange(5, len(lines)), looked(self))
        return [*lines, looked(self)]

    def one(self, *choices):
        return self.random.choice(choices)

    def old(self):
        """A tensor that is there, or was."""
        made = sorted(self.made) or ["v0"]
        return self.one(self.one(*made), self.one(*made), self.one(*made), self.one("kept[-1]", "kept[0]", f"{made[0]}.grad", f"{made[-1]}._base"))

    def new(self):
        name = f"v{self.random.randrange(VARIABLES)}"
        self.made.add(name)
        return name

    def number(self, most=9):
        return self.random.randrange(most)

    def shape(self, least=0):
        sizes = [self.random.choice((1, 2, 3, 4, 5, 8, 16)) for _ in range(self.random.choice((0, 1, 1, 2, 2, 2, 3, 4)))]
        if self.random.random() < 0.05:
            sizes.append(0)
        if self.random.random() < 0.05:
            sizes = [self.random.choice((1000, 20_000, 300_000))]
        return tuple([max(least, size) for size in sizes])


def made(g):
    shape, dtype = g.shape(), g.one(*DTYPES)
    return g.new() + " = " + g.one(
        f"torch.zeros({shape})", f"torch.ones({shape}, dtype=torch.{dtype})", f"torch.empty({shape}, dtype=torch.{dtype})",
        f"torch.randn({shape})", f"torch.randn({shape}, requires_grad=True)", f"torch.arange({g.number(100)})", "torch.tensor(3.0)",
        "torch.tensor([[1, 2], [3, 4]])", f"torch.empty_strided({g.shape(1)[:2]}, {(g.number(5), g.number(5))})",
        f"torch.empty_strided(({g.number(6)}, 3), ({g.number(5)}, {g.number(9)}))", f"torch.zeros({shape}, device='meta')",
        "torch.empty(0)", f"torch.empty({g.shape(1)[:2] + (2, 3)}).to(memory_format=torch.channels_last)",
        f"torch.eye({g.number()}).expand(2, 3, -1, -1)", "torch.zeros(2, 2, 2, 2, 2, 2, 2)", f"torch.from_file(file_name(), size={8 + g.number()})",
        f"inference(lambda: torch.ones({shape}))", f"vmapped(torch.ones(3, {1 + g.number()}))")


def viewed(g):
    t, n = g.old(), g.number(5)
    return g.new() + " = " + g.one(
        f"{t}[{n}]", f"{t}[{n}:]", f"{t}[..., ::2]", f"{t}.t()", f"{t}.transpose(0, -1)", f"{t}.reshape(-1)", f"{t}.view(-1)[{n}:{n + 3}]",
        f"{t}.expand(3, *{t}.shape)", f"{t}.unsqueeze({g.number(3)})", f"{t}.squeeze()", f"{t}.as_strided((2, 2), ({g.number(4)}, {g.number(4)}))",
        f"{t}.as_strided((3,), (1,), {n})", f"{t}.diagonal()", f"{t}.unfold(0, 2, 1)", f"{t}.detach()", f"{t}.chunk(2)[-1]", f"{t}[:9].unbind()[0]",
        f"{t}.view(torch.uint8)", f"torch.view_as_real({t})", f"{t}.real", f"{t}.conj()", f"{t}.imag", f"{t}.data", f"{t}.alias()",
        f"{t}[:9].split(1)[{n}]", f"{t}.narrow(0, 0, 1)", f"{t}.movedim(0, -1)", f"torch.broadcast_to({t}, (2, *{t}.shape))", f"{t}.contiguous()")


def given_memory(g):
    """Other shapes, strides, storages or sizes of storages, without a new tensor."""
    t, u, n = g.old(), g.old(), g.number(12)
    return g.one(
        f"{t}.resize_({g.shape()})", f"{t}.resize_({g.shape()})", f"{t}.resize_(0)", f"{t}.resize_as_({u})",
        f"{t}.untyped_storage().resize_({g.one(0, 4, 64, 400, 4004)})", f"{t}.untyped_storage().resize_(0)", f"{t}.set_()", f"{t}.set_({u})",
        f"{t}.set_({u}.untyped_storage(), {n}, ({g.number(5)},), ({g.number(3)},))", f"{t}.set_({u}.untyped_storage())",
        f"{t}.set_(torch.UntypedStorage({n * 8}), 0, ({n},), (1,))", f"{t}.data = {u}", f"{t}.data = {u}.detach().clone()",
        f"{t}.data = torch.ones({g.shape()}, dtype={t}.dtype)", f"{t}.t_()", f"{t}.transpose_(0, -1)", f"{t}.unsqueeze_(0)", f"{t}.squeeze_()",
        f"{t}.as_strided_((2,), ({g.number(3)},))", f"torch.add({t}, 1, out={u})", f"torch.cat([{t}.reshape(-1), {u}.reshape(-1)], out={g.old()})",
        f"torch.utils.swap_tensors({t}, {u})", f"{t}.swapaxes_(0, 1)", f"{t}.detach_()")


def changed(g):
    t, u = g.old(), g.old()
    return g.one(f"{t}.zero_()", f"{t}.add_(1)", f"{t}.copy_({u})", f"{t}[0] = 1", f"{t}.requires_grad_()", f"{t}.requires_grad_(False)",
                 f"{t}.mul_({u})", f"{t}.fill_(2)", f"{t}.view(-1).add_(1)", f"{t}.detach().zero_()", f"{t} += 1", f"{t}.index_fill_(0, torch.tensor([0]), 1)")


def differentiated(g):
    t, u = g.old(), g.old()
    return g.one(f"{g.new()} = ({t}.float() * 2).exp()", f"{g.new()} = ({t} * {u}).sum()", f"{t}.sum().backward()", f"{t}.exp().sum().backward()",
                 f"{t}.backward()", f"{t}.grad = torch.ones_like({t})", f"{t}.grad = None", f"{t}.retain_grad()", f"{g.new()} = {t}.grad",
                 f"{g.new()} = torch.autograd.grad({t}.exp().sum(), [{t}], create_graph=True)[0]", f"{g.new()} = Twice.apply({t})",
                 f"{g.new()} = torch.nn.functional.relu({t})", f"{g.new()} = {t}.float() @ {u}.float().t()", f"{g.new()} = torch.nn.Linear(3, 2)({t}.float())")


def shared(g):
    t, n = g.old(), g.number(100)
    return g.one(f"{t}.share_memory_()", f"{t}.untyped_storage().share_memory_()", f"{g.new()} = torch.zeros({g.shape()}).share_memory_()",
                 f"{g.new()} = torch.empty(0).set_(torch.UntypedStorage._new_shared({n * 4}), 0, ({n},), (1,))",
                 f"{g.new()} = torch.from_file(file_name(), shared=True, size={n})")


def foreign(g):
    n = g.number(40)
    return g.one(f"{g.new()} = from_numpy({g.shape()})", f"{g.new()} = from_numpy(({n},))[{g.number(4)}:]", f"{g.new()} = from_buffer({4 + n * 4})",
                 f"{g.new()} = torch.from_dlpack(torch.ones({g.shape()}))", f"kept.append({g.old()}.numpy())", f"{g.new()} = through_numpy({g.old()})",
                 f"{g.old()}.set_(from_numpy(({n},)))", f"{g.new()} = same_array_twice({1 + n})", f"{g.old()}.data = from_numpy({g.shape()})")


def sparse(g):
    t, n = g.old(), 1 + g.number(4)
    return g.new() + " = " + g.one(
        f"{t}.to_sparse()", f"{t}.to_sparse_csr()", f"{t}.to_sparse_csc()", f"{t}.to_sparse_bsr((1, 1))", f"torch.eye({n}).to_sparse()",
        f"torch.sparse_coo_tensor(torch.tensor([[0, 1]]), torch.ones(2, {n}), (4, {n}))", f"{t}.coalesce()", f"{t}._values()", f"{t}._indices()",
        f"{t}.values()", f"{t}.crow_indices()", f"{t}.to_dense()", f"{t}.sparse_resize_(({n + 4}, {n + 4}), 2, 0)", f"{t}.t()", f"{t}.detach()",
        f"torch.eye({n}).to_sparse_csr().add_(torch.eye({n}).to_sparse_csr())", f"{t}.to_mkldnn()")


def quantized(g):
    t = g.old()
    return g.new() + " = " + g.one(
        f"torch.quantize_per_tensor({t}, 0.1, 0, torch.qint8)", f"torch.quantize_per_tensor(torch.zeros({g.shape()}), 0.1, 0, torch.quint8)",
        f"torch.quantize_per_channel(torch.zeros(3, {1 + g.number()}), torch.full((3,), 0.5), torch.zeros(3), 0, torch.qint8)",
        f"{t}.dequantize()", f"{t}.int_repr()", f"{t}[0]", f"{t}.q_per_channel_scales()", f"{t}.clone()")


def subclassed(g):
    t, n = g.old(), g.number()
    return g.new() + " = " + g.one(
        f"{t}.as_subclass(Plain)", f"Plain(torch.zeros({g.shape()}))", f"torch.nn.Parameter({t})", f"torch.nn.Parameter(torch.ones({n}), False)",
        f"Wrapper({t})", f"Wrapper(torch.ones({n}, 2))", "torch.nested.nested_tensor([torch.zeros(2, 3), torch.zeros(4, 3)])",
        f"torch._to_functional_tensor({t}.clone())", f"{t}.as_subclass(torch.Tensor)", f"fake({g.shape()})", f"torch.nn.Buffer({t})")


def held(g):
    t = g.old()
    return g.one(f"kept.append({t})", f"kept.append({t}.untyped_storage())", f"kept.append([{t}, {{'a': {t}[0:1]}}])", f"kept.append(in_cycle({t}))",
                 f"{t}.note = {g.old()}", f"kept.append(weakref.ref({t}))", f"kept.append(lambda held={t}: held)", f"kept.append(paused({t}))",
                 f"kept.append({t}.grad_fn)", f"kept.insert(0, {t}.clone())")


def freed(g):
    return g.one(f"del {g.new()}", f"del {g.new()}", f"{g.new()} = None", "kept.pop()", "kept.clear()", "gc.collect()", "kept.pop(0)",
                 f"in_cycle({g.old()})", "for i in range(50): torch.ones(i)", f"{g.new()} = {g.old()}")


def failed(g):
    t = g.old()
    return g.one(f"kept.append(error_of(lambda: fail({t}.clone())))", f"fail({t}.clone())", f"{t}.view(-1, 7, 0)", f"torch.ones(3) @ {t}",
                 "torch.empty(1 << 60)", f"{t}.resize_(1 << 58)", f"{t}.untyped_storage().resize_(1 << 60)", f"kept.append(error_of(lambda: {t}.sum().backward().x))")


def threaded(g):
    t = g.old()
    return g.one(f"{g.new()} = in_thread(lambda: torch.ones({g.shape()}))", f"in_thread(lambda: {t}.resize_({g.shape()}))", f"{g.new()} = in_thread(lambda: {t}[1:])",
                 f"in_thread(lambda: kept.append({t}.clone()))", f"in_thread(lambda: fail({t}.clone()))", "churn(2)", "churn(0)",
                 f"kept.append(waiting_thread({t}))")


def copied(g):
    t = g.old()
    return g.new() + " = " + g.one(f"{t}.clone()", f"copy.deepcopy({t})", f"pickle.loads(pickle.dumps({t}))", f"saved_and_loaded({t})",
                                   f"{t}.to(torch.float64)", f"{t}.new_zeros({g.shape()})", f"torch.empty_like({t})", f"copy.copy({t})", f"{t}.clone(memory_format=torch.contiguous_format)")


def looked(g):
    return f"look({g.one('call', 'call', 'signal', 'meanwhile', 'meanwhile', 'recording', 'recording', 'child')!r})"
