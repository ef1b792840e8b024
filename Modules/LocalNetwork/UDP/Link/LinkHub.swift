#if UDP
    import MeshBase
    import MeshDiscovery
    import MeshSecurity
    import MeshTransport
    import NIOCore
    import NIOPosix
    import NIOSSL

    /// An open link: its sockets, its connections, and the peers that it dials. Confined to its event loop unless
    /// stated otherwise. It calls the observer there, one call at a time.
    final class LinkHub: @unchecked Sendable {
        /// Maximum number of earlier start IDs remembered per peer. If one of them returns, two devices have the same
        /// identity.
        static let replacedStartIDsMax = 8

        let configuration: UDPLinkConfiguration
        let loop: any EventLoop
        let startID: UInt64
        let routes: Locked<Routes>
        /// The peers admitted in addition to the trusted ones.
        private var guests: Set<PeerID> = []
        /// The guests that the user unpaired while they were guests. They stay refused, even if a session's member
        /// still invites them.
        private var unpairedGuests: Set<PeerID> = []
        /// The peers that were trusted at the last check.
        private var trusted: Set<PeerID> = []
        let report: LinkReport
        private var observer: (any LinkObserver)?
        var policy: TLSPolicy
        var plan: DialPlan
        var nearby = NearbyAddresses()
        var admission: Admission
        var rounds: [DialPlan.Target: DialRound] = [:]
        var connections: [Int: PeerConnection] = [:]
        var lastNumber = 0
        /// The connections that were reported to the observer.
        private var reportedConnections: [PeerID: PeerConnection] = [:]
        private var byKey: [UInt64: PeerConnection] = [:]
        /// The start IDs of a peer that a later one has replaced, oldest first.
        private var replacedStartIDs: [PeerID: [UInt64]] = [:]
        var listener: (any Channel)?
        var datagrams: DatagramPort?
        var datagramChannel: (any Channel)?
        var interface: LinkInterface?
        var label = PeerAdvertisement.randomLabel()
        var dialTimer: Scheduled<Void>?
        var labelTimer: Scheduled<Void>?
        var isClosing = false
        var trustTask: Task<Void, Never>?

        init(
            _ configuration: UDPLinkConfiguration, loop: any EventLoop, observer: any LinkObserver,
            routes: Locked<Routes>, report: LinkReport
        ) throws(UDPLinkError) {
            self.configuration = configuration
            self.loop = loop
            self.observer = observer
            self.routes = routes
            self.report = report
            startID = UInt64.random(in: 1 ... .max)
            policy = try TLSPolicy(configuration.identity, protocols: [TLSPolicy.session])
            plan = DialPlan(
                local: configuration.identity.peerID, manualPeers: configuration.manualPeers,
                times: configuration.times,
                seed: .random(in: 0 ... .max))
            admission = Admission(configuration.bounds)
            if let name = configuration.interface { interface = try LinkInterface(name) }
        }

        var bounds: UDPLinkBounds { configuration.bounds }

        /// A time that never jumps. May be read on any thread.
        var now: Duration { .nanoseconds(Int64(clamping: NIODeadline.now().uptimeNanoseconds)) }

        var datagramPort: UInt16 { UInt16(clamping: datagramChannel?.localAddress?.port ?? 0) }

        func after(_ delay: Duration, _ body: @escaping () -> Void) -> Scheduled<Void> {
            loop.assumeIsolated().scheduleTask(in: TimeAmount(delay), body)
        }

        func count(_ change: (inout UDPLinkStatistics) -> Void) { report.count(change) }

        func isTrusted(_ peer: PeerID) -> Bool { configuration.trustedPeers.contains(peer) }

        /// Returns true if the peer is admitted, as a trusted peer or as a guest.
        func isAdmitted(_ peer: PeerID) -> Bool {
            isTrusted(peer)
                || (guests.contains(peer) && !unpairedGuests.contains(peer)
                    && !configuration.trustedPeers.isRevoked(peer))
        }

        /// Updates the sets of trusted peers and guests. Returns the peers to admit and to look for.
        func updateAdmittedPeers() -> [PeerID] {
            let peers = configuration.trustedPeers.peers.map(\.id)
            unpairedGuests.formUnion(trusted)
            unpairedGuests.formIntersection(guests)
            unpairedGuests.subtract(peers)
            trusted = Set(peers)
            return peers + guests.subtracting(peers).filter(isAdmitted).sorted()
        }
    }

    /// The connections for `send`, which may be called on any thread.
    struct Routes {
        enum Phase {
            case idle, open, closed
        }

        var phase = Phase.idle
        var connections: [LinkAddress: PeerConnection] = [:]
    }

    // MARK: - Connections

    extension LinkHub {
        /// Continues after the connection has proven its peer. The hello comes next.
        /// - Returns: True if the connection is kept.
        func didProvePeer(_ connection: PeerConnection) -> Bool {
            leaveAdmission(connection)
            // At most one connection is established. The others have a deadline for their hello or their end.
            guard connections.values.count(where: { $0.peer == connection.peer }) <= bounds.connectionsPerPeerMax else {
                connection.refuse(.tooManyConnections, "it has too many connections that are opening or closing")
                return false
            }
            return claimRound(connection)
        }

        /// Decides between connections to the same peer, once both sides have sent a hello.
        func receivedHello(_ hello: Hello, from connection: PeerConnection) {
            guard let peer = connection.peer, let contender = connection.contender else { return }
            let local = configuration.identity.peerID
            guard peer != local else { return receivedOwnHello(hello, from: connection) }
            guard hello.isUnderstood else {
                return refuseAfterHello(
                    connection, .unsupportedVersion, .unsupportedVersion,
                    "it supports the versions \(hello.oldest) to \(hello.newest), and this side version \(Hello.version)"
                )
            }
            if replacedStartIDs[peer]?.contains(hello.startID) == true {
                return refuseAfterHello(
                    connection, .clonedIdentity, .clonedIdentity, "two devices use its identity in turn")
            }
            if let incumbent = reportedConnections[peer], let standing = incumbent.contender {
                guard contender.replaces(standing, local: local, remote: peer) else {
                    incumbent.checkLiveness()
                    return drop(connection, .duplicate)
                }
                guard openLanes(of: connection, to: peer) else { return }
                if contender.startID != standing.startID { noteReplaced(standing.startID, of: peer) }
                incumbent.end(nil, saying: Goodbye(code: .duplicate))
            } else {
                guard openLanes(of: connection, to: peer) else { return }
            }
            establish(connection, with: peer)
        }

        /// Derives the keys of a connection and opens its lanes. Refuses it if its datagram key is invalid.
        /// - Returns: True if the lanes are open.
        private func openLanes(of connection: PeerConnection, to peer: PeerID) -> Bool {
            do throws(SealError) {
                try connection.begin(as: LinkAddress("udp:\(peer.description.prefix(8))#\(connection.number)"))
                return true
            } catch {
                connection.refuse(.protocolError, "its datagram key is invalid: \(error)")
                return false
            }
        }

        /// Registers an open connection and reports it to the observer.
        private func establish(_ connection: PeerConnection, with peer: PeerID) {
            let address = connection.address
            connection.isGuest = !isTrusted(peer)
            reportedConnections[peer] = connection
            if let key = connection.keyID {
                byKey[key] = connection
                byKey[key ^ SealedDatagrams.bundleBit] = connection
            }
            endRound(of: connection, peer)
            count { $0.connectedCount += 1 }
            routes.withLock { $0.connections[address] = connection }
            if connection.isGuest {
                observer?.connected(address, asGuest: peer.description)
            } else {
                observer?.connected(address, as: peer.description)
            }
            connection.tick()
        }

        /// Handles a peer with our own identity: this link itself, or another device with a copy of the key.
        private func receivedOwnHello(_ hello: Hello, from connection: PeerConnection) {
            guard hello.startID != startID else {
                if let target = connection.dial?.round.target { plan.isSelf(target) }
                return connection.end(nil, saying: nil)
            }
            refuseAfterHello(
                connection, .clonedIdentity, .clonedIdentity, "another device has the identity of this one")
        }

        private func noteReplaced(_ startID: UInt64, of peer: PeerID) {
            replacedStartIDs[peer, default: []].append(startID)
            if replacedStartIDs[peer, default: []].count > Self.replacedStartIDsMax {
                replacedStartIDs[peer]?.removeFirst()
            }
        }

        /// Refuses a connection after the hello, with a goodbye that keeps the peer from reconnecting.
        private func refuseAfterHello(
            _ connection: PeerConnection, _ code: UDPRefusal.Code, _ goodbye: Goodbye.Code, _ message: String
        ) {
            refused(
                UDPRefusal(
                    code: code, remote: connection.remote, peerID: connection.peer,
                    isDialedHere: connection.isDialedHere,
                    message: message))
            drop(connection, goodbye)
        }

        private func drop(_ connection: PeerConnection, _ code: Goodbye.Code) {
            if let dial = connection.dial { ended(dial, saying: code) }
            connection.end(nil, saying: Goodbye(code: code))
        }

        /// Cleans up after a connection that has ended. Its socket may stay open a little longer.
        func ended(_ connection: PeerConnection, wasConnected: Bool, reason: String?) {
            leaveAdmission(connection)
            if let dial = connection.dial { ended(dial, saying: connection.goodbye?.code) }
            guard wasConnected, let peer = connection.peer else { return }
            if let key = connection.keyID {
                for id in [key, key ^ SealedDatagrams.bundleBit] where byKey[id] === connection { byKey[id] = nil }
            }
            if reportedConnections[peer] === connection { reportedConnections[peer] = nil }
            _ = routes.withLock { $0.connections.removeValue(forKey: connection.address) }
            plan.disconnected(peer, lasted: now - connection.connectedAt, connection.goodbye?.code, now)
            planDials()
            count { $0.disconnectedCount += 1 }
            observer?.disconnected(connection.address, reason: reason)
        }

        /// Forgets a connection whose socket has closed.
        func closed(_ connection: PeerConnection) { connections[connection.number] = nil }

        func refused(_ refusal: UDPRefusal) { report.refused(refusal) }

        func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {
            observer?.received(bytes, on: lane, from: address)
        }

        func received(datagrams: [[UInt8]], from address: LinkAddress) {
            observer?.received(datagrams: datagrams, from: address)
        }

        func received(datagram: UnsafeRawBufferPointer, from source: SocketAddress) {
            guard let key = SealedDatagrams.keyID(of: datagram), let connection = byKey[key] else {
                return count { $0.datagramsForeign += 1 }
            }
            connection.receive(datagram: datagram, from: source)
        }

        func writable(_ address: LinkAddress) { observer?.writable(address) }

        /// Replaces the set of guests.
        func admit(guests: Set<PeerID>) {
            guard guests != self.guests else { return }
            self.guests = guests
            trustChanged(isFirst: false)
        }

        /// Applies a change of the trusted peers or guests.
        /// - Parameter isFirst: True for the first list of the stream. If it only repeats the list at opening, it is
        ///   ignored. Otherwise the link would dial peers again that have just answered that they don't trust it.
        func trustChanged(isFirst: Bool) {
            let admitted = updateAdmittedPeers()
            guard !isClosing, !isFirst || admitted != plan.trusted else { return }
            let affected = connections.values.sorted { $0.number < $1.number }.filter { connection in
                connection.peer.map { $0 != configuration.identity.peerID } ?? false
            }
            // With a session ticket of the old TLS context, an unpaired peer could skip the certificate check.
            if let renewed = try? TLSPolicy(configuration.identity, protocols: [TLSPolicy.session]) { policy = renewed }
            plan.trust(admitted, now)
            for connection in affected { reevaluate(connection) }
            planDials()
        }

        /// Ends a connection if its peer is no longer admitted, or has changed between trusted peer and guest. Such a
        /// peer connects again, because `isGuest` can't change during a connection.
        private func reevaluate(_ connection: PeerConnection) {
            guard let peer = connection.peer else { return }
            if !isAdmitted(peer) {
                replacedStartIDs[peer] = nil
                connection.end("the peer is no longer trusted", saying: Goodbye(code: .unpaired))
            } else if connection.phase == .connected, connection.isGuest == isTrusted(peer) {
                connection.end(nil, saying: nil)
            }
        }

        func releaseObserver() { observer = nil }
    }
#endif
