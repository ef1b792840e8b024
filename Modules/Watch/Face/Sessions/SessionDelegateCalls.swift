import Foundation

#if canImport(WatchConnectivity)
    import WatchConnectivity
#else
    import MeshSimulatedWatch
#endif

// A delegate's methods are optional on Apple's systems and have default implementations elsewhere. This file hides the
// difference from callers.

extension Optional where Wrapped == any WCSessionDelegate {
    func notifyReachability(_ session: WCSession = .default) {
        #if canImport(WatchConnectivity)
            self?.sessionReachabilityDidChange?(session)
        #else
            self?.sessionReachabilityDidChange(session)
        #endif
    }

    func receive(_ session: WCSession = .default, messageData data: Data) {
        #if canImport(WatchConnectivity)
            self?.session?(session, didReceiveMessageData: data)
        #else
            self?.session(session, didReceiveMessageData: data)
        #endif
    }

    func receive(
        _ session: WCSession = .default, messageData data: Data, replyHandler: @escaping (Data) -> Void
    ) {
        #if canImport(WatchConnectivity)
            self?.session?(session, didReceiveMessageData: data, replyHandler: replyHandler)
        #else
            self?.session(session, didReceiveMessageData: data, replyHandler: replyHandler)
        #endif
    }

    func receive(_ session: WCSession = .default, userInfo: [String: Any]) {
        #if canImport(WatchConnectivity)
            self?.session?(session, didReceiveUserInfo: userInfo)
        #else
            self?.session(session, didReceiveUserInfo: userInfo)
        #endif
    }

    func receive(_ session: WCSession = .default, applicationContext: [String: Any]) {
        #if canImport(WatchConnectivity)
            self?.session?(session, didReceiveApplicationContext: applicationContext)
        #else
            self?.session(session, didReceiveApplicationContext: applicationContext)
        #endif
    }

    func receive(_ session: WCSession = .default, file: WCSessionFile) {
        #if canImport(WatchConnectivity)
            self?.session?(session, didReceive: file)
        #else
            self?.session(session, didReceive: file)
        #endif
    }

    func finish(_ session: WCSession = .default, transfer: WCSessionFileTransfer, error: (any Error)?) {
        #if canImport(WatchConnectivity)
            self?.session?(session, didFinish: transfer, error: error)
        #else
            self?.session(session, didFinish: transfer, error: error)
        #endif
    }
}
