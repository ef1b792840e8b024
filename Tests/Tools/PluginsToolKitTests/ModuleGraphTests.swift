import Testing

@testable import PluginsToolKit

/// A package of four floors in miniature.
private let manifest = """
    let modules = [
        Module("MeshBus", floor: 0),
        Module("MeshWire", floor: 2, uses: ["MeshBus"]),
        Module("MeshEngine", floor: 2, uses: ["MeshBus"]),
        Module("MeshSession", floor: 5, uses: ["MeshEngine"], needs: [logging]),
        Module("my-tool", floor: 7, uses: ["MeshSession"]),
    ]
    """

private func module(
    _ name: String, floor: Int?, kind: ModuleGraph.Module.Kind = .library, uses: [String] = [], products: [String] = []
) -> ModuleGraph.Module {
    ModuleGraph.Module(name: name, kind: kind, path: "Modules/\(name)", floor: floor, uses: uses, products: products)
}

private func graph(_ changed: ModuleGraph.Module...) -> ModuleGraph {
    let soundModules = [
        module("CZlib", floor: 0, kind: .system),
        module("MeshBus", floor: 0),
        module("MeshWire", floor: 2, uses: ["MeshBus"]),
        module("MeshEngine", floor: 2, uses: ["MeshBus"]),
        module("MeshSession", floor: 5, uses: ["MeshEngine"], products: ["Logging"]),
        module("my-tool", floor: 7, kind: .executable, uses: ["MeshSession"]),
        module("other-tool", floor: 7, kind: .executable, uses: ["my-tool"]),
        module("MeshWireTests", floor: 7, kind: .tests, uses: ["MeshWire"]),
    ]
    let names = Set(changed.map(\.name))
    return ModuleGraph(modules: soundModules.filter { !names.contains($0.name) } + changed)
}

private func check(_ text: String, in module: String, of graph: ModuleGraph = graph()) -> [String] {
    let file = SourceFile(module: module, path: "Modules/\(module)/File.swift", text: text)
    return graph.violations(manifest: manifest, sources: [file]).map(\.description)
}

@Suite("The floors")
struct ModuleGraphTests {
    @Test("modules that keep the rules have no violations")
    func sound() {
        #expect(check("import MeshBus\nimport Foundation", in: "MeshWire").isEmpty)
        #expect(check("import struct Foundation.Date\n// import Dispatch\n/// import Dispatch", in: "MeshWire").isEmpty)
        #expect(check("import Logging\nimport MeshEngine\nimport Observation", in: "MeshSession").isEmpty)
        #expect(check("@testable import MeshWire\nimport Testing", in: "MeshWireTests").isEmpty)
    }

    @Test(
        "floors 0 to 2 import neither packages nor frameworks",
        arguments: ["Logging", "Dispatch", "Testing", "Observation"])
    func lowFloors(imported: String) {
        #expect(
            check("import MeshBus\n\n#if DEBUG\n    internal import \(imported)\n#endif\n", in: "MeshWire") == [
                "Modules/MeshWire/File.swift:4: MeshWire (floor 2) imports \(imported); floors 0 to 2 use nothing but the "
                    + "standard library, Foundation, the C library and modules of this package"
            ])
        #expect(check("@_spi(Testing) public import \(imported)", in: "MeshWire").count == 1)
        #expect(check("@preconcurrency import struct \(imported).Value", in: "MeshWire").count == 1)
        let declared = graph(module("MeshWire", floor: 2, uses: ["MeshBus"], products: [imported]))
        #expect(check("import \(imported)", in: "MeshWire", of: declared).count == 2, "a row does not make it right")
    }

    @Test("a dependency on the same or a higher floor fails at its line of the manifest")
    func manifestRow() {
        let wrong = graph(module("MeshEngine", floor: 2, uses: ["MeshBus", "MeshWire", "MeshSession"]))
        let violations = wrong.violations(manifest: manifest, sources: []).map(\.description)
        #expect(
            violations == [
                "Package.swift:4: MeshEngine (floor 2) uses MeshWire, which is on the same floor; move shared code to a lower "
                    + "floor",
                "Package.swift:4: MeshEngine (floor 2) uses MeshSession, which is on the higher floor 5; imports point down",
            ])
    }

    @Test("a target without a floor fails")
    func noFloor() {
        let violations = graph(module("MeshStorage", floor: nil)).violations(manifest: manifest, sources: [])
        #expect(
            violations.map(\.description) == [
                "Package.swift:1: MeshStorage has no floor; define FLOOR_n in its Swift settings"
            ])
    }

    @Test("modules, floors and dependencies are read from the dump of a package")
    func packageDump() throws {
        let dump = """
            {"name": "P", "targets": [
              {"name": "CZlib", "type": "system", "path": "Modules/CZlib", "dependencies": [], "settings": []},
              {"name": "MeshBus", "type": "regular", "path": "Modules/Bus", "dependencies": [], "settings": [
                {"kind": {"enableUpcomingFeature": {"_0": "ExistentialAny"}}, "tool": "swift"},
                {"kind": {"define": {"_0": "FLOOR_0"}}, "tool": "swift"}]},
              {"name": "MeshLog", "type": "regular", "dependencies": [
                {"byName": ["MeshBus", null]}, {"target": ["CZlib", null]},
                {"product": ["Logging", "swift-log", null, {"platformNames": [], "traits": ["SwiftLog"]}]}],
               "settings": [{"kind": {"define": {"_0": "FLOOR_5"}}, "tool": "swift"}]},
              {"name": "MeshLogTests", "type": "test", "path": "Tests/LogTests", "settings": []}
            ]}
            """
        let modules = try ModuleGraph(packageDump: Array(dump.utf8)).modules
        #expect(modules.map(\.floor) == [0, 0, 5, nil])
        #expect(modules.map(\.path) == ["Modules/CZlib", "Modules/Bus", "Sources/MeshLog", "Tests/LogTests"])
        #expect(modules[2].uses == ["MeshBus", "CZlib"])
        #expect(modules[2].products == ["Logging"])
        #expect(modules.map(\.kind) == [.system, .library, .library, .tests])
        #expect(throws: (any Error).self) { try ModuleGraph(packageDump: []) }
    }

    @Test("a folder without a manifest is an error that says what to do")
    func noManifest() {
        #expect {
            try PackageSources(packagePath: "/nowhere")
        } throws: {
            "\($0)" == "there is no Package.swift in '/nowhere'; run in the package or name it with --package-path"
        }
    }
}
