import Foundation
import MeshBenchmarks
import MeshBus
import MeshFixtures
import MeshIdentity
import MeshWire
import Testing

@testable import MeshCodecBenchmark

/// A property list in a frame: a third party's codec.
private struct OtherCodec: PayloadCodec {
    var isBroken = false
    var id: PayloadCodecID { PayloadCodecID(number: 200, name: "other") }

    func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
        let encoder = PropertyListEncoder()
        encoder.outputFormat = .binary
        return Array(try encoder.encode([value]))
    }

    func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
        guard let value = try PropertyListDecoder().decode([Value].self, from: Data(bytes)).first else {
            throw CocoaError(.propertyListReadCorrupt)
        }
        return isBroken ? (SamplePayloads.metrics(seed: 99) as? Value ?? value) : value
    }
}

private struct CodecPlugin: Plugin {
    let codec: OtherCodec

    var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "codec.other", kind: .codec, module: "Sample", version: "1.0.0", summary: "Another",
            limits: [PayloadLimit(id: "udp", bytes: 1_200, summary: "", source: "")])
    }

    func contribute(to registry: inout ExtensionRegistry) {
        registry.add(codec, to: .codecs)
        registry.add(BenchmarkPayload(id: "greeting", value: "hello"), to: .benchmarkPayloads)
    }
}

@Suite("The table of codecs")
struct CodecBenchmarkTests {
    private let quick = BenchmarkStopwatch(batchDuration: .nanoseconds(1), batchCount: 1)

    private func rows(_ options: [String: String], codec: OtherCodec = OtherCodec()) throws -> [BenchmarkRow] {
        let bus = try PluginBus {
            CodecPlugin(codec: codec)
            CodecBenchmarkPlugin()
        }
        return try CodecBenchmark(BenchmarkContext(bus: bus, options: options, stopwatch: quick)).rows()
    }

    @Test("every codec is compared with json and plist, with and without zlib, on every payload")
    func everyCodec() throws {
        let rows = try rows([:])
        let names = rows.map { "\($0["payload"] ?? .text("")) \($0["codec"] ?? .text(""))" }
        #expect(Set(names).count == rows.count)
        for payload in ["event", "metrics", "state", "track", "record", "document", "greeting"] {
            let codecs = rows.filter { $0["payload"] == .text(payload) }.map { $0["codec"] }
            #expect(codecs == ["json", "json+zlib", "plist", "other", "other+zlib"].map { .text($0) })
        }
    }

    @Test("rows have the documented keys")
    func keys() throws {
        let keys = [
            "payload", "codec", "bytes", "encodeNanoseconds", "decodeNanoseconds", "encodeVsJSON", "decodeVsJSON",
            "fits",
            "frames", "capacity",
        ]
        let rows = try rows(["payload": "metrics"])
        #expect(rows.count == 5)
        for row in rows {
            #expect(row.fields.map(\.name) == keys)
            #expect(row["fits"] == .flags(["udp": true]))
            #expect(row["frames"] == .integers(["udp": 1]))
            #expect(row["capacity"] == .integers([:]))
        }
        #expect(rows[0]["encodeVsJSON"] == .number(1))
    }

    @Test("the track's row has the number of samples that fit, and zlib fits more")
    func capacity() throws {
        let rows = try rows(["payload": "track"])
        let capacities = rows.map { row -> Int in
            guard case .integers(let capacity) = row["capacity"] else { return -1 }
            return capacity["udp"] ?? -1
        }
        #expect(capacities.allSatisfy { $0 > 0 })
        #expect(capacities[1] > capacities[0])
    }

    @Test("a codec that can't decode its own output is an error that names it")
    func brokenCodec() {
        #expect {
            try rows(["payload": "metrics"], codec: OtherCodec(isBroken: true))
        } throws: { "\($0)".hasPrefix("other can't decode its own output") }
    }

    @Test("an unknown payload is an error of one line that lists the known ones")
    func unknownPayload() {
        let ids = "greeting, event, metrics, state, track, record, document"
        #expect {
            try rows(["payload": "picture"])
        } throws: { "\($0)" == "there is no payload 'picture'; there are: \(ids)" }
    }
}
