/// A plain record of four fields, with synthesized `Codable` and no `WireCodable`. About 30 bytes of content.
public struct SampleRecord: Codable, Hashable, Sendable {
    /// A number below 100,000.
    package var number: Int
    /// A short name.
    package var name: String
    /// A number between 0 and 1.
    package var score: Double
    /// A random Boolean.
    package var isActive: Bool

    /// Creates a record from its fields.
    public init(number: Int, name: String, score: Double, isActive: Bool) {
        self.number = number
        self.name = name
        self.score = score
        self.isActive = isActive
    }
}
