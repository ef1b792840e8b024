public import MeshEngine
public import MeshSession

/// The list in the app's next version: a field more, which no state of an earlier version has.
public struct NewerGroceries: Codable, Sendable, Equatable {
    public var items: [String] = []
    public var bought: [String] = []
    /// Optional: nil in what an earlier version wrote.
    public var notes: [String: String]?

    public init() {}
}

/// An event more. The cases that there were are as they were.
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
