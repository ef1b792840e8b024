public import Foundation

/// An order as a shop's app might keep it: nested, with dictionaries, decimals, dates and optionals, and no direct path,
/// only Codable. About 1 KB of content.
public struct SampleDocument: Codable, Hashable, Sendable {
    /// Of the order.
    package var id: UUID
    /// A few words.
    package var title: String
    /// When the order was placed.
    package var createdAt: Date
    /// When it was changed last; nil for never.
    package var changedAt: Date?
    /// When it was put away; nil where it was not.
    package var archivedAt: Date?
    /// Where the order is shown.
    package var link: URL
    /// Who placed it.
    package var customer: Person
    /// What was ordered.
    package var lines: [Line]
    /// What all lines come to.
    package var total: Decimal
    /// What the lines come to in each currency.
    package var totals: [String: Decimal]
    /// Free words by name.
    package var labels: [String: String]
    /// Pieces by warehouse.
    package var stock: [String: Int]
    /// What the customer thinks of it; nil for nothing.
    package var rating: Double?

    /// Every field as it is.
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
        /// nil where it is not known.
        package var email: String?
        /// nil where it is not known.
        package var phone: String?
        /// Years; nil where it is not known.
        package var age: Int?

        /// Every field as it is.
        public init(name: String, email: String?, phone: String?, age: Int?) {
            self.name = name
            self.email = email
            self.phone = phone
            self.age = age
        }
    }

    /// One article of an order.
    public struct Line: Codable, Hashable, Sendable {
        /// The article's number.
        package var article: String
        /// Pieces.
        package var count: Int
        /// Of one piece.
        package var price: Decimal
        /// Off the price; nil for none.
        package var discount: Decimal?
        /// nil where it was not delivered.
        package var deliveredAt: Date?
        /// Free words.
        package var tags: [String]
        /// What the article is made of.
        package var parts: [Part]
        /// nil for none.
        package var note: String?

        /// Every field as it is.
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
        /// What it is called.
        package var name: String
        /// Kilograms.
        package var weight: Double?

        /// Every field as it is.
        public init(name: String, weight: Double?) {
            self.name = name
            self.weight = weight
        }
    }
}
