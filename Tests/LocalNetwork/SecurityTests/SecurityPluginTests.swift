import MeshBus
import MeshSecurity
import Testing

@Suite struct SecurityPluginTests {
    @Test func `The plugin describes the module`() {
        let descriptor = SecurityPlugin().descriptor
        #if UDP
            #expect(descriptor.limits.map(\.bytes) == [SealedDatagrams.plaintextBytesMax])
            #expect(!descriptor.capabilities.isEmpty)
        #else
            #expect(descriptor.limits.isEmpty && descriptor.capabilities.isEmpty)
        #endif
    }
}
