import Dispatch
import MeshBase
import MeshTransport

extension PipeStream {
    private enum Admission {
        /// Into the buffer; `wakes` the writing thread, which has nothing to do.
        case taken(wakes: Bool)
        /// The sender writes it, to these.
        case writeNow(Descriptors)
        case full
        case gone
    }

    /// Takes a packet. One larger than the buffer has to wait until that is empty.
    /// - Throws: `full` or `unreachable`.
    func send(_ bytes: [UInt8]) throws(LinkError) {
        switch admit(bytes) {
        case .taken(let wakes): if wakes { work.signal() }
        case .writeNow(let descriptors): writeNow(bytes, to: descriptors)
        case .full: throw LinkError(.full)
        case .gone: throw LinkError(.unreachable)
        }
    }

    private func admit(_ bytes: [UInt8]) -> Admission {
        state.withLock { state in
            guard state.phase == .open else { return .gone }
            guard state.unwritten == 0 || state.unwritten + bytes.count <= Self.bufferBytes else {
                state.owesWritable = true
                return .full
            }
            defer { state.unwritten += bytes.count }
            if state.unwritten == 0, !state.isWriting, let descriptors = state.descriptors, descriptors.writesAtOnce {
                state.isWriting = true
                state.users += 1
                return .writeNow(descriptors)
            }
            let wakes = state.filling.isEmpty && !state.isWriting
            state.filling.append(contentsOf: bytes)
            return .taken(wakes: wakes)
        }
    }

    /// On the sender's thread: what the system does not take at once is left to the writing thread, errors as well.
    private func writeNow(_ bytes: [UInt8], to descriptors: Descriptors) {
        let count =
            if case .moved(let count) = bytes.withUnsafeBytes({ descriptors.writeAtOnce($0) }) { count } else { 0 }
        noteWrite(count)
        let wakes = state.withLock { state in
            state.isWriting = false
            // Nobody else sends to this address meanwhile, so what follows is still to come.
            if count < bytes.count { state.filling.append(contentsOf: bytes[count...]) }
            return !state.filling.isEmpty || state.phase != .open
        }
        if wakes { work.signal() }
        leave()
    }

    /// The writing thread: writes what was taken, as much at once as has gathered meanwhile.
    func write(to descriptors: Descriptors) {
        defer { leave() }
        var batch: [UInt8] = []
        while true {
            switch nextStep(&batch) {
            case .wait: work.wait()
            case .write:
                guard batch.withUnsafeBytes({ flush($0, to: descriptors) }) else { return }
                batch.removeAll(keepingCapacity: true)
                state.withLock { $0.isWriting = false }
            case .end:
                // A connection closed from here has no use for its reader any more.
                if state.withLock({ $0.phase == .finishing }) { interrupt() }
                return
            }
        }
    }

    private enum Step {
        case wait, write, end
    }

    /// - Parameter batch: empty; filled with what there is to write.
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

    /// - Returns: whether the connection still stands.
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
        let hasRoomAgain = state.withLock { state in
            state.unwritten -= count
            guard state.owesWritable, state.unwritten < Self.bufferBytes / 2 else { return false }
            state.owesWritable = false
            return true
        }
        if hasRoomAgain { observer.writable(address) }
    }
}
