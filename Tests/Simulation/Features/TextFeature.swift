public import MeshEngine
public import MeshFoundation

/// A feature whose state is a text that all peers edit by position. The effect of an edit depends on all edits before
/// it.
public enum TextFeature: SimulatedFeature {
    public enum Event: Codable, Hashable, Sendable {
        case insert(UInt8, at: Int)
        case remove(at: Int)
        case reverse(from: Int, count: Int)
    }

    public enum EditError: Error {
        case beyondEnd
    }

    public struct Reducer: SessionSyncReducer {
        /// - Throws: `EditError.beyondEnd` for a reversal that starts past the end of the text. It then has no effect.
        public func reduce(state: inout [UInt8], event: Event, context: SessionEventContext) throws {
            switch event {
            case .insert(let letter, let place): state.insert(letter, at: min(place, state.count))
            case .remove(let place): state.remove(at: place % state.count)
            case .reverse(let start, let count):
                guard start < state.count else { throw EditError.beyondEnd }
                state[start..<min(start + count, state.count)].reverse()
            }
        }
    }

    public struct Policy: SessionConflictPolicy {
        public func shouldApply(event: Event, context: SessionConflictContext<[UInt8]>) -> Bool {
            if case .remove = event { !context.state.isEmpty } else { true }
        }
    }

    public static let id = "text"
    public static let initialState: [UInt8] = []
    public static let reducer = Reducer()
    public static let policy = Policy()

    public static func event(number: UInt32, choice: UInt64, moment: Date) -> Event {
        let place = Int(choice >> 8 & 0x3F)
        return switch choice % 8 {
        case 0, 1: .remove(at: place)
        case 2: .reverse(from: place / 2, count: 2 + place % 5)
        default: .insert(UInt8(97 + number % 26), at: place)
        }
    }
}
