import Foundation
import MeshConnection
import MeshIdentity
import Testing

@Suite struct ConnectionErrorTests {
    private static let all: [ConnectionError] = [
        .notActivated, .notReachable, .notPaired, .appNotInstalled, .deliveryFailed(reason: "a"), .timeout,
        .cancelled, .replyFailed(reason: "a"), .encodingFailed(description: "a"), .decodingFailed(description: "a"),
        .handlerNotRegistered(requestType: "A"), .handlerError(description: "a"), .remoteError(description: "a"),
        .sessionError(code: 7007, description: "a"), .sessionUnhealthy(reason: "a"), .fileNotFound(url: "/a"),
        .fileAccessDenied(url: "/a"), .insufficientSpace, .idInUse(id: "a"),
        .payloadTooLarge(bytes: 2, limit: 1, limitID: "a"), .incompatiblePeer(reason: "a"),
    ]

    @Test(arguments: all)
    func `Every error is encoded and decoded with its description`(error: ConnectionError) throws {
        let bytes = try JSONEncoder().encode(error)
        #expect(try JSONDecoder().decode(ConnectionError.self, from: bytes) == error)
        // A handler's text belongs to the app and is shown unchanged.
        if case .handlerError(let text) = error {
            #expect(error.localizedDescription == text)
        } else {
            let text = error.localizedDescription
            #expect(text.dropFirst().hasPrefix("\(error)".dropFirst()) && text.first?.isLowercase == false, "\(text)")
            #expect(!error.advice.isEmpty && text.hasSuffix(". \(error.advice)"), "\(text)")
        }
        #expect(Self.all.count { "\($0)" == "\(error)" } == 1)
        #expect(ConnectionError(error) == error)
    }

    @Test func `A transport's error maps to the error that a sender sees`() {
        let meanings: [(any Error, ConnectionError)] = [
            (SessionSyncError.notReachable, .notReachable), (SessionSyncError.closed, .notActivated),
            (CancellationError(), .cancelled),
            (
                SessionSyncError.payloadTooLarge(bytes: 2, limit: 1, limitID: "x"),
                .payloadTooLarge(bytes: 2, limit: 1, limitID: "x")
            ),
            (
                SessionSyncError.queueFull(limit: 3),
                .deliveryFailed(reason: "\(SessionSyncError.queueFull(limit: 3))")
            ),
            (Unknown(), .sessionError(code: -1, description: "Unknown()")),
        ]
        for (error, meaning) in meanings { #expect(ConnectionError(error) == meaning) }
    }
}

private struct Unknown: Error {}
