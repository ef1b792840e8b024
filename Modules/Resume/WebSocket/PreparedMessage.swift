#if WebSocket
    package import NIOCore

    /// A server's message with its frame header. It is encoded once for all sockets, because servers don't mask (RFC
    /// 6455, 5.1).
    package final class PreparedMessage: Sendable {
        package let buffer: ByteBuffer

        package convenience init(text: [UInt8]) { self.init(text, opcode: 0x1) }
        package convenience init(binary: [UInt8]) { self.init(binary, opcode: 0x2) }

        private init(_ bytes: [UInt8], opcode: UInt8) {
            var buffer = ByteBuffer()
            buffer.reserveCapacity(bytes.count + 10)
            buffer.writeInteger(0x80 | opcode)
            switch bytes.count {
            case ...125: buffer.writeInteger(UInt8(bytes.count))
            case ...0xffff:
                buffer.writeInteger(UInt8(126))
                buffer.writeInteger(UInt16(bytes.count))
            default:
                buffer.writeInteger(UInt8(127))
                buffer.writeInteger(UInt64(bytes.count))
            }
            buffer.writeBytes(bytes)
            self.buffer = buffer
        }

        /// Returns the bytes of several messages.
        static func joined(_ messages: [PreparedMessage]) -> ByteBuffer {
            var bytes = ByteBuffer()
            bytes.reserveCapacity(messages.reduce(0) { $0 + $1.buffer.readableBytes })
            for message in messages { bytes.writeImmutableBuffer(message.buffer) }
            return bytes
        }
    }
#endif
