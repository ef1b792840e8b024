#if UDP
    import MeshSecurity

    /// One of two connections to the same peer. Only one may stay.
    struct Contender: Hashable {
        /// The start ID of the other side's link.
        let startID: UInt64
        let isDialedHere: Bool

        /// Returns true if a new connection replaces the established one. Both sides decide alike, because the rule
        /// uses only facts that both know. A connection with another start ID wins: the peer has restarted and has lost
        /// the earlier one. Of two directions, the one dialed by the lower ID wins. In one direction the newer
        /// connection wins, because no side dials while a connection works.
        func replaces(_ incumbent: Contender, local: PeerID, remote: PeerID) -> Bool {
            guard startID == incumbent.startID, isDialedHere != incumbent.isDialedHere else { return true }
            return isDialedHere == (local < remote)
        }
    }
#endif
