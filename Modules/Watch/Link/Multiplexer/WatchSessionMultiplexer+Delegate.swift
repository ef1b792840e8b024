public import Foundation

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

// A stand-in may pass any `WCSession` to these methods, so the code reads state from `self.session` only.
extension WatchSessionMultiplexer: WCSessionDelegate {
    public func session(
        _ session: WCSession, activationDidCompleteWith activationState: WCSessionActivationState,
        error: (any Error)?
    ) {
        notify(.activated(error: error))
        forward { $0.session(session, activationDidCompleteWith: activationState, error: error) }
        // Only listeners get the stored context: the session hasn't delivered anything to the app's delegate.
        let received = self.session.receivedApplicationContext
        if activationState == .activated, !received.isEmpty { deliverContext(received, isNew: false) }
    }

    #if !os(watchOS)
        public func sessionDidBecomeInactive(_ session: WCSession) {
            notify(.becameInactive)
            forward { $0.sessionDidBecomeInactive(session) }
        }

        /// Activates the session again, for the watch that the user has switched to.
        public func sessionDidDeactivate(_ session: WCSession) {
            notify(.deactivated)
            forward { $0.sessionDidDeactivate(session) }
            activate()
        }

        public func sessionWatchStateDidChange(_ session: WCSession) {
            notify(.counterpartChanged)
            forward { $0.watchStateDidChange(session) }
        }
    #endif

    #if os(watchOS) || !canImport(WatchConnectivity)
        public func sessionCompanionAppInstalledDidChange(_ session: WCSession) {
            notify(.counterpartChanged)
            forward { $0.companionAppInstalledDidChange(session) }
        }
    #endif

    public func sessionReachabilityDidChange(_ session: WCSession) {
        notify(.reachabilityChanged)
        forward { $0.reachabilityDidChange(session) }
    }

    public func session(_ session: WCSession, didReceiveMessage message: [String: Any]) {
        guard !isTaken(.message(message, reply: nil)) else { return }
        forward { $0.receive(message, nil, session) }
    }

    public func session(
        _ session: WCSession, didReceiveMessage message: [String: Any],
        replyHandler: @escaping ([String: Any]) -> Void
    ) {
        guard !isTaken(.message(message, reply: replyHandler)) else { return }
        forward { $0.receive(message, replyHandler, session) }
    }

    public func session(_ session: WCSession, didReceiveMessageData messageData: Data) {
        guard !isTaken(.data(messageData, reply: nil)) else { return }
        forward { $0.receive(messageData, nil, session) }
    }

    public func session(
        _ session: WCSession, didReceiveMessageData messageData: Data, replyHandler: @escaping (Data) -> Void
    ) {
        guard !isTaken(.data(messageData, reply: replyHandler)) else { return }
        forward { $0.receive(messageData, replyHandler, session) }
    }

    public func session(_ session: WCSession, didReceiveApplicationContext applicationContext: [String: Any]) {
        deliverContext(applicationContext, isNew: true)
        guard let part = appPart(of: applicationContext) else { return }
        forward { $0.receive(context: part, session) }
    }

    public func session(
        _ session: WCSession, didFinish userInfoTransfer: WCSessionUserInfoTransfer, error: (any Error)?
    ) {
        guard !isTaken(.finishedUserInfo(userInfoTransfer, error)) else { return }
        forward { $0.finished(userInfoTransfer, error, session) }
    }

    public func session(_ session: WCSession, didReceiveUserInfo userInfo: [String: Any]) {
        guard !isTaken(.userInfo(userInfo)) else { return }
        forward { $0.receive(userInfo: userInfo, session) }
    }

    public func session(_ session: WCSession, didFinish fileTransfer: WCSessionFileTransfer, error: (any Error)?) {
        guard !isTaken(.finishedFile(fileTransfer, error)) else { return }
        forward { $0.finished(fileTransfer, error, session) }
    }

    public func session(_ session: WCSession, didReceive file: WCSessionFile) {
        guard !isTaken(.file(file)) else { return }
        forward { $0.receive(file, session) }
    }
}

// MARK: - The app's delegate

#if canImport(WatchConnectivity)
    extension WCSessionDelegate {
        fileprivate func watchStateDidChange(_ session: WCSession) {
            #if !os(watchOS)
                sessionWatchStateDidChange?(session)
            #endif
        }
        fileprivate func companionAppInstalledDidChange(_ session: WCSession) {
            #if os(watchOS)
                sessionCompanionAppInstalledDidChange?(session)
            #endif
        }
        fileprivate func reachabilityDidChange(_ session: WCSession) { sessionReachabilityDidChange?(session) }
        fileprivate func receive(_ message: [String: Any], _ reply: (([String: Any]) -> Void)?, _ session: WCSession) {
            if let reply {
                self.session?(session, didReceiveMessage: message, replyHandler: reply)
            } else {
                self.session?(session, didReceiveMessage: message)
            }
        }
        fileprivate func receive(_ data: Data, _ reply: ((Data) -> Void)?, _ session: WCSession) {
            if let reply {
                self.session?(session, didReceiveMessageData: data, replyHandler: reply)
            } else {
                self.session?(session, didReceiveMessageData: data)
            }
        }
        fileprivate func receive(context: [String: Any], _ session: WCSession) {
            self.session?(session, didReceiveApplicationContext: context)
        }
        fileprivate func receive(userInfo: [String: Any], _ session: WCSession) {
            self.session?(session, didReceiveUserInfo: userInfo)
        }
        fileprivate func receive(_ file: WCSessionFile, _ session: WCSession) {
            self.session?(session, didReceive: file)
        }
        fileprivate func finished(_ transfer: WCSessionUserInfoTransfer, _ error: (any Error)?, _ session: WCSession) {
            self.session?(session, didFinish: transfer, error: error)
        }
        fileprivate func finished(_ transfer: WCSessionFileTransfer, _ error: (any Error)?, _ session: WCSession) {
            self.session?(session, didFinish: transfer, error: error)
        }
    }
#else
    // Plain calls instead of optional ones: the stand-in's protocol has default implementations.
    extension WCSessionDelegate {
        fileprivate func watchStateDidChange(_ session: WCSession) { sessionWatchStateDidChange(session) }
        fileprivate func companionAppInstalledDidChange(_ session: WCSession) {
            sessionCompanionAppInstalledDidChange(session)
        }
        fileprivate func reachabilityDidChange(_ session: WCSession) { sessionReachabilityDidChange(session) }
        fileprivate func receive(_ message: [String: Any], _ reply: (([String: Any]) -> Void)?, _ session: WCSession) {
            if let reply {
                self.session(session, didReceiveMessage: message, replyHandler: reply)
            } else {
                self.session(session, didReceiveMessage: message)
            }
        }
        fileprivate func receive(_ data: Data, _ reply: ((Data) -> Void)?, _ session: WCSession) {
            if let reply {
                self.session(session, didReceiveMessageData: data, replyHandler: reply)
            } else {
                self.session(session, didReceiveMessageData: data)
            }
        }
        fileprivate func receive(context: [String: Any], _ session: WCSession) {
            self.session(session, didReceiveApplicationContext: context)
        }
        fileprivate func receive(userInfo: [String: Any], _ session: WCSession) {
            self.session(session, didReceiveUserInfo: userInfo)
        }
        fileprivate func receive(_ file: WCSessionFile, _ session: WCSession) {
            self.session(session, didReceive: file)
        }
        fileprivate func finished(_ transfer: WCSessionUserInfoTransfer, _ error: (any Error)?, _ session: WCSession) {
            self.session(session, didFinish: transfer, error: error)
        }
        fileprivate func finished(_ transfer: WCSessionFileTransfer, _ error: (any Error)?, _ session: WCSession) {
            self.session(session, didFinish: transfer, error: error)
        }
    }
#endif
