import MeshBase

/// Finds out what keeps peers of the local network from finding each other.
///
/// It looks at interfaces, addresses, routes and the port, and sends a packet to the group of multicast DNS on each
/// interface, which must come back and which other responders answer. It changes nothing, needs no rights, and takes
/// about a second.
public struct NetworkDoctor: Sendable {
    /// The consequence of a finding for discovery.
    public enum Verdict: String, Hashable, Sendable, Codable {
        /// The finding doesn't affect discovery.
        case fine
        /// Discovery works in part, or may not work.
        case warning
        /// Discovery does not work.
        case blocked
    }

    /// The result of one check.
    public struct Finding: Hashable, Sendable, Codable {
        /// The name of the check: `interface`, `address`, `route`, `port`, `multicast`, `neighbours`, `clock`.
        public var id: String
        /// The consequence of the finding for discovery.
        public var verdict: Verdict
        /// The interface that was looked at; nil when the check is about the machine.
        public var interface: String?
        /// The finding in one line.
        public var found: String
        /// One line; nil when there is nothing to do.
        public var advice: String?
    }

    let interfaces: Set<String>?
    let port: UInt16

    /// Creates a doctor for the network interfaces of this machine.
    ///
    /// - Parameter interfaces: the names of those that the discovery is to use; nil for what it chooses itself.
    public init(interfaces: Set<String>? = nil) { self.init(interfaces: interfaces, port: MulticastSocket.port) }

    init(interfaces: Set<String>?, port: UInt16) {
        self.interfaces = interfaces
        self.port = port
    }

    /// Runs every check, in an order in which the first fault explains those that follow. Waits on a thread of its own;
    /// finds nothing where there is none to be had.
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
            return [Finding(id: "interface", verdict: .blocked, found: "interfaces cannot be listed: \(error)")]
        }
        let usable = NetworkInterfaces.usable(all, names: interfaces)
        return checkInterfaces(all, usable) + usable.map(checkAddress) + [checkRoute(), checkPort()]
            + checkMulticast(usable) + [checkClock()]
    }
}
