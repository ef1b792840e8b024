import Foundation
import MeshBase
import Testing

@testable import MeshResume
@testable import MeshResumeGateway

/// Each side reads the other's frames, in JSON and in binary, and no bytes do harm.
@Suite struct FrameEncodingTests {
    private static let clientFrames: [ClientFrame] = [
        .heartbeat(lastSeq: nil), .heartbeat(lastSeq: 0), .heartbeat(lastSeq: .max),
        .identify(
            token: "t", properties: ClientProperties(platform: "", appVersion: "", osVersion: "", deviceName: "")),
        .identify(
            token: "gr\u{fc}n \u{1f33f}",
            properties: ClientProperties(
                platform: "Linux", appVersion: "1", osVersion: "2", deviceName: "\"q\"\n", deviceId: "d")),
        .resume(token: "t", sessionId: "id", lastSeq: 300),
        .resume(token: String(repeating: "t", count: 1000), sessionId: "", lastSeq: .max),
    ]

    private static func serverFrames() throws -> [GatewayFrame] {
        let event = try ReplayEvent(type: "MESSAGE", json: Array(#"{"text":"hi"}"#.utf8))
        let session = GatewaySessionID(epoch: 1, stream: "u", nonce: 2)
        return [
            .hello(.seconds(30)), .heartbeatAck, .ready(session, newest: 7, .none),
            .ready(session, newest: .max, try ReadyFields(["limit": 5])), .resumed(replayed: 200, newest: 300),
            .event(ReplayEntry(sequence: 1, event: event)), .event(ReplayEntry(sequence: .max, event: event)),
            .invalidSession("so \"it\" is", resumable: true), .invalidSession("", resumable: false),
            .reconnect(after: .milliseconds(1500)),
        ]
    }

    /// Encodes every frame of either side.
    private static func bytes(_ encoding: FrameEncoding) throws -> [[UInt8]] {
        try clientFrames.map { try $0.encoded(as: encoding) } + serverFrames().map { $0.encoded(as: encoding) }
    }

    @Test(arguments: FrameEncoding.allCases)
    func `A client's frame is read as written`(encoding: FrameEncoding) throws {
        for frame in Self.clientFrames {
            #expect(try ClientFrame(frame.encoded(as: encoding), as: encoding) == frame)
        }
    }

    @Test func `A server's frame has the same content in both encodings`() throws {
        for frame in try Self.serverFrames() {
            let json = try ServerFrame(frame.encoded(as: .json), as: .json)
            let binary = try ServerFrame(frame.encoded(as: .binary), as: .binary)
            #expect(binary.event == json.event)
            #expect(binary.event != nil)
            #expect(binary.type == json.type)
            #expect(binary.retryAfter == json.retryAfter)
            if case .event = frame {
                #expect(try binary.payload(as: [String: String].self) == ["text": "hi"])
                #expect(try json.payload(as: [String: String].self) == ["text": "hi"])
            }
            #expect(frame.encoded(as: .binary).count < frame.encoded(as: .json).count)
        }
    }

    /// The examples of Docs/Internals/ResumeProtocol.md.
    @Test func `Binary frames are laid out as documented`() throws {
        #expect(try ClientFrame.heartbeat(lastSeq: 300).encoded(as: .binary) == [1, 0xac, 0x02])
        let resume = ClientFrame.resume(token: "ab", sessionId: "x", lastSeq: 7)
        #expect(try resume.encoded(as: .binary) == [6, 2, 0x61, 0x62, 1, 0x78, 7])
        let event = ReplayEntry(sequence: 5, event: try ReplayEvent(type: "E", json: Array("{}".utf8)))
        #expect(GatewayFrame.event(event).encoded(as: .binary) == [0, 5, 1, 0x45, 0x7b, 0x7d])
        #expect(GatewayFrame.hello(.seconds(30)).encoded(as: .binary) == [10, 0xb0, 0xea, 0x01])
        #expect(GatewayFrame.resumed(replayed: 2, newest: 3).encoded(as: .binary) == [13, 2, 3])
        #expect(GatewayFrame.invalidSession("no", resumable: true).encoded(as: .binary) == [9, 1, 2, 0x6e, 0x6f])
    }

    @Test(arguments: [
        (#"{"op":6,"d":{"token":"t","session_id":"s","seq":-1}}"#, "`d.seq` is not a number from 0 to 2^64-1"),
        (#"{"op":6,"d":{"token":"t","session_id":"s","seq":1.5}}"#, "`d.seq` is not a number from 0 to 2^64-1"),
        (#"{"op":6,"d":{"token":"t","session_id":"s","seq":"1"}}"#, "`d.seq` is not a number from 0 to 2^64-1"),
        (#"{"op":6,"d":{"token":"t","session_id":"s","seq":null}}"#, "`d.seq` is not a number from 0 to 2^64-1"),
        (#"{"op":6,"d":{"token":"t","seq":1}}"#, "`d.session_id` is missing"),
        (#"{"op":6,"d":{"token":"\ud800","session_id":"s","seq":1}}"#, "`d.token` is not a string"),
        (#"{"op":2,"d":{"token":7}}"#, "`d.token` is not a string"),
        (#"{"op":2,"d":{"token":"t","properties":{"os":1}}}"#, "`d.properties.os` is not a string"),
        (#"{"op":2}"#, "`d` is missing"), (#"{"op":2,"d":[]}"#, "`d` is not an object"),
        (#"{"op":1,"d":18446744073709551616}"#, "`d` is not a number from 0 to 2^64-1"),
        (#"{"op":1e30}"#, "`op` is not a whole number"), (#"{}"#, "`op` is missing"),
        ("[1]", "the frame is not a JSON object"), ("{", "the frame can't be read as JSON"),
    ])
    func `An unreadable frame's error names the field, without the decoder's text`(json: String, message: String) {
        do throws(FrameError) {
            let frame = try ClientFrame(json: json.utf8)
            Issue.record("\(json) is read as \(frame)")
        } catch {
            #expect(error.message == message, "\(json)")
        }
    }

    @Test func `An unreadable binary frame's error omits the decoder's text`() {
        for (bytes, message) in [
            ([6, 5, 0x61], "the frame ends within a field"), ([], "the frame ends within a field"),
            ([6, 1, 0xff, 0, 0], "a field of the frame can't be read"),
        ] as [([UInt8], String)] {
            do throws(FrameError) {
                let frame = try ClientFrame(bytes, as: .binary)
                Issue.record("\(bytes) is read as \(frame)")
            } catch {
                #expect(error.message == message, "\(bytes)")
            }
        }
    }

    /// - Returns: A fault in reading these bytes, or nil.
    private func complaint(_ bytes: [UInt8], _ encoding: FrameEncoding) throws -> String? {
        _ = try? ServerFrame(bytes, as: encoding).payload(as: [String: Int].self)
        do throws(FrameError) {
            let frame = try ClientFrame(bytes, as: encoding)
            let again = try? ClientFrame(frame.encoded(as: encoding), as: encoding)
            return again == frame ? nil : "\(frame) is read again as \(String(describing: again))"
        } catch {
            let isExpected = error.closeCode == .decodeError || error.closeCode == .unknownOpcode
            return isExpected ? nil : "\(error.closeCode)"
        }
    }

    @Test(arguments: FrameEncoding.allCases)
    func `A frame cut anywhere is invalid, or a different complete frame`(encoding: FrameEncoding) throws {
        for frame in try Self.bytes(encoding) {
            for end in 0..<frame.count {
                #expect(try complaint(Array(frame[..<end]), encoding) == nil, "\(frame) cut at \(end)")
            }
        }
    }

    @Test(arguments: FrameEncoding.allCases)
    func `A frame with any bit flipped is invalid, or a different complete frame`(encoding: FrameEncoding) throws {
        for frame in try Self.bytes(encoding) {
            for index in frame.indices.prefix(120) {
                for bit in 0..<8 {
                    var changed = frame
                    changed[index] ^= 1 << UInt8(bit)
                    #expect(try complaint(changed, encoding) == nil, "\(frame), bit \(bit) of byte \(index)")
                }
            }
        }
    }

    @Test(arguments: FrameEncoding.allCases, 0..<20 as Range<UInt64>)
    func `Random bytes never trap`(encoding: FrameEncoding, seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        for round in 0..<200 {
            // Half of them start like a frame.
            var bytes = (0..<random.upTo(40)).map { _ in UInt8(random.upTo(255)) }
            if round % 2 == 0, !bytes.isEmpty { bytes[0] = UInt8(random.upTo(14)) }
            #expect(try complaint(bytes, encoding) == nil, "seed \(seed), round \(round): \(bytes)")
        }
    }

    @Test func `A binary frame that is cut, or has bytes after its last field, is refused`() throws {
        let frame = try ClientFrame.resume(token: "token", sessionId: "session", lastSeq: 5).encoded(as: .binary)
        for end in 0..<frame.count {
            #expect(throws: FrameError.self) { try ClientFrame(frame[..<end], as: .binary) }
        }
        #expect(throws: FrameError.self) { try ClientFrame(frame + [0], as: .binary) }
        let many: [UInt8] = [13] + Array(repeating: 0xff, count: 9) + [1, 1]
        #expect(throws: FrameError.self) { try ServerFrame(many, as: .binary) }
        #expect(throws: FrameError.self) { try ServerFrame([9, 2, 0], as: .binary) }
        #expect(throws: FrameError.self) { try ClientFrame([6, 0xff, 0xff, 0xff, 0xff, 0x0f], as: .binary) }
        #expect(try ServerFrame([99, 1, 2, 3], as: .binary).event == nil)
    }

    @Test func `The app's fields for READY must be a JSON object without a session ID`() throws {
        for json in [
            "", "[]", "1", "{", #"{"session_id":"x"}"#, "{\"a\":\"\(String(repeating: "x", count: 17_000))\"}",
        ] {
            #expect(throws: ReplayBufferError.self) { try ReadyFields(json: Array(json.utf8)) }
        }
        struct Ready: Decodable { let a: Int? }
        let session = GatewaySessionID(epoch: 1, stream: "u", nonce: 2)
        for (json, a) in [("{}", nil), ("{ }", nil), (" {\"a\":1} ", 1), (#"{"b":"}","a":1}"#, 1)] as [(String, Int?)] {
            let frame = GatewayFrame.ready(session, newest: 3, try ReadyFields(json: Array(json.utf8)))
            let text = try ServerFrame(frame.encoded(as: .json), as: .json)
            #expect(text.event == .ready(sessionId: session.text, initialSeq: 3))
            #expect(try text.payload(as: Ready.self).a == a)
            let binary = try ServerFrame(frame.encoded(as: .binary), as: .binary)
            #expect(binary.event == text.event)
            #expect(try binary.payload(as: Ready.self).a == a)
        }
    }
}
