import MeshIdentity

/// Makes a frame of any header fields and body with check byte and checksum in order, as a careful attacker would: for
/// tests and fuzzers, which otherwise get no further than the checksum.
package enum FrameSeal {
    package static func frame(kind: UInt8, codec: UInt8, flags: UInt8, body: UnsafeRawBufferPointer) -> [UInt8] {
        var writer = WireWriter(capacity: body.count + 32)
        let frame = writer.openFrame()
        _ = writer.writeHeader(
            of: frame, kind: FrameKind(rawValue: kind), codec: codec, flags: FrameFlags(rawValue: flags),
            bodyBytes: body.count)
        writer.writeRaw(body)
        writer.write(FrameChecksum.of(writer.bytes))
        return writer.array()
    }
}
