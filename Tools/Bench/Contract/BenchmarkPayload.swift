public import MeshBus

/// A value that codecs are measured with.
public struct BenchmarkPayload: Sendable {
    /// The name that people type to choose it, such as `track`.
    public let id: String
    /// The value to encode and decode.
    public let value: any Codable & Equatable & Sendable
    /// Nil unless the value is made of samples.
    public let samples: Samples?

    /// A payload of one size, unless there are `samples`.
    public init(id: String, value: any Codable & Equatable & Sendable, samples: Samples? = nil) {
        self.id = id
        self.value = value
        self.samples = samples
    }

    /// A payload with a varying number of samples, to find how many fit under a limit.
    public struct Samples: Sendable {
        /// Samples in the payload.
        public let count: Int
        /// The payload with that many samples; any number from 0.
        public let payload: @Sendable (Int) -> any Codable & Equatable & Sendable

        /// A payload that can be made with any number of samples.
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
