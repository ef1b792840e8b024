#!/usr/bin/env python3
"""Reads golden payloads of compact. Written from Docs/Internals/WireFormat.md alone, with the standard library alone.

    decode_payloads.py DIRECTORY    decodes every NAME.compact, NAME.first.compact and NAME.direct.compact in it and compares
                                    with NAME.json (NAME.direct.json), which the json codec wrote; status 1 on a difference
    decode_payloads.py FILE         prints what a payload of compact says
"""

import base64
import decimal
import json
import math
import struct
import sys
import uuid
from pathlib import Path

from decode_frames import Reader, WireError

DEPTH_MAX, TEXTS_MAX, REPEATED_BYTES_MIN = 32, 4096, 3
BLOCKS = {
    24: ("d", 8), 25: ("f", 4), 26: ("b", 1), 27: ("h", 2), 28: ("H", 2), 29: ("i", 4), 30: ("I", 4),
}


class Record(dict):
    """Of numbers, as the direct path writes it, or of names."""


class Compact:
    """One message."""

    def __init__(self, data):
        self.reader = Reader(data)
        self.names, self.strings, self.depth = [], [], 0

    def message(self):
        kind = self.reader.u8()
        if kind == 19:
            count = self.reader.varint()
            if count > TEXTS_MAX:
                raise WireError("oversized", f"{count} names")
            for _ in range(count):
                self.define()
            kind = self.reader.u8()
        value = self.value(kind)
        if self.reader.remaining:
            raise WireError("trailingBytes", f"{self.reader.remaining}")
        return value

    def value(self, kind):
        reader = self.reader
        if kind == 0:
            return reader.svarint()
        if kind == 1:
            return struct.unpack("<d", reader.raw(8))[0]
        if kind == 2:
            return self.string()
        if kind == 3:
            return uuid.UUID(bytes=reader.raw(16))
        if kind in (4, 5):
            return self.nested(lambda: self.record(kind == 5))
        if kind == 6:
            return self.nested(lambda: [self.value(reader.u8()) for _ in range(self.count(1))])
        if kind in (8, 18):
            return None
        if kind in (9, 10):
            return kind == 10
        if kind == 11:
            return struct.unpack("<f", reader.raw(4))[0]
        if kind == 12:
            return reader.region()
        if kind == 13:
            return reader.varint()
        if kind in (14, 15):
            return int.from_bytes(reader.raw(16), "little", signed=kind == 14)
        if kind == 16:
            number = reader.varint()
            if number >= len(self.strings):
                raise WireError("corrupted", f"string {number} has not been written yet")
            return self.strings[number]
        if kind == 17:
            return self.nested(lambda: self.value(reader.u8()))
        return self.block(kind)

    def block(self, kind):
        reader = self.reader
        if kind in BLOCKS:
            code, width = BLOCKS[kind]
            count = self.count(width)
            return list(struct.unpack(f"<{count}{code}", reader.raw(count * width)))
        if kind in (31, 32):
            return [reader.svarint() if kind == 31 else reader.varint() for _ in range(self.count(1))]
        if kind == 33:
            return [uuid.UUID(bytes=reader.raw(16)) for _ in range(self.count(16))]
        raise WireError("corrupted", f"kind {kind}")

    def nested(self, read):
        self.depth += 1
        if self.depth > DEPTH_MAX:
            raise WireError("tooDeep", "levels")
        value = read()
        self.depth -= 1
        return value

    def count(self, width):
        count = self.reader.varint()
        if count * width > self.reader.remaining:
            raise WireError("truncated", f"{count} elements")
        return count

    def string(self):
        text = self.reader.text()
        if len(text.encode()) >= REPEATED_BYTES_MIN and len(self.strings) < TEXTS_MAX:
            self.strings.append(text)
        return text

    def define(self):
        name = self.reader.text()
        if len(self.names) < TEXTS_MAX:
            self.names.append(name)

    def record(self, is_named):
        fields = Record()
        while True:
            head = self.reader.varint()
            if head == 0:
                return fields
            if head > 7:
                key, low = head >> 3, head & 7
                kind = low if low < 7 else self.reader.u8()
                if low == 7 and kind < 8:
                    raise WireError("corrupted", f"kind {kind} is not an extended one")
                if is_named and not 0 < key <= len(self.names):
                    raise WireError("corrupted", f"name {key} has not been defined yet")
                key = self.names[key - 1] if is_named else str(key)
            elif is_named and head == 1:
                self.define()
                continue
            elif is_named and head == 2:
                key, kind = self.reader.text(), self.reader.u8()
            else:
                raise WireError("corrupted", f"head {head}")
            value = self.value(kind)
            if kind != 18:
                fields[key] = value


# Comparison with JSON


def says(value, expected):
    """Whether a value of compact is what JSON says of it."""
    if isinstance(value, dict):
        value = foundation_form({str(key): field for key, field in value.items()})
    if isinstance(value, dict):
        return isinstance(expected, dict) and value.keys() == expected.keys() and all(
            says(field, expected[name]) for name, field in value.items())
    if isinstance(value, bytes) and isinstance(expected, str):
        return base64.b64encode(value).decode() == expected
    if isinstance(value, (list, tuple, bytes)):
        return isinstance(expected, list) and len(value) == len(expected) and all(map(says, value, expected))
    if isinstance(value, uuid.UUID):
        return str(value).upper() == expected
    if isinstance(value, float) and not math.isfinite(value):
        return expected == ("NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity")
    if isinstance(value, (bool, str)) or value is None:
        return type(value) is type(expected) and value == expected
    is_number = isinstance(expected, (int, decimal.Decimal)) and not isinstance(expected, bool)
    return is_number and value == (float(expected) if isinstance(value, float) else expected)


def foundation_form(fields):
    """URL and Decimal, which Codable takes for records and JSON for one value."""
    if set(fields) == {"relative"}:
        return fields["relative"]
    if set(fields) == {"exponent", "length", "isNegative", "isCompact", "mantissa"}:
        mantissa = sum(word << 16 * place for place, word in enumerate(fields["mantissa"]))
        return decimal.Decimal(-mantissa if fields["isNegative"] else mantissa).scaleb(fields["exponent"])
    return fields


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    path = Path(arguments[0])
    if not path.is_dir():
        print(Compact(path.read_bytes()).message())
        return 0
    files = sorted(path.glob("*.compact"))
    failures = 0
    for file in files:
        text = Path(str(file.with_suffix("")).removesuffix(".first") + ".json").read_text(encoding="utf-8")
        try:
            value = Compact(file.read_bytes()).message()
        except WireError as error:
            value = error
        if not says(value, json.loads(text, parse_float=decimal.Decimal)):
            failures += 1
            print(f"{file.name}: says {value!r}, not {text}")
    print(f"{len(files)} files, {failures} failures")
    return 1 if failures or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
