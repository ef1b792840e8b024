#if CommandLineTools
    import ArgumentParser
    import Foundation
    import MeshBase
    import MeshDiagnostics
    import MeshToolOutput

    #if Inspector
        import MeshInspector
    #endif

    struct InspectCommand: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "inspect", abstract: "Shows a recording in a browser on this machine.",
            discussion: """
                A recording is JSON Lines, as `plugins-tool simulate --record`, the page's 'Save recording' and an app's \
                `DiagnosticsSession.recording` write it. The page is served on loopback under an address that nobody \
                guesses, until Ctrl-C. `mesh peer --inspect` shows a live peer.
                """)

        @Argument(help: ArgumentHelp("The recording.", valueName: "file"))
        var file: String

        @OptionGroup var options: InspectOptions

        @Flag(help: "Prints its address as JSON: one object on one line.")
        var json = false

        func run() async throws {
            #if Inspector
                let recording = try Self.recording(at: file)
                let inspector = try await options.start(showing: recording)
                try json
                    ? ToolOutput.print(
                        json: "{\"url\":\"\(inspector.address)\",\"entries\":\(recording.entries.count)}")
                    : ToolOutput.print(
                        "\(recording.entries.count.grouped) entries at \(inspector.address) until Ctrl-C.")
                await Interruption.wait()
                await inspector.stop()
            #else
                throw ToolError.needsInspector
            #endif
        }

        private static let bytesMax = 1 << 30

        /// - Throws: `ToolError`.
        static func recording(at path: String) throws(ToolError) -> DiagnosticsRecording {
            guard let handle = FileHandle(forReadingAtPath: path), let data = try? handle.read(upToCount: bytesMax + 1)
            else { throw ToolError("'\(path)' can't be read. Name a recording from `simulate --record`") }
            guard data.count <= bytesMax else { throw ToolError("'\(path)' is larger than a gigabyte. Shorten it") }
            do throws(DiagnosticsError) {
                return try DiagnosticsRecording(jsonLines: data)
            } catch {
                throw ToolError("'\(path)' isn't a recording: \(error.message)")
            }
        }
    }

    /// The options for the address of the inspector's page.
    struct InspectOptions: ParsableArguments {
        @Option(help: "The port of the inspector's page on this machine; 0 lets the system choose.")
        var inspectPort: UInt16 = 0

        #if Inspector
            /// - Throws: `ToolError`.
            func start(showing recording: DiagnosticsRecording? = nil) async throws(ToolError) -> Inspector {
                do throws(InspectorError) {
                    if let recording { return try await Inspector.start(showing: recording, port: inspectPort) }
                    return try await Inspector.start(port: inspectPort)
                } catch {
                    throw ToolError("\(error.message): choose another with --inspect-port")
                }
            }
        #endif
    }

    extension ToolError {
        static let needsInspector = ToolError(
            "mesh was built without the trait Inspector; build it with --traits default,Inspector")
    }
#endif
