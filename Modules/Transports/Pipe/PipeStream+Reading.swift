import MeshBase
import MeshTransport

extension PipeStream {
    /// Maximum number of bytes to read after the connection broke. Exceeds the system's buffer.
    private static let drainedBytesMax = 1 << 20

    /// The body of the reading thread: passes on received bytes, until the input or the connection ends.
    func read(from descriptors: Descriptors) {
        defer { endUse() }
        state.withLock { $0.isAnnounced = true }
        observer.connected(address, as: nil)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readBytes, alignment: 16)
        defer { buffer.deallocate() }
        var drainedBytes = 0
        while true {
            let phase = state.withLock { $0.phase }
            guard phase != .ended, drainedBytes < Self.drainedBytesMax else { return }
            switch descriptors.read(into: buffer, waits: phase != .draining) {
            case .moved(0): return drain(nil)
            case .moved(let count):
                received(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                if phase == .draining { drainedBytes += count }
            case .interrupted:
                if phase == .draining { return }
            case .failed(let number):
                return drain(
                    Descriptors.isPeerGone(number) ? nil : "reading failed: \(systemMessage(number))")
            }
        }
    }

    private func received(_ bytes: UnsafeRawBufferPointer) {
        state.withLock { $0.hasReceived = true }
        statistics.withLock { statistics in
            statistics.readCount += 1
            statistics.bytesReceived += UInt64(bytes.count)
        }
        observer.received(bytes, on: .stream, from: address)
    }
}
