import Testing

@testable import MeshBase

#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#endif

@Suite struct FileAccessTests {
    private static let user: UInt32 = 1000
    /// A group with the user's number, and a group shared by several users.
    private static let groups: [UInt32] = [1000, 50]

    @Test func `A folder is safe if only the user and root can change its content`() {
        for mode in 0...0o7777 as ClosedRange<UInt32> {
            for group in Self.groups {
                let others = mode & 0o002 != 0 || mode & 0o020 != 0 && group == 50
                for owner in [0, Self.user] {
                    let access = FileAccess(owner: owner, group: group == 50 ? 50 : owner, mode: mode)
                    let label = "\(owner):\(group) \(String(mode, radix: 8))"
                    #expect(
                        (access.problem(withFolder: "f", isShared: false, user: Self.user) == nil) == !others,
                        "\(label)")
                    let isFit = !others || mode & 0o1000 != 0
                    #expect(
                        (access.problem(withFolder: "f", isShared: true, user: Self.user) == nil) == isFit, "\(label)")
                    #expect((access.problem(withFile: "f", user: Self.user) == nil) == !others, "\(label)")
                }
            }
        }
    }

    @Test func `A file or folder of another user is refused in every mode, and its owner is named`() {
        for mode in [0, 0o700, 0o755, 0o777, 0o1777] as [UInt32] {
            let access = FileAccess(owner: 1001, group: 1001, mode: mode)
            for problem in [
                access.problem(withFolder: "f", isShared: true, user: Self.user),
                access.problem(withFolder: "f", isShared: false, user: Self.user),
                access.problem(withFile: "f", user: Self.user),
                // Root accepts only its own files.
                access.problem(withFile: "f", user: 0),
            ] { #expect(problem?.contains("1001") == true, "\(String(mode, radix: 8))") }
        }
    }

    @Test func `The system's answer is read of a path, a link and a descriptor`() throws {
        let folder = "/tmp/file-access-\(UInt64.random(in: 0 ... .max))"
        #expect(mkdir(folder, 0o700) == 0)
        defer {
            unlink(folder + "/link")
            rmdir(folder)
        }
        #expect(chmod(folder, 0o1770) == 0)
        #expect(symlink(folder, folder + "/link") == 0)
        let access = FileAccess(
            owner: FileAccess.thisUser, group: try #require(FileAccess(path: folder)).group, mode: 0o1770)
        let descriptor = open(folder, O_RDONLY)
        defer { close(descriptor) }
        #expect(FileAccess(path: folder) == access)
        #expect(FileAccess(path: folder + "/link") == access)
        #expect(FileAccess(linkAt: folder) == access)
        #expect(FileAccess(linkAt: folder + "/link") != access)
        #expect(FileAccess(descriptor: descriptor) == access)
        #expect(FileAccess(path: folder + "/nothing") == nil)
        #expect(FileAccess(descriptor: -1) == nil)
    }
}
