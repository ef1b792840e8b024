import Dispatch
import MeshBus
import MeshIdentity
import MeshTransport
import MeshWire

extension PipeConnection {
    private struct Batch {
        var messages: [WireMessage] = []
        /// The writer ends after it.
        var isLast = false
    }

    /// The writing thread: greets, then writes what was accepted, as much at once as has gathered meanwhile.
    func write(to descriptors: Descriptors) {
        defer { writerEnded(descriptors) }
        var encoder = FrameEncoder(codec: codec, compression: compression, interning: true, limits: limits)
        var writer = WireWriter(capacity: 2 * Self.flushBytes)
        let hello = WireHello(peer: localPeer, codecs: codecs.codecs.map(\.id.number))
        guard write([.hello(hello)], with: &encoder, through: &writer, to: descriptors) else { return }
        while true {
            work.wait()
            let batch = takeBatch()
            guard write(batch.messages, with: &encoder, through: &writer, to: descriptors), !batch.isLast else {
                return
            }
        }
    }

    /// A closing link ends its reader too; otherwise what the other side still sends is read to the end.
    private func writerEnded(_ descriptors: Descriptors) {
        let isClosing = state.withLock { state in
            state.hasWriterEnded = true
            return state.isClosing
        }
        if isClosing { descriptors.interrupt() }
        threadEnded()
    }

    /// Writes of this size cost little more than small ones, and a pipe holds no more.
    private static let flushBytes = 65_536

    private func takeBatch() -> Batch {
        state.withLock { state in
            switch state.phase {
            case .ended:
                return Batch(messages: state.farewell.map { [.goodbye($0)] } ?? [], isLast: true)
            case .idle, .greeting, .connected:
                if state.isClosing {
                    // Also to a peer that has not greeted: it finds everything in the pipe when it comes.
                    return Batch(messages: state.outbox.takeAll() + [.goodbye(WireGoodbye(.closing))], isLast: true)
                }
                return state.phase == .connected ? Batch(messages: state.outbox.takeAll()) : Batch()
            }
        }
    }

    /// - Returns: whether the link still stands.
    private func write(
        _ messages: [WireMessage], with encoder: inout FrameEncoder, through writer: inout WireWriter,
        to descriptors: Descriptors
    ) -> Bool {
        guard !messages.isEmpty else { return true }
        var frameCount: UInt64 = 0
        var payloadBytes = 0
        for message in messages {
            do {
                try encoder.append(message, to: &writer)
                frameCount += 1
                payloadBytes += self.payloadBytes(of: message)
            } catch {
                diagnostics?.publish(.sendFailed(message.metadata, mode: .reliableEventually, reason: "\(error)"))
            }
            if writer.count >= Self.flushBytes {
                guard flush(&writer, to: descriptors) else { return false }
            }
        }
        guard flush(&writer, to: descriptors) else { return false }
        state.withLock { state in
            state.statistics.framesSent += frameCount
            state.statistics.bytesRawSent += UInt64(payloadBytes)
        }
        return true
    }

    private func flush(_ writer: inout WireWriter, to descriptors: Descriptors) -> Bool {
        var rest = writer.bytes
        var writeCount: UInt64 = 0
        while rest.count > 0 {
            switch descriptors.write(rest) {
            case .moved(let count):
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                writeCount += 1
            case .interrupted:
                end(rejecting: nil)
                return false
            case .failed(let number):
                end(rejecting: Descriptors.isPeerGone(number) ? nil : "writing failed: \(systemMessage(number))")
                return false
            }
        }
        let byteCount = UInt64(writer.count)
        writer.reset()
        state.withLock { state in
            state.statistics.bytesOnWireSent += byteCount
            state.statistics.writeCount += writeCount
        }
        return true
    }
}

extension WireMessage {
    fileprivate var metadata: SessionSyncMetadata? {
        switch self {
        case .envelope(let envelope): envelope.metadata
        case .snapshot(let snapshot): snapshot.metadata
        case .hello, .snapshotRequest, .report, .goodbye: nil
        }
    }
}
