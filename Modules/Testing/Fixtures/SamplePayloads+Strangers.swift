import Foundation
import MeshBase

// Payloads of apps that don't know this library: with synthesized `Codable`, and without `WireCodable`.

extension SamplePayloads {
    /// Returns a plain record. The same seed gives the same record.
    public static func record(seed: UInt64 = 5) -> SampleRecord {
        var source = SplitMix64(seed: seed)
        return SampleRecord(
            number: Int(source.next() % 100_000), name: "Isar loop, downstream", score: source.fraction(),
            isActive: source.next() % 2 == 0)
    }

    /// Returns an order of 8 lines. Every other line has a discount and was delivered, and every fourth has a note.
    public static func document(seed: UInt64 = 6) -> SampleDocument {
        var source = SplitMix64(seed: seed)
        let lines = (0..<8).map { line($0, from: &source) }
        return SampleDocument(
            id: source.uuid(), title: "Spring order for the club", createdAt: start, changedAt: start + 86_400.25,
            archivedAt: nil, link: shop.appending(path: "orders/\(source.next() % 1_000_000)"),
            customer: SampleDocument.Person(
                name: "Zoë Müller", email: "zoe.mueller@example.org", phone: nil, age: 34),
            lines: lines, total: lines.reduce(0) { $0 + $1.price * Decimal($1.count) },
            totals: ["EUR": amount(from: &source), "CHF": amount(from: &source), "USD": amount(from: &source)],
            labels: [
                "season": "spring", "channel": "club evening", "delivery": "pick up at the boathouse",
                "invoice": "monthly", "colour": "blue and white",
            ],
            stock: ["Munich": 41, "Lenggries": 7, "Bad Tölz": 0, "Plattling": 1_250], rating: 4.5)
    }

    private static let articles = ["Trail shoes", "Rain jacket", "Head torch", "Water bottle"]

    private static var shop: URL {
        var parts = URLComponents()
        parts.scheme = "https"
        parts.host = "shop.example.org"
        return parts.url ?? URL(filePath: "/")
    }

    private static func line(_ index: Int, from source: inout SplitMix64) -> SampleDocument.Line {
        let isEven = index % 2 == 0
        return SampleDocument.Line(
            article: articles[index % articles.count], count: 1 + index % 5, price: amount(from: &source),
            discount: isEven ? amount(from: &source) : nil,
            deliveredAt: isEven ? start + Double(index) * 3600 + source.fraction() : nil,
            tags: ["club", index % 3 == 0 ? "winter" : "summer"],
            parts: (0..<index % 3).map { part in
                SampleDocument.Part(name: "part \(part)", weight: part == 0 ? source.fraction() : nil)
            },
            note: index % 4 == 0 ? "Size \(38 + index), please exchange if it does not fit" : nil)
    }

    /// Returns a random amount in whole cents.
    private static func amount(from source: inout SplitMix64) -> Decimal {
        Decimal(sign: .plus, exponent: -2, significand: Decimal(source.next() % 50_000))
    }
}
