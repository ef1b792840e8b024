import MeshConnection
import MeshRequests

struct Recipe: Codable, Sendable {}
struct NoSuchRecipe: Error, Codable, Sendable {}
actor Recipes { func find(_ id: String) throws -> Recipe { throw NoSuchRecipe() } }
let recipes = Recipes()
@MainActor var connection: TransportConnection { fatalError() }
