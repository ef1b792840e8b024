#if UDP
    import MeshBase
    import MeshDiscovery
    import MeshSecurity
    import Testing

    @testable import MeshUDPTransport

    @Suite struct DialPlanTests {
        static let ids = [PeerIdentity().peerID, PeerIdentity().peerID].sorted()
        static let (lower, higher) = (ids[0], ids[1])

        static func plan(_ local: PeerID, trusting peer: PeerID? = nil, manual: [UDPManualPeer] = []) -> DialPlan {
            var plan = DialPlan(local: local, manualPeers: manual, times: UDPLinkTimes(), seed: 1)
            if let peer { plan.trust([peer], .zero) }
            return plan
        }

        static func service(_ peer: PeerID, _ label: String = "label", start: UInt64 = 1, port: UInt16 = 7000)
            -> FoundService
        {
            let announcement = PeerAdvertisement.announcement(of: peer, label: label, startID: start, port: port)
            return FoundService(
                instance: label, port: port, addresses: [ServiceAddress(ip: .v4(0x0A00_0001), interfaceIndex: 2)],
                attributes: announcement.attributes)
        }

        @Test("The lower ID dials at once, the higher one after a second")
        func order() {
            var low = Self.plan(Self.lower, trusting: Self.higher)
            low.found(Self.service(Self.higher), .zero)
            #expect(low.takeDue(.milliseconds(10)).map(\.target) == [.peer(Self.higher)])
            var high = Self.plan(Self.higher, trusting: Self.lower)
            high.found(Self.service(Self.lower), .zero)
            #expect(high.takeDue(.milliseconds(999)).isEmpty)
            let rounds = high.takeDue(.seconds(1))
            #expect(rounds.map(\.expected) == [Self.lower])
            #expect(rounds.first?.endpoints.map(\.description) == ["10.0.0.1:7000"])
        }

        @Test("Strangers, other versions and pairing peers aren't dialed; peers that become trusted are")
        func hints() {
            var plan = Self.plan(Self.lower)
            plan.found(Self.service(Self.higher), .zero)
            #expect(plan.dueAt == nil)
            plan.trust([Self.higher], .seconds(5))
            #expect(plan.takeDue(.seconds(6)).count == 1)
            for (key, value) in [("v", "2"), ("h", "12345678"), ("p", "1"), ("s", "short")] {
                var plan = Self.plan(Self.lower, trusting: Self.higher)
                var service = Self.service(Self.higher)
                service.attributes.removeAll { $0.key == key }
                service.attributes.append(ServiceAttribute(key, value))
                plan.found(service, .zero)
                #expect(plan.dueAt == nil, "\(key)=\(value)")
            }
        }

        @Test("A failing target is retried less and less often, and soon after the peer restarts or moves")
        func retries() throws {
            var plan = Self.plan(Self.lower, trusting: Self.higher)
            plan.found(Self.service(Self.higher), .zero)
            var (now, longest) = (Duration.seconds(1), Duration.milliseconds(100))
            for _ in 0..<15 {
                let rounds = plan.takeDue(now)
                #expect(rounds.count == 1)
                plan.refused(.peer(Self.higher), nil, now)
                let delay = try #require(plan.dueAt) - now
                #expect(delay <= longest && delay >= longest / 2)
                longest = min(longest * 2, .seconds(30))
                now = try #require(plan.dueAt)
            }
            // A repetition is no news.
            _ = plan.takeDue(now)
            plan.refused(.peer(Self.higher), nil, now)
            let before = plan.dueAt
            plan.found(Self.service(Self.higher), now)
            #expect(plan.dueAt == before)
            for news in [Self.service(Self.higher, start: 2), Self.service(Self.higher, start: 2, port: 7001)] {
                plan.found(news, now)
                #expect(try #require(plan.dueAt) - now <= .milliseconds(10))
                _ = plan.takeDue(now + .seconds(1))
                plan.refused(.peer(Self.higher), nil, now)
            }
        }

        @Test("A connected peer isn't dialed at any address")
        func connected() {
            var plan = Self.plan(
                Self.lower, trusting: Self.higher, manual: [UDPManualPeer(host: "there", port: 1, id: Self.higher)])
            plan.found(Self.service(Self.higher), .zero)
            #expect(plan.takeDue(.seconds(1)).count == 2)
            plan.connected(Self.higher, through: .manual(0), at: nil)
            plan.found(Self.service(Self.higher, start: 9), .seconds(2))
            #expect(plan.dueAt == nil)
            plan.disconnected(Self.higher, lasted: .seconds(9), nil, .seconds(3))
            #expect(plan.takeDue(.seconds(4)).count == 2)
        }

        @Test("A goodbye stops dialing until there is a new reason")
        func goodbyes() throws {
            for code in [Goodbye.Code.closing, .unsupportedVersion, .clonedIdentity, .unpaired] {
                var plan = Self.plan(Self.lower, trusting: Self.higher)
                plan.found(Self.service(Self.higher), .zero)
                _ = plan.takeDue(.seconds(1))
                plan.connected(Self.higher, through: .peer(Self.higher), at: nil)
                plan.disconnected(Self.higher, lasted: .seconds(9), code, .seconds(2))
                #expect(plan.dueAt == nil, "\(code)")
                plan.found(Self.service(Self.higher, "label 2"), .seconds(3))
                #expect(plan.dueAt == nil, "a new label of the same launch after \(code)")
                plan.found(Self.service(Self.higher, start: 2), .seconds(3))
                #expect((plan.dueAt == nil) == (code == .unpaired), "\(code)")
                plan.trust([Self.higher], .seconds(4))
                #expect(plan.dueAt != nil, "\(code)")
            }
            var plan = Self.plan(Self.lower, trusting: Self.higher)
            plan.found(Self.service(Self.higher), .zero)
            _ = plan.takeDue(.seconds(1))
            plan.refused(.peer(Self.higher), .duplicate, .seconds(1))
            #expect(plan.dueAt == .seconds(6))
            // The other connection, which the peer mentioned, has been established.
            plan.connected(Self.higher, through: nil, at: nil)
            #expect(plan.dueAt == nil)
        }

        @Test("A flood of services is forgotten but for the newest 256, and one round tries 16 places at most")
        func bounds() throws {
            var plan = Self.plan(Self.lower, trusting: Self.higher)
            for number in 0..<1000 as Range<UInt16> {
                plan.found(Self.service(Self.higher, "label \(number)", port: 1000 + number), .zero)
            }
            #expect(plan.services.all.count == 256)
            let round = try #require(plan.takeDue(.seconds(1)).first)
            #expect(round.endpoints.count == 16)
            #expect(round.endpoints.allSatisfy { $0.port >= 1744 })
        }

        @Test func `A flood in the name of strangers or of another trusted peer displaces no trusted peer's service`()
            throws
        {
            for flooding in [PeerIdentity().peerID, Self.ids[1]] {
                let trusted = [PeerIdentity().peerID, Self.ids[1]]
                var plan = Self.plan(Self.lower)
                plan.trust(trusted, .zero)
                plan.found(Self.service(trusted[0], "trusted", port: 7000), .zero)
                for number in 0..<1000 as Range<UInt16> {
                    plan.found(Self.service(flooding, "label \(number)", port: 8000 + number), .zero)
                }
                #expect(plan.services.all.count == 256)
                let round = try #require(plan.takeDue(.seconds(2)).first { $0.target == .peer(trusted[0]) })
                #expect(round.endpoints.map(\.port) == [7000])
            }
        }

        @Test("A peer is dialed first at its proven address, however many impostors there are")
        func provenFirst() throws {
            var plan = Self.plan(Self.lower, trusting: Self.higher)
            plan.found(Self.service(Self.higher, port: 7000), .zero)
            let good = try #require(plan.takeDue(.seconds(1)).first?.endpoints.first)
            plan.connected(Self.higher, through: .peer(Self.higher), at: good)
            for number in 0..<100 as Range<UInt16> {
                plan.found(Self.service(Self.higher, "label \(number)", port: 1000 + number), .seconds(2))
            }
            plan.disconnected(Self.higher, lasted: .seconds(9), nil, .seconds(3))
            #expect(plan.takeDue(.seconds(4)).first?.endpoints.first == good)
        }
    }
#endif
