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
    }

    let modules: [Module]

    func module(named name: String) -> Module? { modules.first { $0.name == name } }
}

extension ModuleGraph.Module {
    /// What `import` calls it: `plugins-tool` is imported as `plugins_tool`.
    var importName: String { Self.importName(of: name) }

    static func importName(of name: String) -> String {
        String(name.map { $0.isLetter || $0.isNumber ? $0 : "_" })
    }
}

/// A Swift file and the module that it belongs to.
struct SourceFile {
    let module: String
    /// Relative to the package.
    let path: String
    let imports: [SourceImport]

    init(module: String, path: String, text: String) {
        self.module = module
        self.path = path
        imports = SourceImport.all(in: text)
    }
}
