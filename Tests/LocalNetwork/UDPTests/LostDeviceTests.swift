#if UDP
    import Foundation
    import MeshBase
    import MeshDelivery
    import MeshEngine
    import MeshIdentity
    import MeshLocalNetworkLab
    import MeshSession
    import MeshStorage
    import MeshTestSupport
    import MeshTransport
    import Testing

    @testable import MeshSecurity
    @testable import MeshUDPTransport

    /// A lost device, over real sockets: the statement, the user's tap and the connections that end by it.
    @MainActor @Suite struct LostDeviceTests {
        private let network = InMemoryNetwork()
        private let sessionID = UUID()

        @Test func `a tap removes a lost device from the session and from every own device`() async throws {
            let devices = try makeDevices()
            let (phone, tablet, watch) = (devices[0], devices[1], devices[2])
            for device in devices { try await device.launch(network, sessionID) }
            try await eventually("one group of three") { devices.allSatisfy { $0.members.count == 3 } }

            // The tablet is off while the user revokes the watch on the phone.
            await tablet.close()
            try phone.trusted.revoke(watch.id)
            try await eventually("the watch's rejection") { !phone.reaches(watch) }
            #expect(phone.transport?.capabilities.extras.contains(.revocation) == true)
            await phone.close()
            try await phone.launch(network, sessionID)
            try await tablet.launch(network, sessionID)
            try await eventually("the report") { !tablet.trusted.lossReports.isEmpty }
            try await eventually("the watch at the tablet") { tablet.reaches(watch) }
            #expect(tablet.trusted.lossReports.map(\.reporter.id) == [phone.id])
            try await eventually("the answer") { !phone.trusted.ledger.hasUnacknowledgedStatements(for: tablet.id) }

            // The watch makes a false report. Nothing happens without a tap.
            try watch.trusted.revoke(phone.id)
            try await eventually("the lie") { tablet.trusted.lossReports.count == 2 }
            #expect(tablet.trusted.peers.count == 2 && tablet.reaches(phone))
            let names = [phone, tablet, watch].map(\.id.description)
            #expect(tablet.members == names.sorted(), "phone, tablet, watch: \(names)")

            let report = try #require(tablet.trusted.lossReports.first { $0.reporter.id == phone.id })
            try tablet.trusted.confirm(report)
            #expect(tablet.trusted.lossReports.isEmpty && tablet.trusted.contains(phone.id))
            try await eventually("two members") {
                phone.members == phone.both(tablet) && tablet.members == phone.both(tablet)
            }
            #expect(!tablet.reaches(watch) && tablet.trusted.isRevoked(watch.id))
            for device in devices { await device.close() }
        }

        @Test func `an administrator's report needs no tap, and a revoked peer can't be a guest`() async throws {
            let devices = try makeDevices(isAdministrator: true)
            let (phone, tablet, watch) = (devices[0], devices[1], devices[2])
            for device in devices { try await device.launch(network, sessionID) }
            try await eventually("one group of three") { devices.allSatisfy { $0.members.count == 3 } }
            try phone.trusted.revoke(watch.id)
            try await eventually("the tablet without the watch") {
                !tablet.reaches(watch) && tablet.trusted.isRevoked(watch.id)
            }
            try await eventually("two members") {
                phone.members == phone.both(tablet) && tablet.members == phone.both(tablet)
            }
            // A liar names the watch as a guest.
            for device in [phone, tablet] {
                device.transport?.admitGuests([watch.id.description], toSession: UUID(), featureID: "taps")
            }
            try await Task.sleep(for: .milliseconds(300))
            #expect(!phone.reaches(watch) && !tablet.reaches(watch))
            for device in devices { await device.close() }
        }

        private func makeDevices(isAdministrator: Bool = false) throws -> [OwnDevice] {
            let devices = (0..<3).map { _ in OwnDevice() }
            for device in devices {
                for other in devices where other !== device {
                    try device.trusted.trust(
                        TrustedPeer(
                            id: other.id, name: "test", isOwn: true,
                            isAdministrator: isAdministrator && other === devices[0]))
                }
            }
            return devices
        }
    }

    /// Waits on the main actor, which the devices use.
    @MainActor private func eventually(_ expectation: String, _ condition: () -> Bool) async throws {
        let end = ContinuousClock.now + patience
        while !condition() {
            guard ContinuousClock.now < end else {
                throw WaitTimedOut(description: "timed out waiting for \(expectation)")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }

    @MainActor private final class OwnDevice {
        private typealias Session = SyncedSession<[Int], Int, TapsReducer, AcceptingConflictPolicy<[Int], Int>>

        let identity = PeerIdentity()
        let trusted = TrustedPeers()
        /// Without its wrapper, which an app may release.
        private(set) var transport: LinkTransport?
        private var session: Session?
        private let store = MemoryStore()

        nonisolated var id: PeerID { identity.peerID }
        var members: [String] { session?.memberIDs ?? [] }

        func launch(_ network: InMemoryNetwork, _ sessionID: UUID) async throws {
            let transport = try UDPSessionSyncTransport(
                configuration: UDPLinkConfiguration(
                    identity: identity, trustedPeers: trusted, discovery: network.makeDiscovery(),
                    address: "127.0.0.1")
            ).delivery
            let session = try await Session.open(
                sessionID: sessionID, featureID: "taps", transport: transport, store: store, initialState: [Int](),
                reducer: TapsReducer(), conflictPolicy: AcceptingConflictPolicy())
            session.start()
            (self.transport, self.session) = (transport, session)
        }

        func close() async {
            session?.stop()
            await transport?.close()
            (transport, session) = (nil, nil)
        }

        func reaches(_ other: OwnDevice) -> Bool {
            guard let peer = transport?.knownPeers.first(where: { $0.id == other.id.description }) else { return false }
            return transport?.health(of: peer) == .reachable
        }

        func both(_ other: OwnDevice) -> [String] { [id, other.id].map(\.description).sorted() }
    }

    private struct TapsReducer: SessionSyncReducer {
        func reduce(state: inout [Int], event: Int, context: SessionEventContext) { state.append(event) }
    }
#endif
