/// A plain record of four fields, as any app has them: no direct path, only Codable. About 30 bytes of content.
public struct SampleRecord: Codable, Hashable, Sendable {
    public var number: Int
    public var name: String
    /// Between 0 and 1.
    public var score: Double
    public var isActive: Bool

    public init(number: Int, name: String, score: Double, isActive: Bool) {
        self.number = number
        self.name = name
        self.score = score
        self.isActive = isActive
    }
}
