/// A package's modules, the floors that they stand on and what they declare to use.
struct ModuleGraph {
    struct Module {
        enum Kind { case library, executable, tests, system }

        let name: String
        let kind: Kind
        /// The folder of its sources, relative to the package.
        let path: String
        /// Nil when the manifest does not say.
        let floor: Int?
        /// Modules of this package.
        let uses: [String]
        /// Products of other packages.
        let products: [String]

        /// Floors 0 to 2 use nothing from other packages.
        var isOnLowFloor: Bool { floor.map { $0 <= 2 } ?? false }
    }

    let modules: [Module]

    func module(named name: String) -> Module? { modules.first { $0.name == name } }
}

/// A Swift file and the module that it belongs to.
struct SourceFile {
    let module: String
    /// Relative to the package.
    let path: String
    let text: String
}
