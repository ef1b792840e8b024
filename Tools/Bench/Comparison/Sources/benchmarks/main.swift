// Compares our codecs with others: `swift run -c release benchmarks bench codecs`, with --json for programs.
// `bench compression` compares compressed frames with bare zlib, and `bench allocations` counts a frame's allocations.
import MeshBus
import MeshIdentity
import MeshTesting
import MeshTransport
import MeshWire
import PluginsToolKit

await PluginsTool.main {
    JSONCodecPlugin()
    CompactCodecPlugin()
    ComparisonsPlugin()
}
