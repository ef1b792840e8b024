import MeshBase

/// Diagnoses why peers on the local network don't find each other.
///
/// It checks interfaces, addresses, routes and the port. It also sends a packet to the multicast DNS group on each
/// interface. The packet must come back, and other responders answer it. The checks change nothing, need no privileges
/// and take about a second.
public struct NetworkDoctor: Sendable {
    /// The consequence of a finding for discovery.
    public enum Verdict: String, Hashable, Sendable, Codable {
        /// The finding doesn't affect discovery.
        case fine
        /// Discovery works in part, or may not work.
        case warning
        /// Discovery doesn't work on this network.
        case blocked
    }

    /// The result of one check.
    public struct Finding: Hashable, Sendable, Codable {
        /// The name of the check: `interface`, `address`, `route`, `port`, `multicast`, `neighbours`, `clock`.
        public var id: String
        /// The consequence of the finding for discovery.
        public var verdict: Verdict
        /// The interface that was checked; nil if the check concerns the machine.
        public var interface: String?
        /// The finding in one line.
        public var found: String
        /// The advice in one line; nil if there is nothing to do.
        public var advice: String?
    }

    let interfaces: Set<String>?
    let port: UInt16

    /// Creates a doctor for the network interfaces of this machine.
    ///
    /// - Parameter interfaces: The names of the interfaces to check; nil for those that a discovery chooses by itself.
    public init(interfaces: Set<String>? = nil) { self.init(interfaces: interfaces, port: MulticastSocket.port) }

    init(interfaces: Set<String>?, port: UInt16) {
        self.interfaces = interfaces
        self.port = port
    }

    /// Runs every check, one after another. Their order is such that the first fault explains the later ones. The
    /// checks run on their own thread. If it can't be created, the result is empty.
    public func examine() async -> [Finding] {
        await withCheckedContinuation { findings in
            do throws(SystemCallError) {
                try BlockingThread.start { findings.resume(returning: examineNow()) }
            } catch {
                findings.resume(returning: [])
            }
        }
    }

    func examineNow() -> [Finding] {
        let all: [NetworkInterfaces.Entry]
        do {
            all = try NetworkInterfaces.all()
        } catch {
            return [Finding(id: "interface", verdict: .blocked, found: "the interfaces can't be listed: \(error)")]
        }
        let usable = NetworkInterfaces.usable(all, names: interfaces)
        return checkInterfaces(all, usable) + usable.map(checkAddress) + [checkRoute(), checkPort()]
            + checkMulticast(usable) + [checkClock()]
    }
}
