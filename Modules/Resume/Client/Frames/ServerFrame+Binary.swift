import Foundation
internal import MeshWire

/// The binary encoding: one byte for the operation, then its fields. Frames with an unknown operation are ignored.
extension ServerFrame {
    /// Decodes a frame. Throws `FrameError` with `decodeError`.
    package init(_ bytes: some Collection<UInt8>, as encoding: FrameEncoding) throws(FrameError) {
        switch encoding {
        case .json: try self.init(json: bytes)
        case .binary: self = try BinaryFrame.read(bytes) { (reader: inout WireReader) in try ServerFrame(&reader) }
        }
    }

    private init(_ reader: inout WireReader) throws {
        switch FrameOperation(rawValue: Int(try reader.readUInt8())) {
        case .dispatch:
            let (sequence, type) = (try reader.readVarint(), try reader.readString())
            self.init(event: .pushEvent(seq: sequence), type: type, payload: try reader.readRest())
        case .ready:
            let (newest, id) = (try reader.readVarint(), try reader.readString())
            self.init(event: .ready(sessionId: id, initialSeq: newest), payload: try reader.readRest())
        case .resumed:
            let (count, newest) = (try reader.readVarint(), try reader.readVarint())
            guard let count = Int(exactly: count) else {
                throw FrameError(.decodeError, "\(count) events are too many for a replay")
            }
            self.init(event: .resumed(replayedCount: count, currentSeq: newest))
        case .hello: self.init(event: .hello(heartbeatInterval: Double(try reader.readVarint()) / 1000))
        case .heartbeatAck: self.init(event: .heartbeatAck)
        case .invalidSession:
            let flag = try reader.readUInt8()
            guard flag <= 1 else { throw FrameError(.decodeError, "\(flag) is neither true nor false") }
            self.init(event: .invalidSession(reason: try reader.readString(), resumable: flag == 1))
        case .reconnect:
            let wait = ServerFrame.wait(milliseconds: Double(try reader.readVarint()))
            self.init(event: .reconnect, retryAfter: wait)
        case .heartbeat, .identify, .resume, nil:
            _ = try reader.readRest()
            self.init(event: nil)
        }
    }
}
