public import Foundation
import MeshBase
public import MeshConnection
public import Observation

#if canImport(Combine)
    public import Combine
#endif

/// A file transfer in either direction. It ends once: completed, failed or cancelled. Later calls change nothing.
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
    /// The URL of the file that is sent, or the future URL of a file that is received.
    public nonisolated let fileURL: URL
    /// True if a peer sends the file to this device.
    public nonisolated let isIncoming: Bool
    /// The share of the file that has been transferred, 0...1. At 1 the file has arrived and waits for the receiver's app to
    /// take it.
    public private(set) var fractionCompleted: Double = 0
    private var state = State.transferring
    @ObservationIgnored private let content: [String: MetadataValue]?
    @ObservationIgnored private let progress = Topic<Double>(bufferLimit: 32)
    @ObservationIgnored private var waiters: [UInt64: CheckedContinuation<Void, any Error>] = [:]
    @ObservationIgnored private var nextWaiter: UInt64 = 0
    @ObservationIgnored private let onCancel: () -> Void

    /// - Parameter onCancel: called once, if `cancel` is called before the transfer ends.
    init(
        id: UUID, fileURL: URL, isIncoming: Bool, metadata: [String: MetadataValue]?, onCancel: @escaping () -> Void
    ) {
        self.id = id
        self.fileURL = fileURL
        self.isIncoming = isIncoming
        content = metadata
        self.onCancel = onCancel
    }

    /// True until the transfer completes, fails or is cancelled.
    public var isTransferring: Bool { state == .transferring }

    /// True once the transfer has succeeded: the receiver's app has taken an outgoing file, or an incoming file is complete
    /// and this app may take it.
    public var isCompleted: Bool { state == .completed }

    /// The reason for a failure or cancellation, or nil.
    public var error: ConnectionError? {
        if case .failed(let error) = state { error } else { nil }
    }

    /// The property-list values that were sent with the file.
    public var metadata: [String: Any]? { content?.mapValues(\.plain) }

    /// Cancels the transfer and notifies the other side. Does nothing after the end. The other side may still complete a
    /// transfer whose last messages are in flight.
    public func cancel() {
        guard isTransferring else { return }
        onCancel()
        end(.failed(.cancelled))
    }

    /// Waits until the transfer completes. Any number of tasks may wait; cancelling one ends its wait, not the transfer.
    /// - Throws: `ConnectionError`: the reason why the transfer failed, or `cancelled`.
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

    /// The current `fractionCompleted`, then each change until the end. Every call adds an independent subscriber. It
    /// buffers the newest 32 values.
    public var progressUpdates: AsyncStream<Double> {
        if isTransferring { return progress.subscribe(startingWith: [fractionCompleted]) }
        let last = fractionCompleted
        return AsyncStream { continuation in
            continuation.yield(last)
            continuation.finish()
        }
    }

    // MARK: Progress and outcome

    func progressed(to fraction: Double) {
        guard isTransferring, fraction > fractionCompleted else { return }
        announce()
        fractionCompleted = min(fraction, 1)
        progress.publish(fractionCompleted)
    }

    /// Ends the transfer. Does nothing after the first call.
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
