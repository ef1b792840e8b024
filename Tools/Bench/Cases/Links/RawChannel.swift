import Foundation

/// The bare channel without SessionMesh: blocking reads and writes.
struct RawChannel: Sendable {
    let input: Int32
    let output: Int32

    func close() {
        _ = Foundation.close(input)
        if output != input { _ = Foundation.close(output) }
    }

    /// Writes `count` messages, `together` at a time, and waits until the sink reports that it has read them.
    func flood(_ count: Int, together: Int = 1) throws -> Duration {
        let messages = [UInt8](repeating: 1, count: LinkMessage.bytes * together)
        let start = ContinuousClock.now
        var rest = count
        while rest > 0 {
            let next = min(rest, together)
            try write(next == together ? messages : Array(messages.prefix(next * LinkMessage.bytes)))
            rest -= next
        }
        _ = try read(upTo: 1)
        return start.duration(to: .now)
    }

    /// Sends messages one after the other and returns the time until each came back.
    func ask(_ count: Int) throws -> [Duration] {
        let message = [UInt8](repeating: 1, count: LinkMessage.bytes)
        return try (0..<count).map { _ in
            let start = ContinuousClock.now
            try write(message)
            try readMessage()
            return start.duration(to: .now)
        }
    }

    /// Reads 64 KiB at a time and reports after every `count` messages, until the other end closes.
    func sink(_ count: Int) throws {
        while true {
            var rest = count * LinkMessage.bytes
            while rest > 0 { rest -= try read(upTo: 65_536) }
            try write([1])
        }
    }

    /// Sends every message back.
    func echo() throws {
        let message = [UInt8](repeating: 1, count: LinkMessage.bytes)
        while true {
            try readMessage()
            try write(message)
        }
    }

    private func readMessage() throws {
        var rest = LinkMessage.bytes
        while rest > 0 { rest -= try read(upTo: rest) }
    }

    private func read(upTo count: Int) throws -> Int {
        try withUnsafeTemporaryAllocation(byteCount: count, alignment: 16) { buffer in
            let count = Foundation.read(input, buffer.baseAddress, count)
            guard count > 0 else { throw LinkEnded() }
            return count
        }
    }

    private func write(_ bytes: [UInt8]) throws {
        try bytes.withUnsafeBytes { bytes in
            var rest = bytes
            while !rest.isEmpty {
                let count = Foundation.write(output, rest.baseAddress, rest.count)
                guard count > 0 else { throw LinkEnded() }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }
}
