extension NewPackage {
    /// Creates a benchmark package. Its placeholder is a state made of samples, to be replaced by the user's own.
    static func benchmark(_ name: PackageName, from origin: PackageOrigin) -> NewPackage {
        let folder = "Sources/\(name.module)/\(name.module)"
        return NewPackage(
            files: frame(name, from: origin, uses: ["MeshBenchmarks", "MeshBus", "MeshIdentity", "MeshWire"]) + [
                File(path: folder + "State.swift", text: state(name)),
                File(path: folder + "Plugin.swift", text: benchmarkPlugin(name)),
                File(path: "Tests/\(name.module)Tests/FitTests.swift", text: fitTest(name)),
            ])
    }

    private static func state(_ name: PackageName) -> String {
        """
        import Foundation

        #warning("\(name.module): put your state here, or import it")
        public struct \(name.module)State: Codable, Equatable, Sendable {
            public struct Sample: Codable, Equatable, Sendable {
                var time: Date
                var value: Double
            }

            var title: String
            var samples: [Sample]

            #warning("\(name.module): fill it as your users do; what repeats, and how many digits numbers have, decides its size")
            /// As full as it gets, with that many samples.
            public static func filled(with count: Int) -> \(name.module)State {
                let start = Date(timeIntervalSince1970: 1_767_225_600)
                return \(name.module)State(
                    title: "Saturday",
                    samples: (0..<count).map { Sample(time: start + Double($0), value: Double($0 * 37 % 1000) / 8) })
            }
        }

        """
    }

    private static func benchmarkPlugin(_ name: PackageName) -> String {
        """
        import MeshBenchmarks
        import MeshBus
        import MeshIdentity
        import MeshWire

        /// Registers `\(name.module)State` as something to measure codecs with.
        public struct \(name.module)Plugin: Plugin {
            public init() {}

            public var descriptor: PluginDescriptor {
                #warning("\(name.module): add limits of its own, if there are any; each is a column of the table")
                return PluginDescriptor(
                    id: "benchmark.\(name.dashed)", kind: "benchmark", module: "\(name.module)", version: "0.1.0",
                    summary: "Does the state of \(name.module) fit?", requires: ["core.wire"],
                    limits: [.wcSessionMessage, .wcSessionApplicationContext])
            }

            public func contribute(to registry: inout ExtensionRegistry) {
                let samples = BenchmarkPayload.Samples(count: 1_000) { \(name.module)State.filled(with: $0) }
                registry.add(
                    BenchmarkPayload(id: "\(name.dashed)", value: samples.payload(samples.count), samples: samples),
                    to: .benchmarkPayloads)
            }

            /// The plugin and what it requires, for tools and tests.
            public static var withRequirements: [any Plugin] {
                [JSONCodecPlugin(), CompactCodecPlugin(), \(name.module)Plugin()]
            }
        }

        """
    }

    private static func fitTest(_ name: PackageName) -> String {
        """
        \(imports(["MeshBus", "MeshWire", "Testing", name.module]))

        @Test func `the state of \(name.module) fits an application context`() throws {
            let bytes = try CompactCodec().encode(\(name.module)State.filled(with: 1_000))
            // Half of it, since an envelope's metadata and the other features of an app are to fit too.
            #expect(bytes.count < PayloadLimit.wcSessionApplicationContext.bytes / 2)
        }

        """
    }
}
