import Foundation
import MeshIdentity
import Testing

@Suite struct MetadataTests {
    static let session = UUID(uuid: (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16))

    static func metadata(sequence: UInt64 = 7, eventID: UUID? = nil) -> SessionSyncMetadata {
        SessionSyncMetadata(
            sessionID: session, featureID: "workout", sourcePeerID: "phone", eventID: eventID, sequence: sequence,
            causalTimestamp: Date(timeIntervalSince1970: 1_767_225_600.25), monotonicTimestamp: 12.5,
            payloadType: "workout.event", acknowledgedSequence: 3,
            stamp: HybridTimestamp(milliseconds: 1_767_225_600_250, counter: 1), incarnation: 0xA0B0_C0D0, epoch: 2,
            promise: SequencePromise(sequence: 6, stamp: HybridTimestamp(rawValue: 99)))
    }

    @Test func `The reference initializer leaves the rest at its defaults`() {
        let metadata = SessionSyncMetadata(
            sessionID: Self.session, featureID: "workout", sourcePeerID: "phone", sequence: 1,
            causalTimestamp: Date(timeIntervalSince1970: 0), payloadType: "event")
        #expect(metadata.protocolVersion == SessionSyncProtocol.currentVersion)
        #expect(metadata.stamp == .zero)
        #expect(metadata.incarnation == 0)
        #expect(metadata.epoch == 0)
        #expect(metadata.promise == nil)
        #expect(metadata.eventID == metadata.derivedEventID)
    }

    @Test func `A derived id is the same on every system`() {
        #expect(Self.metadata().eventID.uuidString == Self.goldenID)
    }

    @Test func `A derived id has version 8 and the RFC's variant`() {
        for sequence in 1...200 as ClosedRange<UInt64> {
            let bytes = Self.metadata(sequence: sequence).eventID.uuid
            #expect(bytes.6 >> 4 == 8)
            #expect(bytes.8 >> 6 == 0b10)
        }
    }

    @Test func `A derived id follows from session, source, incarnation, sequence, stamp and payload type`() {
        var ids: Set<UUID> = [Self.metadata().eventID]
        let changes: [(inout SessionSyncMetadata) -> Void] = [
            { $0.sessionID = UUID() }, { $0.sourcePeerID = "watch" }, { $0.sourcePeerID = "" }, { $0.incarnation = 1 },
            { $0.sequence = 8 }, { $0.stamp = .zero }, { $0.payloadType = "other" },
            // Equal letters, split elsewhere.
            {
                $0.sourcePeerID = "phonew"
                $0.payloadType = "orkout.event"
            },
        ]
        for change in changes {
            var metadata = Self.metadata()
            change(&metadata)
            #expect(ids.insert(metadata.eventID).inserted)
        }
        var same = Self.metadata()
        same.epoch = 9
        same.causalTimestamp = .distantPast
        same.acknowledgedSequence = nil
        #expect(same.eventID == Self.metadata().eventID)
    }

    @Test func `An explicit id stays, and metadata without a sequence gets a random one`() {
        let id = UUID()
        var metadata = Self.metadata(eventID: id)
        metadata.sequence = 99
        #expect(metadata.eventID == id)
        #expect(Self.metadata(sequence: 0).eventID != Self.metadata(sequence: 0).eventID)
        let made = Self.metadata(sequence: 0)
        #expect(made.eventID == made.eventID)
    }

    @Test func `Metadata with an id set to the derived one equals metadata without`() {
        let derived = Self.metadata()
        let explicit = Self.metadata(eventID: derived.eventID)
        #expect(derived == explicit)
        #expect(derived.hashValue == explicit.hashValue)
    }

    @Test func `Every field counts in a comparison`() {
        let changes: [(inout SessionSyncMetadata) -> Void] = [
            { $0.protocolVersion = 2 }, { $0.sessionID = UUID() }, { $0.featureID = "" }, { $0.sourcePeerID = "" },
            { $0.eventID = UUID() }, { $0.sequence = 8 }, { $0.causalTimestamp = .distantPast },
            { $0.monotonicTimestamp = nil }, { $0.payloadType = "" }, { $0.acknowledgedSequence = nil },
            { $0.stamp = .zero }, { $0.incarnation = 0 }, { $0.epoch = 0 }, { $0.promise = nil },
        ]
        for (index, change) in changes.enumerated() {
            var metadata = Self.metadata()
            change(&metadata)
            #expect(metadata != Self.metadata(), "change \(index)")
        }
    }

    @Test func `Metadata survives JSON with an explicit and with a derived id`() throws {
        for original in [Self.metadata(), Self.metadata(eventID: UUID()), Self.metadata(sequence: 0)] {
            let decoded = try JSONDecoder().decode(SessionSyncMetadata.self, from: JSONEncoder().encode(original))
            #expect(decoded == original)
            // A derived id takes no bytes when it is forwarded.
            #expect((decoded.explicitEventID == nil) == (original.explicitEventID == nil))
        }
    }

    @Test func `Metadata without our fields can still be read`() throws {
        let json = """
            {"protocolVersion": 1, "sessionID": "\(Self.session)", "featureID": "workout", "sourcePeerID": "phone",
             "eventID": "11111111-2222-4333-8444-555555555555", "sequence": 4, "causalTimestamp": 0,
             "payloadType": "event", "somethingNew": [1, 2]}
            """
        let metadata = try JSONDecoder().decode(SessionSyncMetadata.self, from: Data(json.utf8))
        #expect(metadata.stamp == .zero)
        #expect(metadata.incarnation == 0)
        #expect(metadata.promise == nil)
        #expect(metadata.eventID.uuidString == "11111111-2222-4333-8444-555555555555")
    }

    /// Computed by another implementation, following the documentation of `derivedEventID`.
    static let goldenID = "E20A3821-B48C-8658-9B4D-7D852C4D6B83"
}
