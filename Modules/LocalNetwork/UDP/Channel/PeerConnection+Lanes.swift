#if UDP
    import MeshBase
    import MeshFoundation
    import MeshSecurity
    import MeshTransport
    import NIOCore

    // The part of a connection after both sides have sent their hello.
    extension PeerConnection {
        /// The facts that decide between two connections to one peer.
        var contender: Contender? { hello.map { Contender(startID: $0.startID, isDialedHere: isDialedHere) } }

        /// The key ID by which the hub assigns datagrams to this connection.
        var keyID: UInt64? { opener?.keyID }

        /// Derives the keys and opens the lanes. The hub reports the connection to the observer right after.
        /// - Throws: `SealError` if the other side's public key is invalid.
        func begin(as address: LinkAddress) throws(SealError) {
            guard phase == .awaitingHello, let peer, let hello, let agreement = agreement.take() else {
                throw .malformed
            }
            let sealed = try agreement.agree(
                with: hello.publicKey, local: hub.configuration.identity.peerID, remote: peer, isInitiator: isDialedHere
            )
            let bounds = hub.configuration.bounds
            let times = hub.configuration.times
            outbox = Locked(Outbox(bounds))
            let sealer = sealed.sealer
            let opener = sealed.opener
            self.sealer = consume sealer
            self.opener = consume opener
            self.address = address
            phase = .connected
            connectedAt = hub.now
            heartbeat = Heartbeat(
                beat: times.heartbeat, missedMax: bounds.missedHeartbeatsMax, isPatient: hello.isPatient,
                now: connectedAt)
            path = DatagramPath(beat: times.heartbeat, missedMax: bounds.missedHeartbeatsMax, now: connectedAt)
            route = DatagramRoute(remote: remoteAddress, port: hello.datagramPort)
        }

        /// Does everything that is due, and schedules the next call.
        func tick() {
            guard phase == .connected, let heartbeat else { return }
            let now = hub.now
            if let reason = heartbeat.death(now) { return end(reason, saying: nil) }
            if self.heartbeat?.tick(now) == true { sendRecord(.ping) }
            if path?.tick(now) == true, let datagramAddress = route?.address,
                let probe = probe()
            {
                hub.datagrams?.write([probe], to: datagramAddress)
            }
            updateDatagramPath()
            scheduleTick()
        }

        /// Returns a sealed datagram without content.
        private func probe() -> ByteBuffer? {
            guard var sealer = sealer.take() else { return nil }
            let packet = DatagramBundle.seal([], isBundle: false, with: &sealer)
            self.sealer = consume sealer
            return packet
        }

        /// Pings the peer and shortens the deadline: another connection to the same peer suggests that this one is
        /// dead.
        func checkLiveness() {
            guard phase == .connected else { return }
            let times = hub.configuration.times
            heartbeat?.requireSign(by: hub.now + times.heartbeat * hub.bounds.missedHeartbeatsMax)
            sendRecord(.ping)
            scheduleTick()
        }

        /// Sets the timer to the next time at which something is due.
        func scheduleTick() {
            guard phase == .connected, let path, let heartbeat else { return }
            let next = min(path.probeAt ?? heartbeat.dueAt, heartbeat.dueAt)
            timer?.cancel()
            timer = hub.after(max(next - hub.now, .milliseconds(1))) { [weak self] in self?.tick() }
        }

        /// Sends datagrams by UDP if the peer receives them there, and over the stream otherwise.
        func updateDatagramPath() {
            let usesDatagrams = path?.isProven == true && route?.address != nil && hub.datagrams != nil
            outbox?.withLock { $0.usesDatagrams = usesDatagrams }
        }

        /// Processes a packet with this connection's key ID.
        func receive(datagram packet: UnsafeRawBufferPointer, from source: SocketAddress) {
            guard phase == .connected else { return }
            let next = opener?.nextCounter ?? 0
            guard let opened = open(packet) else { return }
            route?.opened(from: source, isNewest: (opener?.nextCounter ?? 0) > next)
            if path?.noteOpened(hub.now) == true { sendRecord(.datagramsReceived) }
            guard !opened.plaintext.isEmpty else { return }
            opened.plaintext.withUnsafeBytes { plaintext in
                if opened.isBundle { return receivedBundle(plaintext) }
                hub.count { $0.datagramsReceived += 1 }
                hub.received(plaintext, on: .datagram, from: address)
            }
        }

        private func receivedBundle(_ plaintext: UnsafeRawBufferPointer) {
            var messages: [[UInt8]] = []
            let isWhole = DatagramBundle.read(plaintext) { messages.append([UInt8]($0)) }
            hub.count { $0.datagramsReceived += UInt64(messages.count) }
            if !isWhole { hub.count { $0.datagramsRefused += 1 } }
            hub.received(datagrams: messages, from: address)
        }

        private func open(_ packet: UnsafeRawBufferPointer) -> OpenedDatagram? {
            do throws(SealError) {
                return try opener?.openPacket(packet)
            } catch {
                hub.count { $0.datagramsRefused += 1 }
                return nil
            }
        }
    }

    // MARK: - Sending

    extension PeerConnection {
        /// Queues a packet. May be called on any thread once the connection was reported to the observer.
        /// - Throws: `full` or `unreachable`.
        func send(_ bytes: [UInt8], on lane: LinkLane) throws(LinkError) {
            guard let outbox else { throw LinkError(.unreachable) }
            switch outbox.withLock({ $0.enqueue(bytes, on: lane) }) {
            case .accepted(wakes: true): hub.loop.execute { self.flush() }
            case .accepted(wakes: false): break
            case .full: throw LinkError(.full)
            case .closed: throw LinkError(.unreachable)
            }
        }

        func sendRecord(_ kind: Record.Kind) {
            _ = outbox?.withLock { $0.enqueue(kind) }
            flush()
        }

        /// Passes all queued packets to the system.
        func flush() {
            guard let batch = outbox?.withLock({ $0.takeBatch() }) else { return }
            if batch.fallbackDropped > 0 { hub.count { $0.fallbackDropped += batch.fallbackDropped } }
            if !batch.datagrams.isEmpty { flush(batch.datagrams) }
            guard batch.stream.readableBytes > 0 else { return }
            heartbeat?.noteSent(hub.now)
            if batch.fallbackCount > 0 { hub.count { $0.fallbackSent += UInt64(batch.fallbackCount) } }
            channel.writeAndFlush(batch.stream).assumeIsolated().whenComplete { _ in
                self.wrote(batch.stream, datagramCount: 0)
            }
        }

        private func flush(_ messages: [[UInt8]]) {
            hub.count { $0.datagramsSent += UInt64(messages.count) }
            if path?.noteSent(hub.now) == true { scheduleTick() }
            guard let datagrams = hub.datagrams, let datagramAddress = route?.address, let packets = seal(messages),
                !packets.isEmpty
            else { return wrote(ByteBuffer(), datagramCount: messages.count) }
            datagrams.write(packets, to: datagramAddress) { self.wrote(ByteBuffer(), datagramCount: messages.count) }
        }

        private func seal(_ messages: [[UInt8]]) -> [ByteBuffer]? {
            guard var sealer = sealer.take() else { return nil }
            let packets = DatagramBundle.seal(messages, bundles: hello?.acceptsBundles == true, with: &sealer)
            self.sealer = consume sealer
            return packets
        }

        private func wrote(_ stream: ByteBuffer, datagramCount: Int) {
            guard let (hasSpace, hasMore) = outbox?.withLock({ $0.wrote(stream, datagramCount: datagramCount) }) else {
                return
            }
            if hasSpace, phase == .connected { hub.writable(address) }
            if hasMore { flush() }
            sendPendingGoodbye()
        }
    }

    // MARK: - Closing

    extension PeerConnection {
        /// Ends the connection.
        /// - Parameters:
        ///   - reason: The error; nil for an orderly end.
        ///   - goodbye: The goodbye to send after everything accepted; nil to close at once.
        func end(_ reason: String?, saying goodbye: Goodbye?) {
            guard phase != .ended else { return }
            let wasConnected = phase == .connected
            phase = .ended
            timer?.cancel()
            outbox?.withLock { $0.close() }
            hub.ended(self, wasConnected: wasConnected, reason: reason)
            guard let goodbye else { return abort() }
            pendingGoodbye = goodbye
            timer = hub.after(hub.configuration.times.closing) { [weak self] in self?.abort() }
            flush()
            sendPendingGoodbye()
        }

        /// Closes the connection without waiting for anything.
        func abort() {
            pendingGoodbye = nil
            timer?.cancel()
            gate?.abort()
        }

        private func sendPendingGoodbye() {
            guard let goodbye = pendingGoodbye, outbox?.withLock({ $0.isEmpty }) ?? true else { return }
            pendingGoodbye = nil
            var buffer = channel.allocator.buffer(capacity: 64)
            buffer.write(goodbye)
            channel.writeAndFlush(buffer, promise: nil)
            channel.close(mode: .all, promise: nil)
        }
    }

    extension Goodbye {
        /// The refusal that this goodbye means if it arrives before the peer's hello.
        var refusal: UDPRefusal.Code {
            switch code {
            case .unsupportedVersion: .unsupportedVersion
            case .clonedIdentity: .clonedIdentity
            case .unpaired: .unpaired
            case .protocolError: .protocolError
            case .closing, .duplicate: .refusedByPeer
            }
        }
    }
#endif
