#if UDP
    import MeshBase
    import MeshDiscovery
    import MeshSecurity
    import NIOCore
    import Testing

    @testable import MeshUDPTransport

    /// Decisions that need no socket: values in virtual time.
    @Suite struct DecisionTests {
        static let ids = [PeerIdentity().peerID, PeerIdentity().peerID].sorted()

        @Test("A connection to a peer that reads nothing checks its deadlines once per heartbeat, until it is dead")
        func stuffedHeartbeat() {
            var heartbeat = Heartbeat(beat: .seconds(5), missedMax: 3, isPatient: false, now: .zero)
            var now = Duration.zero
            var ticks = 0
            while heartbeat.death(now) == nil, ticks < 100 {
                now = max(heartbeat.dueAt, now + .milliseconds(1))
                // The tick's ping stays in the stream.
                _ = heartbeat.tick(now)
                ticks += 1
            }
            #expect(ticks == 3)
            #expect(now == .seconds(15))
        }

        /// The seconds at which a side pings its peer, and the second at which it ends the connection. The peer goes at 60 s.
        private func pings(isPatient: Bool, says interval: Int?) -> (at: [Int], deadAt: Int?) {
            var heartbeat = Heartbeat(beat: .seconds(5), missedMax: 3, isPatient: isPatient, now: .zero)
            var at: [Int] = []
            for second in 1...200 {
                let now = Duration.seconds(second)
                let isThere = second < 60
                if isThere, let interval, second % interval == 0 {
                    heartbeat.noteSent(now)
                    heartbeat.noteReceived(now)
                }
                if heartbeat.death(now) != nil { return (at, second) }
                guard heartbeat.tick(now) else { continue }
                at.append(second)
                if isThere { heartbeat.noteReceived(now) }
            }
            return (at, nil)
        }

        @Test("No ping is sent while delivery probes every 21 seconds, and a vanished peer is dead within 60")
        func patientHeartbeat() {
            let probed = pings(isPatient: true, says: 21)
            #expect(probed.at == [67])
            #expect(probed.deadAt == 92)
            let silent = pings(isPatient: true, says: nil)
            #expect(silent.at == [25, 50, 75])
            #expect(silent.deadAt == 100)
        }

        @Test("A peer of an earlier version gets a message every heartbeat, whatever delivery sends")
        func earlierHeartbeat() {
            let probed = pings(isPatient: false, says: 21)
            #expect(probed.at.prefix(4) == [5, 10, 15, 20])
            // Delivery's message at 42 s counts as a ping. The next pings are answered at 47, 52 and 57.
            #expect(probed.deadAt == 72)
        }

        @Test("A suspected connection is dead after three heartbeats, unless its peer is heard")
        func doubt() {
            var heartbeat = Heartbeat(beat: .seconds(5), missedMax: 3, isPatient: true, now: .zero)
            heartbeat.requireSign(by: .seconds(17))
            heartbeat.requireSign(by: .seconds(22))
            #expect(heartbeat.dueAt == .seconds(17))
            #expect(heartbeat.death(.seconds(16)) == nil)
            #expect(heartbeat.death(.seconds(17)) == "the peer sent nothing for 17.0 seconds")
            heartbeat.noteReceived(.seconds(16))
            #expect(heartbeat.death(.seconds(65)) == nil)
            #expect(heartbeat.death(.seconds(66)) != nil)
        }

        @Test("A greeting offers patience in a field that earlier versions skip")
        func patientGreeting() throws {
            for (features, isPatient) in [(Hello.bundles, false), (Hello.bundles | Hello.patience, true)] {
                var bytes = ByteBuffer()
                bytes.write(Hello(startID: 7, publicKey: Array(1...32), datagramPort: 4000, features: features))
                var decoder = RecordDecoder()
                decoder.append(bytes)
                guard case .hello(let hello) = try decoder.next() else {
                    Issue.record("no greeting")
                    return
                }
                #expect(hello.isPatient == isPatient)
                #expect(hello.acceptsBundles)
                #expect(hello.isUnderstood)
            }
        }

        @Test("Both sides keep the same one of two connections, in any order")
        func duplicateRule() {
            for (local, remote) in [(Self.ids[0], Self.ids[1]), (Self.ids[1], Self.ids[0])] {
                let (ours, theirs) = (
                    Contender(startID: 1, isDialedHere: true), Contender(startID: 1, isDialedHere: false)
                )
                // In either order, the connection that the lower id dialed remains.
                #expect(ours.replaces(theirs, local: local, remote: remote) == (local < remote))
                #expect(theirs.replaces(ours, local: local, remote: remote) == (remote < local))
                for contender in [ours, theirs] {
                    #expect(contender.replaces(contender, local: local, remote: remote))
                    let reborn = Contender(startID: 2, isDialedHere: !contender.isDialedHere)
                    #expect(reborn.replaces(contender, local: local, remote: remote))
                }
            }
        }

        @Test("Connections are limited per address and in all, and freed places can be used again")
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

        @Test("A path is probed until datagrams are heard, and then asked about only when they are sent")
        func path() {
            var path = DatagramPath(beat: .seconds(5), missedMax: 3, now: .zero)
            func probes(_ seconds: ClosedRange<Int>) -> [Int] {
                (seconds.lowerBound * 1000...seconds.upperBound * 1000).filter { path.tick(.milliseconds($0)) }
            }
            func asks(at second: Int) -> Bool { path.noteSent(.seconds(second)) }
            #expect(probes(0...10) == [0, 50, 150, 350, 750, 1550, 3150, 6350])
            #expect(!path.isProven)
            path.noteConfirmation(.seconds(11))
            #expect(path.isProven)
            #expect(path.probeAt == nil)
            // Nothing is sent for an hour.
            #expect(probes(3610...3611) == [])
            #expect(path.isProven)
            #expect(asks(at: 3612))
            #expect(!asks(at: 3613))
            #expect(probes(3613...3626) == [3_617_000, 3_622_000])
            #expect(path.isProven)
            // The third probe is the first on a path that is no longer proven.
            #expect(probes(3627...3628) == [3_627_000, 3_627_050, 3_627_150, 3_627_350, 3_627_750])
            #expect(!path.isProven)
            path.noteConfirmation(.seconds(3629))
            #expect(path.isProven)
            #expect(!asks(at: 3630))
        }

        @Test("Datagrams replaced by newer ones are counted once")
        func replacedDatagrams() {
            var outbox = Outbox(UDPLinkBounds())
            for number in 0..<70 { _ = outbox.enqueue([UInt8(number)], on: .datagram) }
            let dropped = outbox.takeBatch().fallbackDropped
            #expect(dropped == 6)
            let more = outbox.takeBatch().fallbackDropped
            #expect(more == 0)
        }

        @Test("The longest pause between probes of a path without confirmations is 25 seconds")
        func blockedPath() {
            var path = DatagramPath(beat: .seconds(5), missedMax: 3, now: .zero)
            let probes = (0...3600).filter { path.tick(.seconds($0)) }
            #expect(probes.count < 160)
            #expect(zip(probes, probes.dropFirst()).allSatisfy { $1 - $0 <= 25 })
        }

        @Test("A peer whose datagrams take the stream gets a probe, at most one a heartbeat")
        func fallenBack() {
            var path = DatagramPath(beat: .seconds(5), missedMax: 3, now: .zero)
            _ = path.tick(.zero)
            path.noteConfirmation(.zero)
            let probed = (1...12).filter {
                _ = path.noteFallback(.seconds($0))
                return path.tick(.seconds($0))
            }
            #expect(probed == [5, 10])
        }

        @Test("A peer of an earlier version that probes every heartbeat is answered each time")
        func answered() {
            var path = DatagramPath(beat: .seconds(5), missedMax: 3, now: .zero)
            let answered = (0...10_000).filter { path.noteOpened(.milliseconds(50_000 + $0)) }
            #expect(answered == [0, 2500, 5000, 7500, 10_000])
        }

        @Test("Records are read the same in pieces of any size, and unknown ones skipped")
        func records() throws {
            var bytes = ByteBuffer()
            let hello = Hello(startID: 77, publicKey: Array(1...32), datagramPort: 4000)
            bytes.write(hello)
            bytes.writeRecord(.stream, Array(repeating: 5, count: 300))
            bytes.writeBytes([0, 0, 0, 2, 99, 1, 2])
            bytes.writeRecord(.ping)
            bytes.writeRecord(.datagramsReceived)
            bytes.write(Goodbye(code: .unpaired, detail: "why"))
            bytes.writeBytes([0, 0, 0, 1, 6, 250])
            let expected: [Record] = [
                .hello(hello), .stream(ByteBuffer(repeating: 5, count: 300)), .unknown(99), .ping, .datagramsReceived,
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

        @Test("The detail of a goodbye is shown without control characters")
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
