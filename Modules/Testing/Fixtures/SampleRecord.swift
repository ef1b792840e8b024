/// A plain record of four fields, as any app has them: no direct path, only Codable. About 30 bytes of content.
public struct SampleRecord: Codable, Hashable, Sendable {
    /// Below 100,000.
    package var number: Int
    /// A few words.
    package var name: String
    /// Between 0 and 1.
    package var score: Double
    /// Either.
    package var isActive: Bool

    /// Every field as it is.
    public init(number: Int, name: String, score: Double, isActive: Bool) {
        self.number = number
        self.name = name
        self.score = score
        self.isActive = isActive
    }
}
