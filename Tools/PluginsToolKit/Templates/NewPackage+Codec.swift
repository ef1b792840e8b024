extension NewPackage {
    /// Creates a codec package. Its placeholder is Foundation's JSON under a different number, to be replaced by another format.
    static func codec(_ name: PackageName, from origin: PackageOrigin) -> NewPackage {
        let folder = "Sources/\(name.module)/\(name.module)"
        return NewPackage(
            files: frame(name, from: origin, uses: ["MeshBus", "MeshIdentity", "MeshWire"]) + [
                File(path: folder + "Codec.swift", text: codec(name)),
                File(path: folder + "Plugin.swift", text: codecPlugin(name)),
                File(path: "Tests/\(name.module)Tests/ConformanceTests.swift", text: codecTest(name)),
            ])
    }

    private static func codec(_ name: PackageName) -> String {
        """
        import Foundation
        import MeshIdentity

        /// Writes values as JSON, which stands where your format will be. Called from any thread, several at once.
        public struct \(name.module)Codec: PayloadCodec {
            #warning("\(name.module): choose the number: 64 to 127 for a public format, 128 to 255 for one between your own peers")
            public static let id = PayloadCodecID(number: 200, name: "\(name.dashed)")
            public var id: PayloadCodecID { Self.id }

            public init() {}

            /// - Throws: `EncodingError`, or what the value's `encode(to:)` throws.
            public func encode<Value: Encodable>(_ value: Value) throws -> [UInt8] {
                #warning("\(name.module): give the value your own Encoder here; what it cannot write it must throw")
                return [UInt8](try Self.encoder.encode(value))
            }

            /// - Throws: `DecodingError`, or what the value's `init(from:)` throws.
            public func decode<Value: Decodable>(_ type: Value.Type, from bytes: UnsafeRawBufferPointer) throws -> Value {
                #warning("\(name.module): give the type your own Decoder here; never trust the bytes")
                return try Self.decoder.decode(type, from: Data(bytes))
            }

            private static let encoder: JSONEncoder = {
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                encoder.nonConformingFloatEncodingStrategy = .convertToString(
                    positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
                return encoder
            }()

            private static let decoder: JSONDecoder = {
                let decoder = JSONDecoder()
                decoder.nonConformingFloatDecodingStrategy = .convertFromString(
                    positiveInfinity: "Infinity", negativeInfinity: "-Infinity", nan: "NaN")
                return decoder
            }()
        }

        """
    }

    private static func codecPlugin(_ name: PackageName) -> String {
        """
        import MeshBus
        import MeshIdentity
        import MeshWire

        /// Registers `\(name.module)Codec`.
        public struct \(name.module)Plugin: Plugin {
            public init() {}

            public var descriptor: PluginDescriptor {
                #warning("\(name.module): say in a line why one would choose it")
                return PluginDescriptor(
                    id: "codec.\(name.dashed)", kind: .codec, module: "\(name.module)", version: "0.1.0",
                    summary: "JSON under a number of its own", requires: ["core.wire"], capabilities: ["any-codable"])
            }

            public func contribute(to registry: inout ExtensionRegistry) {
                registry.add(\(name.module)Codec(), to: .codecs)
            }

            /// The plugin and what it requires, for tools and tests.
            public static var withRequirements: [any Plugin] {
                [\(name.module)Plugin()]
            }
        }

        """
    }

    private static func codecTest(_ name: PackageName) -> String {
        """
        \(imports(["MeshBus", "MeshIdentity", "MeshTesting", "Testing", name.module]))

        @Test func `\(name.module) keeps every rule for codecs`() async throws {
            let bus = try PluginBus(plugins: \(name.module)Plugin.withRequirements)
            for codec in bus.contributions(to: .codecs) {
                let report = await CodecConformance.examine(codec.value, as: codec.plugin)
                #expect(report.failures == [])
            }
        }

        """
    }
}
