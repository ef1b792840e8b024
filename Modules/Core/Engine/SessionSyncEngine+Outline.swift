package import MeshIdentity

/// Where an engine stands, in numbers that are cheap to compare.
package struct EngineOutline: Sendable {
    package let source: SessionSource
    package let group: SessionSource?
    package let isSealed: Bool
    package let isProvisional: Bool
    package let cut: HybridTimestamp
    /// A fingerprint of what is held; equal for engines that hold the same, whatever the order in which they met.
    package let heldDigest: UInt64
    package let confirmedCount: UInt64
    package let chainPosition: UInt64
    package let chain: UInt64
    package let ownUnconfirmedCount: Int
    package let gapCount: Int
    package let sourceCount: Int
}

extension SessionSyncEngine {
    /// For onlookers who look after each step. Complexity: O(sources).
    package var outline: EngineOutline {
        var digest: UInt64 = 0
        for record in sources.records where record.held > 0 {
            digest &+= (record.digest ^ record.held &* 0x9e37_79b9_7f4a_7c15) &* 0xff51_afd7_ed55_8ccd
        }
        return EngineOutline(
            source: sources.records[0].source, group: groupName, isSealed: sealed, isProvisional: provisional != nil,
            cut: cutStamp,
            heldDigest: digest, confirmedCount: confirmedCount, chainPosition: confirmationChain.position,
            chain: confirmationChain.value,
            ownUnconfirmedCount: ownUnconfirmed, gapCount: gaps.isEmpty ? 0 : gapCount,
            sourceCount: sources.records.count)
    }

    /// Own entries beyond that sequence. Complexity: O(log).
    package func ownLogCount(beyond sequence: UInt64) -> UInt64 {
        var count: UInt64 = 0
        for index in log.entries.indices where log.entries[index].slot == 0 && log.entries[index].sequence > sequence {
            count += 1
        }
        return count
    }
}
