package import MeshIdentity

extension HybridTimestamp {
    /// How far clocks may get beyond the ceiling by ticking, once somebody has brought them there.
    private static var headroom: UInt64 { 1 << 40 }

    /// Whether a stamp from outside may be true: it is below the ceiling, or within what devices draw that have seen one
    /// there. So a single stamp takes no clock to where it stands still, and whoever draws the next one is believed.
    /// - Parameter latest: the newest that has been believed.
    package func isCredible(after latest: HybridTimestamp) -> Bool {
        let (most, overflow) = latest.rawValue.addingReportingOverflow(Self.headroom)
        return isBelowCeiling || overflow || rawValue <= most
    }
}
