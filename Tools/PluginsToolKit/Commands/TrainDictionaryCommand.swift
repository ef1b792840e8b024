#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBus
    import MeshToolOutput
    import MeshWire

    struct TrainDictionaryCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "train-dictionary",
            abstract: "Make a compression dictionary from samples of an app's messages.",
            discussion: """
                Every fifth sample is held out and shows what the dictionary is worth. Keys: id, bytes, samples (trained \
                on), heldOut, heldOutBytes, ratio (compressed or stored size as a part of the original), \
                ratioWithDictionary. Both sides then need \
                `try CompressionDictionary(bytes of the file)`: the sender in `CompressionPolicy.dictionary`, the \
                reader among its decoder's `dictionaries`.
                """)

        @Argument(help: ArgumentHelp("Files with one body each; a folder stands for its files.", valueName: "samples"))
        var samples: [String] = []

        @Option(name: .shortAndLong, help: ArgumentHelp("The dictionary's file.", valueName: "file"))
        var output: String

        @Option(
            help: ArgumentHelp(
                "At most so many bytes, 64 to 32768. A larger one costs time with every body.", valueName: "bytes"))
        var size = 4096

        @OptionGroup var format: OutputOptions

        func run(on bus: PluginBus) throws {
            let trained = try TrainedDictionary(from: SampleBodies(paths: samples), size: size)
            do {
                try Data(trained.dictionary.bytes).write(to: URL(fileURLWithPath: output), options: .atomic)
            } catch {
                throw ToolError("'\(output)' can't be written; check the folder and its permissions")
            }
            let row = trained.row
            try format.print([row]) {
                let ratio = { String(format: "%.2f", $0) }
                return Table(
                    columns: [
                        "Dictionary", .number("Bytes"), .number("Samples"), .number("Held out"),
                        .number("Ratio without"), .number("Ratio with"),
                    ],
                    rows: [
                        [
                            String(format: "0x%08X", row.id), row.bytes.grouped, row.samples.grouped,
                            row.heldOut.grouped, ratio(row.ratio), ratio(row.ratioWithDictionary),
                        ]
                    ]
                ).text()
            }
        }
    }
#endif
