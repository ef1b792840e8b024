public import MeshBus
public import MeshEngine
public import MeshFoundation

/// A feature whose engines the simulator runs against each other.
///
/// To the implementer: the state should show the order of its events, because states are what peers compare.
public protocol SimulatedFeature: SendableMetatype {
    associatedtype State: Codable & Equatable & Sendable
    associatedtype Event: Codable & Sendable
    associatedtype Reducer: SessionSyncReducer<State, Event>
    associatedtype Policy: SessionConflictPolicy<State, Event>

    /// What people type to choose it.
    static var id: String { get }
    static var initialState: State { get }
    static var reducer: Reducer { get }
    static var policy: Policy { get }

    /// An event that follows from the arguments.
    /// - Parameters:
    ///   - number: different for each event of a run, from 1.
    ///   - choice: random bits.
    ///   - moment: the tap's, by the clock of its peer.
    static func event(number: UInt32, choice: UInt64, moment: Date) -> Event

    /// How often the event of that number shows in the state; nil where that cannot be told.
    static func count(of number: UInt32, in state: State) -> Int?
}

extension SimulatedFeature {
    public static func count(of number: UInt32, in state: State) -> Int? { nil }
}

/// A feature to simulate, whatever its types.
public struct SimulationSubject: Sendable {
    public let id: String
    let run: @Sendable (Schedule, SimulationOptions) -> WorldOutcome

    public init<Feature: SimulatedFeature>(_ feature: Feature.Type) {
        self.init(id: Feature.id) { schedule, options in
            switch schedule.setting {
            case .original:
                let apps = OriginalApps<Feature>(schedule, options)
                apps.run()
                return apps.outcome
            case .lives:
                var lives = ManyLives<Feature>(schedule, options)
                lives.run()
                return lives.outcome
            case .ordinary, .liars, .late, .company, .hub:
                let world = World<Feature>(schedule, options)
                world.run()
                return world.outcome
            }
        }
    }

    init(id: String, run: @escaping @Sendable (Schedule, SimulationOptions) -> WorldOutcome) {
        self.id = id
        self.run = run
    }
}

extension ExtensionPoint where Value == SimulationSubject {
    /// Where plugins offer features to simulate.
    public static let simulations = ExtensionPoint("sessionmesh.simulations")
}
