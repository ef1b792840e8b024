public import MeshBus
public import MeshEngine
public import MeshFoundation

/// A feature that the simulator runs on several engines.
///
/// The state should show the order of its events, because peers compare states.
public protocol SimulatedFeature: SendableMetatype {
    associatedtype State: Codable & Equatable & Sendable
    associatedtype Event: Codable & Sendable
    associatedtype Reducer: SessionSyncReducer<State, Event>
    associatedtype Policy: SessionConflictPolicy<State, Event>

    /// The feature's ID, which users type to select it.
    static var id: String { get }
    static var initialState: State { get }
    static var reducer: Reducer { get }
    static var policy: Policy { get }

    /// Returns an event that depends only on the arguments.
    /// - Parameters:
    ///   - number: A number that is unique in a run, from 1.
    ///   - choice: Random bits.
    ///   - moment: The time of the tap by its peer's clock.
    static func event(number: UInt32, choice: UInt64, moment: Date) -> Event

    /// Returns the number of times that the event with that number shows in the state; nil if the state can't tell.
    static func count(of number: UInt32, in state: State) -> Int?
}

extension SimulatedFeature {
    public static func count(of number: UInt32, in state: State) -> Int? { nil }
}

/// A feature to simulate, with its types erased.
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
            case .incarnations:
                var incarnations = ManyIncarnations<Feature>(schedule, options)
                incarnations.run()
                return incarnations.outcome
            case .ordinary, .liars, .late, .membership, .hub:
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
    /// The extension point for features to simulate.
    public static let simulations = ExtensionPoint("sessionmesh.simulations")
}
