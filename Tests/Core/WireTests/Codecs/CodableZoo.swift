import Foundation
import MeshTesting

/// One value of any type. Tests run over all of them.
struct Specimen: Sendable, CustomStringConvertible {
    let name: String
    let visit: @Sendable (any SpecimenVisitor) throws -> Void

    init<Value: Codable & Equatable & Sendable>(_ value: Value, _ name: String? = nil) {
        self.name = name ?? "\(Value.self)"
        visit = { try $0.visit(value) }
    }

    var description: String { name }
}

protocol SpecimenVisitor {
    func visit<Value: Codable & Equatable & Sendable>(_ value: Value) throws
}

/// Values of every shape that Codable can take.
enum CodableZoo {
    static let specimens: [Specimen] =
        scalars + optionals + collections + structs + enums + handWritten
        + [
            Specimen(SamplePayloads.event()), Specimen(SampleEvent.lap(index: 7, at: SamplePayloads.start)),
            Specimen(SamplePayloads.metrics()), Specimen(SamplePayloads.workout()),
            Specimen(SamplePayloads.track(count: 140)), Specimen(SamplePayloads.record()),
            Specimen(SamplePayloads.document()),
        ]

    private static let scalars: [Specimen] =
        [Int.min, -1_000_000, -65, -64, -1, 0, 1, 63, 64, 8191, 8192, Int.max].map { Specimen($0, "Int \($0)") }
        + [0, 127, 128, UInt64(Int64.max), UInt64(Int64.max) + 1, UInt64.max].map { Specimen($0, "UInt64 \($0)") }
        + [0, -0.0, 1.5, .pi, .infinity, -.infinity, .leastNonzeroMagnitude, .greatestFiniteMagnitude].map {
            Specimen($0, "Double \($0)")
        }
        + [
            Specimen(Int8.min), Specimen(Int16.min), Specimen(Int32.min), Specimen(Int64.min),
            Specimen(UInt8.max), Specimen(UInt16.max), Specimen(UInt32.max), Specimen(UInt.max),
            Specimen(true), Specimen(false), Specimen(Float.pi), Specimen(Float.greatestFiniteMagnitude),
            Specimen(""), Specimen("ab"), Specimen("Saturday – Isar 🏃🏽‍♀️"), Specimen(String(repeating: "x", count: 300)),
            Specimen(Date(timeIntervalSinceReferenceDate: 785_412_345.678912)), Specimen(Date.distantPast),
            Specimen(UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))),
            Specimen(Data([0, 1, 255])), Specimen(Data()),
            Specimen(Decimal(string: "-12345678901234567890.0123456789") ?? 0),
            Specimen(URL(string: "https://example.org/a%20b?q=1#f")),
            Specimen(URL(string: "sub/page", relativeTo: URL(string: "https://example.org/base/"))),
        ] + wideIntegers

    private static let wideIntegers: [Specimen] = {
        guard #available(macOS 15, iOS 18, watchOS 11, tvOS 18, visionOS 2, *) else { return [] }
        return [
            Specimen(Int128.min), Specimen(Int128.max), Specimen(Int128(-1)), Specimen(Int128(Int64.min) - 1),
            Specimen(UInt128.max), Specimen(UInt128(UInt64.max)), Specimen(UInt128(1) << 127),
        ]
    }()

    private static let optionals: [Specimen] = [
        Specimen(Int?.none), Specimen(Int?.some(3)), Specimen(Int??.none), Specimen(Int??.some(nil)),
        Specimen(Int??.some(4)), Specimen(Int???.some(.some(nil))), Specimen([Int?]([1, nil, 3])),
        Specimen([Int??]([nil, .some(nil), 3])), Specimen(Optionals()), Specimen(Optionals.full),
        Specimen(Nested<Leaf>?.none), Specimen([Leaf?]([nil, Leaf(), nil])), Specimen(Leaf??.some(nil)),
        Specimen(["a": Int?.none, "b": 2]), Specimen(["a": Leaf?.none, "b": Leaf()]),
        Specimen(Nested<Int?>(value: nil)), Specimen(Nested<Int?>(value: 3)),
        Specimen(Nested<Leaf??>(value: .some(nil))),
    ]

    private static let collections: [Specimen] = [
        Specimen([Double]()), Specimen([1.5, -2, .infinity]), Specimen([Float(1.5), 2]), Specimen([Int]()),
        Specimen([Int](-200...200)), Specimen([Int8]([-128, 127])), Specimen([UInt8]([0, 255])),
        Specimen([Int16]([.min, .max])), Specimen([UInt16]([0, .max])), Specimen([Int32]([.min, .max])),
        Specimen([UInt32]([0, .max])), Specimen([Int64]([.min, .max])), Specimen([UInt64]([0, .max])),
        Specimen([UInt]([0, .max])), Specimen([true, false]), Specimen(["", "a", "long enough", "long enough"]),
        Specimen([SamplePayloads.start]),
        Specimen([UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))]),
        Specimen([[1], [], [2, 3]]), Specimen([[[Leaf()]]]), Specimen(Set([1, 2, 3])), Specimen(Set(["a", "b"])),
        Specimen(ContiguousArray([1.5, 2])), Specimen((0..<300).map { Leaf(number: $0, text: "\($0)") }, "300 leaves"),
        Specimen(["a": 1, "b": 2]), Specimen([String: Int]()), Specimen([1: "a", -5: "b"]), Specimen([Int: Int]()),
        Specimen(["007": 1, "7": 2, "": 3]), Specimen([1.5: "a", 2.5: "b"]), Specimen([Leaf(): 1]),
        Specimen([true: Leaf()]), Specimen([Color.red: 1, .green: 2]), Specimen([NamedKey.first: 1, .second: 2]),
        Specimen(["a": ["b": ["c": [1, 2]]]]),
        Specimen([UUID(uuid: (9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9, 9)): [1]]),
        Specimen(Set([Leaf(), Leaf(number: 2)])), Specimen([Data([1]), Data()]), Specimen([Decimal(1.5)]),
    ]

    private static let structs: [Specimen] = [
        Specimen(Leaf()), Specimen(Empty()), Specimen([Empty(), Empty()]),
        Specimen(Nested(value: Nested(value: Leaf()))),
        Specimen(Widths()), Specimen(Tree.sample), Specimen(List.sample), Specimen(Wrapper(value: Wrapper(value: 5))),
        Specimen(Animal(legs: 4)), Specimen(Dog(legs: 4, name: "Rex")), Specimen(Meters(rawValue: 1.5)),
        Specimen([Meters(rawValue: 1.5), Meters(rawValue: 2)]), Specimen(Range(uncheckedBounds: (1, 5))),
    ]

    private static let enums: [Specimen] =
        [Shape.empty, .circle(radius: 2), .rectangle(width: 1, height: 2), .pair(1, "two"), .nested(.empty)].map {
            Specimen($0, "Shape \($0)")
        }
        + [
            Specimen(Color.green), Specimen([Color.red, .green]), Specimen(Single.only),
            Specimen([Shape.empty, .pair(3, "")]),
            Specimen(Result2.success(["a": 1])), Specimen(Result2<Int>.failure("no")), Specimen(Shape?.some(.empty)),
        ]

    private static let handWritten: [Specimen] = [
        Specimen(Interleaved(first: [1, 2], second: [3, 4])), Specimen([Interleaved(first: [1], second: [])]),
        Specimen(LateNested(a: 1, b: "b", c: 2)), Specimen(TwoContainers(a: 1, b: 2)),
        Specimen(Reversed(a: 1, b: "b", c: Leaf())),
        Specimen(NumberList(values: [1, 2, 3])), Specimen(BlockByElement(values: [1.5, 2.5])),
        Specimen(BlockByArray(values: [1, -2, 300])), Specimen(StructKeys(values: ["one": 1, "two": 2])),
        Specimen(IntKeys(a: 1, b: "b")), Specimen(SuperKeyed(own: 1, inherited: Leaf())),
        Specimen(Mixed(number: 1, text: "t")),
        Specimen(ExplicitNil(value: nil)), Specimen(ExplicitNil(value: 1)), Specimen(ManyCases.sample),
        Specimen(BoxedNil(value: nil)), Specimen(BoxedNil?.some(BoxedNil(value: nil))),
        Specimen(PartialReader(a: 1, b: 2)),
    ]
}
