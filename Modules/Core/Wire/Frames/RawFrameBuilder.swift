import MeshIdentity

/// Builds frames from any header fields and body, with a valid check byte and checksum, as a careful attacker would.
/// Fuzzers use it to get past the checksum. Benchmarks use it to measure how many bytes a frame adds to its body.
package enum RawFrameBuilder {
    package static func frame(kind: UInt8, codec: UInt8, flags: UInt8, body: UnsafeRawBufferPointer) -> [UInt8] {
        var writer = WireWriter(capacity: body.count + 32)
        append(kind: kind, codec: codec, flags: flags, body: body, to: &writer)
        return writer.array()
    }

    package static func append(
        kind: UInt8, codec: UInt8, flags: UInt8, body: UnsafeRawBufferPointer, to writer: inout WireWriter
    ) {
        let start = writer.position
        let frame = writer.openFrame(lengthBytes: FrameHeader.lengthBytes(body.count))
        _ = writer.writeHeader(
            of: frame, kind: FrameKind(rawValue: kind), codec: codec, flags: FrameFlags(rawValue: flags),
            bodyBytes: body.count)
        writer.writeRaw(body)
        writer.write(FrameChecksum.of(UnsafeRawBufferPointer(rebasing: writer.bytes[start...])))
    }
}
