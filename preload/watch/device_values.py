# SPDX-License-Identifier: Apache-2.0
"""What is taken of a value on a device, computed on the device's stream: tensorscope_take() and what it calls.

Memory on a device: the rows of a piece (19 MB), and twice 1 MiB, or 32 MiB where elements are kept. No random numbers, nothing in the
graph, and memory for a value only where it is sorted or counted in bins. While a CUDA graph is captured, or something else than plain
torch runs (a dispatch mode, functorch), nothing is done. Sums are of the distance to one element, as on the CPU.
"""

import atexit, math, os, threading, time

TYPE_CHECKING = False
if TYPE_CHECKING:  # what device_values.cc gives
    import torch
    def unseen_begins(): ...
    def unseen_ends(): ...

    def arrived(number, numbers, elements, hashed): ...
    def failed(text): ...


tensorscope_piece, tensorscope_rows, tensorscope_numbers = 1 << 18, 9, 10
tensorscope_norms_wanted, tensorscope_quantiles_wanted, tensorscope_histogram_wanted, tensorscope_hash_wanted = 1, 2, 4, 8
tensorscope_bins, tensorscope_points = 64, (0.01, 0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
tensorscope_small, tensorscope_large = 1 << 20, 32 << 20
tensorscope_lock = threading.RLock()
tensorscope_state = {'on': True, 'busy': False, 'pid': os.getpid()}
tensorscope_scratches: dict = {}
tensorscope_buffers: dict = {}
tensorscope_taken, tensorscope_no_room, tensorscope_no_buffers, tensorscope_too_large, tensorscope_not_now, tensorscope_off = range(6)


class TensorscopeScratch:
    def __init__(self, device):
        new = lambda size, dtype: torch.empty(size, dtype=dtype, device=device)
        self.rows = new((tensorscope_rows, tensorscope_piece), torch.float64)
        self.bad, self.flag = new(tensorscope_piece, torch.bool), new(tensorscope_piece, torch.bool)
        self.sums, self.lowest, self.highest = new(7, torch.float64), new((), torch.float64), new((), torch.float64)
        self.bins = torch.arange(tensorscope_bins, dtype=torch.float64, device=device)
        self.points = torch.tensor(tensorscope_points, dtype=torch.float64, device=device)


class TensorscopeHalf:
    def __init__(self, device, room):
        self.bytes = torch.empty(room, dtype=torch.uint8, device=device)
        self.host = torch.empty(room, dtype=torch.uint8, device='cpu', pin_memory=device.type == 'cuda')
        self.used, self.values, self.streams, self.event, self.begun = 0, [], {}, None, 0


class TensorscopeBuffers:
    def __init__(self, device, room):
        self.device, self.room = device, room
        self.filling, self.sent = TensorscopeHalf(device, room), TensorscopeHalf(device, room)
        self.is_sent = False
        self.side = torch.cuda.Stream(device) if device.type == 'cuda' else None

    def send(self):
        half = self.filling
        if half.used == 0 or self.is_sent:
            return
        if self.side is None:
            half.host[:half.used].copy_(half.bytes[:half.used])
        else:
            for stream in half.streams.values():
                self.side.wait_stream(stream)
            with torch.cuda.stream(self.side):
                half.host[:half.used].copy_(half.bytes[:half.used], non_blocking=True)
                half.event = torch.cuda.Event()
                half.event.record(self.side)
        self.filling, self.sent, self.is_sent = self.sent, half, True

    def receive(self, wait):
        half = self.sent
        if not self.is_sent:
            return
        if half.event is not None and not half.event.query():
            if not wait:
                return
            half.event.synchronize()
        begin = half.host.data_ptr()
        for number, numbers, elements, hashed in half.values:
            arrived(number, begin + numbers, begin + elements if elements >= 0 else 0, begin + hashed if hashed >= 0 else 0)
        half.used, half.values, half.streams, half.event = 0, [], {}, None
        self.is_sent = False

    def find_room(self, size, wait):
        if self.filling.used + size > self.room:
            self.receive(wait)
            self.send()
        return self.filling.used + size <= self.room


def tensorscope_pieces(x):
    count = x.numel()
    if count <= tensorscope_piece:
        yield x
    elif x.is_contiguous():
        x = x.view(-1)
        for begin in range(0, count, tensorscope_piece):
            yield x[begin:begin + tensorscope_piece]
    else:
        dim = next(i for i, size in enumerate(x.shape) if size > 1)
        rows = max(1, tensorscope_piece // (count // x.shape[dim]))
        for begin in range(0, x.shape[dim], rows):
            yield from tensorscope_pieces(x.narrow(dim, begin, min(rows, x.shape[dim] - begin)))


def tensorscope_reduce(own, x, out):
    first = True
    for piece in tensorscope_pieces(x):
        count = piece.numel()
        value, other, summed = own.rows[0, :count], own.rows[1, :count], own.rows[2:, :count]
        finite, nan, infinite, zeros, moved, squares, magnitudes = summed
        bad, flag, shift = own.bad[:count], own.flag[:count], out[9]
        tensorscope_put(value, piece)
        torch.ne(torch.sub(value, value, out=other), 0, out=bad)
        if first:
            shift.copy_(value[0]).masked_fill_(bad[0], 0)
        finite.fill_(1).masked_fill_(bad, 0)
        nan.copy_(torch.ne(value, value, out=flag))
        infinite.copy_(torch.eq(value, math.inf, out=flag))
        zeros.copy_(torch.eq(value, 0, out=flag))
        torch.sub(value, shift, out=moved).masked_fill_(bad, 0)
        torch.mul(moved, moved, out=squares)
        torch.abs(value, out=magnitudes).masked_fill_(bad, 0)
        torch.sum(summed, 1, out=own.sums)
        torch.amin(other.copy_(value).masked_fill_(bad, math.inf), 0, out=own.lowest)
        torch.amax(other.copy_(value).masked_fill_(bad, -math.inf), 0, out=own.highest)
        if first:
            out[:7].copy_(own.sums)
            out[7].copy_(own.lowest)
            out[8].copy_(own.highest)
        else:
            out[:7].add_(own.sums)
            torch.minimum(out[7], own.lowest, out=out[7])
            torch.maximum(out[8], own.highest, out=out[8])
        first = False


def tensorscope_put(value, piece):
    value.view(piece.shape).copy_(piece.to(torch.complex128).abs() if piece.is_complex() else piece)


def tensorscope_norms(own, x, out):
    items = x if x.dim() else x.unsqueeze(0)
    size = items.numel() // items.shape[0]
    rows = max(1, tensorscope_piece // size)
    out.zero_()
    for begin in range(0, items.shape[0], rows):
        part = items[begin:begin + rows]
        for piece in (part,) if part.numel() <= tensorscope_piece else tensorscope_pieces(part[0]):
            value, other, bad = own.rows[0, :piece.numel()], own.rows[1, :piece.numel()], own.bad[:piece.numel()]
            tensorscope_put(value, piece)
            torch.ne(torch.sub(value, value, out=other), 0, out=bad)
            value.masked_fill_(bad, 0)
            out[begin:begin + rows].add_(torch.mul(value, value, out=other).view(part.shape[0], -1).sum(1))
    out.sqrt_()


def tensorscope_quantiles(own, x, numbers, out):
    x = x.reshape(-1)
    if x.is_complex():
        x = x.to(torch.complex128).abs()
    elif x.dtype in (torch.float16, torch.bfloat16):
        x = x.to(torch.float32)
    elif x.dtype not in (torch.float32, torch.float64, torch.int8, torch.uint8, torch.int16, torch.int32, torch.int64):
        x = x.to(torch.float64)
    if x.is_floating_point():
        x = x.masked_fill(torch.ne(x - x, 0), math.inf)
    x = torch.sort(x)[0]
    last = numbers[0].sub(1).clamp(min=0)
    position = own.points * last
    below = position.floor()
    part = position - below
    low = x.index_select(0, below.to(torch.int64)).to(torch.float64)
    high = x.index_select(0, torch.minimum(below + 1, last).to(torch.int64)).to(torch.float64)
    out.copy_(low + (torch.where(part > 0, high, low) - low) * part)


# As counts of what is equal: nothing is added in an order that may vary.
def tensorscope_histogram(own, x, numbers, out):
    same = torch.eq(numbers[7], numbers[8])
    low, high, counts = torch.where(same, numbers[7] - 1, numbers[7]), torch.where(same, numbers[8] + 1, numbers[8]), out[2:]
    out[0].copy_(low)
    out[1].copy_(high)
    counts.zero_()
    width = high / 2 - low / 2
    none = torch.eq(width, 0)  # one number so large that 1 more is the same
    for piece in tensorscope_pieces(x):
        value, other, bad = own.rows[0, :piece.numel()], own.rows[1, :piece.numel()], own.bad[:piece.numel()]
        tensorscope_put(value, piece)
        torch.ne(torch.sub(value, value, out=other), 0, out=bad)
        value.div_(2).sub_(low / 2).div_(width).mul_(tensorscope_bins).masked_fill_(none, tensorscope_bins // 2)
        value.nan_to_num_(0).trunc_().clamp_(0, tensorscope_bins - 1).masked_fill_(bad, -1)
        for begin in range(0, piece.numel(), 1 << 16):
            counts.add_(torch.eq(value[begin:begin + (1 << 16)].unsqueeze(0), own.bins.unsqueeze(1)).sum(1))


def tensorscope_series_sizes(x, kinds):
    norms = (x.shape[0] if x.dim() else 1) if kinds & tensorscope_norms_wanted else 0
    quantiles = len(tensorscope_points) if kinds & tensorscope_quantiles_wanted else 0
    return norms, quantiles, 2 + tensorscope_bins if kinds & tensorscope_histogram_wanted else 0


# `numbers`: of statistics, then norms, quantiles and histogram.
def tensorscope_compute(own, x, statistics, kinds, numbers):
    norms, quantiles, histogram = tensorscope_series_sizes(x, kinds)
    series = numbers[tensorscope_numbers:]
    if x.numel() == 0:
        series.zero_()
        return
    if statistics or quantiles or histogram:
        tensorscope_reduce(own, x, numbers[:tensorscope_numbers])
    if norms:
        tensorscope_norms(own, x, series[:norms])
    if quantiles:
        tensorscope_quantiles(own, x, numbers, series[norms:norms + quantiles])
    if histogram:
        tensorscope_histogram(own, x, numbers, series[norms + quantiles:norms + quantiles + histogram])


def tensorscope_may_take(device):
    if hasattr(torch._C, '_len_torch_dispatch_stack') and torch._C._len_torch_dispatch_stack() != 0:
        return False
    functorch = getattr(torch._C, '_functorch', None)
    if functorch is not None and functorch.peek_interpreter_stack() is not None:
        return False
    return device.type != 'cuda' or not torch.cuda.is_current_stream_capturing()


def tensorscope_safely(work):
    with tensorscope_lock:
        if tensorscope_state['busy'] or not tensorscope_state['on']:
            return tensorscope_off
        tensorscope_state['busy'] = True
        unseen_begins()
        try:
            with torch._C.DisableTorchFunction(), torch.inference_mode(False), torch.no_grad():
                return work()
        except Exception as error:
            tensorscope_state['on'] = False
            failed(type(error).__name__ + ': ' + str(error)[:200])
            return tensorscope_off
        finally:
            unseen_ends()
            tensorscope_state['busy'] = False


def tensorscope_prepare(tensor, elements):
    def work():
        device = tensor.device
        if device not in tensorscope_scratches:
            tensorscope_scratches[device] = TensorscopeScratch(device)
        tensorscope_buffers[device, elements] = TensorscopeBuffers(device, tensorscope_large if elements else tensorscope_small)
        return tensorscope_taken
    return tensorscope_safely(work)


# `part`: sizes, strides, offset; `dtype`: as which elements are kept. Both "": as they are; `part` None: no elements.
# `kinds`: what else is wanted. For a hash the bytes are copied, unless the elements are.
def tensorscope_take(tensor, number, statistics, part, dtype, kinds, flush_ms, wait):
    def work():
        device = tensor.device
        if not tensorscope_may_take(device):
            return tensorscope_not_now
        hashed = bool(kinds & tensorscope_hash_wanted) and (part != '' or dtype != '')
        key = device, part is not None or hashed
        if key not in tensorscope_buffers:
            return tensorscope_no_buffers
        for buffers in tensorscope_buffers.values():
            if buffers.device == device:
                buffers.receive(False)
                if buffers.filling.used and time.monotonic() - buffers.filling.begun >= flush_ms / 1000:
                    buffers.send()
        whole = elements = tensor.detach()
        size = 0
        if part is not None:
            if part:
                sizes, strides, offset = ([int(each) for each in text.split(',') if each] for text in part.split(';'))
                elements = torch.as_strided(whole, sizes, strides, whole.storage_offset() + offset[0])
            kept = getattr(torch, dtype) if dtype else elements.dtype
            size = elements.numel() * torch.empty((), dtype=kept, device='meta').element_size()
        buffers, own = tensorscope_buffers[key], tensorscope_scratches[device]
        number_bytes = (tensorscope_numbers + sum(tensorscope_series_sizes(whole, kinds)) + 1) // 2 * 16
        hash_size = (whole.numel() * whole.element_size() + 15) // 16 * 16 if hashed else 0
        room = (number_bytes + hash_size + size + 15) // 16 * 16
        if room > buffers.room:
            if not wait:
                return tensorscope_too_large
            numbers = buffers.filling.bytes.new_empty(number_bytes).view(torch.float64)
            tensorscope_compute(own, whole, statistics, kinds, numbers)
            numbers = numbers.cpu()
            kept = elements.to(device='cpu', dtype=kept).contiguous() if part is not None else None
            hashed = whole.cpu().contiguous() if hashed else None
            arrived(number, numbers.data_ptr(), 0 if kept is None else kept.data_ptr(), 0 if hashed is None else hashed.data_ptr())
            return tensorscope_taken
        if not buffers.find_room(room, wait):
            return tensorscope_no_room
        half = buffers.filling
        begin = half.used
        tensorscope_compute(own, whole, statistics, kinds, half.bytes[begin:begin + number_bytes].view(torch.float64))
        hash_at = begin + number_bytes
        if hashed and whole.numel() != 0:
            end = hash_at + whole.numel() * whole.element_size()
            half.bytes[hash_at:end].view(whole.dtype).view(whole.shape).copy_(whole)
        at = hash_at + hash_size
        if size != 0:
            half.bytes[at:at + size].view(kept).view(elements.shape).copy_(elements)
        if half.used == 0:
            half.begun = time.monotonic()
        half.used += room
        half.values.append((number, begin, at if part is not None else -1, hash_at if hashed else -1))
        if buffers.side is not None:
            stream = torch.cuda.current_stream(device)
            half.streams[stream.cuda_stream] = stream
        return tensorscope_taken
    return tensorscope_safely(work)


def tensorscope_take_rest():
    def work():
        for buffers in tensorscope_buffers.values():
            if tensorscope_may_take(buffers.device):
                for _ in range(2):
                    buffers.receive(True)
                    buffers.send()
                buffers.receive(True)
        tensorscope_state['on'] = False
        return tensorscope_taken
    if os.getpid() == tensorscope_state['pid']:
        tensorscope_safely(work)


atexit.register(tensorscope_take_rest)
