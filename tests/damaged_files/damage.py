# SPDX-License-Identifier: Apache-2.0
"""Damages a dump, a recording or a values file, and writes right checksums again: so readers come to what is wrong within.

A file is a header of 24 bytes and chunks (docs/dump-format.md). The end mark of a dump counts chunks and bytes; half of the damaged files
get a right one.
"""

import struct

from dump_reader import xxh3

HEADER = 24
WORDS = {1: "<B", 2: "<H", 4: "<I", 8: "<Q"}
EXTREMES = (0, 1, 2, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 32, 1 << 40, (1 << 63) - 1, 1 << 63,
            (1 << 64) - 1)


def cut(data):
    """The header, and the chunks as [type, payload]."""
    chunks, at = [], HEADER
    while at + HEADER <= len(data):
        kind, _, length, _ = struct.unpack_from("<4sIQQ", data, at)
        chunks.append([kind, bytearray(data[at + HEADER:at + HEADER + length])])
        at += HEADER + (length + 7) // 8 * 8
    return data[:HEADER], chunks


def put_together(header, chunks):
    parts = [header]
    for kind, payload in chunks:
        head = struct.pack("<4sIQ", kind, 0, len(payload))
        parts.append(head + struct.pack("<Q", xxh3(bytes(payload), xxh3(head))) + payload + bytes(-len(payload) % 8))
    return b"".join(parts)


def change_words(random, payload):
    """Some words get extreme values, those of other places, or others of their own size."""
    for _ in range(random.choice((1, 1, 1, 2, 4, 16))):
        size = random.choice((1, 2, 4, 4, 4, 8, 8))
        if len(payload) < size:
            return
        at = random.randrange(0, len(payload) - size + 1, size)
        how = random.randrange(5)
        (old,) = struct.unpack_from(WORDS[size], payload, at)
        if how == 0:
            new = random.choice(EXTREMES)
        elif how == 1:
            new = random.getrandbits(8 * size)
        elif how == 2:
            new = old + random.choice((-8, -4, -1, 1, 4, 8))
        elif how == 3:
            new = old ^ (1 << random.randrange(8 * size))
        else:
            (new,) = struct.unpack_from(WORDS[size], payload, random.randrange(0, len(payload) - size + 1, size))
        struct.pack_into(WORDS[size], payload, at, new % (1 << 8 * size))


def shorten(random, payload):
    del payload[random.randrange(len(payload) + 1):]
    if len(payload) >= 4 and random.random() < 0.5:
        struct.pack_into("<I", payload, 0, len(payload) - 4)


def change_chunks(random, chunks):
    """Drops, doubles, moves or exchanges chunks, or gives one the type of another."""
    one, other = random.randrange(len(chunks)), random.randrange(len(chunks))
    how = random.randrange(6)
    if how == 0:
        del chunks[one]
    elif how == 1:
        chunks.insert(other, [chunks[one][0], bytearray(chunks[one][1])])
    elif how == 2:
        chunks.insert(other, chunks.pop(one))
    elif how == 3:
        chunks[one], chunks[other] = chunks[other], chunks[one]
    elif how == 4:
        chunks[one][0] = chunks[other][0]
    else:
        random.shuffle(chunks)


def correct_end(chunks):
    """A right end mark for a dump, where its own table is still sound."""
    number = sum(kind != b"END!" for kind, _ in chunks)
    size = HEADER + sum(HEADER + (len(payload) + 7) // 8 * 8 for kind, payload in chunks if kind != b"END!")
    for kind, payload in chunks:
        if kind != b"END!":
            continue
        try:
            table = struct.unpack_from("<I", payload, 4)[0] + 4
            fields = table - struct.unpack_from("<i", payload, table)[0]
            for slot, form, value in ((4, "<I", number), (6, "<Q", size)):
                struct.pack_into(form, payload, table + struct.unpack_from("<H", payload, fields + slot)[0], value)
        except struct.error:
            pass


def damaged(random, data):
    """Another file of the same kind, made of `data`."""
    header, chunks = cut(data)
    how = random.randrange(8)
    if how < 5:
        change_words(random, random.choice(chunks)[1])
        if random.random() < 0.2:
            change_words(random, random.choice(chunks)[1])
    elif how == 5:
        shorten(random, random.choice(chunks)[1])
    else:
        change_chunks(random, chunks)
    if random.random() < 0.5:
        correct_end(chunks)
    whole = put_together(header, chunks)
    return whole[:random.randrange(len(whole))] if random.random() < 0.1 else whole
