public import Foundation

/// An order in a shop's app: nested, with dictionaries, decimals, dates and optionals. Has synthesized `Codable` and no
/// `WireCodable`. About 1 KB of content.
public struct SampleDocument: Codable, Hashable, Sendable {
    /// The ID of the order.
    package var id: UUID
    /// The title, in a few words.
    package var title: String
    /// The time of the order.
    package var createdAt: Date
    /// The time of the last change; nil if there was none.
    package var changedAt: Date?
    /// The time of archiving; nil if the order isn't archived.
    package var archivedAt: Date?
    /// The web page of the order.
    package var link: URL
    /// The customer who placed the order.
    package var customer: Person
    /// The ordered articles.
    package var lines: [Line]
    /// The sum of all lines.
    package var total: Decimal
    /// Sums by currency.
    package var totals: [String: Decimal]
    /// Free texts by name.
    package var labels: [String: String]
    /// Number of pieces by warehouse.
    package var stock: [String: Int]
    /// The customer's rating; nil if there is none.
    package var rating: Double?

    /// Creates a document from its fields.
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
    /// A customer of the sample document.
    public struct Person: Codable, Hashable, Sendable {
        /// First and last name.
        package var name: String
        /// The email address; nil if unknown.
        package var email: String?
        /// The phone number; nil if unknown.
        package var phone: String?
        /// The age in years; nil if unknown.
        package var age: Int?

        /// Creates a person from its fields.
        public init(name: String, email: String?, phone: String?, age: Int?) {
            self.name = name
            self.email = email
            self.phone = phone
            self.age = age
        }
    }

    /// An article with its quantity.
    public struct Line: Codable, Hashable, Sendable {
        /// The article's number.
        package var article: String
        /// Number of pieces.
        package var count: Int
        /// The price of one piece.
        package var price: Decimal
        /// The discount on the price; nil for none.
        package var discount: Decimal?
        /// The time of delivery; nil if not delivered.
        package var deliveredAt: Date?
        /// Free texts.
        package var tags: [String]
        /// The parts of the article.
        package var parts: [Part]
        /// A note; nil for none.
        package var note: String?

        /// Creates a line from its fields.
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

    /// A part of an article.
    public struct Part: Codable, Hashable, Sendable {
        /// The name of the part.
        package var name: String
        /// The weight in kilograms.
        package var weight: Double?

        /// Creates a part from its fields.
        public init(name: String, weight: Double?) {
            self.name = name
            self.weight = weight
        }
    }
}
