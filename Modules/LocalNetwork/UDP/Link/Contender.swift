#if UDP
    import MeshSecurity

    /// One of two connections to the same peer, of which one must go.
    struct Contender: Hashable {
        /// Drawn by the other side when it began.
        let startID: UInt64
        let isDialedHere: Bool

        /// Whether a new connection takes the place of one that stands. Both sides come to the same answer, because it rests
        /// on what both know: a peer that has begun anew has given up what it had; of two directions the one counts that the
        /// lower id has dialed; of one direction the newer, because nobody dials while a connection stands.
        func replaces(_ incumbent: Contender, local: PeerID, remote: PeerID) -> Bool {
            guard startID == incumbent.startID, isDialedHere != incumbent.isDialedHere else { return true }
            return isDialedHere == (local < remote)
        }
    }
#endif
