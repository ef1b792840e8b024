import Foundation
import MeshBase
import MeshSimulatedWatch

// Small models of the rules that this library replaces. Each test of a fault must also find the fault in its model.

/// M14: forwards to the delegate that was set when this one was made.
final class CapturingDelegate: NSObject, WCSessionDelegate, @unchecked Sendable {
    private let forwarded: (any WCSessionDelegate)?
    private let isMesh: ([String: Any]) -> Bool
    private let onMesh: () -> Void

    init(_ session: WCSession, isMesh: @escaping ([String: Any]) -> Bool, onMesh: @escaping () -> Void) {
        forwarded = session.delegate
        self.isMesh = isMesh
        self.onMesh = onMesh
        super.init()
        session.delegate = self
        session.activate()
    }

    func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
        error: (any Error)?
    ) {
        forwarded?.session(session, activationDidCompleteWith: activationState, error: error)
    }

    func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any]) {
        if isMesh(userInfo) { onMesh() } else { forwarded?.session(session, didReceiveUserInfo: userInfo) }
    }
}

/// W10: each user keeps its own context, read when it was made, and always writes all of it.
final class SeparateContexts {
    private let session: WCSession
    private var context: [String: Any]

    init(_ session: WCSession) {
        self.session = session
        context = session.applicationContext
    }

    func set(_ value: Data, for key: String) throws {
        context[key] = value
        try session.updateApplicationContext(context)
    }
}
