#!/usr/bin/env python3
"""Reads SessionMesh frames. Written from Docs/Internals/WireFormat.md alone, with the standard library, and libzstd for zstd.

    decode_frames.py DIRECTORY     decodes every NAME.frames in it and compares with NAME.json (messages, or the code of the
                                   error); status 1 on a difference
    decode_frames.py FILE.frames   prints what the frames say
"""

import ctypes
import ctypes.util
import json
import math
import struct
import sys
import uuid
import zlib
from pathlib import Path

MAGIC, VERSION = 0xB5, 1
FRAME_BYTES_MAX = 1 << 20
INFLATED_BYTES_MAX, RATIO_MAX = 4 << 20, 20
SLOTS_MAX, SLOT_TEXT_BYTES_MAX = 63, 1024
VECTOR_ENTRIES_MAX = 16384
PIECES_MAX, PARTIAL_FRAMES_MAX, PARTIAL_BYTES_MAX = 4096, 8, 2 << 20
ENTRIES_MAX, RANGES_MAX = 256, 64
COMPACT = 2
ZSTD, COMPRESSION_FORMATS = 1, 3
NAMES_MAX, NAME_BYTES_MAX, LISTED_NAMES_MAX = 1024, 32, 4096
MASK = (1 << 64) - 1


class WireError(Exception):
    def __init__(self, code, message):
        super().__init__(f"{code}: {message}")
        self.code = code


# Primitives


class Reader:
    def __init__(self, data):
        self.data = bytes(data)
        self.offset = 0

    @property
    def remaining(self):
        return len(self.data) - self.offset

    def raw(self, count):
        if count > self.remaining:
            raise WireError("truncated", f"{count} bytes needed, {self.remaining} left")
        self.offset += count
        return self.data[self.offset - count:self.offset]

    def rest(self):
        return self.raw(self.remaining)

    def u8(self):
        return self.raw(1)[0]

    def u32(self):
        return struct.unpack("<I", self.raw(4))[0]

    def u64(self):
        return struct.unpack("<Q", self.raw(8))[0]

    def varint(self):
        value = shift = 0
        while True:
            byte = self.u8()
            value |= (byte & 0x7F) << shift
            if value > MASK or shift > 63:
                raise WireError("corrupted", "a varint exceeds 64 bits")
            if byte < 0x80:
                return value
            shift += 7

    def svarint(self):
        folded = self.varint()
        return (folded >> 1) ^ -(folded & 1)

    def uuid(self):
        return str(uuid.UUID(bytes=self.raw(16))).upper()

    def utf8(self, count):
        try:
            return self.raw(count).decode("utf-8")
        except UnicodeDecodeError:
            raise WireError("corrupted", "not UTF-8") from None

    def text(self):
        return self.utf8(self.varint())

    def identifier(self):
        head = self.varint()
        if head < 2:
            text = self.uuid()
            return text if head == 0 else text.lower()
        return self.utf8(head - 2)

    def optional(self, read):
        presence = self.u8()
        if presence > 1:
            raise WireError("corrupted", "neither present nor absent")
        return read() if presence else None

    def region(self):
        return self.raw(self.varint())

    def extensions(self):
        """The fields of extensions, each a tag and bytes. A reader skips those that it doesn't know."""
        fields = Reader(self.region())
        found = []
        while fields.remaining:
            found.append((fields.varint(), fields.region()))
        return found


def varint(value):
    data = bytearray()
    while value > 0x7F:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(data) + bytes([value])


def narrow(value, bits):
    if value >> bits:
        raise WireError("invalidValue", f"{value} exceeds {bits} bits")
    return value


# Zstd (RFC 8878)


def zstd(blocks, length, dictionary):
    """The content of a zstd frame's blocks. Its header has the length, and the window is the content."""
    library = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    for name in ("ZSTD_findFrameCompressedSize", "ZSTD_decompress_usingDict"):
        getattr(library, name).restype = ctypes.c_size_t
    library.ZSTD_createDCtx.restype = ctypes.c_void_p
    code, width, base = (0, 1, 0) if length < 256 else (1, 2, 256) if length < 65792 else (2, 4, 0)
    header = struct.pack("<IB", 0xFD2FB528, code << 6 | 1 << 5) + (length - base).to_bytes(width, "little")
    frame = header + blocks
    size = library.ZSTD_findFrameCompressedSize(frame, ctypes.c_size_t(len(frame)))
    if library.ZSTD_isError(ctypes.c_size_t(size)):
        raise WireError("corrupted", "the blocks are damaged or end early")
    if size != len(frame):
        raise WireError("trailingBytes", "after the last block")
    output = ctypes.create_string_buffer(max(length, 1))
    context = ctypes.c_void_p(library.ZSTD_createDCtx())
    written = library.ZSTD_decompress_usingDict(
        context, output, ctypes.c_size_t(length), frame, ctypes.c_size_t(len(frame)), dictionary or None,
        ctypes.c_size_t(len(dictionary or b"")))
    library.ZSTD_freeDCtx(context)
    if library.ZSTD_isError(ctypes.c_size_t(written)) or written != length:
        raise WireError("corrupted", "decompresses to another length")
    return output.raw[:length]


# MurmurHash3, x64, 128 bits, seed 0


def murmur3(data):
    def rotl(value, bits):
        return (value << bits | value >> (64 - bits)) & MASK

    def finish(value):
        value ^= value >> 33
        value = value * 0xFF51AFD7ED558CCD & MASK
        value ^= value >> 33
        value = value * 0xC4CEB9FE1A85EC53 & MASK
        return value ^ value >> 33

    c1, c2 = 0x87C37B91114253D5, 0x4CF5AD432745937F
    h1 = h2 = 0
    for block in range(0, len(data) // 16 * 16, 16):
        k1, k2 = struct.unpack_from("<QQ", data, block)
        h1 ^= rotl(k1 * c1 & MASK, 31) * c2 & MASK
        h1 = ((rotl(h1, 27) + h2) * 5 + 0x52DCE729) & MASK
        h2 ^= rotl(k2 * c2 & MASK, 33) * c1 & MASK
        h2 = ((rotl(h2, 31) + h1) * 5 + 0x38495AB5) & MASK
    tail = data[len(data) // 16 * 16:]
    k1 = int.from_bytes(tail[:8], "little")
    k2 = int.from_bytes(tail[8:], "little")
    h2 ^= rotl(k2 * c2 & MASK, 33) * c1 & MASK
    h1 ^= rotl(k1 * c1 & MASK, 31) * c2 & MASK
    h1 ^= len(data)
    h2 ^= len(data)
    h1 = (h1 + h2) & MASK
    h2 = (h2 + h1) & MASK
    h1, h2 = finish(h1), finish(h2)
    h1 = (h1 + h2) & MASK
    h2 = (h2 + h1) & MASK
    return h1, h2


# Frames


class Frame:
    def __init__(self, kind, codec, flags, body, size):
        self.kind, self.codec, self.flags, self.body, self.size = kind, codec, flags, body, size


def read_frame(data):
    """The frame at the beginning of data, its checksum verified."""
    reader = Reader(data)
    magic = reader.u8()
    if magic != MAGIC:
        raise WireError("foreign", f"begins with {magic}")
    version = reader.u8()
    if version != VERSION:
        raise WireError("unsupportedVersion", f"version {version}")
    kind, codec, flags = reader.raw(3)
    length = reader.varint()
    header = data[:reader.offset]
    check = 0
    for byte in header:
        check = ((check << 1 | check >> 7) & 0xFF) ^ byte
    if reader.u8() != check:
        raise WireError("corrupted", "check byte")
    if reader.offset + length + 4 > FRAME_BYTES_MAX:
        raise WireError("oversized", f"{length} bytes")
    if flags >> 7:
        raise WireError("unsupportedVersion", f"flags {flags}")
    body = reader.raw(length)
    expected = murmur3(data[:reader.offset])[0] & 0xFFFFFFFF
    if reader.u32() != expected:
        raise WireError("corrupted", "checksum")
    return Frame(kind, codec, flags, body, reader.offset)


class Connection:
    """What a reader remembers of one connection; nothing, where every frame stands alone."""

    def __init__(self, dictionaries, stands_alone=False):
        self.stands_alone = stands_alone
        self.slots = []
        self.names = []
        self.dictionaries = {murmur3(d)[0] & 0xFFFFFFFF: d for d in dictionaries}

    # Compression

    def body(self, frame):
        method = frame.flags & 3
        has_format = bool(frame.flags & 64)
        if method == 0 and has_format:
            raise WireError("corrupted", "a format, but no compression")
        if method == 0:
            return frame.body
        if method == 3:
            raise WireError("unsupportedVersion", "compression 3 is reserved")
        reader = Reader(frame.body)
        if has_format:
            number = reader.u8()
            if number != ZSTD:
                raise WireError("unsupportedVersion", f"compression format {number}")
        dictionary = None
        if method == 2:
            identifier = reader.u32()
            if identifier not in self.dictionaries:
                raise WireError("unknownDictionary", f"{identifier}")
            dictionary = self.dictionaries[identifier]
        length = reader.varint()
        deflated = reader.rest()
        if length > INFLATED_BYTES_MAX or length > RATIO_MAX * len(deflated):
            raise WireError("oversized", f"{len(deflated)} bytes inflate to {length}")
        if has_format:
            return zstd(deflated, length, dictionary)
        try:
            one = zlib.decompressobj(-15, zdict=dictionary) if dictionary else zlib.decompressobj(-15)
            return self.exactly(one, deflated, length)
        except zlib.error as error:
            raise WireError("corrupted", f"{error}") from None

    @staticmethod
    def exactly(inflater, deflated, length):
        inflated = inflater.decompress(deflated, length + 1)
        if len(inflated) != length or inflater.unconsumed_tail or not inflater.eof:
            raise WireError("corrupted", "inflates to another length")
        if inflater.unused_data:
            raise WireError("trailingBytes", "after the deflate stream")
        return inflated

    # Metadata

    def identity(self, reader):
        return {
            "protocolVersion": reader.svarint(), "sessionID": reader.uuid(), "featureID": reader.identifier(),
            "sourcePeerID": reader.identifier(), "payloadType": reader.identifier(),
            "incarnation": narrow(reader.varint(), 32), "epoch": narrow(reader.varint(), 32),
        }

    def metadata(self, reader):
        flags = reader.u8()
        head = reader.varint()
        last = slot = None
        if head and self.stands_alone:
            raise WireError("corrupted", "an identity of no connection")
        if head == 0:
            identity = self.identity(reader)
        elif head % 2 == 1:
            slot = head // 2
            identity = self.identity(reader)
            texts = ("featureID", "sourcePeerID", "payloadType")
            if slot >= SLOTS_MAX or slot > len(self.slots):
                raise WireError("corrupted", f"slot {slot} out of turn")
            if sum(len(identity[t].encode()) for t in texts) > SLOT_TEXT_BYTES_MAX:
                raise WireError("oversized", "identity")
        else:
            slot = head // 2 - 1
            if slot >= len(self.slots):
                raise WireError("corrupted", f"slot {slot} was never defined")
            identity, last = self.slots[slot]
        if flags & 64:
            sequence, stamp = self.position(reader, last)
        else:
            sequence, stamp = reader.varint(), reader.u64()
        causal = self.causal(reader, stamp, flags & 32)
        monotonic = self.monotonic(reader, causal, last, flags)
        acknowledged = reader.varint() if flags & 2 else None
        promise = None
        if flags & 4:
            differences = reader.optional(lambda: (reader.svarint(), reader.svarint())) or (0, 0)
            promise = {
                "sequence": str((sequence + differences[0]) & MASK), "stamp": str((stamp + differences[1]) & MASK)}
        if flags & 8:
            event = reader.uuid()
        else:
            event = derived_event_id(identity, sequence, stamp)
        if flags & 16:
            reader.extensions()
        if slot is not None:
            self.slots[slot:slot + 1] = [(identity, (stamp, causal, monotonic, sequence))]
        return dict(
            identity, sequence=str(sequence), stamp=str(stamp), causalTimestamp=f"{causal:016x}",
            monotonicTimestamp=None if monotonic is None else f"{monotonic:016x}",
            acknowledgedSequence=None if acknowledged is None else str(acknowledged), promise=promise, eventID=event)

    @staticmethod
    def position(reader, last):
        if last is None:
            raise WireError("corrupted", "a difference from no stamp")
        sequence = (last[3] + reader.svarint()) & MASK
        difference = reader.svarint()
        milliseconds = (last[0] >> 16) + (difference >> 1)
        if not 0 <= milliseconds < 1 << 48:
            raise WireError("invalidValue", "stamp")
        counter = narrow(reader.varint(), 16) if difference & 1 else 0
        return sequence, milliseconds << 16 | counter

    @staticmethod
    def causal(reader, stamp, is_absolute):
        if is_absolute:
            return reader.u64()
        guess = float(stamp >> 16) / 1000.0 - 978307200.0
        return (bits(guess) + reader.svarint()) & MASK

    @staticmethod
    def monotonic(reader, causal, last, flags):
        if flags & 128:
            if not flags & 1 or last is None or last[2] is None:
                raise WireError("corrupted", "a difference from no steady time")
            guess = double(last[2]) + (double(causal) - double(last[1]))
            if not math.isfinite(guess):
                raise WireError("corrupted", "a guess that is no time")
            return (bits(guess) + reader.svarint()) & MASK
        return reader.u64() if flags & 1 else None

    # Names

    def payload(self, reader, frame):
        """The rest of the body, as a payload that stands alone."""
        if not frame.flags & 16:
            return reader.rest()
        count = reader.varint()
        if count > min(LISTED_NAMES_MAX, reader.remaining):
            raise WireError("oversized", f"a list of {count} names")
        names = [self.name(reader) for _ in range(count)]
        return bytes([19]) + varint(count) + b"".join(varint(len(name)) + name for name in names) + reader.rest()

    def name(self, reader):
        head = reader.varint()
        if head and head % 2 == 0:
            if head // 2 - 1 >= len(self.names):
                raise WireError("corrupted", f"name {head // 2 - 1} was never defined")
            return self.names[head // 2 - 1]
        name = reader.region()
        if head:
            number = head // 2
            if number >= NAMES_MAX or number > len(self.names) or not 1 <= len(name) <= NAME_BYTES_MAX:
                raise WireError("corrupted", f"name {number} of {len(name)} bytes")
            self.names[number:number + 1] = [name]
        return name

    # Messages

    def message(self, frame):
        """What a frame says; None when it is to be skipped."""
        if frame.flags & 16 and (frame.kind not in (2, 3) or frame.codec != COMPACT or self.stands_alone):
            raise WireError("corrupted", "names without a payload of compact, or of no connection")
        if frame.flags & 32 and frame.kind not in (2, 3):
            raise WireError("corrupted", "a mark without an envelope or a snapshot")
        reader = Reader(self.body(frame))
        if frame.flags & 32:
            return {"mark": mark(reader), **self.unmarked(reader, frame)}
        return self.unmarked(reader, frame)

    def unmarked(self, reader, frame):
        if frame.kind == 1:
            message = self.hello(reader)
        elif frame.kind == 2:
            message = {"kind": "envelope", "codec": frame.codec, "metadata": self.metadata(reader)}
            message["payload"] = self.payload(reader, frame).hex()
        elif frame.kind == 3:
            message = self.snapshot(reader, frame)
        elif frame.kind == 4:
            message = {"kind": "snapshotRequest", "sessionID": reader.uuid()}
            message["requester"] = reader.optional(lambda: peer(reader))
            reader.extensions()
        elif frame.kind == 5:
            message = {"kind": "goodbye", "reason": reader.u8(), "detail": reader.text()}
            reader.extensions()
        elif frame.kind == 6:
            raise WireError("corrupted", "a fragment within fragments")
        elif frame.kind == 7:
            message = report(reader)
        elif frame.flags & 8:
            return None
        else:
            raise WireError("unsupportedVersion", f"kind {frame.kind}")
        if reader.remaining:
            raise WireError("trailingBytes", f"{reader.remaining}")
        return message

    def hello(self, reader):
        message = {"kind": "hello", "peer": peer(reader)}
        message["frameVersions"] = [reader.u8(), reader.u8()]
        message["protocolVersion"] = reader.svarint()
        message["codecs"] = list(reader.region())
        message["dictionaries"] = [reader.u32() for _ in range(reader.varint())]
        for tag, field in reader.extensions():
            if tag == COMPRESSION_FORMATS:
                message["compressionFormats"] = list(field)
        return message

    def snapshot(self, reader, frame):
        message = {"kind": "snapshot", "codec": frame.codec, "metadata": self.metadata(reader)}
        message["revision"] = str(reader.varint())
        count = reader.varint()
        if count > VECTOR_ENTRIES_MAX:
            raise WireError("oversized", "vector")
        vector = {}
        for _ in range(count):
            name = reader.identifier()
            if name in vector:
                raise WireError("corrupted", "a peer twice")
            vector[name] = str(reader.varint())
        message["vector"] = vector
        checkpoint = reader.optional(reader.region)
        message["checkpoint"] = None if checkpoint is None else checkpoint.hex()
        reader.extensions()
        message["state"] = self.payload(reader, frame).hex()
        return message


def bits(value):
    return struct.unpack("<Q", struct.pack("<d", value))[0]


def double(pattern):
    return struct.unpack("<d", struct.pack("<Q", pattern))[0]


def peer(reader):
    return {
        "id": reader.identifier(), "deviceClass": reader.identifier(), "appInstanceID": reader.identifier(),
        "topology": reader.identifier(), "userID": reader.optional(reader.identifier),
    }


def mark(reader):
    flags = reader.u8()
    if flags >> 3:
        raise WireError("unsupportedVersion", f"mark flags {flags}")
    outbox, sequence = reader.u32(), reader.varint()
    distance = 0 if flags & 1 else reader.varint()
    if distance >= sequence:
        raise WireError("invalidValue", f"mark {sequence}, {distance} before it")
    expires = reader.varint() if flags & 2 else None
    if flags & 4:
        reader.extensions()
    return {
        "outbox": outbox, "sequence": str(sequence), "first": str(sequence - distance), "isLatest": bool(flags & 1),
        "expiresAt": None if expires is None else str(expires),
    }


def report(reader):
    def entries(read):
        count = reader.varint()
        if count > ENTRIES_MAX:
            raise WireError("oversized", f"{count} entries")
        return [read() for _ in range(count)]

    def probe():
        return {"number": reader.u32(), "sentAt": str(reader.varint())}

    def echo():
        return {"probe": probe(), "answeredAt": str(reader.varint())}

    def receipt():
        feature, outbox, up_to, count = reader.identifier(), reader.u32(), reader.varint(), reader.u8()
        is_latest = count == 255
        if not is_latest and count > RANGES_MAX:
            raise WireError("oversized", f"{count} ranges")
        end, beyond = up_to, []
        for _ in range(0 if is_latest else count):
            first = narrow(end + 2 + reader.varint(), 64)
            end = narrow(first + reader.varint(), 64)
            beyond.append([str(first), str(end)])
        return {"featureID": feature, "outbox": outbox, "upTo": str(up_to), "beyond": beyond, "isLatest": is_latest}

    def floor():
        feature, outbox, first = reader.identifier(), reader.u32(), reader.varint()
        if first == 0:
            raise WireError("invalidValue", "a floor of 0")
        return {"featureID": feature, "outbox": outbox, "first": str(first)}

    message = {"kind": "report", "probe": reader.optional(probe), "echo": reader.optional(echo)}
    message["receipts"], message["floors"] = entries(receipt), entries(floor)
    reader.extensions()
    return message


def derived_event_id(identity, sequence, stamp):
    source = uuid.UUID(identity["sessionID"]).bytes
    source += struct.pack("<IQQ", identity["incarnation"], sequence, stamp)
    source += identity["sourcePeerID"].encode() + b"\0" + identity["payloadType"].encode()
    digest = bytearray(struct.pack("<QQ", *murmur3(source)))
    digest[6] = digest[6] & 0x0F | 0x80
    digest[8] = digest[8] & 0x3F | 0x80
    return str(uuid.UUID(bytes=bytes(digest))).upper()


# Fragments


class Reassembler:
    def __init__(self):
        self.partial = {}

    def receive(self, frame):
        """The whole frame's bytes once all its pieces are there."""
        if frame.flags & 0b1110011:
            raise WireError("corrupted", f"a fragment with flags {frame.flags}")
        reader = Reader(frame.body)
        number = narrow(reader.varint(), 32)
        total, piece, index = reader.varint(), reader.varint(), reader.varint()
        data = reader.rest()
        if total > FRAME_BYTES_MAX:
            raise WireError("oversized", f"{total} bytes")
        if not 0 < piece < total:
            raise WireError("corrupted", "sizes")
        count = -(-total // piece)
        if count > PIECES_MAX:
            raise WireError("oversized", f"{count} pieces")
        if index >= count or len(data) != min(piece, total - index * piece):
            raise WireError("corrupted", f"piece {index}")
        if number not in self.partial:
            held = total + sum(sizes[0] for sizes, _ in self.partial.values())
            if len(self.partial) == PARTIAL_FRAMES_MAX or held > PARTIAL_BYTES_MAX:
                raise WireError("oversized", "no room for so many frames in pieces")
        sizes, pieces = self.partial.setdefault(number, ((total, piece), {}))
        if sizes != (total, piece):
            raise WireError("corrupted", "pieces contradict each other")
        pieces.setdefault(index, data)
        if len(pieces) < count:
            return None
        del self.partial[number]
        return b"".join(pieces[i] for i in range(count))


# Files


def decode(data, dictionaries):
    connection, reassembler, messages = Connection(dictionaries), Reassembler(), []
    alone = Connection(dictionaries, stands_alone=True)
    while data:
        frame = read_frame(data)
        data = data[frame.size:]
        reader = connection
        if frame.kind == 6:
            whole = reassembler.receive(frame)
            if whole is None:
                continue
            frame = read_frame(whole)
            if frame.size != len(whole):
                raise WireError("trailingBytes", "after a reassembled frame")
            reader = alone
        message = reader.message(frame)
        if message is not None:
            messages.append(message)
    if reassembler.partial:
        raise WireError("truncated", "a frame lacks pieces")
    return {"messages": messages}


def main(arguments):
    if len(arguments) != 1:
        sys.exit(__doc__)
    path = Path(arguments[0])
    folder = path if path.is_dir() else path.parent
    dictionaries = [file.read_bytes() for file in sorted(folder.glob("*.dictionary"))]
    if not path.is_dir():
        print(json.dumps(decode(path.read_bytes(), dictionaries), indent=2, ensure_ascii=False))
        return 0
    files = sorted(path.glob("*.frames"))
    failures = 0
    for file in files:
        expected = json.loads(file.with_suffix(".json").read_text(encoding="utf-8"))
        try:
            said = decode(file.read_bytes(), dictionaries)
        except WireError as error:
            said = {"error": error.code}
        if said != expected:
            failures += 1
            print(f"{file.name}: says {json.dumps(said, ensure_ascii=False)}, not what its JSON says")
    print(f"{len(files)} files, {failures} failures")
    return 1 if failures or not files else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
