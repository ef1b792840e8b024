#if CommandLineTools
    import ArgumentParser
    import MeshBenchmarks
    import MeshBus
    import MeshCodecBenchmark
    import MeshDelivery
    import MeshIdentity
    import MeshPipeTransport
    import MeshStorage
    import MeshToolOutput
    import MeshTransport
    import MeshWire

    struct CodecsCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "codecs", abstract: "Measures every codec on sample payloads against every payload limit.",
            discussion: "The same as `plugins-tool bench codecs`, with this tool's plugins.")

        @Option(help: "Measure only this payload, such as track.")
        var payload: String?

        @Option(help: ArgumentHelp("Make the track from this recording.", valueName: "file"))
        var gpx: String?

        @Flag(help: "Prints JSON instead of tables: one object with `rows`, on one line.")
        var json = false

        func run() throws {
            let bus = try PluginBus {
                JSONCodecPlugin()
                CompactCodecPlugin()
                StoragePlugin()
                DeliveryPlugin()
                PipeTransportPlugin()
                CodecBenchmarkPlugin()
            }
            var options: [String: String] = [:]
            options["payload"] = payload
            options["gpx"] = gpx
            let progress = ProgressLine()
            let context = BenchmarkContext(bus: bus, options: options) { progress.show($0) }
            let rows = try CodecBenchmark(context).rows()
            progress.clear()
            if json {
                try ToolOutput.print(json: Report(rows: rows.map { $0.labelled("codecs") }).json())
            } else {
                try ToolOutput.print(BenchmarkTable.text(of: rows, columns: bus.descriptors.payloadLimits.map(\.id)))
            }
        }
    }
#endif
