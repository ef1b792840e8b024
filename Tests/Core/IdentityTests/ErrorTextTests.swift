import Foundation
import MeshIdentity
import Testing

@Suite struct ErrorTextTests {
    @Test func `Every error states the fault and the remedy`() {
        let errors: [SessionSyncError] = [
            .sessionMismatch, .featureMismatch, .payloadTypeMismatch,
            .unsupportedProtocolVersion(received: 2, supported: 1), .unsupportedDeliveryMode,
            .payloadTooLarge(bytes: 2, limit: 1, limitID: "limit"),
            .payloadEncodingFailed(payloadType: "type", description: "text"),
            .payloadDecodingFailed(payloadType: "type", description: "text"), .unknownPeer(id: "peer"), .notReachable,
            .tooManySources(limit: 1), .outOfRange(field: "held"), .queueFull(limit: 1), .logFull(limit: 1),
            .sessionEnded, .sessionClosed, .closed,
        ]
        for error in errors {
            let text = error.localizedDescription
            #expect(text.dropFirst().hasPrefix(error.description.dropFirst()), "\(text)")
            #expect(text.first?.isLowercase == false, "\(text)")
            #expect(text.hasSuffix(".") && text.count > error.description.count + 10, "\(text)")
        }
        #expect(Set(errors.map(\.localizedDescription)).count == errors.count)
    }

    /// One peer has a limit of its own, which says nothing of the session's other peers.
    @Test func `The text of too many sources holds for one peer too`() {
        let text = SessionSyncError.tooManySources(limit: 64).localizedDescription
        #expect(text.contains("64 sources, of one peer or in all") && text.contains("a store"))
    }
}
