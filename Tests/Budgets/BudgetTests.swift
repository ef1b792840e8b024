import CHeldMemory
import Foundation
import Testing

/// Fills the memory that a lying peer can make this side hold, and measures it: each row of the table in the security
/// specification.
@Suite(.serialized) struct BudgetTests {
    @Test func `Each row of the table is filled here or marked otherwise`() throws {
        let filled = Set(try BudgetTable().rows.filter { !$0.isUnfilled }.map(\.name))
        #expect(filled == Set(Budget.allCases.map(\.rawValue)))
    }

    /// A separate process for each, in which nothing else allocates.
    @Test(arguments: Budget.allCases)
    func `A full budget takes no more bytes than the table states`(_ budget: Budget) async throws {
        let bytesMax = try #require(try BudgetTable()[budget.rawValue]).bytesMax
        let result = await #expect(processExitsWith: .success, observing: [\.standardOutputContent]) {
            [budget = budget as Budget] in
            let before = held_memory()
            let filled = try await budget.fill()
            let bytes = Int(held_memory()) - Int(before)
            withExtendedLifetime(filled) { print("\nmeasured \(bytes)") }
        }
        let output = String(decoding: try #require(result).standardOutputContent, as: UTF8.self)
        let line = try #require(output.split(separator: "\n").last { $0.hasPrefix("measured ") })
        let bytes = try #require(Int(line.dropFirst("measured ".count)))
        print("\(budget.rawValue): \(bytes) bytes held, \(bytesMax) at most")
        #expect(bytes <= bytesMax)
        // Below this, the row states more than a peer can fill, or this test doesn't fill it.
        #expect(bytes >= bytesMax / 3)
    }
}
