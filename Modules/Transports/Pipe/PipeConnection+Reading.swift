import Dispatch
import MeshBus
import MeshIdentity
import MeshTransport
import MeshWire

extension PipeConnection {
    /// The reading thread: takes what arrives until the input ends, the peer says farewell or sends what cannot be read.
    func read(from descriptors: Descriptors) {
        var decoder = FrameStreamDecoder(codecs: codecs, limits: limits)
        var peer: SessionPeer?
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 65_536, alignment: 16)
        defer {
            buffer.deallocate()
            threadEnded()
        }
        while true {
            switch descriptors.read(into: buffer) {
            case .interrupted:
                return end(rejecting: nil)
            case .failed(let number):
                return end(
                    rejecting: Descriptors.isPeerGone(number) ? nil : "reading failed: \(systemMessage(number))")
            case .moved(0):
                return end(rejecting: decoder.isAtFrameBoundary ? nil : "the input ended within a frame")
            case .moved(let count):
                decoder.append(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
                guard handleMessages(of: &decoder, arrivedBytes: count, from: &peer) else { return }
            }
        }
    }

    /// - Returns: whether to read on.
    private func handleMessages(
        of decoder: inout FrameStreamDecoder, arrivedBytes: Int, from peer: inout SessionPeer?
    ) -> Bool {
        var frameCount: UInt64 = 0
        var payloadBytes = 0
        defer {
            state.withLock { state in
                state.statistics.readCount += 1
                state.statistics.bytesOnWireReceived += UInt64(arrivedBytes)
                state.statistics.framesReceived += frameCount
                state.statistics.bytesRawReceived += UInt64(payloadBytes)
            }
        }
        do {
            while let message = try decoder.next() {
                frameCount += 1
                payloadBytes += self.payloadBytes(of: message)
                guard try handle(message, from: &peer) else { return false }
            }
            return true
        } catch {
            end(rejecting: "\(error)", farewell: farewell(for: error))
            return false
        }
    }

    /// - Returns: whether to read on.
    /// - Throws: `WireError` for what must not come now.
    private func handle(_ message: WireMessage, from peer: inout SessionPeer?) throws(WireError) -> Bool {
        guard let known = peer else {
            guard case .hello(let hello) = message else {
                throw WireError(.foreign, "the peer did not greet first")
            }
            peer = try meet(hello)
            return true
        }
        switch message {
        case .envelope(let envelope): inbox.deliver(envelope)
        case .snapshot(let snapshot): inbox.deliver(snapshot)
        case .snapshotRequest(let request):
            // The pipe knows who is at its other end, whatever the frame says.
            inbox.deliver(SessionSnapshotRequest(sessionID: request.sessionID, requester: known))
        // Nothing is sent here that waits for one.
        case .report: break
        case .goodbye(let goodbye):
            let isInOrder = goodbye.reason == .closing
            end(rejecting: isInOrder ? nil : "the peer ended the connection: \(goodbye.detail)")
            return false
        case .hello: throw WireError(.foreign, "the peer greeted twice")
        }
        return true
    }

    /// - Throws: `WireError` when nothing can come of this connection.
    private func meet(_ hello: WireHello) throws(WireError) -> SessionPeer {
        guard hello.peer.id != localPeer.id else {
            throw WireError(.foreign, "'\(localPeer.id)' is talking to itself: its output comes back as its input")
        }
        _ = try hello.negotiatedFrameVersion()
        guard hello.codecs.contains(codec.id.number) else {
            throw WireError(.unknownCodec, "'\(hello.peer.id)' does not read codec '\(codec.id)'")
        }
        let isNews = state.withLock { state in
            // Known all the same when nothing can be said to it any more: what it sends is still taken.
            state.peer = hello.peer
            guard state.phase == .greeting else { return false }
            state.phase = .connected
            return true
        }
        if isNews {
            announce(hello.peer, isReachable: true)
            work.signal()
        }
        return hello.peer
    }

    private func farewell(for error: WireError) -> WireGoodbye {
        WireGoodbye(error.code == .unsupportedVersion ? .unsupportedVersion : .unreadable, detail: error.message)
    }
}
