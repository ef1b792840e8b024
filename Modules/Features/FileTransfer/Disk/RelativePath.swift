/// A path relative to a folder: a number of steps up, then a path down. Compares names only and resolves no links.
struct RelativePath: Codable, Hashable, Sendable {
    let up: Int
    let down: String

    /// - Parameters: absolute paths.
    init(of path: String, from folder: String) {
        let (names, folders) = (Self.names(path), Self.names(folder))
        let shared = zip(names, folders).prefix { $0 == $1 }.count
        up = folders.count - shared
        down = names[shared...].joined(separator: "/")
    }

    /// Returns the absolute path.
    func path(from folder: String) -> String {
        "/" + (Self.names(folder).dropLast(max(up, 0)) + [Substring(down)]).joined(separator: "/")
    }

    private static func names(_ path: String) -> [Substring] {
        let names = path.split(separator: "/")
        #if canImport(Darwin)
            // `/var` and `/private/var` are the same folder on Apple systems.
            if names.starts(with: ["private", "var"]) { return Array(names.dropFirst()) }
        #endif
        return names
    }
}
