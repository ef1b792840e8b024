#if os(Linux) || os(macOS)
    import Foundation
    import MeshTestSupport
    import Testing

    @testable import MeshPrograms

    @Suite struct GuardedProgramTests {
        private static let sleeper = ["sh", "-c", "echo $$; exec sleep 600"]

        @Test("A released program ends with all processes that it started") func letGo() async throws {
            let said = Pipe()
            var program: GuardedProgram? = try GuardedProgram(
                ["sh", "-c", "sleep 600 & echo up; wait"], output: said.fileHandleForWriting)
            try said.fileHandleForWriting.close()
            #expect(try said.fileHandleForReading.read(upToCount: 3) == Data("up\n".utf8))
            #expect(program?.isRunning == true)
            program = nil
            // Both processes hold the pipe's end, so reading ends once both are gone.
            #expect(try said.fileHandleForReading.readToEnd() ?? Data() == Data())
        }

        @Test("A program ends by itself or by a signal, and is collected once") func ends() throws {
            let brief = try GuardedProgram(["true"])
            brief.wait()
            #expect(!brief.isRunning)
            brief.send(SIGTERM)
            let long = try GuardedProgram(Self.sleeper)
            long.send(SIGSTOP)
            #expect(long.isRunning)
            long.send(SIGCONT)
            long.end(SIGTERM)
            #expect(!long.isRunning)
            let missing = try GuardedProgram(["/nowhere/there-is-none"])
            missing.wait()
        }

        @Test("A program inherits no descriptor and no blocked or ignored signal") func inheritsNothing() throws {
            let (kept, said) = (Pipe(), Pipe())
            defer { withExtendedLifetime(kept) {} }
            var (blocked, before) = (sigset_t(), sigset_t())
            sigemptyset(&blocked)
            sigaddset(&blocked, SIGTERM)
            pthread_sigmask(SIG_BLOCK, &blocked, &before)
            let program = try GuardedProgram(
                [
                    "sh", "-c",
                    "for i in 3 4 5 6 7 8 9; do eval \"true <&$i\" && echo $i; done; kill -TERM $$; echo lives",
                ],
                output: said.fileHandleForWriting)
            pthread_sigmask(SIG_SETMASK, &before, nil)
            try said.fileHandleForWriting.close()
            #expect(String(decoding: try said.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self) == "")
            program.wait()
        }

        /// The end of a thread isn't the end of its process.
        @Test("A program outlives the thread that started it") func outlivesThread() async throws {
            let program = try await withCheckedThrowingContinuation { waiter in
                let thread = Thread { waiter.resume(with: Result { try GuardedProgram(Self.sleeper) }) }
                thread.start()
            }
            let (said, another) = (Pipe(), Pipe())
            // The second program starts and ends later. A signal to the first would have arrived by then.
            let later = try await withCheckedThrowingContinuation { waiter in
                Thread.detachNewThread {
                    waiter.resume(
                        with: Result {
                            try GuardedProgram(
                                ["sh", "-c", "read -r line; echo $line"],
                                input: another.fileHandleForReading, output: said.fileHandleForWriting)
                        })
                }
            }
            try said.fileHandleForWriting.close()
            try another.fileHandleForWriting.write(contentsOf: Data("heard\n".utf8))
            #expect(try said.fileHandleForReading.readToEnd() == Data("heard\n".utf8))
            later.wait()
            #expect(program.isRunning)
        }

        #if compiler(>=6.2)
            @Test("A killed process takes its guarded program and folder along, but no unguarded one")
            func endsWithProcess() async throws {
                let folder = FileManager.default.temporaryDirectory.appending(path: "guarded-\(UUID().uuidString)")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let result = await #expect(processExitsWith: .signal(SIGKILL), observing: [\.standardOutputContent]) {
                    [path = folder.path as String] in
                    let said = Pipe()
                    let guarded = try GuardedProgram(
                        GuardedProgramTests.sleeper, output: said.fileHandleForWriting, folder: URL(filePath: path))
                    let plain = Process()
                    plain.executableURL = URL(filePath: "/bin/sleep")
                    plain.arguments = ["600"]
                    plain.standardOutput = FileHandle.nullDevice
                    plain.standardError = FileHandle.nullDevice
                    try plain.run()
                    let number = said.fileHandleForReading.availableData
                    FileHandle.standardOutput.write(number + Data("\(plain.processIdentifier)\n".utf8))
                    withExtendedLifetime(guarded) { _ = kill(getpid(), SIGKILL) }
                }
                let words = String(decoding: result?.standardOutputContent ?? [], as: UTF8.self).split(
                    whereSeparator: \.isWhitespace)
                let numbers = words.compactMap { pid_t($0) }
                let (guarded, plain) = (try #require(numbers.first), try #require(numbers.last))
                try #require(numbers.count == 2)
                defer { kill(plain, SIGKILL) }
                try await eventually("the program to be gone") { !Self.lives(guarded) }
                #expect(Self.lives(plain), "the twin, which nothing ends")
                try await eventually("the folder to be gone") { !FileManager.default.fileExists(atPath: folder.path) }
            }
        #endif

        /// True unless the process has ended, collected or not.
        private static func lives(_ number: pid_t) -> Bool {
            guard kill(number, 0) == 0 else { return false }
            let status = try? String(contentsOfFile: "/proc/\(number)/stat", encoding: .utf8)
            return status?.contains(") Z ") != true
        }
    }
#endif
