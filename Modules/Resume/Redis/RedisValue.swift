#if Redis
    internal import CHiredis

    /// An answer from Redis.
    enum RedisValue: Sendable {
        case none
        case integer(Int64)
        case text([UInt8])
        case list([RedisValue])
        case error(String)

        /// Recurses safely: hiredis reads seven levels at most.
        init(_ reply: UnsafePointer<redisReply>) {
            let value = reply.pointee
            switch value.type {
            case REDIS_REPLY_INTEGER: self = .integer(value.integer)
            case REDIS_REPLY_STRING, REDIS_REPLY_STATUS: self = .text(Self.bytes(value))
            case REDIS_REPLY_ERROR: self = .error(String(decoding: Self.bytes(value), as: UTF8.self))
            case REDIS_REPLY_ARRAY:
                self = .list(
                    (0..<value.elements).map { index in
                        value.element?[index].map { RedisValue($0) } ?? .none
                    })
            default: self = .none
            }
        }

        private static func bytes(_ value: redisReply) -> [UInt8] {
            guard let text = value.str else { return [] }
            return Array(UnsafeRawBufferPointer(start: text, count: Int(value.len)))
        }

        var list: [RedisValue]? { if case .list(let values) = self { values } else { nil } }
        var bytes: [UInt8]? { if case .text(let bytes) = self { bytes } else { nil } }
        var string: String? { bytes.map { String(decoding: $0, as: UTF8.self) } }
        /// The value as a number. Numbers travel as decimal text, because Lua's are inexact and Redis's are signed.
        var number: UInt64? {
            if case .integer(let number) = self { return UInt64(exactly: number) }
            return string.flatMap { UInt64($0) }
        }
    }
#endif
