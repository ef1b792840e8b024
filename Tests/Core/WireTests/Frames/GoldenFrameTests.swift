import Foundation
import MeshIdentity
import MeshTestSupport
import Testing

@testable import MeshWire

/// Compares the bytes that the library writes with committed bytes, and their decoded form with committed JSON.
///
/// `SESSIONMESH_UPDATE_FIXTURES=1 swift test --filter GoldenFrameTests` rewrites the files.
@Suite("Golden frames", .serialized)
struct GoldenFrameTests {
    static let folder = Checkout.fixtures.appending(path: "Wire")
    static let isUpdating = ProcessInfo.processInfo.environment["SESSIONMESH_UPDATE_FIXTURES"] == "1"

    @Test(
        "the library writes the golden bytes and reads them as described",
        arguments: GoldenVector.all + GoldenVector.refused)
    func vector(vector: GoldenVector) throws {
        let bytes = try vector.make()
        let frames = Self.folder.appending(path: "\(vector.name).frames")
        let description = Self.folder.appending(path: "\(vector.name).json")
        if Self.isUpdating {
            try Data(bytes).write(to: frames)
            try Self.describe(bytes).write(to: description)
        }
        let golden = Array(try Data(contentsOf: frames))
        if vector.isExact { #expect(bytes == golden) }
        let expected = try Self.parsed(Data(contentsOf: description))
        #expect(try Self.parsed(Self.describe(golden)) == expected)
        #expect(try Self.parsed(Self.describe(bytes)) == expected)
    }

    @Test("the built-in dictionary is as published")
    func dictionary() throws {
        let file = Self.folder.appending(path: "builtin.dictionary")
        if Self.isUpdating { try Data(CompressionDictionary.builtIn.bytes).write(to: file) }
        #expect(try Array(Data(contentsOf: file)) == CompressionDictionary.builtIn.bytes)
        let page = Checkout.root.appending(path: "Docs/Internals/WireFormat.md")
        let document = try String(contentsOf: page, encoding: .utf8)
        let id = String(CompressionDictionary.builtIn.id, radix: 16, uppercase: true)
        #expect(document.contains("0x\(id), the \(CompressionDictionary.builtIn.bytes.count) bytes"))
    }

    @Test("a decoder in Python, written from the document, reads them the same way")
    func python() async throws {
        let script = Checkout.interop.appending(path: "decode_frames.py").path
        let (status, text) = try await Program.run("python3", ["-B", script, Self.folder.path])
        // The status of `env` if there is no such program.
        if status == 127, ProcessInfo.processInfo.environment["CI"] != "true" {
            return print("skipped: python3 is missing (frames)")
        }
        #expect(status == 0, "\(text)")
        #expect(text.contains("\(GoldenVector.all.count + GoldenVector.refused.count) files"))
    }

    /// Parses JSON, because versions of Foundation print different spaces.
    private static func parsed(_ json: Data) throws -> NSDictionary? {
        try JSONSerialization.jsonObject(with: json) as? NSDictionary
    }
}

// MARK: - Description

extension GoldenFrameTests {
    /// The content of a stream of frames, or the error that rejects it, as JSON.
    static func describe(_ bytes: [UInt8]) throws -> Data {
        let options: JSONSerialization.WritingOptions = [.sortedKeys, .prettyPrinted, .withoutEscapingSlashes]
        let object: [String: Any]
        do {
            object = ["messages": try messages(bytes)]
        } catch let error as WireError {
            object = ["error": error.code.description]
        }
        return try JSONSerialization.data(withJSONObject: object, options: options) + Data("\n".utf8)
    }

    private static func messages(_ bytes: [UInt8]) throws -> [[String: Any]] {
        var decoder = FrameStreamDecoder(codecs: try CodecTable([Sample.codec, CompactCodec()]))
        var messages: [[String: Any]] = []
        decoder.append(bytes)
        while let frame = try decoder.nextFrame() {
            var message = frame.message.description
            if let mark = frame.mark { message["mark"] = mark.description }
            messages.append(message)
        }
        guard decoder.isAtFrameBoundary else { throw WireError(.truncated, "the last frame ends early") }
        return messages
    }
}

extension WireMessage {
    fileprivate var description: [String: Any] {
        switch self {
        case .hello(let hello):
            var description: [String: Any] = [
                "kind": "hello", "peer": hello.peer.description,
                "frameVersions": [Int(hello.frameVersions.lowerBound), Int(hello.frameVersions.upperBound)],
                "protocolVersion": hello.protocolVersion, "codecs": hello.codecs.map { Int($0) },
                "dictionaries": hello.dictionaries.map { Int($0) },
            ]
            if !hello.compressionFormats.isEmpty {
                description["compressionFormats"] = hello.compressionFormats.map { Int($0) }
            }
            return description
        case .snapshotRequest(let request):
            return [
                "kind": "snapshotRequest", "sessionID": request.sessionID.uuidString,
                "requester": request.requester?.description ?? NSNull(),
            ]
        case .report(let report): return report.description
        case .goodbye(let goodbye):
            return ["kind": "goodbye", "reason": Int(goodbye.reason.rawValue), "detail": goodbye.detail]
        case .envelope(let envelope):
            let payload = try? envelope.encodedPayload(with: Sample.codec)
            return [
                "kind": "envelope", "codec": payload.map { Int($0.codec.id.number) } ?? 0,
                "metadata": envelope.metadata.description,
                "payload": payload?.bytes.hexadecimal ?? "",
            ]
        case .snapshot(let snapshot):
            let state = try? snapshot.encodedState(with: Sample.codec)
            return [
                "kind": "snapshot", "codec": state.map { Int($0.codec.id.number) } ?? 0,
                "metadata": snapshot.metadata.description,
                "revision": "\(snapshot.revision)", "state": state?.bytes.hexadecimal ?? "",
                "vector": snapshot.peerSequenceVector.mapValues { "\($0)" },
                "checkpoint": snapshot.checkpoint?.hexadecimal ?? NSNull(),
            ]
        }
    }
}

extension WireMark {
    fileprivate var description: [String: Any] {
        [
            "outbox": Int(outbox), "sequence": "\(sequence)", "first": "\(first)", "isLatest": isLatest,
            "expiresAt": expiresAt.map { "\($0)" } ?? NSNull(),
        ]
    }
}

extension WireReport {
    fileprivate var description: [String: Any] {
        let answer = echo.map { ["probe": $0.probe.description, "answeredAt": "\($0.answeredAt)"] as [String: Any] }
        let floors = floors.map {
            ["featureID": $0.featureID, "outbox": Int($0.outbox), "first": "\($0.first)"] as [String: Any]
        }
        return [
            "kind": "report", "probe": probe?.description ?? NSNull(), "echo": answer ?? NSNull(),
            "receipts": receipts.map(\.description), "floors": floors,
        ]
    }
}

extension WireReport.Probe {
    fileprivate var description: [String: Any] { ["number": Int(number), "sentAt": "\(sentAt)"] }
}

extension WireReport.Receipt {
    fileprivate var description: [String: Any] {
        [
            "featureID": featureID, "outbox": Int(outbox), "upTo": "\(upTo)", "isLatest": isLatest,
            "beyond": beyond.map { ["\($0.lowerBound)", "\($0.upperBound)"] },
        ]
    }
}

extension SessionPeer {
    fileprivate var description: [String: Any] {
        [
            "id": id, "deviceClass": deviceClass.rawValue, "appInstanceID": appInstanceID,
            "topology": topology.rawValue, "userID": userID ?? NSNull(),
        ]
    }
}

extension SessionSyncMetadata {
    /// Fields for JSON, with 64-bit numbers as strings and doubles as their bits.
    fileprivate var description: [String: Any] {
        [
            "protocolVersion": protocolVersion, "sessionID": sessionID.uuidString, "featureID": featureID,
            "sourcePeerID": sourcePeerID, "eventID": eventID.uuidString, "sequence": "\(sequence)",
            "causalTimestamp": causalTimestamp.timeIntervalSinceReferenceDate.hexadecimal,
            "monotonicTimestamp": monotonicTimestamp?.hexadecimal ?? NSNull(), "payloadType": payloadType,
            "acknowledgedSequence": acknowledgedSequence.map { "\($0)" } ?? NSNull(), "stamp": "\(stamp.rawValue)",
            "incarnation": Int(incarnation), "epoch": Int(epoch),
            "promise": promise.map { ["sequence": "\($0.sequence)", "stamp": "\($0.stamp.rawValue)"] } ?? NSNull(),
        ]
    }
}

extension Double {
    fileprivate var hexadecimal: String {
        let digits = String(bitPattern, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }
}

extension [UInt8] {
    fileprivate var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
