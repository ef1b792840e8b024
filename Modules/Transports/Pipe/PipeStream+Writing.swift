import Dispatch
import MeshBase
import MeshTransport

extension PipeStream {
    private enum Admission {
        /// The packet is in the buffer. `wakes` is true if the writing thread is idle and must be woken.
        case accepted(wakes: Bool)
        /// The sender writes the packet to these descriptors.
        case writeImmediately(Descriptors)
        case full
        case gone
    }

    /// Accepts a packet. One larger than the buffer must wait until that is empty.
    /// - Throws: `full` or `unreachable`.
    func send(_ bytes: [UInt8]) throws(LinkError) {
        switch admit(bytes) {
        case .accepted(let wakes): if wakes { work.signal() }
        case .writeImmediately(let descriptors): writeImmediately(bytes, to: descriptors)
        case .full: throw LinkError(.full)
        case .gone: throw LinkError(.unreachable)
        }
    }

    private func admit(_ bytes: [UInt8]) -> Admission {
        state.withLock { state in
            guard state.phase == .open else { return .gone }
            guard state.unwritten == 0 || state.unwritten + bytes.count <= Self.bufferBytes else {
                state.hasThrownFull = true
                return .full
            }
            defer { state.unwritten += bytes.count }
            if state.unwritten == 0, !state.isWriting, let descriptors = state.descriptors, descriptors.writesAtOnce {
                state.isWriting = true
                state.users += 1
                return .writeImmediately(descriptors)
            }
            let wakes = state.filling.isEmpty && !state.isWriting
            state.filling.append(contentsOf: bytes)
            return .accepted(wakes: wakes)
        }
    }

    /// Writes on the sender's thread. The writing thread handles the bytes that the system doesn't take at once, and
    /// errors.
    private func writeImmediately(_ bytes: [UInt8], to descriptors: Descriptors) {
        let count =
            if case .moved(let count) = bytes.withUnsafeBytes({ descriptors.writeAtOnce($0) }) { count } else { 0 }
        noteWrite(count)
        let wakes = state.withLock { state in
            state.isWriting = false
            // There is no other sender to this address in the meantime, so later bytes come after these.
            if count < bytes.count { state.filling.append(contentsOf: bytes[count...]) }
            return !state.filling.isEmpty || state.phase != .open
        }
        if wakes { work.signal() }
        endUse()
    }

    /// The body of the writing thread: writes the accepted bytes, all that are waiting at once.
    func write(to descriptors: Descriptors) {
        defer { endUse() }
        var batch: [UInt8] = []
        while true {
            switch nextStep(&batch) {
            case .wait: work.wait()
            case .write:
                guard batch.withUnsafeBytes({ flush($0, to: descriptors) }) else { return }
                batch.removeAll(keepingCapacity: true)
                state.withLock { $0.isWriting = false }
            case .end:
                // A connection closed from this side needs no reader any more.
                if state.withLock({ $0.phase == .finishing }) { interrupt() }
                return
            }
        }
    }

    private enum Step {
        case wait, write, end
    }

    /// - Parameter batch: empty; filled with the bytes to write.
    private func nextStep(_ batch: inout [UInt8]) -> Step {
        state.withLock { state in
            if state.isWriting { return .wait }
            if state.phase == .ended { return .end }
            guard !state.filling.isEmpty else { return state.phase == .open ? .wait : .end }
            swap(&batch, &state.filling)
            state.isWriting = true
            return .write
        }
    }

    /// - Returns: true if the connection still works.
    private func flush(_ bytes: UnsafeRawBufferPointer, to descriptors: Descriptors) -> Bool {
        var rest = bytes
        while rest.count > 0 {
            let phase = state.withLock { $0.phase }
            guard phase != .ended else { return false }
            switch descriptors.write(rest, waits: phase != .draining) {
            case .moved(let count):
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
                noteWrite(count)
            case .interrupted:
                if phase == .draining { return false }
            case .failed(let number):
                drain(Descriptors.isPeerGone(number) ? nil : "writing failed: \(systemMessage(number))")
                return false
            }
        }
        return true
    }

    private func noteWrite(_ count: Int) {
        guard count > 0 else { return }
        statistics.withLock { statistics in
            statistics.writeCount += 1
            statistics.bytesSent += UInt64(count)
        }
        let hasSpaceAgain = state.withLock { state in
            state.unwritten -= count
            guard state.hasThrownFull, state.unwritten < Self.bufferBytes / 2 else { return false }
            state.hasThrownFull = false
            return true
        }
        if hasSpaceAgain { observer.writable(address) }
    }
}
