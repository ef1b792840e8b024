public import MeshBus

/// A value to measure codecs with.
public struct BenchmarkPayload: Sendable {
    /// The name of the payload on the command line, such as `track`.
    public let id: String
    /// The value to encode and decode.
    public let value: any Codable & Equatable & Sendable
    /// The samples that make up the value; nil for other values.
    public let samples: Samples?

    /// Creates a payload of a fixed size, or of any size with `samples`.
    public init(id: String, value: any Codable & Equatable & Sendable, samples: Samples? = nil) {
        self.id = id
        self.value = value
        self.samples = samples
    }

    /// A payload with a varying number of samples, to find how many fit under a limit.
    public struct Samples: Sendable {
        /// Number of samples in the payload.
        public let count: Int
        /// Returns the payload with the given number of samples, from 0.
        public let payload: @Sendable (Int) -> any Codable & Equatable & Sendable

        /// Creates a description of the samples of a payload.
        public init(count: Int, payload: @escaping @Sendable (Int) -> any Codable & Equatable & Sendable) {
            self.count = count
            self.payload = payload
        }
    }
}

extension ExtensionPoint where Value == BenchmarkPayload {
    /// The extension point at which payloads for measuring codecs register.
    public static let benchmarkPayloads = ExtensionPoint("sessionmesh.benchmark-payloads")
}
