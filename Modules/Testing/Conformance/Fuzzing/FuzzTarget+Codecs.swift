import Foundation
import MeshIdentity

extension FuzzTarget {
    /// A target for a codec. Decodes the input as several types. Each decoded value must survive a round trip.
    static func codec(_ codec: any PayloadCodec) -> FuzzTarget {
        FuzzTarget(codec.id.name) { input in
            try attack(codec, input, as: SampleEvent.self)
            try attack(codec, input, as: SampleMetrics.self)
            try attack(codec, input, as: SampleWorkout.self)
            try attack(codec, input, as: SampleTrack.self)
            try attack(codec, input, as: Zoo.self)
            try attack(codec, input, as: [String: [Int]].self)
            try attack(codec, input, as: [[[UInt8]]].self)
        }
    }

    private static func attack<Value: Codable & Equatable>(
        _ codec: any PayloadCodec, _ input: UnsafeRawBufferPointer, as type: Value.Type
    ) throws {
        guard let value = try? codec.decode(type, from: input), let written = try? codec.encode(value) else { return }
        guard let again = try? codec.decode(type, from: written) else {
            try require(false, "what \(codec.id.name) has written as \(type) can be read")
            return
        }
        // Compares bytes too, because NaN differs from itself.
        try require(again == value || (try? codec.encode(again)) == written, "\(type) survives a round trip")
    }

    /// Types that Codable can express and the samples don't use.
    private struct Zoo: Codable, Equatable {
        struct Empty: Codable, Equatable {}
        indirect enum Tree: Codable, Equatable {
            case leaf
            case node(Tree, value: Int8, Tree)
        }

        var bytes: Data?
        var link: URL?
        var amount: Decimal?
        var id: UUID?
        var byName: [String: Int64]?
        var byNumber: [Int: String]?
        var byTree: [Tree]?
        var maybe: [Float?]?
        var words: Set<UInt16>?
        var empty: Empty?
    }
}
