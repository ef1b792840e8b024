import MeshBase

/// A field that differs between a value and the copy decoded from its bytes, because the type's coding doesn't keep it.
///
/// Devices share only bytes, so every part of this library uses the decoded copy. Debug builds compare it with the
/// original: a field that silently changes is a mistake in `encode(to:)` or `init(from:)`.
package struct CodingLoss: Hashable, Sendable, CustomStringConvertible {
    /// The type that declares the field, or the type of the complete value.
    package let type: String
    /// The stored property or enum case that differs; empty if the complete value differs.
    package let field: String

    /// Finds the first field in which a decoded copy differs from its original; nil if there is none.
    ///
    /// If a type has `==`, equal values count as kept. Otherwise stored properties are compared one by one, and sets and
    /// dictionaries in any order. Values that don't equal themselves, such as NaN, count as equal. Lazy properties are
    /// skipped. The comparison visits at most 4096 values and 32 levels, and misses differences beyond them.
    package init?<Value>(from original: Value, to copy: Value) {
        var comparison = Comparison()
        let whole = CodingLoss("\(Swift.type(of: original as Any))", "")
        guard let loss = comparison.compare(original, copy, whole) else { return nil }
        self = loss
    }

    fileprivate init(_ type: String, _ field: String) { (self.type, self.field) = (type, field) }

    package var description: String {
        "\(field.isEmpty ? type : "\(type).\(field)") changes when it is encoded and decoded"
    }
}

// MARK: - Reports

extension CodingLoss {
    /// Compares a value with its decoded copy in debug builds. Prints a line to standard error if a field differs, once
    /// per type and field in each process.
    ///
    /// - Parameters:
    ///   - copy: Isn't evaluated in release builds. If it throws, nothing is reported.
    ///   - place: Describes the value, such as `an event of 'score'`.
    /// - Returns: A loss that was not reported before, for the caller's diagnostics; always nil in release builds.
    @discardableResult
    package static func report<Value>(
        from original: @autoclosure () -> Value, to copy: @autoclosure () throws -> Value,
        in place: @autoclosure () -> String
    ) -> CodingLoss? {
        #if DEBUG
            guard let copy = try? copy(), let loss = CodingLoss(from: original(), to: copy),
                // More lines would tell the developer nothing new.
                reported.withLock({ $0.count < 256 && $0.insert(loss).inserted })
            else { return nil }
            StandardError.print(
                """
                \(loss) (\(place())). Every device uses the decoded value, including this one: \
                make encode(to:) and init(from:) keep the field.
                """)
            return loss
        #else
            return nil
        #endif
    }

    #if DEBUG
        private static let reported = Locked<Set<CodingLoss>>([])
    #endif
}

// MARK: - Comparing

extension CodingLoss {
    private static let standardModules: Set<Substring> = [
        "Swift", "Foundation", "FoundationEssentials", "FoundationInternationalization", "FoundationNetworking",
        "FoundationXML",
    ]

    /// Returns true for types of Swift and Foundation. They have no fields that an app declares.
    /// - Parameter typeName: The name with its module, as `String(reflecting:)` returns it.
    static func isStandard(typeName: String) -> Bool {
        standardModules.contains(typeName.prefix { $0 != "." })
    }
}

private struct Comparison {
    private static let depthMax = 32
    private var valuesLeft = 4096

    /// - Parameter owner: The loss to report if the two values differ as a whole.
    mutating func compare(_ original: Any, _ copy: Any, _ owner: CodingLoss, depth: Int = 0) -> CodingLoss? {
        guard valuesLeft > 0, depth < Self.depthMax else { return nil }
        valuesLeft -= 1
        let type = Swift.type(of: original)
        guard type == Swift.type(of: copy) else { return owner }
        if let original = original as? any Equatable, original.isEqual(to: copy) { return nil }
        if type is AnyClass, original as AnyObject === copy as AnyObject { return nil }
        let (left, right) = (Mirror(reflecting: original), Mirror(reflecting: copy))
        switch left.displayStyle {
        case .set?, .dictionary?:
            return compareElements(left, right, owner, depth)
        case .collection?, .optional?, .tuple?:
            return compareChildren(left, right, depth) { _ in owner }
        case .enum? where left.children.isEmpty && right.children.isEmpty:
            return "\(original)" == "\(copy)" ? nil : owner
        case .class?, .enum?, .struct?:
            guard !CodingLoss.isStandard(typeName: String(reflecting: type)) else { fallthrough }
            return compareChildren(left, right, depth) { CodingLoss("\(type)", $0) }
        default:
            // NaN, or a value that contains it, doesn't equal itself.
            guard let left = original as? any Equatable, let right = copy as? any Equatable else { return nil }
            return left.isEqual(to: left) || right.isEqual(to: right) ? owner : nil
        }
    }

    private mutating func compareChildren(
        _ left: Mirror, _ right: Mirror, _ depth: Int, _ owner: (_ label: String) -> CodingLoss
    ) -> CodingLoss? {
        if let left = left.superclassMirror, let right = right.superclassMirror,
            let loss = compareChildren(left, right, depth, { CodingLoss("\(left.subjectType)", $0) })
        {
            return loss
        }
        for (original, copy) in zip(left.children, right.children) {
            let label = original.label ?? ""
            // Lazy properties and macros store values that aren't part of the original.
            if label.hasPrefix("$") || label.hasPrefix("_$") { continue }
            guard label == copy.label ?? "" else { return owner(label) }
            if let loss = compare(original.value, copy.value, owner(label), depth: depth + 1) { return loss }
        }
        return left.children.count == right.children.count ? nil : owner("")
    }

    /// Compares sets or dictionaries in any order. First pairs elements or keys that are equal. The others may contain
    /// NaN or a field that differs, so each is compared with every element that is still unpaired.
    private mutating func compareElements(
        _ left: Mirror, _ right: Mirror, _ owner: CodingLoss, _ depth: Int
    ) -> CodingLoss? {
        guard left.children.count == right.children.count else { return owner }
        var copies: [AnyHashable: Any] = [:]
        for child in right.children {
            if let key = Self.key(of: child.value) { copies[key] = child.value }
        }
        var rest: [Any] = []
        for child in left.children {
            guard let key = Self.key(of: child.value), let copy = copies.removeValue(forKey: key) else {
                rest.append(child.value)
                continue
            }
            if let loss = compare(child.value, copy, owner, depth: depth + 1) { return loss }
        }
        for original in rest {
            var first: CodingLoss?
            var pair: AnyHashable?
            for (key, copy) in copies {
                guard let loss = compare(original, copy, owner, depth: depth + 1) else {
                    pair = key
                    break
                }
                first = first ?? loss
            }
            guard let pair else { return first ?? owner }
            copies[pair] = nil
        }
        return nil
    }

    /// Returns the element of a set, or the key of a dictionary's element, which is a tuple.
    private static func key(of element: Any) -> AnyHashable? {
        let mirror = Mirror(reflecting: element)
        let key = mirror.displayStyle == .tuple ? mirror.children.first?.value ?? element : element
        return key as? AnyHashable
    }
}

extension Equatable {
    fileprivate func isEqual(to other: Any) -> Bool { (other as? Self).map { self == $0 } ?? false }
}
