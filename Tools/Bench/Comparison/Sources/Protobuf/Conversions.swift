import Foundation
public import MeshIdentity
public import MeshTesting
import SwiftProtobuf

/// Creates a protobuf message from a sample. The conversion isn't measured: a program built on protobuf would hold the
/// generated messages as its values.
extension ProtoEnvelope {
    public init(metadata: SessionSyncMetadata, event: SampleEvent) {
        self.init()
        self.metadata = ProtoMetadata(metadata)
        self.event = ProtoEvent(event)
    }

    public init(metadata: SessionSyncMetadata, metrics: SampleMetrics) {
        self.init()
        self.metadata = ProtoMetadata(metadata)
        self.metrics = ProtoMetrics(metrics)
    }

    public init(metadata: SessionSyncMetadata, state: SampleWorkout) {
        self.init()
        self.metadata = ProtoMetadata(metadata)
        self.state = ProtoWorkout(state)
    }

    public init(metadata: SessionSyncMetadata, track: SampleTrack) {
        self.init()
        self.metadata = ProtoMetadata(metadata)
        self.track = ProtoTrack(track)
    }
}

extension ProtoMetadata {
    init(_ metadata: SessionSyncMetadata) {
        self.init()
        protocolVersion = Int32(metadata.protocolVersion)
        sessionID = Data(metadata.sessionID)
        featureID = metadata.featureID
        sourcePeerID = metadata.sourcePeerID
        eventID = Data(metadata.eventID)
        sequence = metadata.sequence
        causalTimestamp = metadata.causalTimestamp.timeIntervalSinceReferenceDate
        if let moment = metadata.monotonicTimestamp { monotonicTimestamp = moment }
        payloadType = metadata.payloadType
        if let sequence = metadata.acknowledgedSequence { acknowledgedSequence = sequence }
        stamp = metadata.stamp.rawValue
        incarnation = metadata.incarnation
        epoch = metadata.epoch
    }
}

extension ProtoEvent {
    init(_ event: SampleEvent) {
        self.init()
        switch event {
        case .pause(let moment): pause = ProtoTap(at: moment)
        case .resume(let moment): resume = ProtoTap(at: moment)
        case .lap(let index, let moment):
            lap.index = Int32(index)
            lap.at = moment.timeIntervalSinceReferenceDate
        }
    }
}

extension ProtoTap {
    init(at moment: Date) {
        self.init()
        at = moment.timeIntervalSinceReferenceDate
    }
}

extension ProtoMetrics {
    init(_ metrics: SampleMetrics) {
        self.init()
        heartRate = metrics.heartRate
        activeEnergy = metrics.activeEnergy
        distance = metrics.distance
        pace = metrics.pace
        cadence = metrics.cadence
    }
}

extension ProtoWorkout {
    init(_ workout: SampleWorkout) {
        self.init()
        workoutID = Data(workout.workoutID)
        name = workout.name
        activity = ProtoActivity(workout.activity)
        phase = ProtoPhase(rawValue: workout.phase.rawValue) ?? .idle
        startedAt = workout.startedAt.timeIntervalSinceReferenceDate
        if let moment = workout.pausedAt { pausedAt = moment.timeIntervalSinceReferenceDate }
        elapsed = workout.elapsed
        totals = ProtoMetrics(workout.totals)
        segments = workout.segments.map(ProtoSegment.init)
        laps = workout.laps.map(ProtoLap.init)
        recentHeartRates = workout.recentHeartRates.map(ProtoHeartRate.init)
        zoneSeconds = workout.zoneSeconds
        notes = workout.notes
        participants = workout.participants.map { Data($0) }
    }
}

extension ProtoActivity {
    init(_ activity: SampleWorkout.Activity) {
        self =
            switch activity {
            case .running: .running
            case .cycling: .cycling
            case .strength: .strength
            case .rowing: .rowing
            }
    }
}

extension ProtoSegment {
    init(_ segment: SampleWorkout.Segment) {
        self.init()
        id = Data(segment.id)
        title = segment.title
        kind = ProtoActivity(segment.kind)
        startedAt = segment.startedAt.timeIntervalSinceReferenceDate
        if let moment = segment.endedAt { endedAt = moment.timeIntervalSinceReferenceDate }
        if let metres = segment.distance { distance = metres }
        if let rate = segment.averageHeartRate { averageHeartRate = rate }
        if let rate = segment.maximumHeartRate { maximumHeartRate = rate }
        sets = Int32(segment.sets)
        if let count = segment.repetitions { repetitions = Int32(count) }
        isCompleted = segment.isCompleted
    }
}

extension ProtoLap {
    init(_ lap: SampleWorkout.Lap) {
        self.init()
        index = Int32(lap.index)
        start = lap.start.timeIntervalSinceReferenceDate
        duration = lap.duration
        distance = lap.distance
        if let rate = lap.averageHeartRate { averageHeartRate = rate }
    }
}

extension ProtoHeartRate {
    init(_ rate: SampleHeartRate) {
        self.init()
        time = rate.time.timeIntervalSinceReferenceDate
        beatsPerMinute = rate.beatsPerMinute
    }
}

extension ProtoTrack {
    init(_ track: SampleTrack) {
        self.init()
        workoutID = Data(track.workoutID)
        startedAt = track.startedAt.timeIntervalSinceReferenceDate
        points = track.points.map(ProtoPoint.init)
        heartRates = track.heartRates.map(ProtoHeartRate.init)
    }
}

extension ProtoPoint {
    init(_ point: SampleTrack.Point) {
        self.init()
        time = point.time.timeIntervalSinceReferenceDate
        latitude = point.latitude
        longitude = point.longitude
        altitude = point.altitude
        horizontalAccuracy = point.horizontalAccuracy
        if let metres = point.speed { speed = metres }
        if let degrees = point.course { course = degrees }
    }
}

extension Data {
    init(_ id: UUID) { self = Swift.withUnsafeBytes(of: id.uuid) { Data($0) } }
}
