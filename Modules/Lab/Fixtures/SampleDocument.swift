public import Foundation

/// An order as a shop's app might keep it: nested, with dictionaries, decimals, dates and optionals, and no direct path,
/// only Codable. About 1 KB of content.
public struct SampleDocument: Codable, Hashable, Sendable {
    public var id: UUID
    public var title: String
    public var createdAt: Date
    public var changedAt: Date?
    public var archivedAt: Date?
    public var link: URL
    public var customer: Person
    public var lines: [Line]
    public var total: Decimal
    /// What the lines come to in each currency.
    public var totals: [String: Decimal]
    public var labels: [String: String]
    /// Pieces by warehouse.
    public var stock: [String: Int]
    public var rating: Double?

    public init(
        id: UUID, title: String, createdAt: Date, changedAt: Date?, archivedAt: Date?, link: URL, customer: Person,
        lines: [Line], total: Decimal, totals: [String: Decimal], labels: [String: String], stock: [String: Int],
        rating: Double?
    ) {
        self.id = id
        self.title = title
        self.createdAt = createdAt
        self.changedAt = changedAt
        self.archivedAt = archivedAt
        self.link = link
        self.customer = customer
        self.lines = lines
        self.total = total
        self.totals = totals
        self.labels = labels
        self.stock = stock
        self.rating = rating
    }
}

extension SampleDocument {
    public struct Person: Codable, Hashable, Sendable {
        public var name: String
        public var email: String?
        public var phone: String?
        public var age: Int?

        public init(name: String, email: String?, phone: String?, age: Int?) {
            self.name = name
            self.email = email
            self.phone = phone
            self.age = age
        }
    }

    public struct Line: Codable, Hashable, Sendable {
        public var article: String
        public var count: Int
        public var price: Decimal
        public var discount: Decimal?
        public var deliveredAt: Date?
        public var tags: [String]
        public var parts: [Part]
        public var note: String?

        public init(
            article: String, count: Int, price: Decimal, discount: Decimal?, deliveredAt: Date?, tags: [String],
            parts: [Part], note: String?
        ) {
            self.article = article
            self.count = count
            self.price = price
            self.discount = discount
            self.deliveredAt = deliveredAt
            self.tags = tags
            self.parts = parts
            self.note = note
        }
    }

    public struct Part: Codable, Hashable, Sendable {
        public var name: String
        /// Kilograms.
        public var weight: Double?

        public init(name: String, weight: Double?) {
            self.name = name
            self.weight = weight
        }
    }
}
