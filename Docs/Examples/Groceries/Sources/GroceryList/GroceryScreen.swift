#if canImport(SwiftUI)
    public import SwiftUI

    /// The view of the model. SwiftUI redraws it when a property that it has read changes.
    public struct GroceryScreen: View {
        private let model: GroceryModel

        public init(_ model: GroceryModel) { self.model = model }

        public var body: some View {
            List {
                Section("To buy") { ForEach(model.lines, id: \.self) { Text($0) } }
                Section("In the household") {
                    ForEach(model.company, id: \.self) { Text($0) }
                    ForEach(model.typing, id: \.self) { Text($0) }
                }
            }
        }
    }
#endif
