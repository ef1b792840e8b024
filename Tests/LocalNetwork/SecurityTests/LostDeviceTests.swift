#if UDP
    import Foundation
    import Testing

    @testable import MeshSecurity

    /// A lost device, and devices that make false reports of a loss.
    @Suite struct LostDeviceTests {
        private static let (phone, tablet, watch, friend) = (
            PeerID.sample(1), PeerID.sample(2), PeerID.sample(3), PeerID.sample(4)
        )
        let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        @Test func `the lost device revokes all others, and nothing happens without a tap`() throws {
            let devices = try Devices([Self.phone, Self.tablet, Self.watch])
            let watch = devices[Self.watch]
            for id in [Self.phone, Self.tablet] { try watch.revoke(id, at: paired + 60) }
            for _ in 0..<3 { try devices.exchange(by: Self.watch) }
            for id in [Self.phone, Self.tablet] {
                #expect(devices[id].peers.count == 2 && devices[id].revoked.isEmpty)
                #expect(devices[id].lossReports.count == 1)
            }
            let report = try #require(devices[Self.phone].lossReports.first)
            #expect("\(report)" == "device 3 reports that device 2 is lost")
            #expect(try devices[Self.phone].dismiss(report))
            try devices.exchange(by: Self.watch, to: Self.phone)
            #expect(devices[Self.phone].lossReports.isEmpty && devices[Self.phone].peers.count == 2)
            // The owner still has the phone. Revoking the thief's device also removes its reports.
            try devices[Self.phone].revoke(Self.watch, at: paired + 90)
            try devices.exchange(by: Self.phone, to: Self.tablet)
            let truth = try #require(devices[Self.tablet].lossReports.last)
            #expect(try devices[Self.tablet].confirm(truth))
            #expect(devices[Self.tablet].lossReports.isEmpty && devices[Self.tablet].isRevoked(Self.watch))
            #expect(devices[Self.tablet].contains(Self.phone))
            try devices.exchange(by: Self.watch, to: Self.tablet)
            #expect(devices[Self.tablet].lossReports.isEmpty, "a revoked reporter doesn't count")
        }

        @Test func `a report takes effect with one tap, survives a relaunch and ends by pairing again`() throws {
            let path = folder.file("tablet")
            var tablet = try TrustedPeers(file: path)
            try tablet.trust(own(Self.phone))
            try tablet.trust(own(Self.watch))
            let phone = TrustedPeers()
            try phone.trust(own(Self.tablet))
            try phone.trust(own(Self.watch))
            try phone.revoke(Self.watch, at: paired + 60)
            #expect(!phone.contains(Self.watch) && phone.isRevoked(Self.watch))
            #expect(phone.revoked.map(\.name) == ["device 3"])
            let notice = phone.ledger.notice(for: Self.tablet, answering: 0)
            try tablet.process(notice, from: Self.phone)
            tablet = try TrustedPeers(file: path)
            #expect(tablet.contains(Self.watch))
            #expect(try tablet.confirm(#require(tablet.lossReports.first)))
            tablet = try TrustedPeers(file: path)
            #expect(!tablet.contains(Self.watch) && tablet.isRevoked(Self.watch) && tablet.lossReports.isEmpty)
            try tablet.trust(own(Self.watch, since: paired + 90))
            #expect(!tablet.isRevoked(Self.watch))
            // The phone repeats its statement, because the answer was lost.
            try tablet.process(notice, from: Self.phone)
            #expect(tablet.lossReports.isEmpty && tablet.contains(Self.watch))
            #expect(try TrustedPeers(file: path).lossReports.isEmpty)
        }

        @Test func `a statement is sent until its receiver answers, also after a relaunch`() throws {
            let path = folder.file("phone")
            var phone = try TrustedPeers(file: path)
            for id in [Self.tablet, Self.watch] { try phone.trust(own(id)) }
            try phone.trust(TrustedPeer(id: Self.friend, name: "friend"))
            #expect(!phone.ledger.hasUnacknowledgedStatements(for: Self.tablet))
            try phone.revoke(Self.watch, at: paired + 60)
            phone = try TrustedPeers(file: path)
            #expect(
                phone.ledger.hasUnacknowledgedStatements(for: Self.tablet)
                    && !phone.ledger.hasUnacknowledgedStatements(for: Self.watch)
                    && !phone.ledger.hasUnacknowledgedStatements(for: Self.friend))
            #expect(phone.ledger.notice(for: Self.friend, answering: 0).statements.isEmpty, "another user's device")
            let number = phone.ledger.notice(for: Self.tablet, answering: 0).number
            // Numbers that were never given, and the answer of another device.
            for (lie, id) in [
                (number + 1, Self.tablet), (number - 1, Self.tablet), (.max, Self.tablet), (number, Self.friend),
            ] {
                let before = phone.ledger
                try phone.process(RevocationNotice(statements: [], answeredNumber: lie, wantsAnswer: false), from: id)
                #expect(phone.ledger == before, "\(lie)")
            }
            try phone.process(
                RevocationNotice(statements: [], answeredNumber: number, wantsAnswer: false), from: Self.tablet)
            phone = try TrustedPeers(file: path)
            #expect(!phone.ledger.hasUnacknowledgedStatements(for: Self.tablet))
            // The tablet may have lost its data.
            try phone.trust(own(Self.tablet))
            #expect(phone.ledger.hasUnacknowledgedStatements(for: Self.tablet))
            try phone.trust(own(Self.watch))
            #expect(
                !phone.ledger.hasUnacknowledgedStatements(for: Self.tablet),
                "a peer that was paired again is no longer reported")
        }

        @Test func `an administrator needs no tap, except about a peer that was paired again since`() throws {
            let tablet = TrustedPeers()
            try tablet.trust(TrustedPeer(id: Self.phone, name: "phone", since: paired, isAdministrator: true))
            #expect(tablet.isOwn(Self.phone.description))
            try tablet.trust(own(Self.watch))
            try tablet.process(notice((Self.watch, 1060)), from: Self.phone)
            #expect(tablet.isRevoked(Self.watch) && tablet.lossReports.isEmpty)
            try tablet.trust(own(Self.watch, since: paired + 90))
            try tablet.process(notice((Self.watch, 1060)), from: Self.phone)
            #expect(tablet.contains(Self.watch) && tablet.lossReports.isEmpty, "seen before")
            try tablet.process(notice((Self.watch, 1070)), from: Self.phone)
            #expect(tablet.contains(Self.watch) && tablet.lossReports.count == 1, "older than the pairing")
            try tablet.process(notice((Self.watch, 1095)), from: Self.phone)
            #expect(tablet.isRevoked(Self.watch))
        }

        @Test func `a fifth administrator, a second revocation and an unknown peer throw`() throws {
            let path = folder.file("peers")
            let peers = try TrustedPeers(file: path)
            for number in 1...4 as ClosedRange<UInt8> {
                try peers.trust(TrustedPeer(id: .sample(number), name: "admin", isAdministrator: true))
            }
            let before = try folder.bytes(of: "peers")
            let fifth = TrustedPeer(id: .sample(5), name: "fifth", isAdministrator: true)
            #expect(caught(SecurityError.self) { try peers.trust(fifth) }?.code == .full)
            #expect(caught(SecurityError.self) { try peers.revoke(.sample(5)) }?.code == .unknownPeer)
            #expect(try folder.bytes(of: "peers") == before)
            try peers.trust(TrustedPeer(id: .sample(1), name: "again", isAdministrator: true))
            try peers.revoke(.sample(1))
            #expect(caught(SecurityError.self) { try peers.revoke(.sample(1)) }?.code == .unknownPeer)
            try peers.trust(fifth)
            #expect(peers.peers.count(where: \.isAdministrator) == TrustedPeers.administratorsMax)
        }

        @Test func `statements by or about strangers, by another user, and about oneself are ignored`() throws {
            let tablet = TrustedPeers()
            try tablet.trust(own(Self.phone))
            try tablet.trust(own(Self.watch))
            try tablet.trust(TrustedPeer(id: Self.friend, name: "friend", since: paired))
            let before = tablet.ledger
            try tablet.process(notice((Self.watch, 5)), from: .sample(9))
            try tablet.process(notice((Self.watch, 5)), from: Self.friend)
            try tablet.process(notice((.sample(9), 5), (Self.tablet, 6), (Self.phone, 7)), from: Self.phone)
            try tablet.process(notice((Self.watch, TrustLedger.numberMax + 1)), from: Self.phone)
            #expect(tablet.ledger == before)
        }

        @Test func `a peer that reports all others fills its own share, and others still have space`() throws {
            let tablet = TrustedPeers()
            let all = (0..<250).map { PeerID(publicKeyDER: [7, UInt8($0)]) }
            for id in [Self.phone, Self.watch] + all { try tablet.trust(own(id)) }
            var number: UInt64 = 0
            func flood(by reporter: PeerID) throws {
                for start in stride(from: 0, to: all.count, by: 50) {
                    number += 100
                    let statements = all[start..<start + 50].enumerated().map { ($1, number + UInt64($0)) }
                    try tablet.process(notice(statements), from: reporter)
                }
            }
            try flood(by: Self.watch)
            #expect(tablet.lossReports.count == TrustedPeers.reportsMax)
            let settled = tablet.ledger
            for _ in 0..<5 { try flood(by: Self.watch) }
            #expect(tablet.ledger == settled, "repeating changes nothing, so nothing is written")
            try tablet.process(notice((Self.watch, 3)), from: Self.phone)
            #expect(tablet.lossReports.last?.description == "device 1 reports that device 3 is lost")
            // Two alternating liars can't get further either.
            for _ in 0..<5 { try flood(by: Self.phone) }
            let shared = tablet.ledger
            for reporter in [Self.watch, Self.phone, Self.watch] { try flood(by: reporter) }
            #expect(tablet.ledger == shared)
            #expect(tablet.lossReports.count == TrustedPeers.reportsMax)
            #expect(tablet.lossReports.contains { $0.peer.id == Self.watch })
            #expect(tablet.revoked.isEmpty && tablet.peers.count == 252)
            try tablet.revoke(Self.watch)
            #expect(tablet.lossReports.allSatisfy { $0.reporter.id == Self.phone })
        }

        @Test func `numbers grow even if the clock goes back and the list is empty again`() throws {
            let phone = TrustedPeers()
            var numbers: [UInt64] = []
            for seconds in [60.0, 60, -1e12, .nan, 70, 1e300] {
                try phone.trust(own(Self.watch))
                try phone.revoke(Self.watch, at: Date(timeIntervalSince1970: seconds))
                numbers.append(phone.ledger.newestNumber)
            }
            #expect(numbers == [60, 61, 62, 63, 70, TrustLedger.numberMax])
        }

        @Test func `of more revoked peers than are remembered the first gives way`() throws {
            let path = folder.file("peers")
            let peers = try TrustedPeers(file: path)
            var ledger = TrustLedger()
            let name = String(repeating: "\"", count: 64)
            let all = (0..<256).map {
                TrustedPeer(id: PeerID(publicKeyDER: [9, 9, UInt8($0)]), name: name, isOwn: true)
            }
            for peer in all { try ledger.trust(peer) }
            for peer in all[..<70] { try ledger.revoke(peer.id, at: Date()) }
            #expect(ledger.revoked.map(\.id) == all[6..<70].map(\.id))
            for peer in all[..<70] where !ledger.revoked.contains(where: { $0.id == peer.id }) {
                try ledger.trust(peer)
            }
            for index in 0..<180 {
                let peer = TrustedPeer(id: PeerID(publicKeyDER: [8, 8, UInt8(index)]), name: name, isOwn: true)
                if ledger.peers.count < 256 { try ledger.trust(peer) }
            }
            for id in ledger.peers.keys {
                ledger.standings[id] = .init(decidedNumber: TrustLedger.numberMax, acknowledged: TrustLedger.numberMax)
            }
            for id in ledger.peers.keys.sorted().prefix(64) {
                ledger.reports.append(.init(reporter: all[100].id, peer: id, number: TrustLedger.numberMax))
            }
            let bytes = try TrustedPeersLayout.encode(ledger)
            #expect(bytes.count <= TrustedPeersLayout.bytesMax, "\(bytes.count) bytes, the largest file there is")
            try folder.write(bytes, to: "peers")
            #expect(try peers.reload())
            #expect(peers.ledger == ledger)
            #expect(RevocationNotice(peers.ledger.notice(for: all[100].id, answering: 0).bytes)?.statements.count == 64)
        }

        @Test func `the file keeps the old format until it needs the new one, and both can be read`() throws {
            let peers = try TrustedPeers(file: folder.file("peers"))
            try peers.trust(TrustedPeer(id: Self.watch, name: "Watch", since: paired, isOwn: true))
            func text() throws -> String { String(decoding: try folder.bytes(of: "peers"), as: UTF8.self) }
            // The format of every earlier version.
            let earlier = """
                sessionmesh-trusted-peers 1 9dad7734b08743e7ce4473a9cf91b9c27d17f5b7a5752caf9cfa6dfc16bb88a1
                [
                  {
                    "id" : "\(Self.watch)",
                    "isOwn" : true,
                    "name" : "Watch",
                    "since" : 1000
                  }
                ]

                """
            #expect(try text() == earlier)
            try peers.trust(TrustedPeer(id: Self.phone, name: "Phone", since: paired, isAdministrator: true))
            #expect(try text().hasPrefix("sessionmesh-trusted-peers 2 "))
            #expect(try TrustedPeers(file: folder.file("peers"))[Self.phone]?.isAdministrator == true)
            try peers.distrust(Self.phone)
            #expect(try text().hasPrefix("sessionmesh-trusted-peers 1 "))
            try peers.trust(own(Self.phone))
            try peers.revoke(Self.watch, at: paired + 60)
            #expect(try text().hasPrefix("sessionmesh-trusted-peers 2 "))
            #expect(try TrustedPeers(file: folder.file("peers")).ledger == peers.ledger)
        }

        @Test func `a notice is read whole or not at all`() throws {
            let notice = notice((Self.watch, 5), (Self.phone, 1 << 40))
            var bytes = notice.bytes
            #expect(bytes.prefix(10) == [1, 1, 0, 0, 0, 0, 0, 0, 0, 9] && bytes.count == 90)
            #expect(Array(bytes[10..<50]) == Self.watch.bytes + [0, 0, 0, 0, 0, 0, 0, 5])
            #expect(RevocationNotice(bytes) == notice)
            for length in 0..<bytes.count where (length - 10) % 40 != 0 {
                #expect(RevocationNotice(Array(bytes[..<length])) == nil, "\(length)")
            }
            #expect(RevocationNotice(bytes + [0]) == nil)
            bytes[0] = 2
            #expect(RevocationNotice(bytes) == nil, "a later version")
            #expect(RevocationNotice(self.notice((Self.watch, 5), (Self.phone, 5)).bytes) == nil, "a number twice")
            #expect(RevocationNotice(self.notice((Self.watch, 0)).bytes) == nil)
            let many = (1...65).map { (PeerID.sample(UInt8($0)), UInt64($0)) }
            #expect(RevocationNotice(self.notice(Array(many.prefix(64))).bytes) != nil)
            #expect(RevocationNotice(self.notice(many).bytes) == nil)
        }

        @Test func `streams have reports and revoked peers`() async throws {
            let tablet = TrustedPeers()
            var reports = tablet.lossReportChanges().makeAsyncIterator()
            var revoked = tablet.revokedPeers().makeAsyncIterator()
            #expect(await reports.next() == [])
            #expect(await revoked.next() == [])
            try tablet.trust(own(Self.phone))
            try tablet.trust(own(Self.watch))
            try tablet.process(notice((Self.watch, 5)), from: Self.phone)
            let report = try #require(await reports.next()?.first)
            #expect(report.reporter.id == Self.phone && report.peer.id == Self.watch)
            try tablet.confirm(report)
            #expect(await reports.next() == [])
            #expect(await revoked.next() == [Self.watch.description])
            #expect(try !tablet.confirm(report) && !tablet.dismiss(report))
            try tablet.trust(own(Self.watch))
            #expect(await revoked.next() == [])
        }

        @Test(arguments: 0..<200 as Range<UInt64>)
        func `no peer's message changes trust without a tap or an administrator`(seed: UInt64) throws {
            var random = SeededNumbers(seed)
            let ids = (0..<8).map { PeerID.sample(UInt8($0)) }
            var ledger = TrustLedger()
            for (index, id) in ids.enumerated() { try ledger.trust(own(id, isOwn: index < 6)) }
            for step in 0..<200 {
                let trusted = Set(ledger.peers.keys)
                let reporter = ids[Int(random.next() % 8)]
                if random.next() % 16 == 0, let report = ledger.reports.first {
                    let isLost = random.next() % 2 == 0
                    let hasWaited = ledger.decide(report, isLost: isLost)
                    #expect(hasWaited)
                    #expect(Set(ledger.peers.keys) == trusted.subtracting(isLost ? [report.peer] : []))
                } else if random.next() % 16 == 0 {
                    try ledger.trust(own(reporter, isOwn: reporter != ids[7]))
                } else {
                    let first = random.next() % 4_000
                    let statements = (0..<random.next() % 5).map { (ids[Int(random.next() % 8)], first + $0 + 1) }
                    ledger.process(notice(statements), from: reporter)
                    #expect(Set(ledger.peers.keys) == trusted, "seed \(seed), step \(step)")
                }
                let isSound =
                    ledger.reports.allSatisfy {
                        ledger.peers[$0.reporter]?.isOwn == true && ledger.peers[$0.peer] != nil
                            && $0.reporter != $0.peer
                    } && ledger.revoked.allSatisfy { ledger.peers[$0.id] == nil }
                    && Set(ledger.revoked.map(\.id)).count == ledger.revoked.count
                    && ledger.standings.keys.allSatisfy { ledger.peers[$0] != nil }
                #expect(isSound, "seed \(seed), step \(step)")
            }
            #expect(try TrustedPeersLayout.decode(TrustedPeersLayout.encode(ledger), from: "") == ledger)
        }

        // MARK: - Parts

        private func notice(_ statements: (PeerID, UInt64)...) -> RevocationNotice { notice(statements) }

        private func notice(_ statements: [(PeerID, UInt64)]) -> RevocationNotice {
            RevocationNotice(
                statements: statements.map { RevocationNotice.Statement(peer: $0, number: $1) }, answeredNumber: 9,
                wantsAnswer: true)
        }

        /// Devices of one user, which are all paired with each other.
        private struct Devices {
            private var lists: [PeerID: TrustedPeers] = [:]

            init(_ ids: [PeerID]) throws {
                for id in ids {
                    let list = TrustedPeers()
                    for other in ids where other != id { try list.trust(own(other)) }
                    lists[id] = list
                }
            }

            subscript(id: PeerID) -> TrustedPeers { lists[id] ?? TrustedPeers() }

            /// Sends all statements of a device to every other one, even to those that it no longer trusts.
            func exchange(by id: PeerID) throws {
                for other in lists.keys.sorted() where other != id { try exchange(by: id, to: other) }
            }

            /// Sends the statements of one device to another. A liar may even report that it has revoked itself.
            func exchange(by id: PeerID, to other: PeerID) throws {
                let statements = self[id].revoked.compactMap { lost in
                    lost.number.map { RevocationNotice.Statement(peer: lost.id, number: $0) }
                }
                let notice = RevocationNotice(statements: statements, answeredNumber: 0, wantsAnswer: true)
                try self[other].process(#require(RevocationNotice(notice.bytes)), from: id)
            }
        }

    }

    private let paired = Date(timeIntervalSince1970: 1000)

    private func own(_ id: PeerID, since: Date = paired, isOwn: Bool = true) -> TrustedPeer {
        let number = (0..<255).first { PeerID.sample($0) == id } ?? 255
        return TrustedPeer(id: id, name: "device \(number)", since: since, isOwn: isOwn)
    }

    /// The generator splitmix64.
    private struct SeededNumbers: RandomNumberGenerator {
        private var state: UInt64

        init(_ seed: UInt64) { state = seed }

        mutating func next() -> UInt64 {
            state &+= 0x9E37_79B9_7F4A_7C15
            var mixed = state
            mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
            mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
            return mixed ^ mixed >> 31
        }
    }
#endif
