// The house's codecs beside those of others: `swift run -c release benchmarks bench codecs`, with --json for machines.
// `bench compression` holds compressed frames against bare zlib, `bench allocations` counts what a frame allocates.
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
