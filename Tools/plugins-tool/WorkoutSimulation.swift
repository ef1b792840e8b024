import Foundation
import MeshBus
import MeshSimulation
import WorkoutExample

/// Offers the workout example to the simulator.
struct WorkoutSimulationPlugin: Plugin {
    var descriptor: PluginDescriptor {
        PluginDescriptor(
            id: "tool.workout-simulation", kind: "tool", module: "plugins-tool", version: "0.1.0",
            summary: "Phones and watches that share workouts in the simulator",
            requires: ["tool.simulation", "example.workout"])
    }

    func contribute(to registry: inout ExtensionRegistry) {
        registry.add(SimulationSubject(WorkoutFeature.self), to: .simulations)
    }
}

/// The workout for the simulator. Every device taps everything, without waiting for the others.
enum WorkoutFeature: SimulatedFeature {
    static let id = "workout"
    static let initialState = WorkoutState()
    static let reducer = WorkoutReducer()
    static let policy = WorkoutPolicy()

    static func event(number: UInt32, choice: UInt64, moment: Date) -> WorkoutEvent {
        if number == 1 { return .start(at: moment) }
        return switch choice % 16 {
        case 0, 1: .pause(at: moment)
        case 2, 3: .resume(at: moment)
        case 4: .start(at: moment)
        // Finishes late in the run, so that most of it comes before.
        case 5 where number > 60: .finish(at: moment, distance: Double(number))
        default: .lap(at: moment, distance: Double(number) + Double(choice >> 8 % 5_000) / 1_000)
        }
    }
}
