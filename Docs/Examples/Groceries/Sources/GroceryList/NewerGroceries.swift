public import MeshEngine
public import MeshSession

/// The list in the app's next version. It adds a field that no state of an earlier version has.
public struct NewerGroceries: Codable, Sendable, Equatable {
    public var items: [String] = []
    public var bought: [String] = []
    /// Notes by item. Optional, because it is nil in states that an earlier version wrote.
    public var notes: [String: String]?

    public init() {}
}

/// The events of the next version. It adds a case and leaves the others unchanged.
public enum NewerGroceryEvent: Codable, Sendable, Equatable {
    case add(String)
    case buy(String)
    case note(String, on: String)
}

public struct NewerGroceryFeature: SessionFeature {
    public typealias State = NewerGroceries
    public typealias Event = NewerGroceryEvent
    public static let featureID = "groceries"
    public static let version = 2
    public let initialState = NewerGroceries()

    public init() {}

    public func reduce(state: inout NewerGroceries, event: NewerGroceryEvent, context: SessionEventContext) {
        switch event {
        case .add(let item):
            if !state.items.contains(item) { state.items.append(item) }
        case .buy(let item):
            if !state.bought.contains(item) { state.bought.append(item) }
        case .note(let text, let item):
            state.notes = (state.notes ?? [:]).merging([item: text]) { _, newest in newest }
        }
    }
}

public typealias NewerGrocerySession = SessionOf<NewerGroceryFeature>
