#if UDP
    import Foundation
    import Testing

    @testable import MeshSecurity

    @Suite struct TrustedPeersTests {
        let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        @Test func `A trusted peer stays trusted, in memory and in a file`() throws {
            for peers in [TrustedPeers(), try TrustedPeers(file: folder.file("peers"))] {
                #expect(peers.peers == [] && !peers.contains(.sample(1)))
                let watch = TrustedPeer(id: .sample(1), name: "Watch", since: Date(timeIntervalSince1970: 20.75))
                let phone = TrustedPeer(id: .sample(2), name: "Phone\n\u{202E}", since: Date(timeIntervalSince1970: 10))
                try peers.trust(watch)
                try peers.trust(phone)
                #expect(peers.peers == [phone, watch])
                #expect(peers.contains(.sample(1)) && peers[.sample(1)] == watch && phone.name == "Phone")
                #expect(try !peers.distrust(.sample(3)))
                #expect(try peers.distrust(.sample(2)))
                #expect(peers.peers == [watch])
                let renamed = TrustedPeer(id: .sample(1), name: "Watch 2", since: Date(timeIntervalSince1970: 30))
                try peers.trust(renamed)
                #expect(peers.peers == [renamed])
            }
            #expect(mode(of: folder.file("peers")) == 0o600)
            #expect(folder.names == ["peers", "peers.lock"])
            let found = try TrustedPeers(file: folder.file("peers"))
            #expect(found.peers.map(\.name) == ["Watch 2"] && found.peers.map(\.id) == [.sample(1)])
        }

        @Test func `Any date and any name are stored unchanged`() throws {
            let path = folder.file("peers")
            let peers = try TrustedPeers(file: path)
            for (index, seconds) in [0, -1e9, 1e9 + 0.1, 1e17, .infinity, .nan, -.infinity, 0.999_999].enumerated() {
                let name = String(repeating: "\"\\/\u{1F600}", count: index)
                let peer = TrustedPeer(
                    id: .sample(UInt8(index)), name: name, since: Date(timeIntervalSince1970: seconds))
                try peers.trust(peer)
                #expect(try TrustedPeers(file: path)[peer.id] == peer)
            }
            #expect(try !peers.reload())
        }

        @Test func `A peer is own if it was paired so`() throws {
            let path = folder.file("peers")
            let peers = try TrustedPeers(file: path)
            try peers.trust(TrustedPeer(id: .sample(1), name: "watch", isOwn: true))
            try peers.trust(TrustedPeer(id: .sample(2), name: "friend"))
            let found = try TrustedPeers(file: path)
            #expect(found.isOwn(PeerID.sample(1).description) && !found.isOwn(PeerID.sample(2).description))
            #expect(!found.isOwn("watch") && !found.isOwn(PeerID.sample(3).description))
            let earlier = "{ \"id\": \"\(PeerID.sample(1))\", \"name\": \"watch\", \"since\": 7 }"
            #expect(
                try !JSONDecoder().decode(TrustedPeer.self, from: Data(earlier.utf8)).isOwn, "by an earlier version")
        }

        @Test func `A peer beyond the maximum is rejected and changes nothing`() throws {
            let path = folder.file("peers")
            let peers = try TrustedPeers(file: path)
            // Written at once, because 256 separate writes would each wait for the disk.
            let all = (0..<TrustedPeers.countMax).map { index in
                TrustedPeer(id: PeerID(publicKeyDER: [1, UInt8(index)]), name: String(repeating: "日", count: 21))
            }
            let ledger = TrustLedger(peers: Dictionary(all.map { ($0.id, $0) }) { first, _ in first })
            try folder.write(TrustedPeersLayout.encode(ledger), to: "peers")
            #expect(try peers.reload())
            #expect(peers.peers.count == 256)
            let bytes = try folder.bytes(of: "peers")
            #expect(code { try peers.trust(TrustedPeer(id: .sample(0), name: "one too many")) } == .full)
            #expect(try folder.bytes(of: "peers") == bytes)
            #expect(peers.peers.count == 256 && !peers.contains(.sample(0)))
            try peers.trust(TrustedPeer(id: all[0].id, name: "known"))
            try peers.distrust(all[1].id)
            try peers.trust(TrustedPeer(id: .sample(0), name: "fits now"))
        }

        @Test func `A file that differs by one bit is damaged, and nothing overwrites it`() throws {
            let path = folder.file("peers")
            let peers = try TrustedPeers(file: path)
            try peers.trust(TrustedPeer(id: .sample(1), name: "Watch", since: Date(timeIntervalSince1970: 10)))
            let bytes = try folder.bytes(of: "peers")
            var damaged = (0..<bytes.count).map { Array(bytes[..<$0]) } + [bytes + [10], bytes + bytes]
            for index in 0..<(8 * bytes.count) {
                var flipped = bytes
                flipped[index / 8] ^= 1 << UInt8(index % 8)
                damaged.append(flipped)
            }
            damaged.append([UInt8](repeating: 65, count: 1 << 20))
            for (index, bytes) in damaged.enumerated() {
                try folder.write(bytes, to: "peers")
                let expected: [SecurityError.Code] = [.damaged, .newerVersion]
                #expect(expected.contains(try #require(code { _ = try TrustedPeers(file: path) })), "\(index)")
                guard index % 50 == 0 else { continue }
                #expect(expected.contains(try #require(code { try peers.reload() })))
                #expect(
                    expected.contains(try #require(code { try peers.trust(TrustedPeer(id: .sample(2), name: "")) })))
                #expect(expected.contains(try #require(code { try peers.distrust(.sample(1)) })))
                #expect(try folder.bytes(of: "peers") == bytes)
                #expect(peers.peers.map(\.name) == ["Watch"])
            }
            try folder.write(bytes, to: "peers")
            try peers.trust(TrustedPeer(id: .sample(2), name: "Phone"))
            #expect(peers.peers.count == 2)
        }

        @Test func `A newer version, foreign contents and a file readable by others have distinct errors`() throws {
            let body = Array("[]\n".utf8)
            let encoded = try TrustedPeersLayout.encode(TrustLedger())
            let head = String(decoding: encoded.prefix { $0 != 10 }, as: UTF8.self)
            try folder.write(encoded, to: "empty")
            #expect(try TrustedPeers(file: folder.file("empty")).peers == [])
            try folder.write(Array(head.replacing(" 1 ", with: " 3 ").utf8) + [10] + body, to: "newer")
            #expect(code { _ = try TrustedPeers(file: folder.file("newer")) } == .newerVersion)
            for version in ["0", "-1", "x", "", "99999999999999999999"] {
                try folder.write(Array(head.replacing(" 1 ", with: " \(version) ").utf8) + [10] + body, to: "strange")
                #expect(code { _ = try TrustedPeers(file: folder.file("strange")) } == .damaged, "\(version)")
            }
            chmod(folder.file("empty"), 0o640)
            #expect(code { _ = try TrustedPeers(file: folder.file("empty")) } == .notPrivate)
            #expect(code { _ = try TrustedPeers(file: folder.file("no/peers")) } == .missing)
            #expect(code { _ = try TrustedPeers(file: "") } == .invalidArgument)
        }

        @Test func `Several lists over one file lose none of each other's changes`() throws {
            let path = folder.file("peers")
            let lists = try (0..<4).map { _ in try TrustedPeers(file: path) }
            DispatchQueue.concurrentPerform(iterations: 4) { list in
                for index in 0..<10 {
                    try? lists[list].trust(
                        TrustedPeer(id: PeerID(publicKeyDER: [UInt8(list), UInt8(index)]), name: "\(list) \(index)"))
                }
            }
            #expect(try TrustedPeers(file: path).peers.count == 40)
            for list in lists {
                try list.reload()
                #expect(list.peers.count == 40)
            }
        }

        @Test func `Streams report the newest list, also if another process changed it or the file is gone`()
            async throws
        {
            let path = folder.file("peers")
            let (list, other) = (try TrustedPeers(file: path), try TrustedPeers(file: path))
            var changes = list.changes().makeAsyncIterator()
            #expect(await changes.next() == [])
            let (watch, phone) = (TrustedPeer(id: .sample(1), name: "W"), TrustedPeer(id: .sample(2), name: "P"))
            try list.trust(watch)
            #expect(await changes.next() == [watch])
            try other.trust(phone)
            #expect(!list.contains(.sample(2)))
            #expect(try list.reload())
            #expect(Set(await changes.next() ?? []) == [watch, phone])
            #expect(try !list.reload())
            try other.distrust(.sample(1))
            #expect(list.contains(.sample(1)))
            // The file's content wins.
            try list.distrust(.sample(3))
            #expect(await changes.next() == [phone])
            unlink(path)
            #expect(try list.reload())
            #expect(await changes.next() == [])
            // A slow observer sees only the newest list, and a late one sees it at once.
            for name in ["a", "b", "c"] { try list.trust(TrustedPeer(id: .sample(1), name: name)) }
            #expect(await changes.next()?.map(\.name) == ["c"])
            var late = list.changes().makeAsyncIterator()
            #expect(await late.next()?.map(\.name) == ["c"])
        }

        private func code(_ body: () throws -> Void) -> SecurityError.Code? {
            caught(SecurityError.self, body)?.code
        }
    }
#endif
