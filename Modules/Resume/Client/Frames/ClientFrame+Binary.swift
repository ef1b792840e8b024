import Foundation
internal import MeshWire

/// The binary encoding: one byte for the operation, then its fields.
extension ClientFrame {
    /// Encodes the frame.
    ///
    /// - Throws: The errors of `JSONEncoder`; none for the binary encoding.
    package func encoded(as encoding: FrameEncoding) throws -> [UInt8] {
        switch encoding {
        case .json: [UInt8](try json())
        case .binary: binary
        }
    }

    /// Decodes a frame. Throws `FrameError` with `unknownOpcode` or `decodeError`.
    package init(_ bytes: some Collection<UInt8>, as encoding: FrameEncoding) throws(FrameError) {
        switch encoding {
        case .json: try self.init(json: bytes)
        case .binary: try self.init(binary: bytes)
        }
    }

    var binary: [UInt8] {
        var writer = WireWriter(capacity: 64)
        switch self {
        case .heartbeat(let last):
            writer.write(FrameOperation.heartbeat)
            if let last { writer.writeVarint(last) }
        case .identify(let token, let properties):
            writer.write(FrameOperation.identify)
            writer.write(token)
            writer.write(properties.platform)
            writer.write(properties.osVersion)
            writer.write(properties.appVersion)
            writer.write(properties.deviceName)
            if let id = properties.deviceId { writer.write(id) }
        case .resume(let token, let id, let last):
            writer.write(FrameOperation.resume)
            writer.write(token)
            writer.write(id)
            writer.writeVarint(last)
        }
        return writer.array()
    }

    init(binary bytes: some Collection<UInt8>) throws(FrameError) {
        self = try BinaryFrame.read(bytes) { (reader: inout WireReader) in try ClientFrame(&reader) }
    }

    private init(_ reader: inout WireReader) throws {
        let number = try reader.readUInt8()
        switch FrameOperation(rawValue: Int(number)) {
        case .heartbeat: self = .heartbeat(lastSeq: reader.isAtEnd ? nil : try reader.readVarint())
        case .identify:
            self = .identify(
                token: try reader.readString(), properties: try ClientProperties(&reader))
        case .resume:
            self = .resume(
                token: try reader.readString(), sessionId: try reader.readString(), lastSeq: try reader.readVarint())
        default: throw FrameError(.unknownOpcode, "a client doesn't send operation \(number)")
        }
    }
}

extension ClientProperties {
    fileprivate init(_ reader: inout WireReader) throws {
        let platform = try reader.readString()
        let osVersion = try reader.readString()
        self.init(
            platform: platform, appVersion: try reader.readString(), osVersion: osVersion,
            deviceName: try reader.readString(), deviceId: reader.isAtEnd ? nil : try reader.readString())
    }
}

enum BinaryFrame {
    /// Reads a frame, and throws if bytes are left over.
    static func read<Frame>(
        _ bytes: some Collection<UInt8>, _ body: (inout WireReader) throws -> Frame
    ) throws(FrameError) -> Frame {
        do {
            return try [UInt8](bytes).withUnsafeBytes { bytes in
                var reader = WireReader(bytes)
                let frame = try body(&reader)
                guard reader.isAtEnd else {
                    throw FrameError(.decodeError, "\(reader.remaining) bytes follow a frame's last field")
                }
                return frame
            }
        } catch {
            throw error as? FrameError ?? FrameError(.decodeError, (error as? WireError).frameProblem)
        }
    }
}

extension WireWriter {
    package mutating func write(_ operation: FrameOperation) { write(UInt8(truncatingIfNeeded: operation.rawValue)) }
}

extension WireReader {
    /// Reads JSON up to the end of the frame.
    mutating func readRest() throws(WireError) -> Data { Data(try readRaw(remaining)) }
}
