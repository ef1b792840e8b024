import Testing

@testable import MeshConnection

@Suite struct TypeNameTests {
    struct Nested {
        struct Deeper {}
    }

    struct Box<Content> {}

    @Test func `A type is named by its path, without any module`() {
        struct Local {}
        #expect(TypeName.nested(TypeNameTests.self) == "TypeNameTests")
        #expect(TypeName.nested(Nested.Deeper.self) == "TypeNameTests.Nested.Deeper")
        #expect(TypeName.nested(Local.self) == "TypeNameTests.Local")
        #expect(TypeName.nested(Hidden.self) == "Hidden")
        #expect(TypeName.nested(ConnectionError.Added.self) == "ConnectionError.Added")
    }

    @Test func `The parts of a type are named without modules too`() {
        #expect(TypeName.nested([Nested].self) == "Array<TypeNameTests.Nested>")
        #expect(TypeName.nested([String: Nested?].self) == "Dictionary<String, Optional<TypeNameTests.Nested>>")
        #expect(TypeName.nested(Box<Hidden>.self) == "TypeNameTests.Box<Hidden>")
        #expect(TypeName.nested(Box<ConnectionError.Added>.self) == "TypeNameTests.Box<ConnectionError.Added>")
        #expect(TypeName.nested((Int, Nested).self) == "(Int, TypeNameTests.Nested)")
    }
}

private struct Hidden {}

extension ConnectionError {
    struct Added {}
}
