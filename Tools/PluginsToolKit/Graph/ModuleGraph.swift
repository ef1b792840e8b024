/// A package's modules, their floors and their declared dependencies.
struct ModuleGraph {
    struct Module {
        enum Kind { case library, executable, tests, system }

        let name: String
        let kind: Kind
        /// Folder of the sources, relative to the package.
        let path: String
        /// The module's floor; nil if the manifest doesn't declare one.
        let floor: Int?
        /// The modules of this package that the module uses.
        let uses: [String]
        /// The products of other packages that the module uses.
        let products: [String]

        /// True for floors 0 to 2, which use nothing from other packages.
        var isOnLowFloor: Bool { floor.map { $0 <= 2 } ?? false }
    }

    let modules: [Module]

    func module(named name: String) -> Module? { modules.first { $0.name == name } }
}

/// A Swift file and its module.
struct SourceFile {
    let module: String
    /// Path relative to the package.
    let path: String
    let text: String
}
