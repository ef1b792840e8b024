import MeshSimulation
import MeshTesting
import PluginsToolKit
import SessionMesh
import WorkoutExample

await PluginsTool.main {
    BusPlugin()
    IdentityPlugin()
    TimerAnchorPlugin()
    WirePlugin()
    EnginePlugin()
    TransportPlugin()
    LoopbackTransportPlugin()
    ScenarioTransportPlugin()
    PipeTransportPlugin()
    SessionPlugin()
    DiagnosticsPlugin()
    SharedStatePlugin()
    TestingPlugin()
    WorkoutPlugin()
    SimulationPlugin()
    WorkoutSimulationPlugin()
}
