#if canImport(Darwin)
    import Darwin
#elseif canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#endif

/// Who owns a file, a folder or a socket, and whom its mode lets in: what keeps the users of one machine apart.
///
/// Lists of access control are not looked at. Root may do anything anywhere, so that a folder of root's is as good as an
/// own one; what lies in it has to be this user's own.
package struct FileAccess: Hashable, Sendable {
    package let owner: UInt32
    package let group: UInt32
    /// Permissions and the sticky bit.
    package let mode: UInt32

    package init(owner: UInt32, group: UInt32, mode: UInt32) {
        self.owner = owner
        self.group = group
        self.mode = mode & 0o7777
    }

    /// Of what is at a path, behind links; nil when it cannot be told, with the reason in `errno`.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Of what is at a path itself, link or not.
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

    /// Somebody beside the owner may write. By custom the group that has its owner's number has no other member.
    package var othersMayWrite: Bool { mode & 0o002 != 0 || mode & 0o020 != 0 && group != owner }
    /// In such a folder nobody can move or remove what is another user's.
    package var isSticky: Bool { mode & 0o1000 != 0 }
}

extension FileAccess {
    /// Why no file or socket of this user's should lie in that folder, and what to do; nil when nothing is wrong with it.
    /// - Parameter isShared: it may be one like /tmp, in which everybody makes files: whatever is found there is looked at
    ///   before it is used.
    package func flaw(ofFolder path: String, isShared: Bool, user: UInt32 = thisUser) -> String? {
        if owner != user, owner != 0 { return "the folder '\(path)' belongs to user \(owner): use one of your own" }
        if othersMayWrite, !(isShared && isSticky) {
            return owner == user
                ? "others may write to the folder '\(path)': run chmod go-w on it, or use another"
                : "others may write to the folder '\(path)': use one of your own"
        }
        return nil
    }

    /// Why a file is not this user's alone, and what to do; nil when nothing is wrong with it.
    package func flaw(ofFile path: String, user: UInt32 = thisUser) -> String? {
        if owner != user, owner != 0 { return "'\(path)' belongs to user \(owner): use a file of your own" }
        if othersMayWrite {
            return "others may write to '\(path)': if nobody has, run chmod go-w on it; else make a new one"
        }
        return nil
    }
}
