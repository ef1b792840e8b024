import MeshFoundation

extension ModuleGraph {
    /// Reads the output of `swift package dump-package`. A target's floor is its define `FLOOR_n`. A system library is on floor
    /// 0.
    init(packageDump: [UInt8]) throws {
        let dump = try JSONDecoder().decode(PackageDump.self, from: Data(packageDump))
        let names = Set(dump.targets.map(\.name))
        modules = dump.targets.map { target in
            let dependencies = target.dependencies ?? []
            return Module(
                name: target.name, kind: target.kind, path: target.path ?? "Sources/\(target.name)",
                floor: target.floor,
                uses: dependencies.map(\.name).filter(names.contains),
                products: dependencies.map(\.name).filter { !names.contains($0) })
        }
    }
}

/// The relevant part of the dump.
private struct PackageDump: Decodable {
    struct Target: Decodable {
        let name: String
        let type: String
        let path: String?
        let dependencies: [Dependency]?
        let settings: [Setting]?

        var kind: ModuleGraph.Module.Kind {
            switch type {
            case "system": .system
            case "executable": .executable
            case "test": .tests
            default: .library
            }
        }

        var floor: Int? {
            if kind == .system { return 0 }
            let prefix = "FLOOR_"
            return (settings ?? []).compactMap(\.kind.define?._0).filter { $0.hasPrefix(prefix) }
                .compactMap { Int($0.dropFirst(prefix.count)) }.first
        }
    }

    /// A dependency: `{"byName": [name, …]}`, `{"target": [name, …]}` or `{"product": [name, package, …]}`.
    struct Dependency: Decodable {
        let name: String

        private enum Form: String, CodingKey { case byName, target, product }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Form.self)
            guard let form = container.allKeys.first else {
                throw DecodingError.dataCorrupted(
                    DecodingError.Context(codingPath: decoder.codingPath, debugDescription: "unknown dependency form"))
            }
            var values = try container.nestedUnkeyedContainer(forKey: form)
            name = try values.decode(String.self)
        }
    }

    struct Setting: Decodable {
        struct Kind: Decodable { let define: Define? }
        struct Define: Decodable { let _0: String }

        let kind: Kind
    }

    let targets: [Target]
}
