/// Where a file is, seen from a folder: so many steps up, and then down. By the names alone; no link is looked at.
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

    /// The absolute path.
    func path(from folder: String) -> String {
        "/" + (Self.names(folder).dropLast(max(up, 0)) + [Substring(down)]).joined(separator: "/")
    }

    private static func names(_ path: String) -> [Substring] {
        let names = path.split(separator: "/")
        #if canImport(Darwin)
            // Its folders are known by both names.
            if names.starts(with: ["private", "var"]) { return Array(names.dropFirst()) }
        #endif
        return names
    }
}
