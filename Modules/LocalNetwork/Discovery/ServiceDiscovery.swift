public import MeshBase

/// Announces a service and finds those of others, on the networks that this machine is on: the contract of a backend.
///
/// To the implementer:
/// - One object serves one service type. What it announces itself it does not report as found.
/// - Its reports are hints: any host on the network may have sent them, and the sender is unknown.
/// - Every table has a bound; a flood of services makes the object forget some, and costs no more than that.
/// - Methods are called from any thread and return soon; the observer is called from any thread, never from within them.
public protocol ServiceDiscovery: AnyObject, Sendable {
    /// Begins to look for services. Called once.
    /// - Throws: `DiscoveryError` when there is no way to look at all.
    func start(_ observer: any ServiceObserver) throws
    /// Announces this service from now on, in the place of the one before it; nil takes it back with a goodbye.
    func announce(_ announcement: ServiceAnnouncement?)
    /// Says goodbye and ends. Idempotent.
    func stop() async
    /// The counters of the discovery so far.
    var statistics: DiscoveryStatistics { get }
}

/// The receiver of a discovery's results.
public protocol ServiceObserver: AnyObject, Sendable {
    /// There is a service, or something about it has changed.
    func found(_ service: FoundService)
    /// Reports that a service said goodbye, or wasn't heard for too long.
    func lost(instance: String)
    /// Reports that another host has the name, and that the announcement continues under this one.
    func renamed(to instance: String)
    /// Looking is over for good.
    func failed(_ error: DiscoveryError)
}

/// The kind of service that one object announces and looks for.
public struct ServiceType: Hashable, Sendable, CustomStringConvertible {
    /// The type's name by RFC 6763 section 7: `_name._tcp` or `_name._udp`, the name at most 15 characters.
    public let name: String
    /// `local` for multicast DNS.
    public let domain: String

    /// Creates a type without checking it. A discovery checks it when it starts, and throws
    /// ``DiscoveryError/Code/invalidName``.
    public init(_ name: String, domain: String = "local") {
        self.name = name
        self.domain = domain
    }

    /// The service type that peers of this library announce: `_sessionmesh._tcp`.
    public static let sessionMesh = ServiceType("_sessionmesh._tcp")

    public var description: String { "\(name).\(domain)" }
}

/// The announcement of an own service.
public struct ServiceAnnouncement: Hashable, Sendable {
    /// The label of the instance, at most 63 bytes. Everybody on the network reads it.
    public var instance: String
    /// The port at which the service listens.
    public var port: UInt16
    /// The keys of the TXT record and their values, at most 1,300 bytes together (RFC 6763 section 6.2).
    public var attributes: [ServiceAttribute]

    /// A service that says `attributes` of itself.
    public init(instance: String, port: UInt16, attributes: [ServiceAttribute] = []) {
        self.instance = instance
        self.port = port
        self.attributes = attributes
    }
}

/// One entry of a TXT record.
public struct ServiceAttribute: Hashable, Sendable {
    /// 1 to 9 printable characters of ASCII; case does not matter.
    public var key: String
    /// nil for a key without `=`.
    public var value: [UInt8]?

    /// An entry with a value, or with nil for a key that stands alone.
    public init(_ key: String, _ value: [UInt8]?) {
        self.key = key
        self.value = value
    }

    /// An entry whose value is text.
    public init(_ key: String, _ value: String) { self.init(key, Array(value.utf8)) }
}

/// A service as its host announces it.
public struct FoundService: Hashable, Sendable {
    /// The service's name, unique on its network.
    public var instance: String
    /// The port at which the service listens.
    public var port: UInt16
    /// The service's addresses, best first: on the network on which it was heard, and IPv6 before IPv4 where both
    /// exist.
    public var addresses: [ServiceAddress]
    /// The attributes that the announcing host wrote. A hint, not a proof.
    public var attributes: [ServiceAttribute]

    /// A service as a discovery has found it.
    public init(instance: String, port: UInt16, addresses: [ServiceAddress], attributes: [ServiceAttribute]) {
        self.instance = instance
        self.port = port
        self.addresses = addresses
        self.attributes = attributes
    }

    /// The value of the first attribute of that key, whatever its case.
    public subscript(_ key: String) -> [UInt8]? {
        attributes.first { $0.key.lowercased() == key.lowercased() }?.value
    }
}

/// An address at which a service can be reached.
public struct ServiceAddress: Hashable, Sendable, CustomStringConvertible {
    /// The address without a port.
    public var ip: IPAddress
    /// The number of the network interface on which it was heard; needed to reach a link-local address.
    public var interfaceIndex: UInt32

    /// An address on one interface.
    public init(ip: IPAddress, interfaceIndex: UInt32) {
        self.ip = ip
        self.interfaceIndex = interfaceIndex
    }

    public var description: String { ip.isLinkLocal ? "\(ip)%\(interfaceIndex)" : "\(ip)" }
}

/// The counters of a discovery since it began.
public struct DiscoveryStatistics: Hashable, Sendable, Codable {
    /// Packets of others, and own ones that came back.
    public var packetsReceived: UInt64 = 0
    /// The number of packets sent.
    public var packetsSent: UInt64 = 0
    /// Packets that could not be read.
    public var malformed: UInt64 = 0
    /// Packets from beyond the link, and what is no answer to anything.
    public var foreign: UInt64 = 0
    /// The number of records that were read and not kept, because a table was full or a host sent too much.
    public var dropped: UInt64 = 0
    /// The number of own names that another host had.
    public var conflicts: UInt64 = 0

    /// Creates counters that are all zero.
    public init() {}
}

/// Why services cannot be looked for.
public struct DiscoveryError: CodedError, Hashable {
    /// Why it is thrown. Later versions may know more codes.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// No interface of this machine carries multicast.
        public static let noInterface = Code(description: "noInterface")
        /// Another process has port 5353 and doesn't share it.
        public static let portTaken = Code(description: "portTaken")
        /// The system refuses: a firewall, a sandbox, a person who was asked.
        public static let notPermitted = Code(description: "notPermitted")
        /// A call of the system failed; the message says which.
        public static let systemCallFailed = Code(description: "systemCallFailed")
        /// The system's responder does not run.
        public static let unavailable = Code(description: "unavailable")
        /// The discovery was started before. Make another one.
        public static let alreadyStarted = Code(description: "alreadyStarted")
        /// A label, key or type that does not fit its record.
        public static let invalidName = Code(description: "invalidName")
    }

    public let code: Code
    public let message: String

    /// Creates an error of a ``ServiceDiscovery``, for implementers.
    public init(_ code: Code, _ message: String) {
        (self.code, self.message) = (code, message)
    }

    public var advice: String {
        switch code {
        case .noInterface: "Connect this machine to a network, or name one of its interfaces."
        case .portTaken: "Close the program that uses port 5353, or use the system's discovery."
        case .notPermitted: "Allow the app to use the local network in the system's settings and its firewall."
        case .unavailable: "Start the system's mDNS service, or use MulticastDNS."
        case .alreadyStarted: "Make a new discovery for each start."
        case .invalidName: "Use a name that fits a DNS label, and a type such as _example._udp."
        default: "Check the network, then start the discovery again."
        }
    }
}
