#!/usr/bin/env python3
"""Holds the library's CBOR against cbor2, an implementation that shares nothing with it.

Reads lines of two fields, divided by a tab: a message in hexadecimal, and a Python expression of what it must say ("value"
for whatever it does say). Answers each with two fields: the value as cbor2 writes it canonically, and as it writes it by
default. The first line that does not say what it must ends the run with status 1.
"""

import decimal
import math
import sys
import uuid

import cbor2

NAMES = {"CBORTag": cbor2.CBORTag, "Decimal": decimal.Decimal, "UUID": uuid.UUID, "inf": math.inf, "nan": math.nan}


def same(left, right):
    """Equality that tells 1 from 1.0 and true, and knows NaN."""
    if type(left) is not type(right):
        return False
    if isinstance(left, float):
        return math.isnan(left) and math.isnan(right) or (left, math.copysign(1, left)) == (right, math.copysign(1, right))
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return left == right


def main():
    for line in sys.stdin:
        message, expression = line.rstrip("\n").split("\t")
        value = cbor2.loads(bytes.fromhex(message))
        expected = eval(expression, {"value": value, **NAMES})
        if not same(value, expected):
            sys.exit(f"{message} is {value!r}, expected {expected!r}")
        print(cbor2.dumps(value, canonical=True).hex(), cbor2.dumps(value).hex(), sep="\t")


if __name__ == "__main__":
    main()
