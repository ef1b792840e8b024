import Foundation
import SessionMeshWatchConnectivity
import Testing

@Suite struct ErrorTests {
    /// Every code of WatchConnectivity, and the error that WatchConnectivitySwift mapped it to.
    private static let table: [(Int, @Sendable (WatchConnectionError) -> Bool)] = [
        (7001, isSessionError), (7002, isSessionError), (7003, isSessionError), (7004, { $0 == .notActivated }),
        (7005, { $0 == .notPaired }), (7006, { $0 == .watchAppNotInstalled }), (7007, { $0 == .notReachable }),
        (7008, isEncodingFailed), (7009, isEncodingFailed), (7010, isEncodingFailed),
        (7011, { if case .replyFailed = $0 { true } else { false } }), (7012, { $0 == .timeout }),
        (7013, { $0 == .fileAccessDenied(url: "") }), (7014, { if case .deliveryFailed = $0 { true } else { false } }),
        (7015, { $0 == .insufficientSpace }), (7016, { $0 == .notActivated }), (7017, { $0 == .timeout }),
        (7018, { $0 == .watchAppNotInstalled }), (7019, isSessionError),
    ]

    private static func isSessionError(_ error: WatchConnectionError) -> Bool {
        if case .sessionError(let code, let description) = error {
            return (7001...7019).contains(code) && !description.isEmpty
        }
        return false
    }

    private static func isEncodingFailed(_ error: WatchConnectionError) -> Bool {
        if case .encodingFailed = error { true } else { false }
    }

    @Test func `the nineteen codes of the session have their errors`() throws {
        #expect(Self.table.map(\.0) == Array(7001...7019))
        for (code, isRight) in Self.table {
            let error = WCError(try #require(WCError.Code(rawValue: code)))
            #expect(isRight(WatchConnectionError(wcError: error)), "\(code)")
            #expect(WatchConnectionError(error: error) == WatchConnectionError(wcError: error))
            #expect(WatchConnectionError(error: error as NSError) == WatchConnectionError(wcError: error))
        }
    }

    @Test func `other errors are unchanged`() {
        #expect(WatchConnectionError(error: WatchConnectionError.timeout) == .timeout)
        #expect(WatchConnectionError(error: CancellationError()) == .cancelled)
        struct Odd: Error {}
        guard case .sessionError(code: -1, _) = WatchConnectionError(error: Odd()) else {
            Issue.record("an unknown error is an error of the session")
            return
        }
    }
}
