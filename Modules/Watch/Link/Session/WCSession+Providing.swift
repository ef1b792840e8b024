import Foundation
import MeshBase

#if canImport(WatchConnectivity)
    public import WatchConnectivity
#else
    public import MeshSimulatedWatch
#endif

// Apple documents the class as thread-safe, but doesn't declare it `Sendable`.
#if canImport(WatchConnectivity)
    // swift-format-ignore: AvoidRetroactiveConformances
    extension WCSession: @retroactive @unchecked Sendable {}
#else
    extension WCSession: @unchecked Sendable {}
#endif

extension WCSession: WCSessionProviding {
    /// Returns a stream that ends at once, because the delegate gets every change.
    public func stateChanges() -> AsyncStream<WCSessionState> { AsyncStream { $0.finish() } }

    public func observeDelegate(_ changed: @escaping @Sendable () -> Void) -> AnyObject? {
        #if canImport(WatchConnectivity)
            observe(\.delegate) { _, _ in changed() }
        #else
            observeDelegateChanges(changed)
        #endif
    }

    /// The ID of the current counterpart. On iOS it is stored in `watchDirectoryURL`, which the system deletes with the
    /// watch app. On watchOS it is `phone`.
    public var counterpartID: String? {
        #if os(watchOS)
            return isCompanionAppInstalled || !Self.isIndependent ? "phone" : nil
        #else
            #if !canImport(WatchConnectivity)
                if isCompanionAppInstalled { return "phone" }
            #endif
            return isPaired && isWatchAppInstalled ? watchDirectoryURL.map(Self.name) : nil
        #endif
    }

    #if os(watchOS)
        /// True if the watch app runs without a companion. For other apps the system installs the companion, so
        /// `isCompanionAppInstalled` means nothing.
        private static var isIndependent: Bool {
            Bundle.main.object(forInfoDictionaryKey: "WKRunsIndependentlyOfCompanionApp") as? Bool ?? false
        }
    #else
        /// Prevents two concurrent first calls from each creating an ID.
        private static let naming = Locked(())

        private static func name(of folder: URL) -> String {
            naming.withLock { _ in
                let file = folder.appendingPathComponent(".sessionmesh-watch")
                if let name = try? String(contentsOf: file, encoding: .utf8), !name.isEmpty { return name }
                let name = "watch-\(UUID().uuidString)"
                do {
                    try name.write(to: file, atomically: true, encoding: .utf8)
                    return name
                } catch {
                    return folder.lastPathComponent
                }
            }
        }
    #endif
}
