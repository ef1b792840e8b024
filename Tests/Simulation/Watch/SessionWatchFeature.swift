import MeshEngine

/// A feature whose state is the numbers of taps in order, and whose events lose a field when they are encoded. A device
/// that reduced the original event would show another number than the other device, and than its own next launch.
enum SessionWatchFeature {
    struct Event: Codable, Sendable {
        enum CodingKeys: CodingKey { case number }
        let number: UInt32
        /// A field that isn't encoded.
        var wasTappedHere = false

        static let mark: UInt32 = 1 << 31
    }

    struct Reducer: SessionSyncReducer {
        /// True for a version of the app that leaves out taps with odd numbers.
        let isOdd: Bool

        func reduce(state: inout [UInt32], event: Event, context: SessionEventContext) {
            if isOdd, event.number % 2 == 1 { return }
            state.append(event.wasTappedHere ? event.number | Event.mark : event.number)
        }
    }

    /// The versions of a seed's two apps.
    enum Versions: Sendable {
        case equal
        /// Their reducers differ, but both state the same version. Both devices must report that their states differ.
        case differ
        /// Their reducers differ, and they state different versions. So the devices don't compare their states.
        case differInNumber

        init(seed: UInt64) {
            self =
                switch seed % 16 {
                case 7: .differ
                case 15: .differInNumber
                default: .equal
                }
        }
    }
}
