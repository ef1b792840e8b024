#!/usr/bin/env python3
"""Prints how many bytes each part of a payload of compact takes: measure_payload.py FILE"""

import sys
import zlib
from collections import Counter
from pathlib import Path

from decode_payloads import BLOCKS, Compact

DECIMAL = {"exponent", "length", "isNegative", "isCompact", "mantissa"}
PARTS = {
    0: "integers", 1: "doubles and dates", 2: "strings", 3: "UUIDs", 11: "floats", 12: "bytes", 13: "integers",
    14: "integers", 15: "integers", 16: "repeated strings",
}


class Measured(Compact):
    """A message that counts the bytes and the number of each part. Counts a decimal's record as one part."""

    def __init__(self, data):
        super().__init__(data)
        self.bytes, self.numbers = Counter(), Counter()

    def add(self, part, count):
        self.bytes[part] += count
        self.numbers[part] += 1

    def value(self, kind):
        before = self.reader.remaining
        value = super().value(kind)
        if kind in PARTS or kind in BLOCKS or kind in (31, 32, 33):
            self.add(PARTS.get(kind, "blocks"), before - self.reader.remaining)
        return value

    def define(self):
        before = self.reader.remaining
        super().define()
        self.add("names", before - self.reader.remaining)

    def record(self, is_named):
        outer = self.bytes, self.numbers
        self.bytes, self.numbers = Counter(), Counter()
        before = self.reader.remaining
        record = super().record(is_named)
        inner = self.bytes, self.numbers
        self.bytes, self.numbers = outer
        if record.keys() == DECIMAL:
            self.add("names", inner[0]["names"])
            self.numbers["names"] += inner[1]["names"] - 1
            self.add("decimals", before - self.reader.remaining - inner[0]["names"])
        else:
            self.bytes += inner[0]
            self.numbers += inner[1]
        return record


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    data = Path(arguments[0]).read_bytes()
    message = Measured(data)
    message.message()
    message.bytes["heads, kinds, counts and ends"] = len(data) - message.bytes.total()
    for part, count in message.bytes.most_common():
        print(f"{count:6} bytes  {message.numbers[part] or '':4}  {part}")
    print(f"{len(data):6} bytes, {len(zlib.compress(data, 6)) - 6} compressed")


if __name__ == "__main__":
    main(sys.argv[1:])
