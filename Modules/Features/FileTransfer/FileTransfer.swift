public import Foundation
import MeshBase
public import MeshConnection
public import Observation

#if canImport(Combine)
    public import Combine
#endif

/// A file on its way, in either direction. Ends once, in one of three ways, whatever is called afterwards.
///
/// Lives on the main actor.
@MainActor @Observable
public final class FileTransfer: Identifiable {
    enum State: Equatable {
        case transferring
        case completed
        case failed(ConnectionError)
    }

    public nonisolated let id: UUID
    /// The file that is sent; of one that is received, where it will be.
    public nonisolated let fileURL: URL
    /// Whether it comes from a peer.
    public nonisolated let isIncoming: Bool
    /// The share of the file that has been transferred, 0...1. At 1 it has arrived, and waits for the receiver's app to
    /// take it.
    public private(set) var fractionCompleted: Double = 0
    private var state = State.transferring
    @ObservationIgnored private let content: [String: MetadataValue]?
    @ObservationIgnored private let progress = Topic<Double>(bufferLimit: 32)
    @ObservationIgnored private var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    @ObservationIgnored private var nextWaiter: UInt64 = 0
    @ObservationIgnored private let onCancel: () -> Void

    /// - Parameter onCancel: called once, when the first `cancel` comes before the end.
    init(
        id: UUID, fileURL: URL, isIncoming: Bool, metadata: [String: MetadataValue]?, onCancel: @escaping () -> Void
    ) {
        self.id = id
        self.fileURL = fileURL
        self.isIncoming = isIncoming
        content = metadata
        self.onCancel = onCancel
    }

    /// Neither completed, nor failed, nor cancelled.
    public var isTransferring: Bool { state == .transferring }

    /// Sent: the other side's app has taken it. Received: it is whole, and the app's.
    public var isCompleted: Bool { state == .completed }

    /// Why it will not complete.
    public var error: ConnectionError? {
        if case .failed(let error) = state { error } else { nil }
    }

    /// The property-list values that were sent with the file.
    public var metadata: [String: Any]? { content?.mapValues(\.plain) }

    /// Gives the transfer up; the other side is told. Once it has ended, nothing happens. The other side may have
    /// completed it all the same, if that was under way.
    public func cancel() {
        guard isTransferring else { return }
        onCancel()
        end(.failed(.cancelled))
    }

    /// Returns when it has completed. Any number of tasks may wait; cancelling one ends its waiting, not the transfer.
    /// - Throws: `ConnectionError`: why the transfer failed, or `cancelled`.
    public func waitForCompletion() async throws {
        nextWaiter += 1
        let waiter = nextWaiter
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                switch state {
                case .completed: continuation.resume()
                case .failed(let error): continuation.resume(throwing: error)
                case .transferring where Task.isCancelled: continuation.resume(throwing: ConnectionError.cancelled)
                case .transferring: waiters[waiter] = continuation
                }
            }
        } onCancel: {
            Task { @MainActor [weak self] in
                self?.waiters.removeValue(forKey: waiter)?.resume(throwing: ConnectionError.cancelled)
            }
        }
    }

    /// `fractionCompleted` now and whenever it changes, until the end. Every call is an independent subscriber, 32 values
    /// deep; the oldest make room.
    public var progressUpdates: AsyncStream<Double> {
        if isTransferring { return progress.subscribe(startingWith: [fractionCompleted]) }
        let last = fractionCompleted
        return AsyncStream { continuation in
            continuation.yield(last)
            continuation.finish()
        }
    }

    // MARK: What becomes of it

    func progressed(to fraction: Double) {
        guard isTransferring, fraction > fractionCompleted else { return }
        announce()
        fractionCompleted = min(fraction, 1)
        progress.publish(fractionCompleted)
    }

    /// Only the first end counts.
    func end(_ newState: State) {
        guard isTransferring, newState != .transferring else { return }
        if newState == .completed { progressed(to: 1) }
        announce()
        state = newState
        progress.finish()
        let ended = waiters.values
        waiters = [:]
        for waiter in ended {
            if let error { waiter.resume(throwing: error) } else { waiter.resume() }
        }
    }

    private func announce() {
        #if canImport(Combine)
            objectWillChange.send()
        #endif
    }
}

#if canImport(Combine)
    extension FileTransfer: ObservableObject {}
#endif
