/// A violation of the rules of floors, the package's layers of modules, and where it is.
struct GraphViolation: Hashable, Encodable, CustomStringConvertible {
    /// Path relative to the package.
    let path: String
    let line: Int
    let message: String

    var description: String { "\(path):\(line): \(message)" }
}

// The rules (Docs/Internals/Architecture.md): dependencies point strictly down. Only floor 7 may use its own floor. Floors 0 to
// 2 use only the standard library, Foundation, the C library and our modules. SwiftPM checks that imports are declared.
extension ModuleGraph {
    private static let topFloor = 7

    /// Returns the violations of the manifest, then of each file in the given order.
    func violations(manifest: String, sources: [SourceFile]) -> [GraphViolation] {
        modules.flatMap { violations(of: $0, manifest: manifest) } + sources.flatMap(violations(in:))
    }

    private func violations(of module: Module, manifest: String) -> [GraphViolation] {
        let line = manifest.lines.firstIndex { $0.contains("\"\(module.name)\"") } ?? 0
        func violation(_ message: String) -> GraphViolation {
            GraphViolation(path: "Package.swift", line: line + 1, message: message)
        }

        guard let floor = module.floor else {
            return [violation("\(module.name) has no floor; define FLOOR_n in its Swift settings")]
        }
        var found = module.uses.compactMap { name in
            self.module(named: name).flatMap { direction(from: floor, to: $0) }
                .map { violation("\(module.name) (floor \(floor)) uses \($0)") }
        }
        if module.isOnLowFloor {
            found += module.products.map {
                violation("\(module.name) (floor \(floor)) declares the product \($0); \(Self.lowFloorRule)")
            }
        }
        return found
    }

    /// Returns the fault of a dependency; nil if it is allowed.
    private func direction(from floor: Int, to used: Module) -> String? {
        guard floor < Self.topFloor, let target = used.floor, target >= floor else { return nil }
        return target == floor
            ? "\(used.name), which is on the same floor; move shared code to a lower floor"
            : "\(used.name), which is on the higher floor \(target); imports point down"
    }

    /// Searches line by line, to find imports under any `#if`.
    private func violations(in file: SourceFile) -> [GraphViolation] {
        guard let module = module(named: file.module), module.isOnLowFloor, let floor = module.floor else { return [] }
        return file.text.lines.enumerated().compactMap { index, line in
            guard let name = line.firstMatch(of: /^\s*(?:[@\w()]+\s+)*import\s+(?:[a-z]+\s+)?(\w+)/)?.1,
                !Self.lowFloorModules.contains(String(name)), !modules.contains(where: { $0.name == name })
            else { return nil }
            return GraphViolation(
                path: file.path, line: index + 1,
                message: "\(module.name) (floor \(floor)) imports \(name); \(Self.lowFloorRule)")
        }
    }

    private static let lowFloorRule =
        "floors 0 to 2 use nothing but the standard library, Foundation, the C library and modules of this package"
    private static let lowFloorModules: Set = [
        "Swift", "_Concurrency", "Synchronization", "Foundation", "FoundationEssentials",
        "Darwin", "Glibc", "Musl", "Bionic", "Android", "WASILibc", "WinSDK", "CRT",
    ]
}

extension String {
    fileprivate var lines: [Substring] { split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) }
}
