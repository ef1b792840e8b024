#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// The owner and permissions of a file, folder or socket, which protect it from other users of the machine.
///
/// Ignores access control lists. Root can change any file, so root is trusted as an owner, as is this user.
/// `PrivateFile` is stricter: its file must be this user's own.
package struct FileAccess: Hashable, Sendable {
    package let owner: UInt32
    package let group: UInt32
    /// Permissions, including the sticky bit.
    package let mode: UInt32

    package init(owner: UInt32, group: UInt32, mode: UInt32) {
        self.owner = owner
        self.group = group
        self.mode = mode & 0o7777
    }

    /// Reads the access of the item at a path, following links; nil with the reason in `errno` if that fails.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Reads the access of the item at a path, without following a link; nil with the reason in `errno` if that fails.
    package init?(linkAt path: String) {
        var status = stat()
        guard lstat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    package init?(descriptor: Int32) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    private init(_ status: stat) {
        self.init(owner: UInt32(status.st_uid), group: UInt32(status.st_gid), mode: UInt32(status.st_mode))
    }

    package static var thisUser: UInt32 { UInt32(geteuid()) }

    /// True if users other than the owner may write. Ignores write permission of a group that has the owner's number:
    /// such a group normally has no other member.
    package var isWritableByOthers: Bool { mode & 0o002 != 0 || mode & 0o020 != 0 && group != owner }
    /// True for a folder in which users can't move or remove each other's files.
    package var isSticky: Bool { mode & 0o1000 != 0 }
}

extension FileAccess {
    /// Returns why this user shouldn't keep a file or socket in the folder, and advice; nil if the folder is safe.
    /// - Parameter isShared: True to allow a folder like /tmp, where all users create files. The caller must then check
    ///   each file that it finds there.
    package func problem(withFolder path: String, isShared: Bool, user: UInt32 = thisUser) -> String? {
        if owner != user, owner != 0 {
            return "the folder '\(path)' belongs to user \(owner): use a folder that you own"
        }
        if isWritableByOthers, !(isShared && isSticky) {
            return owner == user
                ? "other users can write to the folder '\(path)': run chmod go-w on it, or use another folder"
                : "other users can write to the folder '\(path)': use a folder that you own"
        }
        return nil
    }

    /// Returns why others can change a file, and advice; nil if only this user or root can.
    package func problem(withFile path: String, user: UInt32 = thisUser) -> String? {
        if owner != user, owner != 0 { return "'\(path)' belongs to user \(owner): use a file that you own" }
        if isWritableByOthers {
            return "other users can write to '\(path)': create a new file, or run chmod go-w if its content is intact"
        }
        return nil
    }
}
