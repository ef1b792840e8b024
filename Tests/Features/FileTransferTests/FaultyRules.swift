import Foundation
import MeshConnection

@testable import MeshFileTransfer

/// The calls that W8 and W19 concern, for our transfer and for a model of the reference's.
@MainActor
protocol TransferRule: AnyObject {
    var isCompleted: Bool { get }
    var error: ConnectionError? { get }
    func waitForCompletion() async throws
    func cancel()
    func succeed()
}

extension FileTransfer: TransferRule {
    func succeed() { end(.completed) }

    static func sample(onCancel: @escaping () -> Void = {}) -> FileTransfer {
        FileTransfer(
            id: UUID(), fileURL: URL(fileURLWithPath: "/sample"), isIncoming: false, metadata: nil, onCancel: onCancel)
    }
}

/// A transfer with space for one waiting caller, and an end that every call may overwrite.
@MainActor
final class FaultyTransfer: TransferRule {
    private(set) var isCompleted = false
    private(set) var error: ConnectionError?
    /// The number of times that the reference would trap because of a second caller.
    private(set) var trapCount = 0
    private var continuation: CheckedContinuation<Void, any Error>?

    func waitForCompletion() async throws {
        if isCompleted { return }
        if let error { throw error }
        guard continuation == nil else {
            trapCount += 1
            throw ConnectionError.deliveryFailed(reason: "trap")
        }
        try await withCheckedThrowingContinuation { continuation = $0 }
    }

    func cancel() {
        error = .cancelled
        continuation?.resume(throwing: ConnectionError.cancelled)
        continuation = nil
    }

    func succeed() {
        isCompleted = true
        continuation?.resume()
        continuation = nil
    }
}

/// Hands the path to the app in a later turn. By then the platform has deleted the file.
final class FaultyCourier: FileCarrierObserver {
    private let handler: @MainActor (URL) -> Void

    init(handler: @escaping @MainActor (URL) -> Void) { self.handler = handler }

    func carried(_ id: UUID, fractionCompleted: Double) {}
    func finished(_ id: UUID, error: ConnectionError?) {}
    func received(_ file: URL, header: Data) -> Bool {
        let handler = handler
        Task { @MainActor in handler(file) }
        return true
    }
}
