#if MQTT || WebSocket
    import MeshSecurity
    import MeshTransport

    // Sealing and opening packets on the lanes.
    extension RelayLinkCore {
        /// Seals a packet. Throws `LinkError`: `unreachable`, `oversized`.
        mutating func seal(_ packet: LinkPacket, to id: PeerID) throws(LinkError) -> RelayMessage {
            guard let peer = peers[id], let key = peer.key, let limit = limits[packet.lane] else {
                throw LinkError(.unreachable)
            }
            guard packet.lane.isLive || !peer.isGuest else { throw LinkError(.unreachable) }
            guard packet.bytes.count <= limit else { throw LinkError(.oversized) }
            let message: RelayMessage
            switch packet.lane {
            case .datagram:
                guard isConnected, let live = peer.live else { throw LinkError(.unreachable) }
                do throws(SealError) {
                    message = datagram(try live.seal([Control.data.rawValue] + packet.bytes), to: id)
                } catch { throw LinkError(.unreachable, "\(error)") }
            case .latest:
                let name = own.topicName(of: packet.key, for: id)
                let topic = RelayTopic.latest(to: id, from: own.id, key: name).name
                message = try sealKept(packet.bytes, in: topic, isRetained: true, key)
            default:
                message = try sealKept(packet.bytes, in: peer.queueTopic, isRetained: false, key)
            }
            statistics.packetsSent += 1
            return message
        }

        private mutating func sealKept(
            _ bytes: [UInt8], in topic: String, isRetained: Bool, _ key: PeerKey
        ) throws(LinkError) -> RelayMessage {
            do {
                var sealer = try peers[key.id]?.sealer ?? KeptSealer(from: own, to: key)
                let sealed = try sealer.seal(bytes, for: topic)
                update(key.id) { $0.sealer = sealer }
                return RelayMessage(topic: topic, bytes: sealed, isRetained: isRetained)
            } catch { throw LinkError(.unreachable, "\(error)") }
        }

        mutating func received(_ bytes: UnsafeRawBufferPointer, on name: String, _ now: Duration) {
            // An empty message clears a retained one.
            guard let topic = RelayTopic(name), !bytes.isEmpty else { return }
            switch topic {
            case .presence(own.id):
                ownPresence(bytes, now)
            case .presence(let id):
                guard let presence = RelayPresence(bytes) else {
                    statistics.forged += 1
                    return reject(id, "can't decode its presence", now)
                }
                self.presence(presence, of: id, now)
            case .hello(own.id, let id): hello(Array(bytes), from: id, now)
            case .datagram(own.id, let id): datagram(bytes, from: id, now)
            case .queue(own.id, let id): receiveKept(bytes, on: .queue, from: id, name, now)
            case .latest(own.id, let id, _): receiveKept(bytes, on: .latest, from: id, name, now)
            default: return
            }
        }

        private mutating func receiveKept(
            _ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from id: PeerID, _ topic: String, _ now: Duration
        ) {
            guard peers[id]?.isGuest != true else {
                statistics.strangers += 1
                return
            }
            guard bytes.count <= (limits[lane] ?? 0) + KeptSeal.overhead else {
                statistics.forged += 1
                return reject(id, "a message on the lane \(lane.rawValue) is too large: \(bytes.count) bytes", now)
            }
            do throws(SealError) {
                // Opened in place: a copy of the opener would copy its contexts.
                guard let opened = try peers[id]?.opener.open(bytes, from: topic) else {
                    statistics.strangers += 1
                    return
                }
                statistics.packetsReceived += 1
                // Messages sealed earlier may arrive before the sender's presence.
                if peers[id]?.key == nil, let key = KeptSeal.senderKey(of: bytes, from: id) { learn(key, of: id) }
                direct(.received(opened, lane, id))
            } catch .replayed {
                // Relays also repeat messages: retained ones at each subscription, others after a lost connection.
                statistics.replayed += 1
            } catch .exhausted {
                reject(
                    id,
                    "a message on the lane \(lane.rawValue) exceeds the topics or launches that are remembered for its sender",
                    now)
            } catch {
                statistics.forged += 1
                reject(id, "can't open a message on the lane \(lane.rawValue): \(error)", now)
            }
        }

        private mutating func datagram(_ bytes: UnsafeRawBufferPointer, from id: PeerID, _ now: Duration) {
            guard let live = peers[id]?.live else {
                statistics.strangers += 1
                return
            }
            let opened: [UInt8]
            do throws(SealError) {
                opened = try live.open(bytes)
            } catch .replayed {
                statistics.replayed += 1
                return
            } catch {
                statistics.forged += 1
                return
            }
            update(id) { ($0.lastReceivedAt, $0.deadline) = (now, nil) }
            switch opened.first.flatMap({ Control(rawValue: $0) }) {
            case .data:
                statistics.packetsReceived += 1
                direct(.received(Array(opened.dropFirst()), .datagram, id))
            case .probe: sendControl(.answer, to: id)
            case .leave: end(id, reason: nil)
            case .answer, nil: break
            }
        }
    }
#endif
