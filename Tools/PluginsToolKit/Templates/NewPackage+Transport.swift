extension NewPackage {
    /// Creates a transport package. Its placeholder is a link within the process, to be replaced by a real device.
    static func transport(_ name: PackageName, from origin: PackageOrigin) -> NewPackage {
        let modules = ["MeshBus", "MeshDelivery", "MeshIdentity", "MeshStorage", "MeshTransport", "MeshWire"]
        let folder = "Sources/\(name.module)/\(name.module)"
        // The first versions with `Mutex`, which the placeholder uses.
        let platforms = ".macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)"
        return NewPackage(
            files: frame(name, from: origin, uses: modules, platforms: platforms) + [
                File(path: folder + "Link.swift", text: link(name)),
                File(path: folder + "Wire.swift", text: wire(name)),
                File(path: folder + "Plugin.swift", text: transportPlugin(name)),
                File(path: "Tests/\(name.module)Tests/ConformanceTests.swift", text: transportTest(name)),
            ])
    }

    private static func link(_ name: PackageName) -> String {
        """
        import MeshBus
        import MeshTransport

        /// One end of a \(name.module)Wire. The wire works within this process and stands where your device will be.
        public final class \(name.module)Link: TransportLink {
            #warning("\(name.module): promise the lanes that the device has, and no more; see LinkLane")
            public let lanes: [LinkLane: PayloadLimit] = [.stream: .\(name.camel)Packet]
            public let traits = LinkTraits(expectedLatency: .realtime, discoversPeers: true)

            private let wire: \(name.module)Wire
            private let address: LinkAddress

            #warning("\(name.module): take what it needs to reach the device, such as a path or a port, not a wire")
            init(_ wire: \(name.module)Wire, at address: LinkAddress) {
                self.wire = wire
                self.address = address
            }

            public func open(_ observer: any LinkObserver) throws {
                #warning("\(name.module): begin to listen to the device here; tell the observer what happens from then on")
                wire.enter(observer, at: address)
            }

            public func send(_ packet: LinkPacket, to address: LinkAddress) throws(LinkError) {
                guard packet.bytes.count <= PayloadLimit.\(name.camel)Packet.bytes else { throw LinkError(.oversized) }
                #warning("\(name.module): hand the bytes to the device here, without waiting; throw `full` if it has no room")
                try wire.carry(packet, from: self.address, to: address)
            }

            public func disconnect(_ address: LinkAddress) { wire.disconnect() }

            public func close() async { wire.leave(address) }
        }

        extension PayloadLimit {
            #warning("\(name.module): state the largest packet that the device takes, and where the number comes from")
            public static let \(name.camel)Packet = PayloadLimit(
                id: "\(name.dashed).packet", bytes: 65_536, summary: "A packet on \(name.module)", source: "chosen")
        }

        """
    }

    private static func wire(_ name: PackageName) -> String {
        """
        import MeshTransport
        import Synchronization

        #warning("\(name.module): this file goes when the device is there")
        /// Joins two ends within a process. Each packet arrives at the other end once and in order while they are connected.
        ///
        /// Ends are notified of one event after the other. A call that finds another one notifying leaves its events to that
        /// one, so an end may send while it is notified.
        final class \(name.module)Wire: Sendable {
            /// Maximum number of packets in flight. Beyond it the wire is full.
            static let packetsMax = 64

            fileprivate enum Event {
                case connected, disconnected, writable
                case received(LinkPacket)
            }

            fileprivate struct State {
                var observers: [LinkAddress: any LinkObserver] = [:]
                /// Ends that know that they are connected.
                var connected: Set<LinkAddress> = []
                /// Ends that know that the wire is full.
                var blocked: Set<LinkAddress> = []
                /// The pending events and the end that each is for.
                var events: [(end: LinkAddress, event: Event)] = []
                var packetCount = 0
                var isNotifying = false
            }

            private static let ends: [LinkAddress] = ["left", "right"]
            private let state = Mutex(State())

            var links: [\(name.module)Link] { Self.ends.map { \(name.module)Link(self, at: $0) } }

            func connect() { notify(Self.ends.map { ($0, .connected) }) }
            func disconnect() { notify(Self.ends.map { ($0, .disconnected) }) }

            func enter(_ observer: any LinkObserver, at end: LinkAddress) {
                state.withLock { $0.observers[end] = observer }
            }

            func leave(_ end: LinkAddress) {
                state.withLock { state in
                    state.observers[end] = nil
                    state.connected.remove(end)
                }
                notify([(Self.other(than: end), .disconnected)])
            }

            func carry(_ packet: LinkPacket, from end: LinkAddress, to other: LinkAddress) throws(LinkError) {
                try state.withLock { state throws(LinkError) in
                    guard state.observers[end] != nil else { throw LinkError(.closed) }
                    guard other == Self.other(than: end), packet.lane == .stream, state.connected.contains(end) else {
                        throw LinkError(.unreachable)
                    }
                    guard state.packetCount < Self.packetsMax else {
                        state.blocked.insert(end)
                        throw LinkError(.full)
                    }
                    state.packetCount += 1
                }
                notify([(other, .received(packet))])
            }

            private static func other(than end: LinkAddress) -> LinkAddress { end == ends[0] ? ends[1] : ends[0] }
        }

        // MARK: - Notifying

        extension \(name.module)Wire {
            private func notify(_ events: [(end: LinkAddress, event: Event)]) {
                let isMyTurn = state.withLock { state in
                    defer { state.isNotifying = true }
                    state.events += events
                    return !state.isNotifying
                }
                guard isMyTurn else { return }
                while let (observer, end, event) = state.withLock({ $0.next() }) {
                    let other = Self.other(than: end)
                    switch event {
                    case .connected: observer.connected(other, as: nil)
                    case .disconnected: observer.disconnected(other, reason: nil)
                    case .writable: observer.writable(other)
                    case .received(let packet): observer.received(packet.bytes, on: packet.lane, from: other)
                    }
                }
            }
        }

        extension \(name.module)Wire.State {
            /// Returns the next event. Leaves out events that no longer concern their end.
            fileprivate mutating func next() -> (any LinkObserver, LinkAddress, \(name.module)Wire.Event)? {
                while !events.isEmpty {
                    let (end, event) = events.removeFirst()
                    if case .received = event { packetCount -= 1 }
                    if packetCount == 0 {
                        events += blocked.sorted { $0.rawValue < $1.rawValue }.map { ($0, .writable) }
                        blocked = []
                    }
                    guard let observer = observers[end] else { continue }
                    switch event {
                    case .connected: if connected.insert(end).inserted { return (observer, end, event) }
                    case .disconnected: if connected.remove(end) != nil { return (observer, end, event) }
                    case .received, .writable: if connected.contains(end) { return (observer, end, event) }
                    }
                }
                isNotifying = false
                return nil
            }
        }

        """
    }

    private static func transportPlugin(_ name: PackageName) -> String {
        """
        import MeshBus
        import MeshDelivery
        import MeshIdentity
        import MeshStorage
        import MeshTransport
        import MeshWire

        /// Registers \(name.module), and offers it for examination.
        public struct \(name.module)Plugin: Plugin {
            public init() {}

            public var descriptor: PluginDescriptor {
                #warning("\(name.module): say in a line whom it joins, and in words what callers may rely on")
                return PluginDescriptor(
                    id: "transport.\(name.dashed)", kind: .transport, module: "\(name.module)", version: "0.1.0",
                    summary: "Two ends within one process", requires: ["core.delivery"], capabilities: ["realtime"],
                    limits: [.\(name.camel)Packet])
            }

            public func contribute(to registry: inout ExtensionRegistry) {
                let fixture = LinkFixture { _ in
                    #warning("\(name.module): make two ends of the device that can reach each other")
                    let wire = \(name.module)Wire()
                    return LinkGroup(wire.links, connect: { wire.connect() }, disconnect: { wire.disconnect() })
                }
                registry.add(fixture, to: .linkFixtures)
            }

            /// The plugin and what it requires, for tools and tests.
            public static var withRequirements: [any Plugin] {
                [
                    CompactCodecPlugin(), StoragePlugin(), DeliveryPlugin(),
                    \(name.module)Plugin(),
                ]
            }
        }

        """
    }

    private static func transportTest(_ name: PackageName) -> String {
        """
        \(imports(["MeshBus", "MeshDelivery", "MeshTesting", "Testing", name.module]))

        @Test func `\(name.module) keeps every rule for transports`() async throws {
            let bus = try PluginBus(plugins: \(name.module)Plugin.withRequirements)
            for fixture in bus.contributions(to: .linkFixtures) {
                let report = await TransportConformance.examine(fixture.value, as: fixture.plugin)
                #expect(report.failures == [])
            }
        }

        """
    }
}
