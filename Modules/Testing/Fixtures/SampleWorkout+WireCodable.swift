public import MeshWire

extension SampleWorkout.Activity: WireValue {}
extension SampleWorkout.Phase: WireValue {}

extension SampleWorkout: WireCodable {
    public enum WireKeys: Int, CodingKey {
        /// The number of the first field.
        case workoutID = 1
        /// The numbers of the next fields.
        case name, activity, phase, startedAt, pausedAt, elapsed, totals, segments, laps
        /// The numbers of the last fields.
        case recentHeartRates, zoneSeconds, notes, participants
    }

    public func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(workoutID, .workoutID)
        fields.write(name, .name)
        fields.write(activity, .activity)
        fields.write(phase, .phase)
        fields.write(startedAt, .startedAt)
        fields.write(pausedAt, .pausedAt)
        fields.write(elapsed, .elapsed)
        fields.write(totals, .totals)
        fields.write(segments, .segments)
        fields.write(laps, .laps)
        fields.write(recentHeartRates, .recentHeartRates)
        fields.write(zoneSeconds, .zoneSeconds)
        fields.write(notes, .notes)
        fields.write(participants, .participants)
    }

    public init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        workoutID = try fields.read(.workoutID)
        name = try fields.read(.name)
        activity = try fields.read(.activity)
        phase = try fields.read(.phase)
        startedAt = try fields.read(.startedAt)
        pausedAt = try fields.read(.pausedAt)
        elapsed = try fields.read(.elapsed)
        totals = try fields.read(.totals)
        segments = try fields.read(.segments)
        laps = try fields.read(.laps)
        recentHeartRates = try fields.read(.recentHeartRates)
        zoneSeconds = try fields.read(.zoneSeconds)
        notes = try fields.read(.notes)
        participants = try fields.read(.participants)
    }
}

extension SampleWorkout.Segment: WireCodable {
    public enum WireKeys: Int, CodingKey {
        /// The number of the first field.
        case id = 1
        /// The numbers of the next fields.
        case title, kind, startedAt, endedAt, distance, averageHeartRate, maximumHeartRate, sets, repetitions
        /// The number of the last field.
        case isCompleted
    }

    public func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(id, .id)
        fields.write(title, .title)
        fields.write(kind, .kind)
        fields.write(startedAt, .startedAt)
        fields.write(endedAt, .endedAt)
        fields.write(distance, .distance)
        fields.write(averageHeartRate, .averageHeartRate)
        fields.write(maximumHeartRate, .maximumHeartRate)
        fields.write(sets, .sets)
        fields.write(repetitions, .repetitions)
        fields.write(isCompleted, .isCompleted)
    }

    public init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        id = try fields.read(.id)
        title = try fields.read(.title)
        kind = try fields.read(.kind)
        startedAt = try fields.read(.startedAt)
        endedAt = try fields.read(.endedAt)
        distance = try fields.read(.distance)
        averageHeartRate = try fields.read(.averageHeartRate)
        maximumHeartRate = try fields.read(.maximumHeartRate)
        sets = try fields.read(.sets)
        repetitions = try fields.read(.repetitions)
        isCompleted = try fields.read(.isCompleted)
    }
}

extension SampleWorkout.Lap: WireCodable {
    public enum WireKeys: Int, CodingKey {
        /// The number of the first field.
        case index = 1
        /// The numbers of the other fields.
        case start, duration, distance, averageHeartRate
    }

    public func encode(into fields: inout WireFieldWriter<WireKeys>) {
        fields.write(index, .index)
        fields.write(start, .start)
        fields.write(duration, .duration)
        fields.write(distance, .distance)
        fields.write(averageHeartRate, .averageHeartRate)
    }

    public init(from fields: inout WireFieldReader<WireKeys>) throws(WireError) {
        index = try fields.read(.index)
        start = try fields.read(.start)
        duration = try fields.read(.duration)
        distance = try fields.read(.distance)
        averageHeartRate = try fields.read(.averageHeartRate)
    }
}
