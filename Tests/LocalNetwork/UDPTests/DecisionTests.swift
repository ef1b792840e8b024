#if UDP
    import MeshBase
    import MeshDiscovery
    import MeshSecurity
    import NIOCore
    import Testing

    @testable import MeshUDPTransport

    /// What needs no socket: values in virtual time.
    @Suite struct DecisionTests {
        static let ids = [PeerIdentity().peerID, PeerIdentity().peerID].sorted()

        @Test("A connection to a peer that reads nothing looks what is due once a heartbeat, until it is dead")
        func stuffedHeartbeat() {
            var heartbeat = Heartbeat(interval: .seconds(5), missedMax: 3, now: .zero)
            var now = Duration.zero
            var ticks = 0
            while !heartbeat.isDead(now), ticks < 100 {
                now = max(heartbeat.dueAt, now + .milliseconds(1))
                // What is put into the stream stays there.
                _ = heartbeat.tick(now)
                ticks += 1
            }
            #expect(ticks == 3)
            #expect(now == .seconds(15))
        }

        @Test("Of two connections both sides keep the same one, in whatever order they see them")
        func duplicateRule() {
            for (local, remote) in [(Self.ids[0], Self.ids[1]), (Self.ids[1], Self.ids[0])] {
                let (ours, theirs) = (
                    Contender(startID: 1, isDialedHere: true), Contender(startID: 1, isDialedHere: false)
                )
                // In either order the one that the lower id has dialed stands.
                #expect(ours.replaces(theirs, local: local, remote: remote) == (local < remote))
                #expect(theirs.replaces(ours, local: local, remote: remote) == (remote < local))
                for contender in [ours, theirs] {
                    #expect(contender.replaces(contender, local: local, remote: remote))
                    let reborn = Contender(startID: 2, isDialedHere: !contender.isDialedHere)
                    #expect(reborn.replaces(contender, local: local, remote: remote))
                }
            }
        }

        @Test("There is room for so many from one address and in all, and again for those who follow")
        func admission() {
            var bounds = UDPLinkBounds()
            bounds.unprovenConnectionsMax = 5
            bounds.unprovenConnectionsPerAddressMax = 2
            var admission = Admission(bounds)
            let entered = ["a", "a", "a", "b", "b", "b", "c", "c"].map { admission.enter($0) }
            #expect(entered == [true, true, false, true, true, false, true, false])
            admission.leave("a")
            admission.leave("nobody")
            let later = ["c", "a"].map { admission.enter($0) }
            #expect(later == [true, false])
            #expect(admission.count == 5)
        }

        @Test("A path is proven once datagrams are heard, and no more when they are not for three heartbeats")
        func path() {
            var path = DatagramPath(heartbeat: .seconds(5), missedMax: 3, now: .zero)
            let probes = (0...21_000).filter { path.tick(.milliseconds($0)) }
            #expect(probes == [0, 50, 150, 350, 5350, 10_350, 15_350, 20_350])
            #expect(!path.isProven)
            path.heard(.seconds(30))
            #expect(path.isProven)
            _ = path.tick(.seconds(45))
            #expect(path.isProven)
            _ = path.tick(.seconds(46))
            #expect(!path.isProven)
            path.heard(.seconds(47))
            #expect(path.isProven)
            let told = (0...10_000).filter { path.opened(.milliseconds(50_000 + $0)) }
            #expect(told == [0, 2500, 5000, 7500, 10_000])
        }

        @Test("Records are read the same in pieces of any size, and unknown ones skipped")
        func records() throws {
            var bytes = ByteBuffer()
            let hello = Hello(startID: 77, publicKey: Array(1...32), datagramPort: 4000)
            bytes.write(hello)
            bytes.writeRecord(.stream, Array(repeating: 5, count: 300))
            bytes.writeBytes([0, 0, 0, 2, 99, 1, 2])
            bytes.writeRecord(.ping)
            bytes.writeRecord(.heard)
            bytes.write(Goodbye(code: .unpaired, detail: "why"))
            bytes.writeBytes([0, 0, 0, 1, 6, 250])
            let expected: [Record] = [
                .hello(hello), .stream(ByteBuffer(repeating: 5, count: 300)), .unknown(99), .ping, .heard,
                .goodbye(Goodbye(code: .unpaired, detail: "why")), .goodbye(Goodbye(code: .protocolError)),
            ]
            for size in 1...bytes.readableBytes {
                var (rest, decoder, records) = (bytes, RecordDecoder(), [Record]())
                while rest.readableBytes > 0 {
                    let piece = rest.readSlice(length: min(size, rest.readableBytes))
                    decoder.append(try #require(piece))
                    while let record = try decoder.next() { records.append(record) }
                }
                try #require(records == expected, "in pieces of \(size)")
                #expect(decoder.pendingBytes == 0)
            }
        }

        @Test("What a goodbye says is shown and moves no cursor, in any part of what tells of it")
        func hostileGoodbye() throws {
            let hostile = "\u{1B}]0;own\u{7}\u{9B}2J\u{202E}gnp.\r\n\u{2028}end"
            var bytes = ByteBuffer()
            bytes.writeRecord(.goodbye, [5] + Array(hostile.utf8) + [0xC2, 0x9B, 0xFF])
            var decoder = RecordDecoder()
            decoder.append(bytes)
            guard case .goodbye(let goodbye)? = try decoder.next() else {
                Issue.record("no goodbye")
                return
            }
            let refusal = UDPRefusal(
                code: goodbye.refusal, remote: "remote", peerID: nil, isDialedHere: true, message: "it says \(goodbye)")
            for text in ["\(goodbye)", "\(refusal)"] {
                #expect(text.unicodeScalars.allSatisfy { $0.isPrintable })
                #expect(text.contains("\\u{1B}]0;own\\u{7}\\u{9B}2J\\u{202E}gnp.\\u{D}\\u{A}\\u{2028}end"))
            }
        }

        @Test("A record that is too long, or too short for its kind, is an error")
        func malformedRecords() {
            func failure(_ bytes: [UInt8]) -> RecordDecoder.Failure? {
                var decoder = RecordDecoder()
                decoder.append(ByteBuffer(bytes: bytes))
                do throws(RecordDecoder.Failure) {
                    while try decoder.next() != nil {}
                    return nil
                } catch { return error }
            }
            #expect(failure([0xFF, 0xFF, 0xFF, 0xFF, 2]) == .tooLong(0xFFFF_FFFF))
            #expect(failure([0, 0, 4, 1, 2]) == .tooLong(1025))
            #expect(failure([0, 0, 4, 0, 2]) == nil)
            for count in 0..<44 {
                #expect(
                    failure([0, 0, 0, UInt8(count), 1] + Array(repeating: 1, count: count)) == .malformed(.hello),
                    "\(count)")
            }
            #expect(failure([0, 0, 0, 44, 1] + Array(repeating: 1, count: 44)) == nil)
            #expect(failure([0, 0, 0, 0, 6]) == .malformed(.goodbye))
        }
    }
#endif
