import MeshTesting
import PluginsToolKit
import SessionMesh

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
}
