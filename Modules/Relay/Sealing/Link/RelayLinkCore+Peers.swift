#if MQTT || WebSocket
    import MeshBase
    import MeshSecurity
    import MeshTransport

    // Key agreement between two present peers, and detection of lost connections.
    extension RelayLinkCore {
        /// The first byte of the plaintext in a live packet.
        enum Control: UInt8 {
            case data = 0
            case probe = 1
            case answer = 2
            case leave = 3
        }

        mutating func presence(_ presence: RelayPresence, of id: PeerID, _ now: Duration) {
            guard let peer = peers[id] else { return }
            guard let key = peer.key ?? PeerKey(presence.key, of: id) else {
                statistics.forged += 1
                return reject(id, "its presence doesn't match its identity", now)
            }
            let isNews = presence.isHere && presence != peer.presence
            update(id) {
                $0.presence = presence
                if isNews { $0.backoff.reset() }
                if !presence.isHere { ($0.attemptDue, $0.attempt) = (nil, nil) }
            }
            learn(key, of: id)
            if peer.live != nil {
                // A peer with a new connection sends a hello. A peer that has disconnected doesn't answer the probe.
                if peer.presence != nil, isNews || !presence.isHere { probe(id, now) }
            } else if isNews, peer.attempt?.answered == nil {
                sendHello(id, now)
            }
        }

        /// Stores the peer's key, which makes the peer addressable.
        mutating func learn(_ key: PeerKey, of id: PeerID) {
            guard peers[id]?.key == nil else { return }
            update(id) { $0.key = key }
            if peers[id]?.isGuest == false { direct(.found(id)) }
        }

        /// Sends a hello with fresh keys. Repeats it with backoff while the peer is present but doesn't answer.
        mutating func sendHello(_ id: PeerID, answering answeredKey: [UInt8]? = nil, _ now: Duration) {
            guard isConnected, let peer = peers[id], let key = peer.key else { return }
            let attempt = peer.attempt ?? LiveSeal()
            let hello = Hello(key: attempt.publicKey, answeredKey: answeredKey ?? attempt.answered)
            attempt.answered = hello.answeredKey
            update(id) {
                $0.attempt = attempt
                $0.attemptDue = $0.isHere && $0.live == nil ? now + $0.backoff.next() : nil
            }
            publish(hello, to: key)
        }

        private mutating func publish(_ hello: Hello, to key: PeerKey) {
            guard let bytes = try? hello.sealed(from: own, to: key) else { return }
            direct(
                .publish(
                    RelayMessage(
                        topic: RelayTopic.hello(to: key.id, from: own.id).name, bytes: bytes,
                        expirySeconds: Self.helloExpirySeconds)))
        }

        mutating func hello(_ bytes: [UInt8], from id: PeerID, _ now: Duration) {
            guard peers[id] != nil else { return }
            let (hello, key): (Hello, PeerKey)
            do throws(SealError) {
                (hello, key) = try Hello.open(bytes, from: id, to: own)
            } catch {
                statistics.forged += 1
                return reject(id, "can't open its hello: \(error)", now)
            }
            learn(key, of: id)
            guard let answeredKey = hello.answeredKey else { return sendHello(id, answering: hello.key, now) }
            // An answer to an old key doesn't prove that the peer is present now.
            guard let attempt = peers[id]?.attempt, attempt.publicKey == answeredKey else {
                statistics.replayed += 1
                return
            }
            if attempt.answered != hello.key { publish(Hello(key: attempt.publicKey, answeredKey: hello.key), to: key) }
            update(id) { ($0.attempt, $0.attemptDue) = (nil, nil) }
            do throws(SealError) {
                try attempt.agree(with: hello.key, own: own.id, peer: id)
            } catch {
                return reject(id, "key agreement failed: \(error)", now)
            }
            end(id, reason: nil)
            update(id) {
                $0.live = attempt
                ($0.lastReceivedAt, $0.deadline) = (now, nil)
                $0.backoff.reset()
            }
            direct(peers[id]?.isGuest == true ? .connectedAsGuest(id) : .connected(id))
        }

        /// Asks the peer for an answer within `answerTime`.
        mutating func probe(_ id: PeerID, _ now: Duration) {
            guard peers[id]?.deadline == nil else { return }
            let deadline = now + answerTime
            update(id) { $0.deadline = deadline }
            sendControl(.probe, to: id)
        }

        mutating func sendControl(_ control: Control, to id: PeerID) {
            guard isConnected, let sealed = try? peers[id]?.live?.seal([control.rawValue]) else { return }
            direct(.publish(datagram(sealed, to: id)))
        }

        func datagram(_ sealed: [UInt8], to id: PeerID) -> RelayMessage {
            let topic = peers[id]?.datagramTopic ?? RelayTopic.datagram(to: id, from: own.id).name
            return RelayMessage(topic: topic, bytes: sealed, isAcknowledged: false)
        }

        mutating func end(_ id: PeerID, reason: String?) {
            guard peers[id]?.live != nil else { return }
            update(id) { ($0.live, $0.deadline) = (nil, nil) }
            direct(.disconnected(id, reason: reason))
        }

        /// Ends the connection and notifies the peer. A new connection may follow.
        mutating func disconnect(_ id: PeerID) {
            guard peers[id]?.live != nil else { return }
            sendControl(.leave, to: id)
            end(id, reason: nil)
        }
    }
#endif
