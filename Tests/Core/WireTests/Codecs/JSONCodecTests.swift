import Foundation
import MeshBus
import MeshIdentity
import MeshTesting
import Testing

@testable import MeshWire

@Suite struct JSONCodecTests {
    @Test func `Keys are sorted and slashes are plain`() throws {
        let bytes = try JSONCodec().encode(["b": "x/y", "a": "z"])
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"a":"z","b":"x/y"}"#)
    }

    @Test func `Dates keep every digit and infinite numbers are strings`() throws {
        let codec = JSONCodec()
        var source = SplitMix64(seed: 5)
        for _ in 0..<1000 {
            let date = Date(timeIntervalSinceReferenceDate: Double(source.next() >> 20) / 1_000_003)
            #expect(try codec.decode([Date].self, from: codec.encode([date])) == [date])
        }
        let numbers = [Double.infinity, -.infinity, 0.1]
        #expect(try codec.decode([Double].self, from: codec.encode(numbers)) == numbers)
        #expect(try codec.decode([Double].self, from: codec.encode([Double.nan]))[0].isNaN)
    }

    @Test func `The sample payloads come back as they were`() throws {
        let codec = JSONCodec()
        #expect(
            try codec.decode(SampleEvent.self, from: codec.encode(SamplePayloads.event())) == SamplePayloads.event())
        let workout = SamplePayloads.workout()
        #expect(try codec.decode(SampleWorkout.self, from: codec.encode(workout)) == workout)
        let track = SamplePayloads.track(count: 100)
        #expect(try codec.decode(SampleTrack.self, from: codec.encode(track)) == track)
    }

    @Test func `Bytes that aren't JSON are an error`() {
        #expect(throws: DecodingError.self) { _ = try JSONCodec().decode(Int.self, from: Array("{".utf8)) }
        #expect(throws: DecodingError.self) { _ = try JSONCodec().decode(Int.self, from: []) }
    }

    @Test func `The codec plugins contribute their codecs`() throws {
        let bus = try PluginBus {
            JSONCodecPlugin()
            CompactCodecPlugin()
        }
        #expect(bus.contributions(to: .codecs).map(\.value.id.number) == [1, 2])
        #expect(bus.contributions(to: .codecs).map(\.plugin.rawValue) == ["codec.json", "codec.compact"])
    }
}
