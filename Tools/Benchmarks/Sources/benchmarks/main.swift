// The house's codecs beside those of others: `swift run -c release benchmarks bench codecs`, with --json for machines.
// `bench compression` holds compressed frames against bare zlib, `bench allocations` counts what a frame allocates,
// `bench datagrams` holds the datagrams of a UDP link against bare SwiftNIO.
import MeshBus
import MeshIdentity
import MeshTesting
import MeshTransport
import MeshWire
import PluginsToolKit

// The other process of `bench datagrams`.
if CommandLine.arguments.dropFirst().first == DatagramSink.command { try await DatagramSink.run() }

await PluginsTool.main {
    IdentityPlugin()
    WirePlugin()
    JSONCodecPlugin()
    CompactCodecPlugin()
    TransportPlugin()
    TestingPlugin()
    ComparisonsPlugin()
}
