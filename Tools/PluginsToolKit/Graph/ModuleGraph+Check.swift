/// A place where the package breaks the rules of its floors.
struct GraphViolation: Hashable, Encodable, CustomStringConvertible {
    /// Relative to the package.
    let path: String
    let line: Int
    let message: String

    var description: String { "\(path):\(line): \(message)" }
}

// The rules (Docs/Architecture.md): imports point strictly down; only floor 7 may import its own floor; an import is
// declared by the module's row; floors 0 to 2 use nothing but the standard library, Foundation, the C library and ours.
extension ModuleGraph {
    private static let topFloor = 7
    private static let highestFloorWithoutDependencies = 2

    /// Violations of the manifest, then of each file in the order given.
    func violations(manifest: String, sources: [SourceFile]) -> [GraphViolation] {
        modules.flatMap { violations(of: $0, manifest: manifest) } + sources.flatMap(violations(in:))
    }

    private func violations(of module: Module, manifest: String) -> [GraphViolation] {
        let line = manifest.lineNumber(containing: "\"\(module.name)\"") ?? 1
        func violation(_ message: String) -> GraphViolation {
            GraphViolation(path: "Package.swift", line: line, message: message)
        }

        guard let floor = module.floor else {
            return [violation("\(module.name) has no floor; define FLOOR_n in its Swift settings")]
        }
        var found = module.uses.compactMap { name in
            self.module(named: name).flatMap { direction(from: module, to: $0) }
                .map { violation("\(module.name) (floor \(floor)) declares that it uses \($0)") }
        }
        if floor <= Self.highestFloorWithoutDependencies {
            found += module.products.map {
                violation("\(module.name) (floor \(floor)) declares the product \($0); \(Self.lowFloorRule)")
            }
        }
        return found
    }

    private func violations(in file: SourceFile) -> [GraphViolation] {
        guard let module = module(named: file.module) else { return [] }
        return file.imports.compactMap { imported in
            complaint(about: imported.module, in: module)
                .map { GraphViolation(path: file.path, line: imported.line, message: $0) }
        }
    }

    private func complaint(about name: String, in module: Module) -> String? {
        let floor = module.floor ?? Self.topFloor
        let importer = "\(module.name) (floor \(floor))"
        if let imported = modules.first(where: { $0.importName == name }) {
            if let direction = direction(from: module, to: imported) { return "\(importer) imports \(direction)" }
            guard !module.uses.contains(imported.name) else { return nil }
            return "\(importer) imports \(imported.name), which its row in Package.swift does not declare"
        }
        let isProduct = module.products.contains { Module.importName(of: $0) == name }
        if floor <= Self.highestFloorWithoutDependencies {
            if SystemModules.lowFloors.contains(name) { return nil }
            return "\(importer) imports \(name); \(Self.lowFloorRule)"
        }
        if isProduct || SystemModules.all.contains(name) { return nil }
        if SystemModules.testing.contains(name) {
            return module.kind == .tests ? nil : "\(importer) imports \(name), which is for test targets"
        }
        return "\(importer) imports \(name), which its row in Package.swift does not declare"
    }

    /// What is wrong with an edge of the graph, nil when it points down.
    private func direction(from module: Module, to imported: Module) -> String? {
        guard let floor = module.floor, floor < Self.topFloor, let target = imported.floor, target >= floor else {
            return nil
        }
        return target == floor
            ? "\(imported.name), which stands on the same floor; what two modules share moves down"
            : "\(imported.name), which stands above on floor \(target); imports point down"
    }

    private static let lowFloorRule =
        "floors 0 to 2 use nothing but the standard library, Foundation, the C library and modules of this package"
}

/// Modules that come with a toolchain or a platform.
private enum SystemModules {
    static let lowFloors: Set = [
        "Swift", "_Concurrency", "Synchronization", "Foundation", "FoundationEssentials",
        "Darwin", "Glibc", "Musl", "Bionic", "Android", "WASILibc", "WinSDK", "CRT",
    ]
    static let all = lowFloors.union([
        "AppKit", "Combine", "CryptoKit", "Dispatch", "FoundationNetworking", "FoundationXML", "Network", "OSLog",
        "Observation", "RegexBuilder", "Security", "SwiftUI", "UIKit", "WatchConnectivity",
        "WatchKit", "dnssd", "os",
    ])
    static let testing: Set = ["Testing", "XCTest"]
}

extension String {
    fileprivate func lineNumber(containing text: String) -> Int? {
        split(separator: "\n", omittingEmptySubsequences: false).firstIndex { $0.contains(text) }.map { $0 + 1 }
    }
}
