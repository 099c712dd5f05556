"""What a random program knew at a look (target.py), against the dump that it made or the moment of its recording.

Differences come as lines of text. Nothing here is lenient but where docs/limits.md says so: what a recording knows of tensors that were
changed without an event, and tensors that only C++ holds, of which Python has no object.
"""

FIELDS = ("shape", "strides", "dtype", "device", "layout", "requires_grad", "is_leaf", "storage_offset", "is_view", "version")
MOMENT_FIELDS = ("shape", "strides", "dtype", "device", "layout", "requires_grad", "storage_offset")
TOLD_BY_A_LOOK = ("strides", "layout", "requires_grad", "storage_offset")  # not by the end of a tensor at which nobody had looked yet
CHURN = 1009
CHURNED_TENSORS, CHURNED_BYTES = 2, CHURN * 8


class Exported:
    def __init__(self, exported):
        self.all = exported
        self.tensors = {tensor["address"]: tensor for tensor in exported["tensors"]}
        self.by_id = {tensor["id"]: tensor for tensor in exported["tensors"]}
        self.storages = {storage["id"]: storage for storage in exported["storages"]}
        self.allocations = {block["id"]: block for block in exported["allocations"]}


def churned(tensor):
    """One of a churning thread, also where it was freed before its shape was read."""
    if tensor["shape"] is None:
        return any(holder["text"] == "freed during the dump" for holder in tensor["holders"])
    return tensor["shape"][:1] == [CHURN]


def differences(exported, look, before, states):
    """`before`: ids of tensors and allocations that were there before the program began. `states`: of a tensor's life, what a recording may
    say that it was at this look."""
    found = Exported(exported)
    moment = look["dump"] is None
    lines = [f"two tensors at one address: {len(found.all['tensors'])} tensors, {len(found.tensors)} addresses"] \
        if len(found.tensors) != len(found.all["tensors"]) else []
    for row in look["tensors"]:
        tensor = found.tensors.get(row["address"])
        if tensor is None:
            lines.append(f"missing: {shown(row)}")
        elif moment:
            lines += wrong_at_a_moment(tensor, row, states[row["life"]], found)
        else:
            lines += wrong_fields(tensor, row, FIELDS) + wrong_links(tensor, row, found)
    lines += unknown_tensors(found, look, before)
    lines += wrong_memory(found, look, before)
    return lines + wrong_sums(found)


def lasting_differences(exported, look, lives):
    """Of a dump that was written while the program went on: tensors that lived all the time and were not changed are as they were."""
    found = Exported(exported)
    lines = wrong_sums(found)
    for life in lives:
        at_begin = [state for step, state in life["states"] if step <= look["step"]][-1:]
        changes = [step for step, _ in life["states"] if look["step"] < step <= look["until"]]
        if not at_begin or changes or (life["gone"] is not None and life["gone"] <= look["until"]):
            continue
        row, tensor = {"address": life["address"], **at_begin[0]}, found.tensors.get(life["address"])
        if tensor is None:
            lines.append(f"missing: {shown(row)}")
        else:
            lines += wrong_fields(tensor, row, FIELDS) + wrong_links(tensor, row, found)
    return lines


def shown(row):
    return ", ".join(f"{name} {value}" for name, value in row.items())


def wrong_fields(tensor, row, names, unknown=()):
    """`unknown`: may be missing in the file."""
    return [f"{name}: {tensor[name]} in the file, {row[name]} in the program: {shown(row)}" for name in names
            if name in row and tensor[name] != row[name] and not (name in unknown and tensor[name] is None)]


def wrong_links(tensor, row, found):
    lines = []
    if "storage" in row:
        pointer, nbytes = row["storage"]
        storage = found.storages.get(tensor["storage"])
        if pointer == 0 or nbytes == 0:
            if storage is not None and storage["nbytes"]:
                lines.append(f"a storage of {storage['nbytes']} bytes, of which the program has none: {shown(row)}")
        elif storage is None:
            lines.append(f"no storage: {shown(row)}")
        elif storage["data_ptr"] != pointer or storage["nbytes"] < nbytes:
            lines.append(f"storage {storage['data_ptr']} of {storage['nbytes']}: {shown(row)}")
    if "grad_address" in row:
        gradient = found.by_id.get(tensor["grad"])
        if (gradient["address"] if gradient else None) != row["grad_address"]:
            lines.append(f"grad is {gradient and gradient['address']}: {shown(row)}")
    return lines


def wrong_at_a_moment(tensor, row, states, found):
    """A recording looks at a tensor from time to time. What it says may be any of the states from one look to the next, and of a tensor that
    had its end in between it does not know all."""
    tried = []
    for state in states:
        plain = state.get("layout") == "strided" and "shape" in state and not state["dtype"].startswith("q") and row["python"] == "Tensor"
        wrong = wrong_fields(tensor, state, MOMENT_FIELDS, TOLD_BY_A_LOOK if plain else MOMENT_FIELDS)
        if not wrong and not (tensor["storage"] is None and (len(states) > 1 or not plain)):
            wrong = wrong_links(tensor, {name: value for name, value in state.items() if name != "grad_address"}, found)
        if not wrong:
            return []
        tried.append(wrong[0])
    return [f"at a moment, none of {len(tried)} states: {tried[-1]}"]


def unknown_tensors(found, look, before):
    """Tensors of the file that the program does not know: those of churning threads, and what C++ holds."""
    mine = {row["address"] for row in look["tensors"]}
    others = [tensor for address, tensor in found.tensors.items() if address not in mine and tensor["id"] not in before]
    running = [tensor for tensor in others if churned(tensor)]
    lines = [f"{len(running)} tensors of {look['churn']} threads"] if len(running) > CHURNED_TENSORS * look["churn"] else []
    if look["last"]:
        lines += [f"still there: {described(tensor)}" for tensor in others if not churned(tensor) and not is_part(tensor, look)]
    elif look["dump"]:
        held = held_by_others(found)
        lines += [f"nothing holds it: {described(tensor)}" for tensor in others
                  if not churned(tensor) and tensor["id"] not in held and not is_part(tensor, look)]
    return lines


def held_by_others(found):
    """Tensors that the dump says are saved in a graph, a part, a base or a gradient of another."""
    held = set()
    for node in (found.all["graph"] or {}).get("nodes", []):
        held |= {slot["tensor"] for slot in node["saved"] if slot["tensor"]}
    for tensor in found.all["tensors"]:
        held |= {holder["tensor"] and tensor["id"] for holder in tensor["holders"] or []}
        held |= {tensor["id"] for holder in tensor["holders"] or [] if holder["kind"] in ("saved", "gradient", "view", "part", "storage", "accumulator")}
    return held


def is_part(tensor, look):
    """Kinds of tensors that have others within of which the C++ object alone knows."""
    return any("shape" not in row or row["layout"] != "strided" or row["dtype"].startswith("q") for row in look["tensors"])


def holds_opaque_memory(look):
    """Where oneDNN's tensors lie is known to oneDNN alone."""
    return any(row.get("layout") == "mkldnn" for row in look["tensors"])


def described(tensor):
    return f"{tensor['class']} {tensor['shape']} {tensor['dtype']} at {tensor['address']}, holders {[holder['text'] for holder in tensor['holders'] or []]}"


def wrong_memory(found, look, before):
    """Allocations are those of the storages that the program knows, and of tensors that only the file knows."""
    lines = []
    expected = {}
    for pointer, nbytes in [row["storage"] for row in look["tensors"] if "storage" in row] + look["storages"]:
        if pointer and nbytes:
            expected[pointer] = max(nbytes, expected.get(pointer, 0))
    blocks = {block["pointer"]: block for block in found.allocations.values()}
    new = {pointer: block for pointer, block in blocks.items() if block["id"] not in before}
    foreign = set(look["foreign"])
    for pointer, nbytes in expected.items():
        block = blocks.get(pointer)
        new.pop(pointer, None)
        if pointer in foreign:
            lines += [f"{block['nbytes']} bytes at {pointer} are not torch's"] if block else []
        elif block is None:
            inside = [other for other in found.allocations.values() if other["pointer"] < pointer < other["pointer"] + other["nbytes"]]
            lines += [] if inside else [f"no allocation for {nbytes} bytes at {pointer}"]
        elif block["nbytes"] != nbytes:
            lines.append(f"an allocation of {block['nbytes']} bytes at {pointer}, where the program has {nbytes}")
    churning = [block for block in new.values() if block["nbytes"] == CHURNED_BYTES]
    if len(churning) > CHURNED_TENSORS * look["churn"]:
        lines.append(f"{len(churning)} allocations of {look['churn']} threads")
    mine = {row["address"] for row in look["tensors"]}
    for block in new.values():
        tensors = [found.by_id[i] for storage in block["storages"] for i in found.storages[storage]["tensors"]]
        explained = any(tensor["address"] not in mine for tensor in tensors) or holds_opaque_memory(look)
        if block["nbytes"] != CHURNED_BYTES and not explained and not (look["dump"] is None and look["tensors"]):
            lines.append(f"an allocation of {block['nbytes']} bytes at {block['pointer']} that the program does not have")
    return lines


def wrong_sums(found):
    """Totals are the sums of rows."""
    totals, lines = found.all["totals"], []

    def same(what, one, other):
        if one != other:
            lines.append(f"{what}: {one} and {other}")

    blocks = found.all["allocations"]
    same("live bytes", sum(block["nbytes"] for block in blocks), sum(device["live_bytes"] for device in totals["devices"]))
    same("live allocations", len(blocks), sum(device["live_count"] for device in totals["devices"]))
    same("tensors", len(found.all["tensors"]), totals["tensors_live"])
    same("bytes of sites", sum(block["nbytes"] for block in blocks), sum(site["bytes_live"] for site in found.all["sites"]))
    same("tensors of sites", len(found.all["tensors"]), sum(site["tensors_live"] for site in found.all["sites"]))
    for device in totals["devices"]:
        if device["peak_bytes"] < device["live_bytes"]:
            lines.append(f"peak {device['peak_bytes']} below {device['live_bytes']}")
    return lines
