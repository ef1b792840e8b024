#if UDP
    internal import MeshBus
    internal import MeshDiscovery
    internal import NIOCore
    internal import NIOPosix

    #if canImport(Darwin)
        import Darwin
    #elseif canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Android)
        import Android
    #endif

    /// Runs a `MulticastDNSCore`: gives it packets, interfaces and the time, and does what it directs.
    ///
    /// Unchecked since the event loop is its lock: the methods that any thread may call hop there, and everything below
    /// them runs there only.
    final class MulticastDNSShell: @unchecked Sendable {
        private struct Line: Hashable {
            var interfaceIndex: UInt32
            var family: IPAddress.Family
        }

        private let options: MulticastDNSOptions
        private let observer: any ServiceObserver
        private let eventLoop: any EventLoop
        private let began = NIODeadline.now()
        private let tally = Locked(DiscoveryStatistics())

        private var core: MulticastDNSCore
        private var interfaces: [UInt32: NetworkInterface] = [:]
        private var lines: [Line: any Channel] = [:]
        private var rescan: RepeatedTask?
        private var wakeUp: (task: Scheduled<Void>, at: Duration)?
        private var isChecking = false
        private var hasStopped = false

        init(
            _ core: MulticastDNSCore, _ options: MulticastDNSOptions, _ observer: any ServiceObserver,
            on eventLoop: any EventLoop
        ) {
            self.core = core
            self.options = options
            self.observer = observer
            self.eventLoop = eventLoop
        }

        var statistics: DiscoveryStatistics { tally.withLock { $0 } }

        func start() {
            eventLoop.execute { [self] in
                rescan = eventLoop.scheduleRepeatedTask(
                    initialDelay: .zero, delay: TimeAmount(options.interfaceCheck)
                ) { [weak self] _ in self?.checkInterfaces() }
                core.browse(now)
                perform()
            }
        }

        func announce(_ announcement: ServiceAnnouncement?) {
            eventLoop.execute { [self] in
                core.announce(announcement, now)
                perform()
            }
        }

        /// Says goodbye, and resumes the waiter when every socket is closed.
        func stop(_ waiter: CheckedContinuation<Void, Never>?) {
            eventLoop.execute { [self] in
                guard !hasStopped else {
                    waiter?.resume()
                    return
                }
                rescan?.cancel()
                core.farewell(now)
                perform()
                hasStopped = true
                wakeUp?.task.cancel()
                let closed = lines.values.map { $0.close() }
                lines = [:]
                EventLoopFuture.andAllComplete(closed, on: eventLoop).whenComplete { _ in waiter?.resume() }
            }
        }

        private var now: Duration { .nanoseconds((NIODeadline.now() - began).nanoseconds) }

        private func perform() {
            guard !hasStopped else { return }
            let directives = core.takeDirectives()
            for packet in directives.packets { send(packet) }
            tally.withLock { $0 = core.statistics }
            wake(at: directives.wakeAt)
            for event in directives.events {
                switch event {
                case .found(let service): observer.found(service)
                case .lost(let instance): observer.lost(instance: instance)
                case .renamed(let instance): observer.renamed(to: instance)
                }
            }
        }

        private func wake(at date: Duration?) {
            guard date != wakeUp?.at else { return }
            wakeUp?.task.cancel()
            wakeUp = date.map { date in
                let task = eventLoop.scheduleTask(deadline: began + TimeAmount(date)) { [weak self] in
                    guard let self else { return }
                    wakeUp = nil
                    core.tick(now)
                    perform()
                }
                return (task, date)
            }
        }
    }

    // MARK: - Packets

    extension MulticastDNSShell {
        private func send(_ packet: MulticastDNSPacket) {
            let family: IPAddress.Family
            let (ip, port): (IPAddress, UInt16)
            switch packet.destination {
            case .multicast(let group): (family, ip, port) = (group, MulticastSocket.group(group), options.port)
            case .unicast(let to, let toPort): (family, ip, port) = (to.family, to, toPort)
            }
            // Where a family does not work, as IPv6 on Linux's loopback interface, nobody else has it either.
            guard let channel = lines[Line(interfaceIndex: packet.interfaceIndex, family: family)] else { return }
            let address = SocketAddress(ip, port: port, scope: packet.interfaceIndex)
            channel.writeAndFlush(
                AddressedEnvelope(remoteAddress: address, data: ByteBuffer(bytes: packet.bytes)), promise: nil)
        }

        fileprivate func receive(_ envelope: AddressedEnvelope<ByteBuffer>, on line: UInt32) {
            guard let (ip, port) = envelope.remoteAddress.place else { return }
            let destination = envelope.metadata?.packetInfo
            let interfaceIndex = destination.flatMap { UInt32(exactly: $0.interfaceIndex) } ?? line
            let wasMulticast = destination?.destinationAddress.place?.ip.isGroup ?? true
            // A socket for IPv6 also gets what comes to the group on other interfaces, which have their own.
            if wasMulticast, interfaceIndex != line { return }
            let source = MulticastDNSSource(
                ip: ip, port: port, interfaceIndex: interfaceIndex, wasMulticast: wasMulticast)
            envelope.data.withUnsafeReadableBytes { core.receive($0, from: source, now) }
        }

        fileprivate func receivedAll() { perform() }
    }

    // MARK: - Interfaces

    extension MulticastDNSShell {
        private func checkInterfaces() {
            // What cannot be listed now is listed the next time.
            guard !hasStopped, !isChecking, let all = try? NetworkInterfaces.all() else { return }
            let usable = NetworkInterfaces.usable(all, names: options.interfaces)
            for index in interfaces.keys where !usable.contains(where: { $0.interface.index == index }) { drop(index) }
            isChecking = true
            EventLoopFuture.andAllComplete(usable.flatMap(openMissingLines), on: eventLoop).whenComplete { [self] _ in
                isChecking = false
                for entry in usable { adopt(entry.interface) }
                perform()
            }
        }

        /// Uses the interface from now on, if there is a socket for it.
        private func adopt(_ interface: NetworkInterface) {
            let hasLine = lines.keys.contains { $0.interfaceIndex == interface.index }
            guard !hasStopped, hasLine, interfaces[interface.index] != interface else { return }
            interfaces[interface.index] = interface
            core.interfaceUp(interface, now)
        }

        private func drop(_ index: UInt32) {
            interfaces[index] = nil
            for family in IPAddress.Family.allCases {
                lines.removeValue(forKey: Line(interfaceIndex: index, family: family))?.close(promise: nil)
            }
            core.interfaceDown(index, now)
        }

        private func openMissingLines(_ entry: NetworkInterfaces.Entry) -> [EventLoopFuture<Void>] {
            let interface = entry.interface
            let families = Set(interface.addresses.map(\.ip.family))
            return families.compactMap { family in
                let line = Line(interfaceIndex: interface.index, family: family)
                // IPv6 has no route for groups on an interface that does not claim to carry multicast.
                guard lines[line] == nil, family == .v4 || entry.carriesMulticast else { return nil }
                // What does not work now is tried again at the next look.
                return (try? MulticastSocket(on: interface, family, port: options.port)).map {
                    open(line, $0.release())
                }
            }
        }

        private func open(_ line: Line, _ descriptor: Int32) -> EventLoopFuture<Void> {
            DatagramBootstrap(group: eventLoop)
                .channelOption(.receivePacketInfo, value: true)
                .channelOption(.maxMessagesPerRead, value: 16)
                .channelOption(.recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: 9000))
                .channelInitializer { [self] channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(PacketHandler(self, line.interfaceIndex))
                    }
                }
                .withBoundSocket(descriptor)
                .map { [self] in opened(line, $0) }
        }

        private func opened(_ line: Line, _ channel: any Channel) {
            guard !hasStopped else { return channel.close(promise: nil) }
            lines[line] = channel
            channel.closeFuture.whenComplete { [self] _ in
                if lines[line] === channel { lines[line] = nil }
            }
        }
    }

    private final class PacketHandler: ChannelInboundHandler {
        typealias InboundIn = AddressedEnvelope<ByteBuffer>

        private let shell: MulticastDNSShell
        private let interfaceIndex: UInt32

        init(_ shell: MulticastDNSShell, _ interfaceIndex: UInt32) {
            self.shell = shell
            self.interfaceIndex = interfaceIndex
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            shell.receive(unwrapInboundIn(data), on: interfaceIndex)
        }

        func channelReadComplete(context: ChannelHandlerContext) { shell.receivedAll() }

        /// A read that fails has closed the channel, or the next one may work.
        func errorCaught(context: ChannelHandlerContext, error: any Error) {}
    }

    // MARK: - NIO's words

    extension SocketAddress {
        /// nil for what is no address of the Internet Protocol.
        fileprivate var place: (ip: IPAddress, port: UInt16)? {
            guard let ip = withSockAddr({ address, _ in IPAddress(address) }) else { return nil }
            return (ip, port.flatMap(UInt16.init(exactly:)) ?? 0)
        }

        fileprivate init(_ ip: IPAddress, port: UInt16, scope: UInt32) {
            switch ip {
            case .v4: self.init(sockaddr_in(ip, port: port))
            case .v6: self.init(sockaddr_in6(ip, port: port, scope: ip.isLinkLocal || ip.isGroup ? scope : 0))
            }
        }
    }

    extension IPAddress {
        /// 224.0.0.0/4 and ff00::/8.
        fileprivate var isGroup: Bool {
            switch self {
            case .v4(let value): value >> 28 == 0xE
            case .v6(let high, _): high >> 56 == 0xFF
            }
        }
    }
#endif
