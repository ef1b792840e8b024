public import MeshBase

/// A backend that announces a service and finds the services of others, on the networks of this machine.
///
/// Requirements for an implementation:
/// - One object serves one service type. It doesn't report its own announcement as found.
/// - Its reports are hints: any host on the network may have sent them, and the sender is unknown.
/// - Every table has a bound. A flood of services only makes the object forget some of them.
/// - Methods may be called from any thread and return soon. The observer may be called from any thread, but never from
///   within these methods.
public protocol ServiceDiscovery: AnyObject, Sendable {
    /// Starts looking for services. Called once.
    /// - Throws: `DiscoveryError` if looking for services is impossible.
    func start(_ observer: any ServiceObserver) throws
    /// Announces this service in place of the previous one; nil withdraws it with a goodbye.
    func announce(_ announcement: ServiceAnnouncement?)
    /// Says goodbye and stops. Idempotent.
    func stop() async
    /// The counters of the discovery so far.
    var statistics: DiscoveryStatistics { get }
}

/// The receiver of a discovery's results.
public protocol ServiceObserver: AnyObject, Sendable {
    /// Reports a new service, or a change of a known one.
    func found(_ service: FoundService)
    /// Reports that a service said goodbye or its records expired.
    func lost(instance: String)
    /// Reports that the service is announced under this name instead, because the requested one is too long or another
    /// host has it.
    func renamed(to instance: String)
    /// Reports that the discovery has ended for good.
    func failed(_ error: DiscoveryError)
}

/// The kind of service that one object announces and looks for.
public struct ServiceType: Hashable, Sendable, CustomStringConvertible {
    /// The type's name by RFC 6763 section 7: `_name._tcp` or `_name._udp`, with a name of at most 15 characters.
    public let name: String
    /// The domain; `local` for multicast DNS.
    public let domain: String

    /// Creates a type without checking it. `MulticastDNS` checks it in `start`, and throws
    /// ``DiscoveryError/Code/invalidName``.
    public init(_ name: String, domain: String = "local") {
        self.name = name
        self.domain = domain
    }

    /// The service type that peers of this library announce: `_sessionmesh._tcp`.
    public static let sessionMesh = ServiceType("_sessionmesh._tcp")

    public var description: String { "\(name).\(domain)" }
}

/// The service that this machine announces.
public struct ServiceAnnouncement: Hashable, Sendable {
    /// The label of the instance, at most 63 bytes. It is visible to everyone on the network.
    public var instance: String
    /// The port at which the service listens.
    public var port: UInt16
    /// The keys and values of the TXT record, at most 1,300 bytes together (RFC 6763 section 6.2).
    public var attributes: [ServiceAttribute]

    /// Creates an announcement of a service.
    public init(instance: String, port: UInt16, attributes: [ServiceAttribute] = []) {
        self.instance = instance
        self.port = port
        self.attributes = attributes
    }
}

/// One entry of a TXT record.
public struct ServiceAttribute: Hashable, Sendable {
    /// The key: 1 to 9 printable ASCII characters. Case doesn't matter.
    public var key: String
    /// The value; nil for a key without `=`.
    public var value: [UInt8]?

    /// Creates an attribute with a value, or with nil for a key without `=`.
    public init(_ key: String, _ value: [UInt8]?) {
        self.key = key
        self.value = value
    }

    /// Creates an attribute whose value is text.
    public init(_ key: String, _ value: String) { self.init(key, Array(value.utf8)) }
}

/// A service as its host announces it.
public struct FoundService: Hashable, Sendable {
    /// The service's name, unique on its network.
    public var instance: String
    /// The port at which the service listens.
    public var port: UInt16
    /// The addresses on the networks on which the service was heard, best first: IPv6 before IPv4 on each network.
    public var addresses: [ServiceAddress]
    /// The attributes that the announcing host wrote. They are a hint, not a proof.
    public var attributes: [ServiceAttribute]

    /// Creates a service that a discovery has found.
    public init(instance: String, port: UInt16, addresses: [ServiceAddress], attributes: [ServiceAttribute]) {
        self.instance = instance
        self.port = port
        self.addresses = addresses
        self.attributes = attributes
    }

    /// The value of the first attribute with that key; case doesn't matter.
    public subscript(_ key: String) -> [UInt8]? {
        attributes.first { $0.key.lowercased() == key.lowercased() }?.value
    }
}

/// An address at which a service can be reached.
public struct ServiceAddress: Hashable, Sendable, CustomStringConvertible {
    /// The IP address of the service's host.
    public var ip: IPAddress
    /// The number of the network interface on which the address was heard. A link-local address is reachable only
    /// through it.
    public var interfaceIndex: UInt32

    /// Creates an address on one interface.
    public init(ip: IPAddress, interfaceIndex: UInt32) {
        self.ip = ip
        self.interfaceIndex = interfaceIndex
    }

    public var description: String { ip.isLinkLocal ? "\(ip)%\(interfaceIndex)" : "\(ip)" }
}

/// The counters of a discovery since it started.
public struct DiscoveryStatistics: Hashable, Sendable, Codable {
    /// The number of packets received, including our own that came back.
    public var packetsReceived: UInt64 = 0
    /// The number of packets sent.
    public var packetsSent: UInt64 = 0
    /// The number of packets that couldn't be parsed.
    public var malformed: UInt64 = 0
    /// The number of packets ignored because they came from beyond the link or aren't multicast DNS.
    public var foreign: UInt64 = 0
    /// The number of records not cached and answers not sent, because a limit was reached.
    public var dropped: UInt64 = 0
    /// The number of times that another host had one of our names.
    public var conflicts: UInt64 = 0

    /// Creates counters that are all zero.
    public init() {}
}

/// An error that prevents a discovery from starting or ends it.
public struct DiscoveryError: CodedError, Hashable {
    /// The reason for a ``DiscoveryError``. Later versions may add codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// This machine doesn't have the named interface, or no longer has it.
        public static let noInterface = Code(description: "noInterface")
        /// Another process has port 5353 and doesn't share it.
        public static let portTaken = Code(description: "portTaken")
        /// The system refuses: a firewall, a sandbox, or a permission that wasn't granted.
        public static let notPermitted = Code(description: "notPermitted")
        /// A system call failed. The message says which.
        public static let systemCallFailed = Code(description: "systemCallFailed")
        /// The system's responder isn't running.
        public static let unavailable = Code(description: "unavailable")
        /// The discovery was already started. Create a new one.
        public static let alreadyStarted = Code(description: "alreadyStarted")
        /// A label, key or type doesn't fit its DNS record.
        public static let invalidName = Code(description: "invalidName")
    }

    public let code: Code
    public let message: String

    /// Creates an error, for implementations of ``ServiceDiscovery``.
    public init(_ code: Code, _ message: String) {
        (self.code, self.message) = (code, message)
    }

    public var advice: String {
        switch code {
        case .noInterface: "Connect this machine to a network, or name one of its interfaces."
        case .portTaken: "Close the program that uses port 5353, or use the system's discovery."
        case .notPermitted: "Allow the app to use the local network in the system's settings and its firewall."
        case .unavailable: "Start the system's mDNS service, or use MulticastDNS."
        case .alreadyStarted: "Create a new discovery for each start."
        case .invalidName: "Use a name that fits a DNS label, and a type such as _example._udp."
        default: "Check the network, then start the discovery again."
        }
    }
}
