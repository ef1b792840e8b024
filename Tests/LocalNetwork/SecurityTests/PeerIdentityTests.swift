#if UDP
    import Foundation
    import MeshBase
    import Testing

    @testable import MeshSecurity

    @Suite struct PeerIdentityTests {
        let folder: TemporaryFolder

        init() throws { folder = try TemporaryFolder() }

        @Test func `An identity is created once, readable only by its user, and found again`() throws {
            let made = try PeerIdentity(file: folder.file("key"))
            #expect(mode(of: folder.file("key")) == 0o600)
            #expect(folder.names == ["key"])
            let found = try PeerIdentity(file: folder.file("key"))
            #expect(found.peerID == made.peerID)
            #expect(found.privateKeyDER == made.privateKeyDER)
            #expect(try PeerIdentity(file: folder.file("other")).peerID != made.peerID)
        }

        @Test func `Processes that create the file at the same time get the same identity`() throws {
            for round in 0..<20 {
                let path = folder.file("key-\(round)")
                let found = Found()
                DispatchQueue.concurrentPerform(iterations: 8) { _ in
                    found.append(Result { try PeerIdentity(file: path).peerID })
                }
                #expect(Set(try found.all.map { try $0.get() }).count == 1)
            }
            #expect(folder.names == Set((0..<20).map { "key-\($0)" }))
        }

        @Test func `A file that others may read or write is rejected and left unchanged`() throws {
            let path = folder.file("key")
            _ = try PeerIdentity(file: path)
            let bytes = try folder.bytes(of: "key")
            for bits in UInt32(1)...0o77 {
                chmod(path, mode_t(0o600 | bits))
                #expect(code { try PeerIdentity(file: path) } == .notPrivate, "\(String(bits, radix: 8))")
            }
            #expect(mode(of: path) == 0o677)
            chmod(path, 0o600)
            #expect(try folder.bytes(of: "key") == bytes)
            // Only root can change the owner of a file.
            if geteuid() == 0 {
                chown(path, 65534, 65534)
                #expect(code { try PeerIdentity(file: path) } == .notPrivate)
            }
        }

        @Test func `A folder that others may write to, and another user's lock, are rejected`() throws {
            let path = folder.file("key")
            _ = try PeerIdentity(file: path)
            for (mode, isFit) in [(0o777, false), (0o757, false), (0o1777, true), (0o755, true)] {
                chmod(folder.path, mode_t(mode))
                for name in ["key", "new"] {
                    let found = code { try PeerIdentity(file: folder.file(name)) }
                    #expect(found == (isFit ? nil : .notPrivate), "\(String(mode, radix: 8)) \(name)")
                }
                unlink(folder.file("new"))
            }
            guard geteuid() == 0 else { return }
            let file = try PrivateFile(folder.file("list"))
            try file.withLock {}
            chown(folder.file("list.lock"), 65534, 65534)
            #expect(caught(SecurityError.self) { try file.withLock {} }?.code == .notPrivate)
            chown(folder.path, 65534, 65534)
            #expect(code { try PeerIdentity(file: path) } == .notPrivate)
        }

        @Test func `A path that isn't a file is rejected without waiting`() throws {
            mkfifo(folder.file("pipe"), 0o600)
            mkdir(folder.file("folder"), 0o700)
            _ = try PeerIdentity(file: folder.file("key"))
            symlink(folder.file("key"), folder.file("link"))
            symlink(folder.file("nothing"), folder.file("loose"))
            for name in ["pipe", "folder", "link", "loose"] {
                #expect(code { try PeerIdentity(file: folder.file(name)) } == .notPrivate, "\(name)")
            }
            #expect(code { try PeerIdentity(file: folder.file("no/key")) } == .missing)
            #expect(code { try PeerIdentity(file: folder.file("key/key")) } == .missing)
            for name in ["", "a\0b", folder.path + "/"] {
                #expect(code { try PeerIdentity(file: name) } == .invalidArgument)
            }
        }

        @Test func `A key that differs by one bit or byte is damaged and left unchanged`() throws {
            _ = try PeerIdentity(file: folder.file("key"))
            let bytes = try folder.bytes(of: "key")
            var damaged = (0..<bytes.count).map { Array(bytes[..<$0]) } + [bytes + [10], bytes + bytes]
            for index in bytes.indices {
                var flipped = bytes
                flipped[index] ^= 1 << UInt8(index % 8)
                damaged.append(flipped)
            }
            damaged.append([UInt8](repeating: 65, count: 1 << 16))
            for bytes in damaged {
                try folder.write(bytes, to: "damaged")
                #expect(code { try PeerIdentity(file: folder.file("damaged")) } == .damaged, "\(bytes.count)")
                #expect(try folder.bytes(of: "damaged") == bytes)
            }
        }

        @Test func `Python reads the file`() async throws {
            let identity = try PeerIdentity(file: folder.file("key"))
            _ = try await Interop.python("identity", folder.file("key"), identity.peerID.description)
        }

        @Test func `Printing an identity or a secret shows nothing of it`() {
            let identity = PeerIdentity()
            let secret = PairingSecret()
            #expect("\(identity)" == "PeerIdentity(\(identity.peerID))")
            var dumped = ""
            dump((identity, secret), to: &dumped)
            #expect(dumped.contains(identity.peerID.description))
            for text in [dumped, "\(secret)", String(reflecting: secret), String(reflecting: identity)] {
                #expect(!text.contains("rivate") && !text.contains("bytes") && !text.contains(secret.text))
            }
        }

        private func code(_ body: () throws -> PeerIdentity) -> SecurityError.Code? {
            caught(SecurityError.self) { _ = try body() }?.code
        }
    }

    /// The results of several threads.
    private final class Found: @unchecked Sendable {
        private let lock = NSLock()
        private var results: [Result<PeerID, any Error>] = []

        func append(_ result: Result<PeerID, any Error>) { lock.withLock { results.append(result) } }
        var all: [Result<PeerID, any Error>] { lock.withLock { results } }
    }
#endif
