public import MeshWire

extension SampleMetrics: WireCodable {
    public enum WireKeys: Int, CodingKey {
        /// The number of the first field.
        case heartRate = 1
        /// The numbers of the other fields.
        case activeEnergy, distance, pace, cadence
    }

    public func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(heartRate, .heartRate)
        fields.write(activeEnergy, .activeEnergy)
        fields.write(distance, .distance)
        fields.write(pace, .pace)
        fields.write(cadence, .cadence)
    }

    public init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        heartRate = try fields.read(.heartRate)
        activeEnergy = try fields.read(.activeEnergy)
        distance = try fields.read(.distance)
        pace = try fields.read(.pace)
        cadence = try fields.read(.cadence)
    }
}
