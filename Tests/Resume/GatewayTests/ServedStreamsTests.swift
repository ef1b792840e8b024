import MeshBase
import MeshResumeGateway
import Testing

@Suite struct ServedStreamsTests {
    @Test func `A stream is served from its first client to its last, and observers are notified of both`() {
        let streams = ServedStreams()
        let heard = Locked<[String]>([])
        streams.add("a")
        streams.observe { stream, isServed in heard.withLock { $0.append("\(isServed ? "+" : "-")\(stream)") } }
        streams.add("a")
        streams.add("b")
        streams.remove("a")
        streams.remove("a")
        // A stream without clients.
        streams.remove("a")
        streams.add("a")
        #expect(heard.withLock { $0 } == ["+a", "+b", "-a", "+a"])
    }
}
