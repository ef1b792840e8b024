import MeshEngine

extension Simulation {
    /// The rules of the engine that can be broken on purpose, in the order in which the engine lists them.
    public static var mutationNames: [String] { EngineMutations.all.map(\.name) }
}

extension World {
    var mutations: EngineMutations {
        EngineMutations.all.first { $0.name == options.mutation }?.mutation ?? []
    }
}
