public import MeshWire

extension SampleTrack: WireCodable {
    public enum WireKeys: Int, CodingKey {
        /// The number of the first field.
        case workoutID = 1
        /// The numbers of the other fields.
        case startedAt, points, heartRates
    }

    public func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(workoutID, .workoutID)
        fields.write(startedAt, .startedAt)
        fields.write(points, .points)
        fields.write(heartRates, .heartRates)
    }

    public init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        workoutID = try fields.read(.workoutID)
        startedAt = try fields.read(.startedAt)
        points = try fields.read(.points)
        heartRates = try fields.read(.heartRates)
    }
}

extension SampleTrack.Point: WireCodable {
    public enum WireKeys: Int, CodingKey {
        /// The number of the first field.
        case time = 1
        /// The numbers of the other fields.
        case latitude, longitude, altitude, horizontalAccuracy, speed, course
    }

    public func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(time, .time)
        fields.write(latitude, .latitude)
        fields.write(longitude, .longitude)
        fields.write(altitude, .altitude)
        fields.write(horizontalAccuracy, .horizontalAccuracy)
        fields.write(speed, .speed)
        fields.write(course, .course)
    }

    public init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        time = try fields.read(.time)
        latitude = try fields.read(.latitude)
        longitude = try fields.read(.longitude)
        altitude = try fields.read(.altitude)
        horizontalAccuracy = try fields.read(.horizontalAccuracy)
        speed = try fields.read(.speed)
        course = try fields.read(.course)
    }
}

extension SampleHeartRate: WireCodable {
    public enum WireKeys: Int, CodingKey {
        /// The number of the first field.
        case time = 1
        /// The number of the other field.
        case beatsPerMinute
    }

    public func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(time, .time)
        fields.write(beatsPerMinute, .beatsPerMinute)
    }

    public init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        time = try fields.read(.time)
        beatsPerMinute = try fields.read(.beatsPerMinute)
    }
}
