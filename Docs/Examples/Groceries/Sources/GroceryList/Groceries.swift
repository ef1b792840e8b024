public import MeshEngine
public import MeshSession

/// A household's shopping list, the same on every member's device.
public struct Groceries: Codable, Sendable, Equatable {
    public var items: [String] = []
    public var bought: [String] = []

    public init() {}
}

public enum GroceryEvent: Codable, Sendable, Equatable {
    case add(String)
    case buy(String)
}

public struct GroceryFeature: SessionFeature {
    public typealias State = Groceries
    public typealias Event = GroceryEvent
    public static let featureID = "groceries"
    public let initialState = Groceries()

    public init() {}

    public func reduce(state: inout Groceries, event: GroceryEvent, context: SessionEventContext) {
        switch event {
        case .add(let item):
            if !state.items.contains(item) { state.items.append(item) }
        case .buy(let item):
            if !state.bought.contains(item) { state.bought.append(item) }
        }
    }
}

public typealias GrocerySession = SessionOf<GroceryFeature>
public typealias GroceryUpdate = SessionUpdate<Groceries, GroceryEvent>
