/// The default names of types on the wire. They must be the same in the apps of both devices.
package enum TypeName {
    /// Returns a type's name with the types that it is nested in, without modules, because the apps of a phone and a watch are
    /// different modules. Private, local and extension contexts are left out.
    package static func nested(_ type: Any.Type) -> String {
        var name = ""
        var rest = withoutContexts(String(reflecting: type))[...]
        while let first = rest.first {
            guard isPartOfName(first) else {
                name.append(rest.removeFirst())
                continue
            }
            let path = rest.prefix { isPartOfName($0) || $0 == "." }
            rest = rest.dropFirst(path.count)
            name += path.firstIndex(of: ".").map { path[path.index(after: $0)...] } ?? path
        }
        return name
    }

    private static func isPartOfName(_ character: Character) -> Bool {
        character.isLetter || character.isNumber || character == "_"
    }

    /// Removes contexts such as "Module.(unknown context at $7f3a).Settings", whose address differs in every build, and
    /// "(extension in Module):Other.Settings".
    private static func withoutContexts(_ name: String) -> String {
        var result = ""
        var rest = name[...]
        while let first = rest.first {
            let isContext = rest.hasPrefix("(unknown context at ") || rest.hasPrefix("(extension in ")
            if isContext, let end = rest.firstIndex(of: ")") {
                rest = rest[rest.index(after: end)...]
                if rest.first == "." || rest.first == ":" { rest.removeFirst() }
            } else {
                result.append(first)
                rest.removeFirst()
            }
        }
        return result
    }
}
