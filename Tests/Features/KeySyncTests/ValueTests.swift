import Foundation
import MeshIdentity
import MeshWire
import Testing

@testable import MeshKeySync

struct Theme: Codable, Sendable, Hashable {
    enum Accent: String, Codable, Sendable { case blue, red }

    var accent = Accent.blue
    var scale = 1.25
    var recent: [String: [Date?]] = ["a": [nil, Date(timeIntervalSinceReferenceDate: 0.1)]]
    var cover: Data? = Data([0, 255])
}

@Suite struct ValueTests {
    static let codecs: [any PayloadCodec] = [CompactCodec(), CompactCodec(mode: .deterministic), JSONCodec()]

    private func roundTrip<Value: Codable & Sendable & Equatable>(
        _ value: Value, _ codec: any PayloadCodec
    ) throws -> Bool {
        let key = StorageKey<Value>("key", codec: codec)
        return try key.decode(key.encode(value)) == value
    }

    @Test(arguments: codecs.indices) func `Values of any type make the round trip through any codec`(_ index: Int)
        throws
    {
        let codec = Self.codecs[index]
        #expect(try roundTrip(Theme(), codec))
        #expect(try roundTrip([Theme(), Theme(scale: .infinity)], codec))
        for number in [Int.min, -1, 0, 1, Int.max] { #expect(try roundTrip(number, codec)) }
        for text in ["", "ö", String(repeating: "x", count: 70_000)] { #expect(try roundTrip(text, codec)) }
        #expect(try roundTrip(true, codec))
        #expect(try roundTrip(Double.greatestFiniteMagnitude, codec))
        #expect(try roundTrip(Theme.Accent.red, codec))
        #expect(try roundTrip(UUID(), codec))
    }

    @Test func `A key reads values of another of the library's codecs, and the app's own bytes`() throws {
        for writer in Self.codecs {
            for reader in Self.codecs {
                let data = try StorageKey<Theme>("key", codec: writer).encode(Theme())
                #expect(try StorageKey<Theme>("key", codec: reader).decode(data) == Theme())
            }
            let raw = KeyValue(bytes: Data(try writer.encode(Theme()))).data
            #expect(try StorageKey<Theme>("key", codec: writer).decode(raw) == Theme())
        }
    }

    @Test func `A value that can't be read reports the cause`() throws {
        let data = try StorageKey<Theme>("key", schema: 3).encode(Theme())
        func code(_ body: () throws(KeySyncError) -> Void) -> KeySyncError.Code? {
            do { try body() } catch { return error.code }
            return nil
        }
        #expect(code { () throws(KeySyncError) in _ = try StorageKey<Theme>("key", schema: 3).decode(data) } == nil)
        #expect(code { () throws(KeySyncError) in _ = try StorageKey<Theme>("key", schema: 4).decode(data) } == nil)
        let newer = code { () throws(KeySyncError) in _ = try StorageKey<Theme>("key", schema: 2).decode(data) }
        #expect(newer == .newerSchema(key: "key", schema: 3))
        let mistyped = code { () throws(KeySyncError) in _ = try StorageKey<Int>("key", schema: 3).decode(data) }
        #expect(mistyped == .unreadable(key: "key"))
        let foreign = KeyValue(codec: 200, bytes: Data([1])).data
        let unknown = code { () throws(KeySyncError) in _ = try StorageKey<Theme>("key").decode(foreign) }
        #expect(unknown == .unknownCodec(key: "key", number: 200))
        let retired = code { () throws(KeySyncError) in
            _ = try StorageKey<Theme>("key").decode(KeyValue(codec: 3, bytes: Data([0xA0])).data)
        }
        #expect(retired == .unknownCodec(key: "key", number: 3))
        #expect(KeySyncError(.unknownCodec(key: "key", number: 3)).description.contains("codec 3 is cbor"))
        for length in 0..<data.count {
            let cut = code { () throws(KeySyncError) in
                _ = try StorageKey<Theme>("key", schema: 3).decode(data.prefix(length))
            }
            #expect(cut == .unreadable(key: "key"), "of \(length) bytes")
        }
    }
}
