#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBus
    import MeshToolOutput

    struct ListCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "list", abstract: "List the plugins.",
            discussion: """
                Rows: id, kind, module, version, summary, requires, capabilities, limits (as in `limits`). The object also has \
                `traits`: name, plugins and summary of what a build with that trait adds.
                """)

        @OptionGroup var output: OutputOptions

        func run(on bus: PluginBus) throws {
            let descriptors = bus.descriptors.sorted { $0.id < $1.id }
            let traits = bus.contributions(to: .offeredTraits).map(\.value)
            try output.print(object: Listing(rows: descriptors, traits: traits)) {
                let plugins = Table(
                    columns: ["ID", "Module", "Version", "Requires", "Summary"],
                    rows: descriptors.map {
                        [$0.id.rawValue, $0.module, $0.version, $0.requires.list, $0.summary]
                    })
                guard !traits.isEmpty else { return plugins.text() }
                let offers = Table(
                    columns: ["Trait", "Plugins", "Adds"], rows: traits.map { [$0.name, $0.plugins.list, $0.summary] })
                return plugins.text() + "\n\nNot in this build; `--traits` adds them:\n\n" + offers.text()
            }
        }

        private struct Listing: Encodable {
            let rows: [PluginDescriptor]
            let traits: [OfferedTrait]
        }
    }

    struct DescribeCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "describe", abstract: "Describe one plugin.",
            discussion: "Row: as in `list`.")

        @Argument(help: "The plugin, such as transport.pipe.")
        var id: String

        @OptionGroup var output: OutputOptions

        func run(on bus: PluginBus) throws {
            let descriptor = try bus.descriptor(named: id)
            try output.print([descriptor]) {
                let facts: [(String, String)] = [
                    ("id", descriptor.id.rawValue), ("kind", descriptor.kind.rawValue), ("module", descriptor.module),
                    ("version", descriptor.version), ("summary", descriptor.summary),
                    ("requires", descriptor.requires.list),
                    ("required by", bus.descriptors.filter { $0.requires.contains(descriptor.id) }.map(\.id).list),
                    ("capabilities", descriptor.capabilities.list),
                    ("contributes", bus.contributions(of: descriptor.id).list),
                ]
                let width = facts.map(\.0.count).max() ?? 0
                let lines = facts.filter { !$0.1.isEmpty }.flatMap { name, text in
                    let pieces = text.printable().wrapped(to: max(1, (ToolOutput.width ?? .max) - width - 2))
                    return pieces.enumerated().map { index, piece in
                        (index == 0 ? name : "").padding(toLength: width + 2, withPad: " ", startingAt: 0) + piece
                    }
                }
                let limits = LimitRow.rows(of: [descriptor])
                return (lines + (limits.isEmpty ? [] : ["", LimitRow.table(of: limits).text()])).joined(separator: "\n")
            }
        }
    }

    struct LimitsCommand: ToolCommand {
        static let configuration = CommandConfiguration(
            commandName: "limits", abstract: "List the plugins' payload limits.",
            discussion: "Rows: id, bytes, summary, source, plugins.")

        @OptionGroup var output: OutputOptions

        func run(on bus: PluginBus) throws {
            let rows = LimitRow.rows(of: bus.descriptors)
            try output.print(rows) { LimitRow.table(of: rows).text() }
        }
    }

    extension LimitRow {
        fileprivate static func table(of rows: [LimitRow]) -> Table {
            Table(
                columns: ["ID", .number("Bytes"), "Plugins", "Summary", "Source"],
                rows: rows.map { [$0.id, "\($0.bytes)", $0.plugins.list, $0.summary, $0.source] })
        }
    }
#endif
