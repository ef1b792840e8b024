#if MQTT || WebSocket
    import Foundation
    import MeshBase
    import MeshSecurity
    import MeshTransport
    import Testing

    @testable import MeshRelay

    struct RelayLinkTests {
        @Test func `The end of a connection is reported after its beginning, even if it comes during that report`()
            async throws
        {
            let relay = MemoryRelay()
            let identities = [PeerIdentity(), PeerIdentity()]
            let links = try identities.indices.map { index in
                let trusted = TrustedPeers()
                try trusted.trust(TrustedPeer(id: identities[1 - index].peerID, name: "other"))
                return try RelayLink(
                    identity: identities[index], trustedPeers: trusted, lanes: [.datagram: .test],
                    client: MemoryRelayClient(relay), answerTime: .seconds(600))
            }
            let recorders = [CallRecorder(), CallRecorder()]
            recorders[0].whileConnecting.withLock { whileConnecting in
                whileConnecting = { address in
                    let isDone = DispatchSemaphore(value: 0)
                    Thread.detachNewThread {
                        links[0].disconnect(address)
                        isDone.signal()
                    }
                    isDone.wait()
                }
            }
            for (link, ear) in zip(links, recorders) { try link.open(ear) }
            relay.deliver()
            #expect(recorders[0].calls.withLock { $0 } == ["found", "connected", "disconnected"])
            for link in links { await link.close() }
        }
    }

    extension PayloadLimit {
        fileprivate static let test = PayloadLimit(id: "test", bytes: 1000, summary: "A message", source: "chosen")
    }

    private final class CallRecorder: LinkObserver {
        let calls = Locked<[String]>([])
        let whileConnecting = Locked<(@Sendable (LinkAddress) -> Void)?>(nil)

        func found(_ address: LinkAddress, as peerID: String?) { calls.withLock { $0.append("found") } }
        func connected(_ address: LinkAddress, as peerID: String?) {
            whileConnecting.withLock { $0 }?(address)
            calls.withLock { $0.append("connected") }
        }
        func received(_ bytes: UnsafeRawBufferPointer, on lane: LinkLane, from address: LinkAddress) {}
        func writable(_ address: LinkAddress) {}
        func disconnected(_ address: LinkAddress, reason: String?) { calls.withLock { $0.append("disconnected") } }
        func failed(_ reason: String) {}
    }

    /// A relay in memory that delivers on request, on the caller's thread.
    private final class MemoryRelay: Sendable {
        private struct State {
            var retained: [RelayMessage] = []
            var clients: [MemoryRelayClient] = []
            var waiting: [@Sendable () -> Void] = []
        }

        private let state = Locked(State())

        func enter(_ client: MemoryRelayClient) {
            state.withLock { state in
                state.clients.append(client)
                state.waiting.append { client.observer?.connected() }
            }
        }

        func subscribe(_ client: MemoryRelayClient, to topics: [String]) {
            state.withLock { state in
                for message in state.retained where topics.contains(message.topic) {
                    state.waiting.append { client.take(message) }
                }
                state.waiting.append { client.observer?.subscribed() }
            }
        }

        func publish(_ message: RelayMessage) {
            state.withLock { state in
                if message.isRetained {
                    state.retained.removeAll { $0.topic == message.topic }
                    state.retained.append(message)
                }
                for client in state.clients { state.waiting.append { client.take(message) } }
            }
        }

        /// Delivers until no message waits.
        func deliver() {
            while let next = state.withLock({ $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }) { next() }
        }
    }

    private final class MemoryRelayClient: RelayClient {
        private struct State {
            var observer: (any RelayClientObserver)?
            var topics: [String] = []
        }

        let address = "memory"
        private let relay: MemoryRelay
        private let state = Locked(State())

        init(_ relay: MemoryRelay) { self.relay = relay }

        var observer: (any RelayClientObserver)? { state.withLock { $0.observer } }

        func take(_ message: RelayMessage) {
            let topics = state.withLock { $0.topics }
            guard topics.contains(where: { message.topic.hasPrefix($0.hasSuffix("#") ? $0.dropLast() : $0[...]) })
            else {
                return
            }
            message.bytes.withUnsafeBytes { observer?.received($0, on: message.topic) }
        }

        func open(_ observer: any RelayClientObserver) {
            state.withLock { $0.observer = observer }
            _ = observer.nextWill()
            relay.enter(self)
        }
        func subscribe(to topics: [String]) {
            state.withLock { $0.topics += topics }
            relay.subscribe(self, to: topics)
        }
        func unsubscribe(from topics: [String]) {}
        func publish(_ message: RelayMessage) { relay.publish(message) }
        func drop() {}
        func close() async { state.withLock { $0.observer = nil } }
    }
#endif
