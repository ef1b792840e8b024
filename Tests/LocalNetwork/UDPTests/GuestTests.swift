#if UDP
    import Foundation
    import MeshBase
    import MeshConnection
    import MeshDiscovery
    import MeshEngine
    import MeshFileTransfer
    import MeshIdentity
    import MeshLocalNetworkLab
    import MeshRequests
    import MeshSecurity
    import MeshSession
    import MeshTestSupport
    import MeshTransport
    import Testing

    @testable import MeshUDPTransport

    private let runID = UUID(uuid: (0x5E, 0x55, 0x10, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 7))
    private let other = UUID(uuid: (0x5E, 0x55, 0x10, 0, 0, 0, 0x80, 0, 0x80, 0, 0, 0, 0, 0, 0, 8))

    /// Peers that a third peer has introduced to each other.
    @MainActor @Suite struct GuestTests {
        /// The phone is paired with the watch and with the tablet. These two aren't paired with each other.
        struct Trio {
            let network = InMemoryNetwork()
            let phone: Device
            let watch: Device
            let tablet: Device

            @MainActor init() throws {
                (phone, watch, tablet) = (try Device(network), try Device(network), try Device(network))
                for one in [watch, tablet] {
                    try phone.trust(one)
                    try one.trust(phone)
                }
                for device in all { try device.start() }
            }

            @MainActor var all: [Device] { [phone, watch, tablet] }

            /// Waits until the phone is connected to both.
            @MainActor func meet() async throws {
                try await eventually("the phone with both") {
                    phone.reaches(watch) && phone.reaches(tablet) && watch.reaches(phone) && tablet.reaches(phone)
                }
            }

            /// Admits watch and tablet as guests of each other.
            @MainActor func introduce() async throws {
                watch.admit([tablet, phone])
                tablet.admit([watch, phone])
                try await eventually("watch and tablet") { watch.reaches(tablet) && tablet.reaches(watch) }
            }

            @MainActor func close() async { for device in all { await device.transport.close() } }
        }

        @Test("Two peers introduced by a third connect over TLS and exchange only that session's messages")
        func introduced() async throws {
            let trio = try Trio()
            let (phone, watch, tablet) = (trio.phone, trio.watch, trio.tablet)
            try await trio.meet()
            #expect(!watch.knows(tablet) && !tablet.knows(watch))
            try await trio.introduce()
            #expect(watch.trusted.peers.map(\.id) == [phone.id])
            #expect(tablet.trusted.peers.map(\.id) == [phone.id])
            for sender in trio.all { try await sender.sendEverything() }
            for (sender, receiver) in [(watch, tablet), (tablet, watch), (phone, watch), (phone, tablet)] {
                let isGuest = sender !== phone
                let expected = isGuest ? ["run 1", "run 9"] : ["run 1", "score 2", "run 3", "run 9"]
                try await eventually("the last of \(sender.id)") { receiver.received(from: sender).contains("run 9") }
                #expect(receiver.received(from: sender) == expected)
            }
            // Snapshots and requests for them have separate lanes.
            try await eventually("snapshots") {
                watch.snapshots(from: tablet).contains("run 6") && tablet.snapshots(from: watch).contains("run 6")
                    && watch.snapshots(from: phone).count == 3 && watch.requests(from: phone).count == 2
                    && watch.requests(from: tablet).count == 1 && tablet.requests(from: watch).count == 1
            }
            #expect(watch.snapshots(from: tablet) == ["run 6"])
            #expect(tablet.snapshots(from: watch) == ["run 6"])
            #expect(watch.requests(from: tablet) == [runID])
            await trio.close()
        }

        /// - Parameter isTrustedThere: true if the tablet is paired with the watch, which knows it only as a guest. Then the
        ///   tablet's side doesn't hold back its messages.
        @Test(
            "No request or file passes between guests, whichever side regards the other as a guest",
            arguments: [true, false])
        func features(isTrustedThere: Bool) async throws {
            let trio = try Trio()
            let (phone, watch, tablet) = (trio.phone, trio.watch, trio.tablet)
            if isTrustedThere { try tablet.trust(watch) }
            try await trio.meet()
            try await trio.introduce()
            let answered = Locked<[String]>([])
            watch.requests.register(Greet.self) { request in
                answered.withLock { $0.append(request.name) }
                return request.name
            }
            let files = try watch.makeFiles()
            var senders: [Files] = []
            for (device, name) in [(tablet, "tablet"), (phone, "phone")] {
                let peer = watch.transport.localPeer
                let own = try device.makeFiles()
                senders.append(own)
                let transfer = try await own.transfers.transferFile(device.makeFile(name), to: peer)
                if device === phone {
                    #expect(try await device.requests.send(Greet(name: name), to: peer) == name)
                    try await transfer.waitForCompletion()
                } else {
                    await #expect(throws: (any Error).self) {
                        try await device.requests.send(
                            Greet(name: name), retryPolicy: RetryPolicy(maxAttempts: 1, timeout: .seconds(2)), to: peer)
                    }
                }
            }
            #expect(answered.withLock { $0 } == ["phone"])
            #expect(files.names.withLock { $0 } == ["phone.txt"])
            #expect(senders.first?.transfers.outstandingFileTransfers.count == 1)
            // Messages of the shared session pass all the time.
            try await tablet.send("run", 1, runID)
            try await eventually("the session") { watch.received(from: tablet) == ["run 1"] }
            await trio.close()
        }

        @Test("A former guest is disconnected and not admitted, and comes back when it is a guest again")
        func removed() async throws {
            let trio = try Trio()
            let (watch, tablet) = (trio.watch, trio.tablet)
            try await trio.meet()
            try await trio.introduce()
            watch.admit([])
            try await eventually("the end") { !watch.knows(tablet) && !tablet.reaches(watch) }
            // The tablet would still admit the watch.
            let refusals = watch.transport.link.statistics.refusals[.unknownPeer, default: 0]
            tablet.admit([])
            tablet.admit([watch])
            try await eventually("a refusal") {
                watch.transport.link.statistics.refusals[.unknownPeer, default: 0] > refusals
            }
            #expect(!watch.knows(tablet))
            watch.admit([tablet])
            try await eventually("both again") { watch.reaches(tablet) && tablet.reaches(watch) }
            try await tablet.send("run", 1, runID)
            try await eventually("an event") { watch.received(from: tablet) == ["run 1"] }
            await trio.close()
        }

        @Test("A stranger that isn't a member's guest is rejected")
        func stranger() async throws {
            let trio = try Trio()
            try await trio.meet()
            try await trio.introduce()
            let stranger = try Device(trio.network)
            for device in trio.all { try stranger.trust(device) }
            try stranger.start()
            try await eventually("three refusals") {
                trio.all.allSatisfy { device in
                    device.refusals.contains { $0.code == .unknownPeer && $0.peerID == stranger.id }
                }
            }
            #expect(trio.all.allSatisfy { !$0.knows(stranger) })
            #expect(stranger.transport.knownPeers.isEmpty)
            await stranger.transport.close()
            await trio.close()
        }

        @Test("Pairing lifts a guest's limits; after unpairing, a new introduction admits it within limits")
        func pairing() async throws {
            let trio = try Trio()
            let (watch, tablet) = (trio.watch, trio.tablet)
            try await trio.meet()
            try await trio.introduce()
            try await tablet.send("score", 1, runID)
            try watch.trust(tablet)
            try tablet.trust(watch)
            try await repeatedly("events of another feature") {
                try? await tablet.send("score", 2, runID)
                try? await watch.send("score", 2, runID)
            } until: {
                watch.received(from: tablet).contains("score 2") && tablet.received(from: watch).contains("score 2")
            }
            // The tablet was a guest when that message was sent.
            #expect(!watch.received(from: tablet).contains("score 1"))
            try watch.trusted.distrust(tablet.id)
            try tablet.trusted.distrust(watch.id)
            try await eventually("the end") { !watch.reaches(tablet) && !tablet.reaches(watch) }
            // Reports of other members don't bring back a peer that the user has unpaired.
            let dials = watch.transport.link.statistics.dialCount
            watch.admit([tablet, trio.phone, watch])
            tablet.admit([watch, trio.phone, tablet])
            try await Task.sleep(for: .milliseconds(1500))
            #expect(!watch.reaches(tablet) && watch.transport.link.statistics.dialCount == dials)
            // The peer may be introduced again.
            for device in [watch, tablet] { device.admit([]) }
            for device in [watch, tablet] { device.admit([watch, tablet]) }
            let limited = Locked<Set<PeerID>>([])
            try await repeatedly("limits on both sides") {
                for (sender, receiver) in [(watch, tablet), (tablet, watch)] where sender.reaches(receiver) {
                    do {
                        try await sender.send("score", 3, runID, mode: .acknowledgement, to: receiver)
                    } catch SessionSyncError.unknownPeer {
                        limited.withLock { _ = $0.insert(sender.id) }
                    } catch {}
                }
            } until: {
                limited.withLock { $0.count == 2 }
            }
            try await watch.send("run", 4, runID)
            try await eventually("an event of the session") { tablet.received(from: watch).contains("run 4") }
            await trio.close()
        }

        @Test("Sessions introduce their members: three devices, two of them not paired, end with one state")
        func sessions() async throws {
            let trio = try Trio()
            let (phone, watch, tablet) = (trio.phone, trio.watch, trio.tablet)
            try await trio.meet()
            let (first, second) = (phone.session(1), watch.session(2))
            first.start()
            second.start()
            try await eventually("a group of two") { first.isMember && second.isMember }
            #expect(!watch.knows(tablet))
            let third = tablet.session(3, joins: true)
            third.start()
            first.invite(tablet.id.description)
            try await eventually("a group of three, all connected") {
                third.isMember
                    && [first, second, third].allSatisfy { $0.viewNumber == first.viewNumber && $0.viewNumber > 0 }
                    && watch.reaches(tablet) && tablet.reaches(watch)
            }
            #expect(watch.trusted.peers.map(\.id) == [phone.id])
            for number in 1...30 { try [first, second, third][number % 3].submit(number) }
            try await eventually("the same, confirmed") {
                [first, second, third].allSatisfy { $0.state.count == 30 && $0.confirmedCount >= 30 }
            }
            #expect(first.state == second.state && second.state == third.state)
            // Without the phone the other two are still connected.
            await phone.transport.close()
            try second.submit(31)
            try third.submit(32)
            try await eventually("taps between the two") { second.state.count == 32 && third.state == second.state }
            // After the session ends they aren't.
            try await second.close()
            try await eventually("the end") { !watch.knows(tablet) }
            await trio.close()
        }
    }

    /// Repeats the action until the condition holds.
    @MainActor private func repeatedly(
        _ expectation: String, _ act: () async -> Void, until condition: () -> Bool
    ) async throws {
        let end = ContinuousClock.now + patience
        while !condition() {
            guard ContinuousClock.now < end else {
                throw WaitTimedOut(description: "timed out waiting for \(expectation)")
            }
            await act()
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    /// Waits on the main actor, which the devices use.
    @MainActor private func eventually(_ expectation: String, _ condition: () -> Bool) async throws {
        try await repeatedly(expectation, {}, until: condition)
    }

    // MARK: - Devices

    private struct Greet: SessionRequest {
        typealias Response = String
        let name: String
    }

    private struct NumbersReducer: SessionSyncReducer {
        func reduce(state: inout [Int], event: Int, context: SessionEventContext) { state.append(event) }
    }

    private typealias NumbersSession = SyncedSession<
        [Int], Int, NumbersReducer, AcceptingConflictPolicy<[Int], Int>
    >

    private struct Files {
        let transfers: FileTransfers
        let names: Locked<[String]>
    }

    @MainActor final class Device {
        private struct Log {
            var envelopes: [(from: String, text: String)] = []
            var snapshots: [(from: String, text: String)] = []
            var requests: [(from: String, session: UUID)] = []
            var refusals: [UDPRefusal] = []
        }

        let identity = PeerIdentity()
        let trusted = TrustedPeers()
        let transport: UDPSessionSyncTransport
        let requests: SessionRequests
        private let connection: TransportConnection
        private let log = Locked(Log())
        private let listeners = OwnedTasks()
        private let folder = FileManager.default.temporaryDirectory.appending(path: "guests-\(UUID().uuidString)")

        fileprivate init(_ network: InMemoryNetwork) throws {
            transport = try UDPSessionSyncTransport(
                configuration: UDPLinkConfiguration(
                    identity: identity, trustedPeers: trusted, discovery: network.makeDiscovery(),
                    address: "127.0.0.1"))
            connection = TransportConnection(transport: transport)
            requests = try SessionRequests(connection: connection)
            let (transport, log) = (transport, log)
            let (envelopes, snapshots) = (transport.receiveEnvelopes(), transport.receiveSnapshots())
            let (wanted, refusals) = (transport.receiveSnapshotRequests(), transport.link.refusals())
            listeners.hold([
                Task {
                    for await envelope in envelopes where envelope.metadata.payloadType == "test" {
                        let (from, place) = (envelope.metadata.sourcePeerID, envelope.metadata.place)
                        log.withLock { $0.envelopes.append((from, place)) }
                    }
                },
                Task {
                    for await snapshot in snapshots where snapshot.metadata.payloadType == "test" {
                        let (from, place) = (snapshot.metadata.sourcePeerID, snapshot.metadata.place)
                        log.withLock { $0.snapshots.append((from, place)) }
                    }
                },
                Task {
                    for await request in wanted {
                        log.withLock { $0.requests.append((request.requester?.id ?? "", request.sessionID)) }
                    }
                },
                Task { for await refusal in refusals { log.withLock { $0.refusals.append(refusal) } } },
            ])
        }

        deinit { try? FileManager.default.removeItem(at: folder) }

        var id: PeerID { identity.peerID }
        var refusals: [UDPRefusal] { log.withLock { $0.refusals } }

        func start() throws { try transport.start() }
        func trust(_ other: Device) throws { try trusted.trust(TrustedPeer(id: other.id, name: "test")) }
        func knows(_ other: Device) -> Bool { transport.knownPeers.contains { $0.id == other.id.description } }
        func reaches(_ other: Device) -> Bool { transport.health(of: other.transport.localPeer) == .reachable }
        func admit(_ others: [Device]) {
            transport.admitGuests(Set(others.map(\.id.description)), toSession: runID, featureID: "run")
        }

        func received(from other: Device) -> [String] {
            log.withLock { $0.envelopes.filter { $0.from == other.id.description }.map(\.text) }
        }
        func snapshots(from other: Device) -> [String] {
            log.withLock { $0.snapshots.filter { $0.from == other.id.description }.map(\.text) }
        }
        func requests(from other: Device) -> [UUID] {
            log.withLock { $0.requests.filter { $0.from == other.id.description }.map(\.session) }
        }

        private func metadata(_ feature: String, _ number: UInt64, _ session: UUID) -> SessionSyncMetadata {
            SessionSyncMetadata(
                sessionID: session, featureID: feature, sourcePeerID: id.description, sequence: number,
                causalTimestamp: Date(), payloadType: "test")
        }

        func send(
            _ feature: String, _ number: UInt64, _ session: UUID, mode: SessionDeliveryMode = .reliableEventually,
            to receiver: Device? = nil
        ) async throws {
            let envelope = SessionSyncEnvelope(metadata: metadata(feature, number, session), payload: [feature])
            try await transport.send(AnySessionSyncEnvelope(envelope), mode: mode, to: receiver?.transport.localPeer)
        }

        func sendSnapshot(_ feature: String, _ number: UInt64, _ session: UUID) async throws {
            let snapshot = SessionSyncSnapshot(
                metadata: metadata(feature, number, session), revision: number, state: [feature],
                peerSequenceVector: [:])
            try await transport.sendSnapshot(AnySessionSyncSnapshot(snapshot), mode: .reliableEventually, to: nil)
        }

        /// Sends to all peers: messages of the session, of another feature and of another session.
        func sendEverything() async throws {
            try await send("run", 1, runID)
            try await send("score", 2, runID)
            try await send("run", 3, other)
            try await sendSnapshot("score", 4, runID)
            try await sendSnapshot("run", 5, other)
            try await sendSnapshot("run", 6, runID)
            try await transport.requestSnapshot(sessionID: other, from: nil)
            try await transport.requestSnapshot(sessionID: runID, from: nil)
            try await send("run", 9, runID)
        }

        fileprivate func session(_ incarnation: UInt32, joins: Bool = false) -> NumbersSession {
            var configuration = SyncedSessionConfiguration<[Int], Int>()
            configuration.incarnation = incarnation
            configuration.waitsForInvitation = joins
            return NumbersSession(
                sessionID: runID, featureID: "run", transport: transport, initialState: [],
                reducer: NumbersReducer(), conflictPolicy: AcceptingConflictPolicy(), configuration: configuration)
        }

        func makeFile(_ name: String) throws -> URL {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let url = folder.appending(path: "\(name).txt")
            try Data(name.utf8).write(to: url)
            return url
        }

        fileprivate func makeFiles() throws -> Files {
            let transfers = try FileTransfers(connection: connection, folder: folder.appending(path: "inbox"))
            let names = Locked<[String]>([])
            transfers.onFileReceived = { file in
                names.withLock { $0.append(file.fileURL.lastPathComponent) }
                try FileManager.default.removeItem(at: file.fileURL)
            }
            return Files(transfers: transfers, names: names)
        }
    }

    extension SessionSyncMetadata {
        fileprivate var place: String { "\(featureID) \(sequence)" }
    }
#endif
