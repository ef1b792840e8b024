#if Inspector
    import Foundation
    import MeshDiagnostics
    import Testing

    #if canImport(FoundationNetworking)
        import FoundationNetworking
    #endif

    @testable import MeshInspector

    @Suite("The inspector's pages")
    struct InspectorPageTests {
        /// A client with a long timeout: on a busy machine an answer may take longer than the default minute.
        private static let client = {
            let configuration = URLSessionConfiguration.ephemeral
            configuration.timeoutIntervalForRequest = 600
            return URLSession(configuration: configuration)
        }()

        private func get(_ address: String) async throws -> (status: Int, text: String, headers: [String: String]) {
            let url = try #require(URL(string: address))
            let (data, response) = try await Self.client.data(from: url)
            let answer = try #require(response as? HTTPURLResponse)
            let headers = answer.allHeaderFields.map { ("\($0.key)".lowercased(), "\($0.value)") }
            return (
                answer.statusCode, String(decoding: data, as: UTF8.self),
                Dictionary(headers) { first, _ in first }
            )
        }

        private func note(_ text: String) -> DiagnosticsEntry {
            var entry = DiagnosticsEntry(at: 1, peer: "<b>phone</b>", kind: .note)
            entry.text = text
            return entry
        }

        @Test("a client that knows the address gets page, style, script and entries; others get nothing")
        func serves() async throws {
            let inspector = try await Inspector.start()
            inspector.add(DiagnosticsRecording(entries: [note("one"), note("two")]))
            for (name, type) in [("", "text/html"), ("inspector.css", "text/css"), ("inspector.js", "text/javascript")]
            {
                let (status, text, headers) = try await get(inspector.address + name)
                #expect(status == 200 && !text.isEmpty)
                #expect(headers["content-type"]?.hasPrefix(type) == true)
                #expect(headers["content-security-policy"]?.contains("default-src 'none'; script-src 'self'") == true)
                #expect(headers["x-content-type-options"] == "nosniff")
            }
            let entries = try await get(inspector.address + "entries?after=1").text
            let read = try DiagnosticsRecording(jsonLines: Data(entries.utf8)).entries
            #expect(read.map(\.text) == ["two"])
            #expect(read.map(\.number) == [2])
            let whole = try await get(inspector.address + "recording.jsonl").text
            #expect(try DiagnosticsRecording(jsonLines: Data(whole.utf8)).entries.count == 2)

            let parts = inspector.address.split(separator: "/")
            let (host, token) = ("http://\(parts[1])/", String(parts[2]))
            #expect(token.count == 32)
            var other = token
            other.append(other.removeFirst() == "0" ? "1" : "0")
            let nowhere = [
                "", "entries?after=0", "\(other)/", "\(other)/entries?after=0", "\(token.dropLast())/", "\(token)x/",
                "\(token)/nothing", "\(token)/entries", "\(token)/entries?after=-1", "\(token)/../\(other)/",
                "\(token)/entries?after=99999999999999999999",
            ]
            for path in nowhere { #expect(try await get(host + path).status == 404, "\(path)") }
            await inspector.stop()
        }

        @Test("later entries answer the waiting clients")
        func waits() async throws {
            let inspector = try await Inspector.start()
            async let later = get(inspector.address + "entries?after=0")
            inspector.add(note("at last"))
            #expect(try await later.text.contains("at last"))
            await inspector.stop()
        }

        @Test("a recording reports that it is complete, and answers at once")
        func recording() async throws {
            let recorded = try await Inspector.start(showing: DiagnosticsRecording(entries: [note("one")]))
            let live = try await Inspector.start()
            live.add(note("one"))
            #expect(try await get(recorded.address + "entries?after=0").headers["inspector-source"] == "recording")
            #expect(try await get(recorded.address + "entries?after=1").text.isEmpty)
            #expect(try await get(live.address + "entries?after=0").headers["inspector-source"] == nil)
            await recorded.stop()
            await live.stop()
        }

        @Test("a port in use is an error that says what to do")
        func taken() async throws {
            let first = try await Inspector.start()
            let port = try #require(URL(string: first.address)?.port)
            await #expect {
                _ = try await Inspector.start(port: UInt16(port))
            } throws: { ($0 as? InspectorError)?.code == .unavailable && "\($0)".contains("choose another") }
            await first.stop()
        }

        @Test(
            "the page's script never makes markup of what entries say, and neither page nor style loads from elsewhere")
        func noMarkup() {
            let script = String(decoding: PackageResources.inspector_js, as: UTF8.self)
            for way in [
                "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(", "srcdoc",
            ] {
                #expect(!script.contains(way), "\(way)")
            }
            for bytes in [
                PackageResources.inspector_js, PackageResources.inspector_css, PackageResources.inspector_html,
            ] {
                #expect(!String(decoding: bytes, as: UTF8.self).contains("//cdn"))
                #expect(!String(decoding: bytes, as: UTF8.self).contains("http"))
            }
        }
    }
#endif
